"""Outputs that cannot hold together, by name: no search can end well on them, so it is better said before.

Two checks. Rules that a reader would apply come first, since they say what is wrong: an n above the number of rows, a table that does not
add up, a mean, a sum or a spread beyond what the column's values allow (`bounds.py`), quantiles out of order, survival that rises. Then a linear programme: everything that is linear in
the numbers of records of each kind (tables, sums, means, quantiles, numbers at risk) is put together for one output and for each pair of
outputs that read a column in common, over the cells that they tell apart; if even fractions of records cannot satisfy it, records
cannot. What is found is certain; what is not found may still be a contradiction, of three outputs or of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, listed
from .bounds import correlation_reason, moment_reason, pair_reason
from .columns import Columns, Floats
from .equations import CountTable, Output, SumSystem
from .kinds.base import Frame
from .kinds.quantiles import QuantileSpec
from .kinds.summaries import CorrelationSpec, Moments, MomentSpec
from .kinds.survival import KaplanMeierSpec
from .kinds.tables import TableSpec
from .precision import people
from .spec import Compiled, Spec

__all__ = ["Contradiction", "check_contradictions", "contradictions"]

MOST_CELLS = 60_000
"""Linear programmes with more cells are not tried,"""
MOST_ENTRIES = 2_000_000
"""nor with more entries."""
MOST_PAIRS = 400
MOST_ITERATIONS = 10_000
"""Steps of the simplex method after which a programme is given up. A number of steps, not of seconds: the same on every machine."""


@dataclass(frozen=True)
class Contradiction:
    """Outputs that cannot hold, one by itself or two together, and why."""

    outputs: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        names = " and ".join(f"'{name}'" for name in self.outputs)
        return f"{'Outputs' if len(self.outputs) > 1 else 'Output'} {names} cannot {'both ' if len(self.outputs) > 1 else ''}hold: {self.reason}."


def contradictions(spec: Spec, rows: int | None = None, *, pairs: int = MOST_PAIRS) -> list[Contradiction]:
    """Return outputs that cannot hold together in a dataset of `rows` records; none does not prove that all can.

    Parameters
    ----------
    spec
        Columns and outputs.
    rows
        The number of records, the file's if absent.
    pairs
        How many pairs of outputs are tried, in the file's order.

    Examples
    --------
    >>> columns = [{"name": "sex", "levels": ["f", "m"]}]
    >>> outputs = [{"name": "a", "kind": "table", "by": ["sex"], "counts": [1, 2]},
    ...            {"name": "b", "kind": "table", "by": ["sex"], "counts": [2, 1]}]
    >>> spec = Spec.from_dict({"format": "chaffinch-outputs", "version": 1, "rows": 3, "columns": columns, "outputs": outputs})
    >>> print(*contradictions(spec))
    Outputs 'a' and 'b' cannot both hold: no dataset has both; what they have in common is sex.
    """
    n = spec.n_rows(rows)
    frame = Frame(spec.fields, n)
    compiled = spec.compiled(n)
    found = [each for one in compiled for each in _alone(one, frame)]
    wrong = {name for each in found for name in each.outputs}
    rest = [one for one in compiled if one.output.name not in wrong]
    for first, second in combinations(rest, 2):
        if not wrong & {first.output.name, second.output.name} and (
            reason := pair_reason(first.output, second.output, frame)
        ):
            found.append(Contradiction((first.output.name, second.output.name), reason))
            wrong |= {first.output.name, second.output.name}
    rest = [one for one in rest if one.output.name not in wrong]
    for one in rest:
        if not _feasible(one.equations, spec.columns, n):
            found.append(Contradiction((one.output.name,), f"no {people(n)} records have all its numbers"))
            wrong.add(one.output.name)
    rest = [one for one in rest if one.output.name not in wrong and any(_linear(part) for part in one.equations)]
    tried = 0
    for first, second in combinations(rest, 2):
        common = _columns(first) & _columns(second)
        if not common:
            continue
        tried += 1
        if tried > pairs:
            break
        if not _feasible((*first.equations, *second.equations), spec.columns, n):
            names = listed([spec.columns.names[c] for c in sorted(common)], most=4)
            both = (first.output.name, second.output.name)
            found.append(Contradiction(both, f"no dataset has both; what they have in common is {names}"))
    return found


def check_contradictions(spec: Spec, rows: int | None = None) -> None:
    """Raise InputError with the contradictions of a specification, if it has any."""
    if found := contradictions(spec, rows):
        more = f" {len(found) - 3} more." if len(found) > 3 else ""
        raise InputError(" ".join(str(each) for each in found[:3]) + more)


def _columns(one: Compiled) -> set[int]:
    return {column for part in one.equations if _linear(part) for column in part.columns}


# Rules for one output.


def _alone(one: Compiled, frame: Frame) -> Iterator[Contradiction]:
    output, rows = one.output, frame.rows
    name = (output.name,)
    kept = output.filter(frame)
    n = output.n if isinstance(output.n, int) else None
    if n is not None and n > rows:
        yield Contradiction(name, f"its n is {people(n)}, more than the {people(rows)} rows")
        return
    if n is not None and not kept.masks and n != rows:
        yield Contradiction(
            name, f"it has no filter, so its n must be the number of rows: {people(n)} is not {people(rows)}"
        )
        return
    if isinstance(output, TableSpec):
        yield from _table(one, frame)
    elif isinstance(output, MomentSpec):
        if reason := moment_reason(output, frame):
            yield Contradiction(name, reason)
    elif isinstance(output, CorrelationSpec):
        if reason := correlation_reason(output, frame):
            yield Contradiction(name, reason)
    elif isinstance(output, QuantileSpec):
        order = np.argsort(output.points)
        for row in output.intervals(output.crossing(frame)):
            known = [interval for interval in (row[k] for k in order) if interval is not None]
            if any(later.hi < earlier.lo for earlier, later in pairwise(known)):
                yield Contradiction(name, "its quantiles are out of order: a higher one has a smaller value")
                return
    elif isinstance(output, KaplanMeierSpec):
        for curve in output.lists("survival", frame) or []:
            shown = [output.printed(s, "survival") for s in curve if s not in (None, "", "x", "*", "?")]
            if any(later.lo > earlier.hi for earlier, later in pairwise(shown)):
                yield Contradiction(name, "its survival rises with time")
                return


def _table(one: Compiled, frame: Frame) -> Iterator[Contradiction]:
    output = one.output
    assert isinstance(output, TableSpec)
    table = one.equations[0]
    if output.percentages is not None or not isinstance(table, CountTable | SumSystem):
        return
    least, most = int(table.lo.sum()), int(table.hi.sum())
    total = output.known_n(frame)
    whole = not any((group < 0).any() for _, group in output.crossing(frame).steps)
    known = f"its n is {people(output.n)}" if output.n is not None else f"there are {people(frame.rows)} rows"
    bound = frame.rows if total is None else total
    if least > bound:
        says = "its counts add up to" if least == most else "its counts add up to at least"
        yield Contradiction(
            (output.name,),
            f"{says} {people(least)}, and {known if total is not None else f'there are {people(frame.rows)} rows'}",
        )
    elif whole and total is not None and most < total:
        says = "its counts add up to" if least == most else "its counts add up to at most"
        yield Contradiction((output.name,), f"{says} {people(most)}, and {known}")


# The linear programme.


def _linear(part: Output) -> bool:
    """Whether an equation set is linear in the numbers of records of each kind."""
    if isinstance(part, CountTable):
        return True
    if part.model is not None:
        return False
    return part.reported == "sums" or (isinstance(part.reported, Moments) and part.reported.kind in ("mean", "sum"))


def _feasible(parts: Sequence[Output], columns: Columns, rows: int) -> bool:
    """Whether fractions of `rows` records can satisfy the linear ones among some equation sets; True where that is too large to try."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    parts = [part for part in parts if _linear(part)]
    used = sorted({column for part in parts for column in part.columns})
    if not used:
        return True
    atoms = [_atoms(column, parts, columns.sizes[column]) for column in used]
    sizes = tuple(len(first) for first in atoms)
    if np.prod(sizes, dtype=float) > MOST_CELLS:
        return True
    grid = np.indices(sizes).reshape(len(sizes), -1)
    # A record of each kind, columns that nobody reads at 0.
    codes = np.zeros((grid.shape[1], len(columns)), dtype=np.int32)
    for k, (column, first) in enumerate(zip(used, atoms, strict=True)):
        codes[:, column] = first[grid[k]]
    row_of, cell_of, entry, lo, hi = [], [], [], list[Floats](), list[Floats]()
    height = 0
    for part in parts:
        at, cell, value, low, high = _rows(part, codes)
        row_of.append(at + height)
        cell_of.append(cell)
        entry.append(value)
        lo.append(low)
        hi.append(high)
        height += len(low)
    if sum(len(some) for some in entry) > MOST_ENTRIES:
        return True
    a = coo_array(
        (np.concatenate(entry), (np.concatenate(row_of), np.concatenate(cell_of))), shape=(height, codes.shape[0])
    ).tocsr()
    low, high = np.concatenate(lo), np.concatenate(hi)
    # A hair of room: intervals come from floating numbers.
    room = 1e-7 * np.maximum(1.0, np.where(np.isfinite(low), np.abs(low), np.abs(high)))
    low, high = low - room, high + room
    above, below = np.isfinite(low), np.isfinite(high)
    result = linprog(
        np.zeros(len(codes)), A_ub=vstack([-a[above], a[below]]), b_ub=np.concatenate([-low[above], high[below]]),
        A_eq=np.ones((1, len(codes))), b_eq=[rows], method="highs-ds", options={"maxiter": MOST_ITERATIONS},
    )  # fmt: skip
    return result.status != 2  # 2: infeasible; 1: given up


