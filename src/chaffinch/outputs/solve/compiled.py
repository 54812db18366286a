"""A problem laid out flat for the compiled kernels: look-ups end to end, and which outputs a change of a column touches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domain import Codes, Columns, Floats
from ..equations import CountTable, Lookup, Problem, SumSystem, Terms
from ..families import FAMILIES, PARTS

Ints = NDArray[np.int64]


class Program(NamedTuple):
    """The flat problem, two arrays and where each part starts in them; kernels take it whole, and two arrays are quick to pass.

    Tables and systems are numbered in the order of the problem's outputs. Parts of `ints`:

    - `tables_of_starts`, `tables_of`, `systems_of_starts`, `systems_of`: which outputs read a column, in compressed rows;
    - `table`, rows of 3: first and last of its `table_columns` (column, where its map from level to cell starts,
      number of levels, cells between one group and the next), first of its cells;
    - `cell_lo`, `cell_hi`: bounds of each cell;
    - `system`, rows of 16: see the names in `kernels/records.py`;
    - `lookup`, rows of 4: first and last of its `lookup_columns` (column, stride), where its numbers start in `floats` or its rows of
      terms in `ints`, and its width;
    - `row_equations`: the equations of terms, whose values are `row_values`.
    """

    ints: Ints
    floats: Floats
    n_tables: int
    n_cells: int
    n_systems: int
    n_sums: int
    n_multipliers: int
    tables_of_starts: int
    tables_of: int
    systems_of_starts: int
    systems_of: int
    table: int
    table_columns: int
    cell_lo: int
    cell_hi: int
    system: int
    lookup: int
    lookup_columns: int
    row_equations: int
    cell_weight: int
    parameter: int
    row_values: int


class RecordSums(NamedTuple):
    """Records with what kernels keep up to date beside them: counts, multipliers and sums; and the quadratics that sums are weighed by."""

    codes: Codes
    counts: Ints
    multipliers: Floats
    sums: Floats
    gradient: Floats
    weights: Floats


class Arms(NamedTuple):
    """The arms of a search, a kind of move in a column each, with what moves are drawn from; `tries` and `gains` are added to."""

    kinds: Ints
    columns: Ints
    sizes: Ints
    cdf: Floats
    cdf_first: Ints
    free: Ints
    movable: NDArray[np.bool_]
    order: Ints
    places: Ints
    bits: NDArray[np.uint64]
    tries: Floats
    gains: Floats


class WrongCells(NamedTuple):
    """(table, cell) pairs of cells that have too many records and then of those that have too few, and how many of each."""

    pairs: Ints
    n_over: int
    n_under: int


class Proposal(NamedTuple):
    """A move: codes of one or two records (before 0, 1; after 2, 3), which records these are, and the columns that change."""

    rows: Ints
    records: Ints
    columns: Ints


class Heap:
    """Arrays laid end to end as they come."""

    def __init__(self, dtype: type) -> None:
        self._parts: list[NDArray[Any]] = []
        self._dtype = dtype
        self.size = 0

    def add(self, part: ArrayLike) -> int:
        """Lay an array down; return where it starts."""
        self._parts.append(np.asarray(part, dtype=self._dtype).ravel())
        self.size += self._parts[-1].size
        return self.size - self._parts[-1].size

    def whole(self) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, dtype=self._dtype), *self._parts])


class _Layout:
    """Look-ups as they are laid down, one after the other."""

    def __init__(self) -> None:
        self.ints, self.floats = Heap(np.int64), Heap(np.float64)
        self.equations, self.row_values = Heap(np.int64), Heap(np.float64)
        self.lookup: list[tuple[int, int, int, int]] = []
        self.columns: list[tuple[int, int]] = []

    def _add(self, look: Lookup | Terms, start: int, width: int) -> int:
        first = len(self.columns)
        strides = [
            int(np.prod(look.sizes[k + 1 :], dtype=np.int64)) for k in range(len(look.sizes))
        ]
        self.columns += zip(look.columns, strides, strict=True)
        self.lookup.append((first, len(self.columns), start, width))
        return len(self.lookup) - 1

    def add_values(self, looks: Iterable[Lookup]) -> tuple[int, int]:
        """Lay down look-ups of numbers; return the first of them, and the first after them."""
        first = len(self.lookup)
        for look in looks:
            self._add(look, self.floats.add(look.values), look.values.shape[1])
        return first, len(self.lookup)

    def add_terms(self, every: Iterable[Terms]) -> tuple[int, int]:
        """Lay down terms; return the first of them, and the first after them."""
        first = len(self.lookup)
        for terms in every:
            self._add(terms, self.ints.add(terms.starts + self.equations.size), 0)
            self.equations.add(terms.equations)
            self.row_values.add(terms.values)
        return first, len(self.lookup)


def compile_problem(problem: Problem) -> Program:
    """Return the problem laid out flat."""
    tables = [output for output in problem.outputs if isinstance(output, CountTable)]
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    layout = _Layout()
    rows, first_sum, first_weight, first_multiplier = [], 0, 0, 0
    for s in systems:
        model, width = s.model, s.model.width if s.model else 1
        row = [FAMILIES[model.family].code, PARTS.index(model.part)] if model else [0, 0]
        row += [width, s.size // width, first_sum, first_weight, int(s.diagonal)]
        row += [
            *layout.add_terms(s.terms),
            *layout.add_values(s.keep),
            *layout.add_values(model.eta if model else ()),
        ]
        row += [
            layout.add_values([model.label])[0] if model else -1,
            first_multiplier,
            model.n_predictors if model else 1,
        ]
        rows.append(row)
        first_sum += s.size
        first_weight += s.size if s.diagonal else s.size**2
        first_multiplier += width
    ints, floats = layout.ints, layout.floats
    table, table_columns = _table_rows(tables, ints)
    tables_of = _readers(problem.columns, [t.columns for t in tables])
    systems_of = _readers(problem.columns, [s.columns for s in systems])
    starts = {
        "tables_of_starts": ints.add(tables_of[0]),
        "tables_of": ints.add(tables_of[1]),
        "systems_of_starts": ints.add(systems_of[0]),
        "systems_of": ints.add(systems_of[1]),
        "table": ints.add(table),
        "table_columns": ints.add(table_columns),
        "cell_lo": ints.add([low for t in tables for low in t.lo]),
        "cell_hi": ints.add([high for t in tables for high in t.hi]),
        "system": ints.add(rows),
        "lookup": ints.add(layout.lookup),
        "lookup_columns": ints.add(layout.columns),
        "row_equations": ints.add(layout.equations.whole()),
        "cell_weight": floats.add([weight for t in tables for weight in t.weights]),
        "parameter": floats.add([s.model.parameter if s.model else 1.0 for s in systems]),
        "row_values": floats.add(layout.row_values.whole()),
    }
    n_cells = sum(len(t.lo) for t in tables)
    return Program(
        ints.whole(),
        floats.whole(),
        len(tables),
        n_cells,
        len(systems),
        first_sum,
        first_multiplier,
        **starts,
    )


def _readers(columns: Columns, reads: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """For each column the numbers of the outputs that read it, in compressed rows."""
    of = [[k for k, read in enumerate(reads) if c in read] for c in range(len(columns))]
    starts = [sum(len(some) for some in of[:c]) for c in range(len(of) + 1)]
    return starts, [k for some in of for k in some]


def _table_rows(
    tables: list[CountTable], ints: Heap
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int, int]]]:
    """Lay down the maps from levels to cells; return the rows of tables and of their columns."""
    rows: list[tuple[int, int, int]] = []
    columns: list[tuple[int, int, int, int]] = []
    n_cells = 0
    for t in tables:
        first = len(columns)
        for k, (column, group) in enumerate(t.groups):
            stride = int(np.prod(t.shape[k + 1 :], dtype=np.int64))
            columns.append(
                (column, ints.add(np.where(group < 0, -1, group * stride)), len(group), stride)
            )
        rows.append((first, len(columns), n_cells))
        n_cells += len(t.lo)
    return rows, columns
