"""Numbers of drawn rows that keep the relations of the schema: drawn again inside their bins, one of them computed from the others.

Codes come first (`constraining`): combinations that leave a relation possible. Inside them numbers are drawn from their bins, and of an
equality the number with the widest bin is computed from the others; a row stands when every computed number falls into the bin
that was drawn for it, and every order holds: that is drawing from the bins given that the relations hold. What does not come to stand in some tries takes a
computed number in another bin of the column; then the row is drawn again; and at last another drawn row lends its values.
Only drawn values are looked at, so under a promise of privacy nothing is charged, and no number of a record can come out that could not before:
computed numbers have the column's digits and stay between the ends of what is drawn from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..table.codec import Categories, Intervals
from ..table.codes import Codes
from ..table.encode import decode_column
from ..table.rules.keep import code_ranges
from ..table.rules.relations import (
    Equality,
    Order,
    Relation,
    Values,
    broken,
    per_unit,
    relations_of,
    summed,
    unit_of,
    values_of,
)
from ..table.schema import Column, FunctionMap
from ..table.table import Table
from ..table.types import from_numbers, parse_type, to_numbers, value_type, whole_array

BIN_TRIES = 24
"""How often numbers of a row are drawn again inside their bins before a computed one may leave the bin that was drawn for it."""

ROW_TRIES = 12
"""How often a row that nothing puts right is drawn again, before another drawn row lends its values."""

Mask = NDArray[np.bool_]


def keep_relations(
    table: Table,
    functions: Sequence[FunctionMap],
    rng: np.random.Generator,
    again: Callable[[NDArray[np.int64]], Table],
    *,
    fixed: Sequence[str] = (),
) -> Table:
    """Return a drawn table whose rows keep the relations of its schema, as they are where there are none.

    `again(rows)` draws rows, by their places in the table, anew. `fixed` columns stay as they are: next to them a number may leave the range of its column, and
    rows in which fixed columns break a relation by themselves stay.
    """
    relations = [r for r in relations_of(table.schema) if isinstance(r, Equality | Order)]
    if not table.n_rows:
        return table
    table = _with_numbers_of(table, functions, fixed)
    if not relations:
        return table
    table, wrong = _settled(table, relations, functions, rng, fixed)
    for _ in range(ROW_TRIES):
        if not len(wrong):
            return table
        fresh, still = _settled(
            _with_numbers_of(again(wrong), functions, fixed), relations, functions, rng, fixed
        )
        table = _replaced(table, wrong, fresh, np.arange(len(wrong)))
        wrong = wrong[still]
    if len(wrong) and fixed:
        table, wrong = _settled(table, relations, functions, rng, fixed, forced=True)
    if len(wrong) and not fixed and len(wrong) < table.n_rows:
        right = np.setdiff1d(np.arange(table.n_rows), wrong)
        table = _replaced(table, wrong, table, rng.choice(right, len(wrong)))
    return table


def _with_numbers_of(table: Table, functions: Sequence[FunctionMap], fixed: Sequence[str]) -> Table:
    """Return the table with the one number that goes with each value on the left where a function leads into a bin."""
    for function in functions:
        if function.right in fixed or not any(number is not None for number in function.numbers):
            continue
        column = table.schema[function.right]
        left, right = table.code(function.left), table.code(function.right)
        known = left < len(function.codes)
        at = np.where(known, left, 0).astype(np.int64)
        numbers = np.array([np.nan if number is None else number for number in function.numbers])[
            at
        ]
        change = known & (np.array(function.codes)[at] == right) & ~np.isnan(numbers)
        if change.any():
            table = replace(table, data=_with_column(table.data, column, change, numbers[change]))
    return table


def _with_column(data: pa.Table, column: Column, rows: Mask, numbers: NDArray[Any]) -> pa.Table:
    """Return the table with stored numbers put into some rows of a column."""
    at = data.column_names.index(column.name)
    values = whole_array(data.column(column.name))
    stored, present = to_numbers(values)
    stored = stored.copy()
    stored[rows] = np.rint(numbers) if stored.dtype == np.int64 else numbers
    kind = value_type(parse_type(column.type))
    changed = from_numbers(stored, present, kind)
    if pa.types.is_dictionary(values.type):
        changed = changed.dictionary_encode().cast(values.type)
    if column.format == "nan" and changed.null_count and pa.types.is_floating(changed.type):
        changed = changed.fill_null(float("nan"))
    return data.set_column(at, data.schema.field(at), changed)


def _replaced(
    table: Table, rows: NDArray[np.int64], source: Table, chosen: NDArray[np.int64]
) -> Table:
    """Return the table with rows of another in the place of some."""
    order = np.arange(table.n_rows)
    order[rows] = table.n_rows + chosen
    data = pa.concat_tables([table.data, source.data.cast(table.data.schema)]).take(order)
    written = [column.name for column in table.schema if not column.modelled]
    for name in written:  # new identifiers stay with their row
        data = data.set_column(
            data.column_names.index(name), data.schema.field(name), table.data.column(name)
        )
    codes = [
        np.concatenate([table.codes[j], source.codes[j]])[order] for j in range(len(table.codes))
    ]
    return replace(table, data=data, codes=Codes.of(codes, table.codes.sizes))


def _settled(
    table: Table,
    relations: Sequence[Relation],
    functions: Sequence[FunctionMap],
    rng: np.random.Generator,
    fixed: Sequence[str],
    *,
    forced: bool = False,
) -> tuple[Table, NDArray[np.int64]]:
    """Return the table with numbers that keep the relations, and the rows that still break one."""
    kept = {
        *fixed,
        *(function.right for function in functions if any(n is not None for n in function.numbers)),
    }
    every: dict[str, _Cells] = {}
    unsettled = [np.empty(0, dtype=np.int64)]
    for component in _components(relations):
        names = dict.fromkeys(name for relation in component for name in relation.columns)
        columns = {name: _Cells.of(table, name, frozen=name in kept) for name in names}
        unsettled.append(_settle(component, columns, rng, forced=forced))
        every |= columns
    return _written(table, every), np.unique(np.concatenate(unsettled))


def _components(relations: Sequence[Relation]) -> list[list[Relation]]:
    """Relations that share columns, directly or through others: each such set is settled by itself."""
    out: list[list[Relation]] = []
    for relation in relations:
        touching = [
            group
            for group in out
            if any(set(relation.columns) & set(other.columns) for other in group)
        ]
        out = [group for group in out if group not in touching] + [
            [*(r for group in touching for r in group), relation]
        ]
    return out


def _settle(
    relations: Sequence[Relation],
    columns: Mapping[str, _Cells],
    rng: np.random.Generator,
    *,
    forced: bool,
) -> NDArray[np.int64]:
    """Draw and compute numbers until relations hold, and return the rows where they still do not. Forced: in one go, also beyond the range of a column."""
    values = {name: cells.values for name, cells in columns.items()}
    solvers = _solvers(relations, columns)
    wrong = np.flatnonzero(
        np.logical_or.reduce([broken(relation, values) for relation in relations])
    )
    for attempt in range(BIN_TRIES if forced else 0, BIN_TRIES + 1):
        if not len(wrong):
            break
        rows = {name: cells.at(wrong) for name, cells in columns.items()}
        if attempt:
            for cells in rows.values():
                cells.redraw(rng)
        for order in [r for r in relations if isinstance(r, Order)] if forced else []:
            _force(order, rows)
        for solver in solvers:
            solver(rows, exact=attempt < BIN_TRIES)
        seen = {name: cells.values for name, cells in rows.items()}
        bad = np.logical_or.reduce([broken(relation, seen) for relation in relations])
        if not forced:
            bad |= np.logical_or.reduce([cells.outside for cells in rows.values()])
        for name, cells in columns.items():
            cells.take(wrong[~bad], rows[name], ~bad)
        wrong = wrong[bad]
    return wrong


@dataclass
class _Cells:
    """A column of some rows: codes, numbers in the units of rules, and which are present, changed, or outside what may be drawn."""

    column: Column
    codes: NDArray[np.int64]
    numbers: NDArray[np.float64]
    present: Mask
    frozen: bool
    changed: Mask
    outside: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def of(cls, table: Table, name: str, *, frozen: bool) -> _Cells:
        column, codes = table.schema[name], table.code(name)
        values = values_of(column, table.data.column(name), codes)
        return cls(
            column,
            codes.astype(np.int64),
            values.numbers.copy(),
            values.present,
            frozen,
            np.zeros(len(codes), dtype=bool),
        )

    @property
    def values(self) -> Values:
        return Values(
            self.numbers, self.present, self.present, np.zeros(len(self.codes), dtype=bool)
        )

    def at(self, rows: NDArray[np.int64]) -> _Cells:
        nothing = np.zeros(len(rows), dtype=bool)
        return _Cells(
            self.column,
            self.codes[rows],
            self.numbers[rows],
            self.present[rows],
            self.frozen,
            nothing,
            nothing.copy(),
        )

    def redraw(self, rng: np.random.Generator) -> None:
        """Draw every number again inside its bin."""
        if self.frozen or not isinstance(self.column.codec, Intervals):
            return
        drawn = decode_column(self.column, self.codes, rng)
        values = values_of(self.column, drawn, self.codes)
        self.numbers = np.where(self.present, values.numbers, self.numbers)

    def put(self, rows: Mask, numbers: NDArray[np.float64], *, exact: bool) -> None:
        """Put computed numbers into rows, on the digits of the column; what is in no bin, or not in the one drawn, is outside."""
        on_grid = rounded(self.column, numbers)
        codes, fits = numbers_to_codes(self.column, on_grid)
        self.numbers[rows] = on_grid
        self.outside[rows] = ~fits | (exact & (codes != self.codes[rows]))
        if not exact:
            self.codes[rows] = codes

    def take(self, rows: NDArray[np.int64], other: _Cells, chosen: Mask) -> None:
        self.numbers[rows], self.codes[rows] = other.numbers[chosen], other.codes[chosen]
        self.changed[rows] = True


def rounded(column: Column, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers on the digits of a column, in the units of rules."""
    unit = unit_of(column)
    if column.kind == "float" and column.decimals is not None:
        return np.round(numbers, column.decimals)
    out = numbers if not unit else np.rint(numbers / unit) * unit
    return out.astype(np.float32).astype(np.float64) if column.type == "float" else out