def _atoms(column: int, parts: Sequence[Output], size: int) -> NDArray[np.intp]:
    """One level for each set of levels of a column that no equation set tells apart."""
    signs: list[NDArray[Any]] = []
    for part in parts:
        if isinstance(part, CountTable):
            signs += [group for position, group in part.groups if position == column]
        elif column in part.columns:
            return np.arange(size)
    _, first = np.unique(np.stack(signs, axis=1), axis=0, return_index=True)
    return first


_Rows = tuple[NDArray[np.intp], NDArray[np.intp], Floats, Floats, Floats]


def _rows(part: Output, codes: NDArray[np.int32]) -> _Rows:
    """Linear conditions: row, kind of record and coefficient of each entry, and the bounds of each row."""
    if isinstance(part, CountTable):
        cell, inside = np.zeros(len(codes), dtype=np.int64), np.ones(len(codes), dtype=bool)
        for (column, group), size in zip(part.groups, part.shape, strict=True):
            of = group[codes[:, column]]
            inside &= of >= 0
            cell = cell * size + of
        kinds = np.flatnonzero(inside)
        return cell[kinds], kinds, np.ones(len(kinds)), part.lo.astype(float), part.hi.astype(float)
    each = part.contributions(codes).T
    if not isinstance(part.reported, Moments):
        return _entries(each, part.lo, part.hi)
    reading = part.reported
    counts = np.stack([each[2 * group] for group in reading.groups])
    sums = np.stack([each[2 * group + 1] for group in reading.groups])
    if reading.kind == "sum":
        return _entries(sums + reading.shift * counts, part.lo, part.hi)
    # lo <= shift + sum / count <= hi, times the count.
    low, high = (part.lo - reading.shift)[:, None], (part.hi - reading.shift)[:, None]
    zero, infinite = np.zeros(len(counts)), np.full(len(counts), np.inf)
    both = np.vstack([sums - low * counts, sums - high * counts])
    return _entries(both, np.concatenate([zero, -infinite]), np.concatenate([infinite, zero]))


def _entries(matrix: Floats, lo: Floats, hi: Floats) -> _Rows:
    rows, kinds = np.nonzero(matrix)
    return rows, kinds, matrix[rows, kinds], lo, hi
