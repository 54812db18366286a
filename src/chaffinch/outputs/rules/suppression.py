"""Withheld cells that follow from what is shown: totals, margins and other outputs, by linear bounds.

The counts of a table's withheld cells are unknowns, each between what its sign says ("<10": 1 to 9). Every total or margin that is a sum
of the table's cells by definition, in the same output or in another, is an equation; so is every cell of a finer output
that adds up to one of the table's. What is left to an unknown is its interval: by propagation, which is exact for an equation with one
unknown, and by linear programming for the rest (the audit of sdcTable and tau-Argus).
Bounds are those of real numbers, rounded inwards: for tables of three and more columns a sharper attacker may know more.
Linear programmes are run up to a limit of work; cells whose bounds are not worked out by then are not assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .findings import Finding, cells_in_words, some
from .policy import Policy
from .tallies import COUNT, Ints, Mask, OutputTally, aligned

__all__ = ["bounds", "suppression"]

MOST_WORK = 200_000
"""Linear programmes times their unknowns that one table may cost; cells that are open after that are not assessed."""
FEWEST_PROGRAMMES = 12
"""Linear programmes that are run whatever they cost."""
IN_VAIN = 2
"""Linear programmes in random directions that show no further cell to be safe before each cell is looked at by itself."""
MOST_ROUNDS = 1_000
"""Rounds of propagation; one is enough but where one sum gives away what the next one needs."""
RULE = "suppression undone"
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class _Sums:
    """Rows: a set of unknowns whose sum lies between two ends."""

    of: list[Ints]
    lo: list[float]
    hi: list[float]


class Bounds(NamedTuple):
    """The least and the largest count of each cell; `assessed`: these are its bounds, or far enough apart, and not only what was reached."""

    lo: Ints
    hi: Ints
    assessed: Mask


def bounds(
    table: OutputTally, others: Iterable[OutputTally], *, of: Mask | None = None, enough: float = np.inf
) -> Bounds:
    """Return the least and the largest count that each cell of a table can have, given what others show.

    They are worked out for the cells of `of` (all that are withheld, if absent); others may come back with wider bounds than they have. A
    cell whose count may lie as far from the true one as `enough` is safe, which saves working out its bounds.

    Examples
    --------
    One of two cells is withheld, and the total shown:

    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.fields import Field, Fields
    >>> from chaffinch.outputs.rules.tallying import tallies_of
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> codes = np.array([[0]] * 12 + [[1]] * 3, dtype=np.int32)
    >>> entry = {"name": "t", "kind": "table", "by": ["sex"], "threshold": 10, "margins": True}
    >>> cells, *totals = tallies_of(recipes_of([entry], fields).outputs[0], fields, codes)
    >>> [end.tolist() for end in bounds(cells, [])[:2]], [end.tolist() for end in bounds(cells, totals)[:2]]
    ([[12, 1], [12, 9]], [[12, 3], [12, 3]])
    """
    of = table.withheld if of is None else of
    lo, hi = table.lo.astype(float), table.hi.astype(float)
    sums = _Sums([], [], [])
    for other in others:
        _add(table, other, lo, hi, sums)
    settled = _propagated(lo, hi, sums)
    assessed = _programmed(table, lo, hi, sums, of, enough, settled)
    return Bounds(np.ceil(lo - _SLACK).astype(np.int64), np.floor(hi + _SLACK).astype(np.int64), assessed)


def _add(table: OutputTally, other: OutputTally, lo: NDArray[np.float64], hi: NDArray[np.float64], sums: _Sums) -> None:
    if COUNT not in other.quantities or other is table:
        return
    if (coarser := aligned(table, other)) is not None:
        of, whole = coarser
        order = np.argsort(of, kind="stable")
        starts = np.searchsorted(of[order], np.arange(other.size + 1))
        for cell in np.flatnonzero(whole):
            sums.of.append(order[starts[cell] : starts[cell + 1]])
            sums.lo.append(float(other.lo[cell]))
            sums.hi.append(float(other.hi[cell]))
    if (finer := aligned(other, table)) is not None:
        of, whole = finer
        inside = of >= 0
        least = np.bincount(of[inside], weights=other.lo[inside], minlength=table.size)
        most = np.bincount(of[inside], weights=other.hi[inside], minlength=table.size)
        lo[whole], hi[whole] = np.maximum(lo, least)[whole], np.minimum(hi, most)[whole]


def _propagated(lo: NDArray[np.float64], hi: NDArray[np.float64], sums: _Sums) -> bool:
    """Narrow bounds by each sum in turn; return whether nothing more is to be had so."""
    open_rows = [row for row, of in enumerate(sums.of) if (hi[of] > lo[of]).any()]
    for _ in range(MOST_ROUNDS):
        before = (hi - lo).sum()
        for row in open_rows:
            of = sums.of[row]
            least, most = lo[of].sum(), hi[of].sum()
            lo[of] = np.maximum(lo[of], sums.lo[row] - (most - hi[of]))
            hi[of] = np.minimum(hi[of], sums.hi[row] - (least - lo[of]))
        if (hi - lo).sum() >= before - _SLACK:
            return True
    return False


def _programmed(
    table: OutputTally,
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    sums: _Sums,
    of_cells: Mask,
    enough: float,
    settled: bool,
) -> Mask:
    """Narrow bounds, in place, by linear programming where propagation leaves cells open; return which cells are assessed.

    `settled`: whether propagation came to its end.
    """
    assessed = np.ones(len(lo), dtype=bool)
    unknown = np.flatnonzero(hi - lo > 0.5)
    open_cells = [int(cell) for cell in unknown if of_cells[cell]]
    number = np.full(len(lo), -1)
    number[unknown] = np.arange(len(unknown))
    rows, ends = [], []
    for of, least, most in zip(sums.of, sums.lo, sums.hi, strict=True):
        free = number[of][number[of] >= 0]
        if len(free):
            fixed = lo[of][number[of] < 0].sum()
            rows.append(free)
            ends.append((least - fixed, most - fixed))
    if not open_cells or not rows or (settled and sum(len(free) > 1 for free in rows) < 2):
        return assessed  # one equation alone leaves what propagation left
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    matrix = csr_array(
        (np.ones(sum(map(len, rows))), (np.repeat(np.arange(len(rows)), [len(r) for r in rows]), np.concatenate(rows))),
        shape=(len(rows), len(unknown)),
    )
    low, high = np.array(ends).T
    exact = low == high
    programme: dict[str, object] = {"bounds": np.stack([lo[unknown], hi[unknown]], axis=1), "method": "highs"}
    if exact.any():
        programme |= {"A_eq": matrix[exact], "b_eq": low[exact]}
    if (~exact).any():
        from scipy.sparse import vstack

        programme |= {
            "A_ub": vstack([matrix[~exact], -matrix[~exact]]),
            "b_ub": np.concatenate([high[~exact], -low[~exact]]),
        }
    safe = np.zeros(len(unknown), dtype=bool)
    wanted = of_cells[unknown]
    left = max(MOST_WORK // len(unknown), FEWEST_PROGRAMMES)

    def solved(cost: NDArray[np.float64]) -> float | None:
        nonlocal safe, left
        result, left = linprog(cost, **programme), left - 1
        if result.status != 0:
            return None
        # Every solution is a table that fits, as the true one is: what differs between them is not given away.
        safe |= np.abs(result.x - table.counts[unknown]) >= enough - _SLACK
        return float(result.fun)

    # Most cells are seen to be safe by a few programmes that push all those still open at once, up or down at random.
    rng, vain = np.random.default_rng(1), 0 if np.isfinite(enough) else IN_VAIN
    while vain < IN_VAIN and left > 0 and (wanted & ~safe).any():
        before = int((wanted & safe).sum())
        solved(np.where(wanted & ~safe, rng.choice([-1.0, 1.0], len(unknown)), 0.0))
        vain = 0 if int((wanted & safe).sum()) > before else vain + 1
    for cell in open_cells:
        cost = np.zeros(len(unknown))
        cost[number[cell]] = 1.0
        known_ends = 0
        if left > 0 and not safe[number[cell]] and (end := solved(cost)) is not None:
            lo[cell], known_ends = max(lo[cell], end), 1
        if left > 0 and not safe[number[cell]] and (end := solved(-cost)) is not None:
            hi[cell], known_ends = min(hi[cell], -end), known_ends + 1
        assessed[cell] = bool(safe[number[cell]]) or known_ends == 2
    return assessed


def suppression(
    table: OutputTally,
    own: Sequence[OutputTally],
    others: Sequence[OutputTally],
    policy: Policy,
    *,
    judged: bool = True,
) -> list[Finding]:
    """Return whether cells that are withheld for their few people can be worked out after all.

    `own` is what else the same output shows, `others` what others do. A withheld cell must be left an interval at least `policy.protection`
    wide. Cells with the threshold's people or more, withheld to protect others, need none; nor do zeros unless they are disclosive. Of
    outputs that are out already what `own` alone gives away is not judged.
    """
    secret = table.withheld & (table.counts < policy.threshold) & ((table.counts > 0) | policy.zeros_are_disclosive)
    if not table.withheld.any():
        return []
    of = int(table.withheld.sum())
    alone, unseen = _undone(table, own, secret, policy)
    findings = [_finding(table, alone, of, None)] if judged else []
    rest = np.zeros_like(alone)
    if others:
        # What all together leave open is left open by the output alone, too.
        rest, unseen = _undone(table, [*own, *others], secret & ~alone, policy)
    undone = (alone if judged else np.zeros_like(alone)) | rest
    for name in dict.fromkeys(other.output for other in others):
        if not rest.any():
            break
        some_others = [other for other in others if other.output == name]
        given_away, _ = _undone(table, [*own, *some_others], rest, policy)
        if given_away.any():
            findings.append(_finding(table, given_away, of, name))
            rest &= ~given_away
    if rest.any():
        bad = f"{some(int(rest.sum()), of, 'withheld cell').capitalize()}: several other outputs together give the count away."
        findings.append(table.finding(RULE, table.named(rest), of=of, good="", bad=bad))
    if unseen.any() and (judged or others):
        findings.append(_unfinished(table, unseen, undone, secret, policy.threshold))
    return [one for one in findings if one.status != "pass" or len(findings) == 1]


def _undone(table: OutputTally, shown: Sequence[OutputTally], secret: Mask, policy: Policy) -> tuple[Mask, Mask]:
    """Which secret cells can be worked out, and which were not looked at before the limit of work."""
    if not secret.any():
        return secret, secret
    limits = bounds(table, shown, of=secret, enough=policy.protection)
    # What the sign itself says ("<3": 1 or 2) is the environment's choice; only what is lost beyond it counts.
    undone = secret & (limits.hi - limits.lo < np.minimum(policy.protection, table.hi - table.lo))
    return undone, secret & ~undone & ~limits.assessed


def _unfinished(table: OutputTally, unseen: Mask, undone: Mask, secret: Mask, threshold: int) -> Finding:
    """Of which cells nothing is said, and what is said of the others."""
    size = int(secret.sum())
    looked, every = (cells_in_words(int(cells.sum()), threshold) for cells in (secret & ~unseen, secret))
    others = "some of those do, which is a finding of its own" if undone.any() else "none of those does"
    bad = (
        f"Whether the count of a withheld cell follows from what is shown was looked at for {looked} of "
        f"{every} such cells, up to the limit of work: {others}, and of the rest nothing is known."
    )
    return table.finding(RULE, table.named(unseen), of=size, good="", bad=bad, status="not assessed")


def _finding(table: OutputTally, undone: Mask, of: int, other: str | None) -> Finding:
    source = "its own totals" if other is None else "another output"
    good = "No withheld cell follows from what is shown."
    bad = f"{some(int(undone.sum()), of, 'withheld cell').capitalize()}: {source} and the cells that are shown give the count away."
    return table.finding(RULE, table.named(undone), of=of, good=good, bad=bad, other=other)