def numbers_to_codes(
    column: Column, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], Mask]:
    """Return the codes of numbers in the units of rules, and which of them the column may have at all."""
    codec = column.fitted_codec
    stored = numbers * per_unit(column)
    spoken_for = np.isin(
        stored, [code for code in codec.missing if not isinstance(code, str | bool)]
    )
    if isinstance(codec, Intervals):
        low, high = codec.ranges()
        fits = (
            (stored >= low.min()) & (stored <= high.max()) & ~spoken_for
            if len(low)
            else np.zeros(len(numbers), dtype=bool)
        )
        inside = np.clip(stored, low.min(), high.max()) if len(low) else np.zeros(len(numbers))
        return codec.encode(np.rint(inside).astype(np.int64) if codec.whole else inside), fits
    assert isinstance(codec, Categories)
    levels = np.array(
        [level if not isinstance(level, str) else np.nan for level in codec.levels],
        dtype=np.float64,
    )
    order = np.argsort(levels)
    if not len(levels):
        return np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=bool)
    near = order[np.minimum(np.searchsorted(levels[order], stored), len(levels) - 1)]
    return near, (levels[near] == stored) & ~spoken_for


Solver = Callable[..., None]


def _solvers(relations: Sequence[Relation], columns: Mapping[str, _Cells]) -> list[Solver]:
    """Return for each equality what computes one of its columns: none that is fixed, or stands in an equality before it."""
    taken = {name for name, cells in columns.items() if cells.frozen}
    out: list[Solver] = []
    for relation in relations:
        if isinstance(relation, Equality):
            free = [name for name in _solvable(relation) if name not in taken]
            if free:
                out.append(_solver(relation, free))
            taken |= set(relation.columns)
    return out


