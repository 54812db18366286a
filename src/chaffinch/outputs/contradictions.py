"""Outputs that cannot hold together, by name: no search can end well on them, so it is better said before.

Two checks. First an n that is not the number of rows, and what a kind knows of itself that no linear programme can say
(`OutputSpec.contradiction`): a correlation or rate outside its range, a spread that is too small. Then a linear programme: everything that is
linear in the numbers of records of each kind (tables, sums, means, spreads from below, quantiles, numbers at risk) is put together for one output
and for each pair of outputs that read a column in common, over the cells that they tell apart; if even fractions of records cannot satisfy it,
records cannot. What is found is certain; what is not found may still be a contradiction, of three outputs or of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.errors import InputError, join_names
from .document import Compiled, Outputs
from .domain import OutputDomain
from .equations import CountTable, Output, SumSystem
from .numbers import people

MOST_CELLS = 60_000
"""Cells above which a linear programme is not tried."""
MOST_ENTRIES = 2_000_000
"""Entries above which a linear programme is not tried."""
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


def contradictions(
    spec: Outputs, rows: int | None = None, *, pairs: int = MOST_PAIRS
) -> list[Contradiction]:
    """Return outputs that cannot hold together in a dataset of `rows` records; none does not prove that all can.

    The first so many `pairs` of outputs are tried, in the file's order.

    Examples
    --------
    >>> columns = [{"name": "sex", "levels": ["f", "m"]}]
    >>> outputs = [{"name": "a", "kind": "table", "by": ["sex"], "counts": [1, 2]},
    ...            {"name": "b", "kind": "table", "by": ["sex"], "counts": [2, 1]}]
    >>> spec = Outputs.from_dict({"format": "chaffinch-outputs", "version": 1, "rows": 3, "columns": columns, "outputs": outputs})
    >>> print(*contradictions(spec))
    Outputs 'a' and 'b' cannot both hold: no dataset has both; what they have in common is sex.
    """
    n = spec.n_rows(rows)
    domain = spec.fields.with_rows(n)
    compiled = spec.compiled(n)
    clashes = [
        Contradiction((each.output.name,), reason)
        for each in compiled
        if (reason := _contradiction_alone(each, domain))
    ]
    wrong = {name for each in clashes for name in each.outputs}
    rest = [
        compiled_output for compiled_output in compiled if compiled_output.output.name not in wrong
    ]
    for compiled_output in rest:
        if not _feasible(compiled_output.equations, spec.fields, n):
            clashes.append(
                Contradiction(
                    (compiled_output.output.name,),
                    f"no dataset of {people(n, domain.threshold)} rows has all its numbers",
                )
            )
            wrong.add(compiled_output.output.name)
    rest = [
        compiled_output
        for compiled_output in rest
        if compiled_output.output.name not in wrong
        and any(_linear(equation) for equation in compiled_output.equations)
    ]
    n_pairs = 0
    for first, second in combinations(rest, 2):
        common = _columns(first) & _columns(second)
        if not common:
            continue
        n_pairs += 1
        if n_pairs > pairs:
            break
        if not _feasible((*first.equations, *second.equations), spec.fields, n):
            names = join_names([spec.fields.names[c] for c in sorted(common)], max_names=4)
            both = (first.output.name, second.output.name)
            clashes.append(
                Contradiction(both, f"no dataset has both; what they have in common is {names}")
            )
    return clashes


def check_contradictions(spec: Outputs, rows: int | None = None) -> None:
    """Raise InputError with the contradictions of a specification, if it has any."""
    if clashes := contradictions(spec, rows):
        more = f" {len(clashes) - 3} more." if len(clashes) > 3 else ""
        raise InputError(" ".join(str(each) for each in clashes[:3]) + more)


def _columns(compiled_output: Compiled) -> set[int]:
    return {
        column
        for equation in compiled_output.equations
        if _linear(equation)
        for column in equation.columns
    }


# Rules for one output.


def _contradiction_alone(compiled_output: Compiled, domain: OutputDomain) -> str | None:
    """Why an output cannot hold by itself, as far as no linear programme is needed."""
    output, rows = compiled_output.output, domain.n_rows
    few = partial(people, threshold=domain.threshold)
    n = output.n if isinstance(output.n, int) else None
    if n is not None and n > rows:
        return f"its n is {few(n)}, more than the {few(rows)} rows"
    if n is not None and not output.filter(domain).masks and n != rows:
        return f"it has no filter, so its n must be the number of rows: {few(n)} is not {few(rows)}"
    return output.contradiction(domain)


# The linear programme.


def _linear(equation: Output) -> bool:
    """Whether an equation set is linear in the numbers of records of each kind."""
    if isinstance(equation, CountTable):
        return True
    if equation.model is not None:
        return False
    return (
        equation.reported == "sums" or _reading(equation, np.zeros((equation.size, 1))) is not None
    )


def _feasible(parts: Sequence[Output], columns: OutputDomain, rows: int) -> bool:
    """Whether fractions of `rows` records can satisfy the linear ones among some equation sets; True where that is too large to try."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    parts = [equation for equation in parts if _linear(equation)]
    used = sorted({column for equation in parts for column in equation.columns})
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
    for equation in parts:
        row, cell, value, low, high = _rows(equation, codes)
        row_of.append(row + height)
        cell_of.append(cell)
        entry.append(value)
        lo.append(low)
        hi.append(high)
        height += len(low)
    if sum(len(entries) for entries in entry) > MOST_ENTRIES:
        return True
    a = coo_array(
        (np.concatenate(entry), (np.concatenate(row_of), np.concatenate(cell_of))),
        shape=(height, codes.shape[0]),
    ).tocsr()
    low, high = np.concatenate(lo), np.concatenate(hi)
    # A hair of room, twice the solver's own for small numbers: intervals come from floating numbers, and presolving cuts ends as near as that.
    room = 1e-7 * (1.0 + np.maximum(1.0, np.where(np.isfinite(low), np.abs(low), np.abs(high))))
    low, high = low - room, high + room
    above, below = np.isfinite(low), np.isfinite(high)
    result = linprog(
        np.zeros(len(codes)),
        A_ub=vstack([-a[above], a[below]]),
        b_ub=np.concatenate([-low[above], high[below]]),
        A_eq=np.ones((1, len(codes))),
        b_eq=[rows],
        method="highs-ds",
        options={"maxiter": MOST_ITERATIONS},
    )
    return result.status != 2  # 2: infeasible; 1: given up


