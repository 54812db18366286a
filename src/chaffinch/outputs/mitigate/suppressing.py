"""Withhold cells of few people, and further ones, so that the first cannot be worked out from totals and from other outputs.

Which further cells: those that leave every small cell open are looked for by asking the rules themselves ("suppression undone": the range of each withheld cell
over all tables of whole people that agree with everything shown; "differencing": that what is withheld of a line is not few people together), so what is taken is as safe
as the rules are. Cells are added one by one, of lines whose withheld cells are alone or of few people, each time the one that leaves the fewest cells open; then
each that can be spared is given back. Of tables of few cells smaller sets are tried, too, those of fewest cells and people first.

All withheld cells carry the same sign, so a reader does not see which of them are small. The rules are asked as if he did: small ones are taken to be
known to be small, which an environment's threshold tells everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..kinds.base import OutputSpec
from .base import (
    MITIGATIONS,
    CellCount,
    MitigatedForm,
    Mitigation,
    RuleTrial,
    Series,
    bad_findings,
    has_key,
    plain_cells,
)

MENDED_BY_MORE = ("suppression undone", "differencing")
"""Rules that may ask for more cells to be withheld."""

Undone = Callable[[frozenset[int]], int]
"""How many small cells can be worked out when some others are withheld, too."""

FEW_CELLS = 16
"""Cells that may be withheld beside the small ones up to which every smaller set is tried."""

MOST_TRIED = 120
"""How many smaller sets are tried at most."""

TRIED_AT_ONCE = 6
"""How many cells are tried for each that is added."""


def smallest_cells(cells: CellCount, output: OutputSpec, trial: RuleTrial) -> NDArray[np.bool_]:
    """Return the cells that are to be withheld for their few people: under the threshold of the policy, and empty ones where these are disclosive."""
    rules = trial.policy.for_kind(output.kind)
    few = (cells.counts > 0) & (cells.counts < rules.threshold)
    return few | ((cells.counts == 0) & rules.zeros_are_disclosive) if cells.counted else few


def _series(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    cells = plain_cells(output, trial)
    if cells is None or not has_key(output, "withheld"):
        return
    small = smallest_cells(cells, output, trial)
    if not small.any() or small.all():
        return
    yield _forms(output, trial, cells, small)


def _forms(
    output: OutputSpec, trial: RuleTrial, cells: CellCount, small: NDArray[np.bool_]
) -> Series:
    added = secondary_cells(output, trial, cells, small) if cells.counted else []
    if added is None:
        return
    names = [name for k, name in enumerate(cells.names) if small[k] or k in set(added)]
    if len(names) == len(cells.names):
        return
    description = f"{len(names)} of {len(cells.names)} {type(output).unit_noun}s withheld"
    if added:
        description += f", {len(added)} of them so that the others cannot be worked out"
    # By name, all by the same sign.
    rules = ("threshold", "bands", "suppressed_zeros")
    yield MitigatedForm(trial.recipe_of(output).changed(drop=rules, withheld=names), description)


def _recipe_for_reader(output: OutputSpec, trial: RuleTrial, names: list[str]) -> OutputSpec:
    """The recipe as a reader has it who knows which of the withheld cells are small: these are bands, the others say nothing."""
    rules = trial.policy.for_kind(output.kind)
    return trial.recipe_of(output).changed(
        drop=("threshold",),
        withheld=names or None,
        bands=[f"<{rules.threshold}"],
        suppressed_zeros=rules.zeros_are_disclosive,
    )


def secondary_cells(
    output: OutputSpec, trial: RuleTrial, cells: CellCount, small: NDArray[np.bool_]
) -> list[int] | None:
    """Return the positions of further cells to withhold, so that no small one can be worked out; None where none were found that do."""
    may = [int(k) for k in np.argsort(cells.counts, kind="stable") if not small[k]]
    known: dict[frozenset[int], int] = {}

    def undone(chosen: frozenset[int]) -> int:
        """How many small cells can be worked out."""
        if chosen not in known:
            report = trial.judge(
                _recipe_for_reader(output, trial, [cells.names[k] for k in sorted(chosen)])
            )
            broken = [
                finding
                for finding in bad_findings(report, output.name)
                if finding.rule in MENDED_BY_MORE
            ]
            known[chosen] = sum(max(finding.cells, 1) for finding in broken)
        return known[chosen]

    lines, chosen = _lines(output, trial, cells), frozenset[int]()
    while undone(chosen) > 0:
        candidates = _next_cells(
            small, chosen, may, lines, cells, trial.policy.for_kind(output.kind).threshold
        )
        if not candidates or trial.exhausted:
            return None
        chosen |= {min(candidates, key=lambda k: (undone(chosen | {k}), cells.counts[k], k))}
    for k in sorted(
        chosen, key=lambda k: -cells.counts[k]
    ):  # those of most people are given back first
        if len(chosen) > 1 and not trial.exhausted and undone(chosen - {k}) == 0:
            chosen -= {k}
    if len(chosen) > 1 and len(may) <= FEW_CELLS:
        chosen = _fewer(chosen, may, undone, cells, trial)
    return sorted(chosen)


def _lines(
    output: OutputSpec, trial: RuleTrial, cells: CellCount
) -> list[tuple[list[int], int | None]]:
    """Lines of a table along each column: the positions of their cells, and of their total, where there is one; and all cells as one."""
    margins = bool(getattr(output, "margins", False))
    shape = (
        tuple(size + margins for size in output.crossing(trial.domain).shape)
        if has_key(output, "by")
        else (len(cells.names),)
    )
    index = np.arange(len(cells.names)).reshape(shape)
    lines: list[tuple[list[int], int | None]] = []
    for axis, size in enumerate(shape):
        for line in np.moveaxis(index, axis, -1).reshape(-1, size).tolist():
            lines.append((line[:-1], line[-1]) if margins else (line, None))
    inner = index[tuple(slice(None, -1) for _ in shape)] if margins else index
    return [*lines, (inner.ravel().tolist(), None)]


def _next_cells(
    small: NDArray[np.bool_],
    chosen: frozenset[int],
    may: list[int],
    lines: list[tuple[list[int], int | None]],
    cells: CellCount,
    threshold: int,
) -> list[int]:
    """Cells that may be withheld next: the smallest of lines in which withheld cells are alone or few people together, those of most such lines first."""
    votes: dict[int, int] = {}
    open_cells = [k for k in may if k not in chosen]
    free = set(open_cells)
    for line, total in lines:
        hidden = [k for k in line if small[k] or k in chosen]
        if not hidden or (total is not None and (small[total] or total in chosen)):
            continue
        if len(hidden) < 2 or sum(int(cells.counts[k]) for k in hidden) < threshold:
            for k in sorted((k for k in line if k in free), key=lambda k: cells.counts[k])[:2]:
                votes[k] = votes.get(k, 0) + 1
    ranked = sorted(votes, key=lambda k: (-votes[k], cells.counts[k]))
    return list(
        dict.fromkeys([*ranked[:TRIED_AT_ONCE], *open_cells[: 2 if ranked else TRIED_AT_ONCE]])
    )


def _fewer(
    chosen: frozenset[int], may: list[int], undone: Undone, cells: CellCount, trial: RuleTrial
) -> frozenset[int]:
    """The set of fewest cells, and of those of fewest people, that leaves nothing to be worked out, as far as sets are tried."""
    tried = 0
    for size in range(1, len(chosen) + 1):
        same = size == len(chosen)
        sets = sorted(
            combinations(may, size),
            key=lambda cell_set: (sum(int(cells.counts[k]) for k in cell_set), cell_set),
        )
        for cell_set in sets:
            if same and sum(int(cells.counts[k]) for k in cell_set) >= sum(
                int(cells.counts[k]) for k in chosen
            ):
                return chosen
            if tried >= MOST_TRIED or trial.exhausted:
                return chosen
            tried += 1
            if undone(frozenset(cell_set)) == 0:
                return frozenset(cell_set)
    return chosen


SUPPRESS = MITIGATIONS.register(
    Mitigation(
        "suppress",
        "withhold cells of few people, and others so that these cannot be worked out",
        _series,
        undoes=("suppress",),
    )
)