def _solvable(relation: Equality) -> list[str]:
    """Return the columns for which an equality can be solved on their own digits: the left side, and others that are as fine as the rest."""
    parts = relation.right.parts
    out = [relation.left]
    factors = [1.0, *(part.factor for part in parts)]
    if any(part.function for part in parts) or not relation.whole:
        return out
    for part, unit in zip(parts, relation.units[1:], strict=True):
        if abs(part.factor) != 1:
            continue
        steps = [
            abs(f) * u / unit if unit else 1.0 for f, u in zip(factors, relation.units, strict=True)
        ]
        constant = relation.right.constant / unit if unit else 1.0
        if all(u or not unit for u in relation.units) and all(
            abs(s - round(s)) < 1e-9 for s in [*steps, constant]
        ):
            out.append(part.column)
    return out


def _solver(relation: Equality, free: Sequence[str]) -> Solver:
    factors = {part.column: part.factor for part in relation.right.parts}

    def solve(rows: Mapping[str, _Cells], *, exact: bool) -> None:
        there = np.logical_and.reduce([rows[name].present for name in relation.columns])
        widths = np.stack([_widths(rows[name], abs(factors.get(name, 1.0))) for name in free])
        chosen = widths.argmax(axis=0)
        for i, name in enumerate(free):
            where = there & (chosen == i)
            if not where.any():
                continue
            numbers = {each: rows[each].numbers[where] for each in relation.columns}
            total, _ = summed(relation.right, numbers)
            computed = (
                total
                if name == relation.left
                else numbers[name] - (total - numbers[relation.left]) / factors[name]
            )
            rows[name].put(where, computed, exact=exact)

    return solve