def _atoms(column: int, parts: Sequence[Output], size: int) -> NDArray[np.intp]:
    """One level for each set of levels of a column that no equation set tells apart."""
    signs: list[NDArray[Any]] = []
    for equation in parts:
        if isinstance(equation, CountTable):
            signs += [group for position, group in equation.groups if position == column]
        elif column in equation.columns:
            return np.arange(size)
    _, first = np.unique(np.stack(signs, axis=1), axis=0, return_index=True)
    return first


_Rows = tuple[NDArray[np.intp], NDArray[np.intp], Floats, Floats, Floats]


def _rows(equation: Output, codes: NDArray[np.int32]) -> _Rows:
    """Linear conditions: row, kind of record and coefficient of each entry, and the bounds of each row."""
    if isinstance(equation, CountTable):
        cell = equation.cells(codes)
        kinds = np.flatnonzero(cell >= 0)
        return (
            cell[kinds],
            kinds,
            np.ones(len(kinds)),
            equation.lo.astype(float),
            equation.hi.astype(float),
        )
    each = equation.contributions(codes).T
    return _entries(*(_reading(equation, each) or (each, equation.lo, equation.hi)))


def _reading(equation: SumSystem, each: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Linear conditions that numbers read off sums amount to, where the reading knows some."""
    linear = getattr(equation.reported, "linear", None)
    return None if linear is None else linear(each, equation.lo, equation.hi)


def _entries(matrix: Floats, lo: Floats, hi: Floats) -> _Rows:
    rows, kinds = np.nonzero(matrix)
    return rows, kinds, matrix[rows, kinds], lo, hi