def _force(order: Order, rows: Mapping[str, _Cells]) -> None:
    """Set a free column of an order to where it just holds, in the rows where it does not."""
    seen = {name: rows[name].values for name in order.columns}
    wrong = broken(order, seen)
    part = next(
        (p for p in order.difference.parts if not rows[p.column].frozen and not p.function), None
    )
    if part is None or not wrong.any():
        return
    difference, _ = summed(
        order.difference, {name: rows[name].numbers[wrong] for name in order.columns}
    )
    cells = rows[part.column]
    step = unit_of(cells.column) or 1e-6 * max(1.0, float(np.abs(difference).max()))
    cells.put(
        wrong,
        cells.numbers[wrong]
        - difference / part.factor
        + (np.sign(part.factor) * step if order.strict else 0.0),
        exact=False,
    )


def _widths(cells: _Cells, factor: float) -> NDArray[np.float64]:
    low, high, _ = code_ranges(cells.column)
    return np.asarray((high - low)[cells.codes] * factor)


def _written(table: Table, columns: Mapping[str, _Cells]) -> Table:
    """Return the table with the numbers and codes of columns that changed."""
    data, codes = table.data, [table.codes[j] for j in range(len(table.codes))]
    for name, cells in columns.items():
        rows = cells.changed & cells.present
        if rows.any() and not cells.frozen:
            data = _with_column(
                data, cells.column, rows, cells.numbers[rows] * per_unit(cells.column)
            )
            j = table.schema.names.index(name)
            codes[j] = cells.codes.astype(codes[j].dtype)
    return replace(table, data=data, codes=Codes.of(codes, table.codes.sizes))
