"""Drawn rows that keep the rules of the schema: weights for a model that often breaks them, codes drawn again, numbers computed from each other.

*Weights* (`Projection`). Zeros alone move columns: where a model holds age and marital status for independent, leaving out married children leaves out children. The
distribution nearest to the model's, in Kullback and Leibler's sense, that has the zeros and the model's own single columns is the model's
times a weight for each combination (Csiszár 1975), found by fitting the columns in turn. Rows drawn from the model are accepted in
proportion to their weight, so all that depends on these columns in the model does so still.

*Codes* (`keep_constraints`). For the rest, and where values are given or kept: columns are
drawn in the order of the model. The first one after which no allowed combination can be reached is drawn again given those before
it, with all that follow: that is drawing from the model's conditional distributions with zeros where the constraints have them, so the columns
before keep their distribution. Where a model puts next to nothing on what is allowed, the nearest allowed combination stands in.

*Numbers* (`keep_relations`). Inside combinations of codes that leave a relation possible numbers are drawn from their bins, and of an
equality the number with the widest bin is computed from the others; a row stands when every computed number falls into the bin
that was drawn for it, and every order holds: that is drawing from the bins given that the relations hold. What does not come to stand in some tries takes a
computed number in another bin of the column; then the row is drawn again; and at last another drawn row lends its values.

Constraints are public, and only released numbers and drawn values are looked at: under a promise of privacy nothing is charged. No number of a record can come out that could not before:
computed numbers have the column's digits and stay between the ends of what is drawn from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.arrays import Mask
from .._base.errors import InputError
from ..table.codes import Codes
from ..table.domain import decode_column
from ..table.rules.constraints import AllowedCodes
from ..table.rules.keep import code_ranges, function_of_counts
from ..table.rules.relations import (
    Equality,
    Function,
    Order,
    Relation,
    Values,
    per_unit,
    relations_of,
    row_sums,
    rows_breaking,
    unit_of,
    values_of,
)
from ..table.schema import Column, FunctionMap, Schema
from ..table.table import Table
from ..table.types import from_numbers, parse_type, to_numbers, value_type, whole_array

if TYPE_CHECKING:
    from .model import FittedModel


ColumnCodes = Mapping[str, NDArray[np.uint32]]

CodesByColumn = dict[str, NDArray[np.uint32]]


DrawCodes = Callable[[int, np.random.Generator], ColumnCodes]

Redraw = Callable[[int, np.random.Generator, CodesByColumn], ColumnCodes]

Solver = Callable[..., None]

PILOT_ROWS = 1 << 17
"""Rows drawn, from a fixed stream, to see how a model spreads over the combinations."""

FEW_BROKEN = 0.005
"""The share of rows that break constraints below which they are drawn again and no weights are needed: nothing moves by more."""

MOST_WEIGHT = 20.0
"""The largest weight: rows drawn for one that is accepted."""

_ROUNDS = 100

TRIES = 50
"""How often a row is drawn again before the nearest allowed combination stands in."""

BIN_TRIES = 24
"""How often numbers of a row are drawn again inside their bins before a computed one may leave the bin that was drawn for it."""

ROW_TRIES = 12
"""How often a row that nothing puts right is drawn again, before another drawn row lends its values."""


def keep_constraints(
    model: FittedModel,
    codes: ColumnCodes,
    rng: np.random.Generator,
    *,
    evidence: Any = None,
    fixed: Sequence[str] = (),
) -> ColumnCodes:
    """Return codes of drawn rows that keep the constraints of the model's schema; as they are where there are none.

    `evidence` draws rows that have given values: rows are drawn again whole. `fixed` columns stay as they are, also where they
    break a constraint by themselves.
    """
    groups = (*model.allowed, *model.related)
    if not groups:
        return codes
    functions, schema = model.functions, model.schema
    if evidence is not None:
        given = tuple(evidence.codes)
        codes = map_codes(codes, functions, schema, given)
        return keeping(
            codes,
            groups,
            rng,
            lambda n, rng, _: map_codes(evidence.draw(n, rng), functions, schema, given),
            fixed=given,
        )
    order = model.drawing_order
    projected = model.allowed or model.privacy is not None
    if not fixed and projected and model.projection is not None:
        codes = projected_rows(
            model.projection, codes, len(next(iter(codes.values()))), rng, model.draw_codes
        )

    def redraw(n: int, rng: np.random.Generator, before: CodesByColumn) -> ColumnCodes:
        drawn = model.draw_codes(n, rng, before) if order else model.draw_codes(n, rng)  # type: ignore[call-arg]
        return map_codes(drawn, functions, schema, tuple(before))

    return keeping(
        map_codes(codes, functions, schema, fixed), groups, rng, redraw, order=order, fixed=fixed
    )


def keeping(
    codes: ColumnCodes,
    groups: Sequence[AllowedCodes],
    rng: np.random.Generator,
    redraw: Redraw,
    *,
    order: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> CodesByColumn:
    """Return codes that keep the groups' constraints. `redraw(n, rng, before)` draws rows given codes of the columns before some place of the order.

    Without an order whole rows are drawn again, which is drawing from the model given that the constraints hold.
    """
    out = {name: np.array(column) for name, column in codes.items()}
    orders = [_Group(group, order, fixed) for group in groups]
    names = list(order) or list(out)
    for _ in range(TRIES):
        first = np.full(len(next(iter(out.values()))), len(names), dtype=np.int64)
        for group in orders:
            np.minimum(first, group.first_wrong(out), out=first)
        if (first == len(names)).all():
            return out
        for position in np.unique(first[first < len(names)]).tolist():
            rows = np.flatnonzero(first == position)
            before = (
                {name: out[name][rows] for name in out if name in fixed or name in names[:position]}
                if order
                else {}
            )
            again = redraw(len(rows), rng, before)
            for name in set(out) - set(before) - set(fixed):
                out[name][rows] = again[name]
    for group in orders:
        group.repair(out)
    return out


class _Group:
    """Columns that constraints tie together in the order in which they are drawn, fixed ones first."""

    def __init__(self, group: AllowedCodes, order: Sequence[str], fixed: Sequence[str]) -> None:
        places = {name: position for position, name in enumerate(order)}
        self.columns = sorted(
            group.columns, key=lambda name: (name not in fixed, places.get(name, 0))
        )
        self.free = [name not in fixed for name in self.columns]
        self.places = [places.get(name, 0) for name in self.columns]
        self.allowed = group.allowed.transpose([group.columns.index(name) for name in self.columns])
        n = len(self.columns)
        self.reachable = [
            np.asarray(self.allowed.any(axis=tuple(range(k + 1, n)))) for k in range(n)
        ]
        self.last = len(order) or len(group.columns)
        self.whole_rows = not order

    def first_wrong(self, codes: CodesByColumn) -> NDArray[np.int64]:
        """The place of the column to draw again, for each row; behind the last one where the row is right, or cannot be helped."""
        index = tuple(codes[name] for name in self.columns)
        none = len(codes) if self.whole_rows else self.last
        out = np.full(len(index[0]), none, dtype=np.int64)
        for k in reversed(range(len(self.columns))):
            wrong = ~self.reachable[k][index[: k + 1]]
            out[wrong] = (0 if self.whole_rows else self.places[k]) if self.free[k] else none
        return out

    def repair(self, codes: CodesByColumn) -> None:
        """Put the nearest allowed combination in the place of what is still wrong: as few columns as can be, the last ones first."""
        index = np.stack([codes[name].astype(np.int64) for name in self.columns])
        wrong = np.flatnonzero(~self.allowed[tuple(index)])
        if not len(wrong):
            return
        cells = np.argwhere(self.allowed)
        n = len(self.columns)
        weights = np.array(
            [1.0 + (n - k) / (2 * n * n) for k in range(n)]
        )  # fewest columns first; of as many, later ones
        distances = np.array([1e-3 / (n * max(size, 1)) for size in self.allowed.shape])
        combinations, which = np.unique(index[:, wrong], axis=1, return_inverse=True)
        for i, row in enumerate(combinations.T):
            apart = cells != row
            price = apart @ weights + np.abs(cells - row) @ distances
            price[(apart & ~np.array(self.free)).any(axis=1)] = np.inf
            best = int(price.argmin())
            if np.isfinite(price[best]):
                for k, name in enumerate(self.columns):
                    codes[name][wrong[which == i]] = cells[best, k]


def map_codes(
    codes: ColumnCodes,
    functions: Sequence[FunctionMap],
    schema: Schema,
    fixed: Sequence[str] = (),
) -> ColumnCodes:
    """Return codes in which columns that others determine have the code that goes with theirs, where both are present and the column is not fixed."""
    out = dict(codes)
    for _ in functions:  # one may determine the left side of another
        moved = False
        for function in functions:
            if function.dependent in fixed or not function.codes:
                continue
            determinant, dependent = out[function.determinant], out[function.dependent]
            images = np.array(function.codes, dtype=np.int64)[
                np.minimum(determinant, len(function.codes) - 1)
            ]
            change = (
                (determinant < len(function.codes))
                & (dependent < schema[function.dependent].fitted_codec.n_values)
                & (images != dependent)
            )
            if change.any():
                out[function.dependent] = np.where(change, images, dependent).astype(
                    dependent.dtype
                )
                moved = True
        if not moved:
            break
    return out


def functions_of(schema: Schema, draw: DrawCodes) -> tuple[FunctionMap, ...]:
    """Return what the functions among a schema's rules map to; what was not fitted comes from rows that the model draws: nothing is charged."""
    fitted = {(function.determinant, function.dependent): function for function in schema.functions}
    wanted = [relation for relation in relations_of(schema) if isinstance(relation, Function)]
    open_ones = [relation for relation in wanted if relation.columns not in fitted]
    if open_ones:
        codes = draw(PILOT_ROWS, np.random.default_rng(0))
        for relation in open_ones:
            sizes = schema[relation.determinant].size, schema[relation.dependent].size
            cells = (
                codes[relation.determinant].astype(np.int64) * sizes[1] + codes[relation.dependent]
            )
            counts = np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)
            fitted[relation.determinant, relation.dependent] = function_of_counts(
                relation, schema, counts, lambda _determinant, _dependent: None
            )
    return tuple(fitted[relation.determinant, relation.dependent] for relation in wanted)


def check_given(groups: Sequence[AllowedCodes], given: Mapping[str, int]) -> None:
    """Raise if no row with given codes keeps the constraints."""
    for group in groups:
        index = tuple(given.get(name, slice(None)) for name in group.columns)
        if not np.any(group.allowed[index]):
            named = " and ".join(f"'{text}'" for text in group.texts[:3])
            raise InputError(
                f"The given values break what the schema says of all records: {named}. Give others."
            )


@dataclass(frozen=True, eq=False)
class Projection:
    """For each set of columns that constraints tie together, the weight of each combination of codes: 0 where it may not occur."""

    groups: tuple[AllowedCodes, ...]
    weights: tuple[NDArray[np.float64], ...]

    @property
    def largest(self) -> float:
        """The largest weight that a row can have."""
        return float(np.prod([weights.max() for weights in self.weights]))

    def row_weights(self, codes: ColumnCodes) -> NDArray[np.float64]:
        """Return the weight of each row."""
        return np.asarray(
            np.prod(
                [
                    w[tuple(codes[name] for name in g.columns)]
                    for g, w in zip(self.groups, self.weights, strict=True)
                ],
                axis=0,
            )
        )


def projection_of(groups: Sequence[AllowedCodes], draw: DrawCodes) -> Projection | None:
    """Return the weights that bring a model onto constraints; None where so few rows break them that drawing those again will do."""
    rng = np.random.default_rng(0)
    pilot = [draw(PILOT_ROWS // 2, rng) for _ in range(2)]
    weights = []
    broken = 0.0
    for group in groups:
        sizes = group.allowed.shape
        shares = np.zeros(sizes)
        for codes in pilot:
            cells = np.ravel_multi_index(
                [codes[name].astype(np.int64) for name in group.columns], sizes
            )
            shares += np.bincount(cells, minlength=shares.size).reshape(sizes)
        shares /= shares.sum()
        broken = max(broken, float(shares[~group.allowed].sum()))
        weights.append(fitted_weights(shares, group.allowed))
    return None if broken <= FEW_BROKEN else Projection(tuple(groups), tuple(weights))


def fitted_weights(shares: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return for each cell what its share is multiplied with, so that forbidden cells have none and single columns keep theirs.

    Columns are fitted in turn (Deming and Stephan 1940). Where zeros make that impossible they come as near as weights of up to 20 allow.
    Cells without a share that are allowed have the weight 1.

    Examples
    --------
    Age by marital status, independent, and no married child: children keep their share, and so do the married.

    >>> weights = fitted_weights(np.array([[0.1, 0.1], [0.4, 0.4]]), np.array([[True, False], [True, True]]))
    >>> (np.array([[0.1, 0.1], [0.4, 0.4]]) * weights).round(3).tolist()
    [[0.2, 0.0], [0.3, 0.5]]
    """
    fitted = shares * allowed
    n = shares.ndim
    others = [tuple(axis for axis in range(n) if axis != column) for column in range(n)]
    targets = [shares.sum(axis=other) for other in others]
    for _ in range(_ROUNDS):
        for column, (target, other) in enumerate(zip(targets, others, strict=True)):
            sums = fitted.sum(axis=other)
            factor = np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
            fitted = fitted * factor.reshape([-1 if axis == column else 1 for axis in range(n)])
    weights = np.divide(fitted, shares, out=np.ones_like(shares), where=shares > 0)
    return np.asarray(np.where(allowed, np.minimum(weights, MOST_WEIGHT), 0.0))


def projected_rows(
    projection: Projection,
    codes: ColumnCodes,
    n_rows: int,
    rng: np.random.Generator,
    draw: DrawCodes,
) -> ColumnCodes:
    """Return rows of which each is accepted in proportion to its weight; `codes` are the first ones drawn."""
    largest = projection.largest
    parts, have = [], 0
    for _ in range(round(100 * largest)):
        accepted = rng.random(len(next(iter(codes.values())))) * largest < projection.row_weights(
            codes
        )
        parts.append({name: column[accepted] for name, column in codes.items()})
        have += int(accepted.sum())
        if have >= n_rows:
            break
        wanted = int((n_rows - have) * largest * 1.05) + 16
        codes = draw(min(wanted, 1 << 16), rng)
    joined = {name: np.concatenate([chunk[name] for chunk in parts])[:n_rows] for name in codes}
    if have < n_rows:  # nothing is accepted: whatever is drawn is put right afterwards
        rest = draw(n_rows - have, rng)
        joined = {name: np.concatenate([joined[name], rest[name]]) for name in codes}
    return joined


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
    table, wrong = _settle_relations(table, relations, functions, rng, fixed)
    for _ in range(ROW_TRIES):
        if not len(wrong):
            return table
        fresh, still = _settle_relations(
            _with_numbers_of(again(wrong), functions, fixed), relations, functions, rng, fixed
        )
        table = _replace_rows(table, wrong, fresh, np.arange(len(wrong)))
        wrong = wrong[still]
    if len(wrong) and fixed:
        table, wrong = _settle_relations(table, relations, functions, rng, fixed, forced=True)
    if len(wrong) and not fixed and len(wrong) < table.n_rows:
        right = np.setdiff1d(np.arange(table.n_rows), wrong)
        table = _replace_rows(table, wrong, table, rng.choice(right, len(wrong)))
    return table


def _with_numbers_of(table: Table, functions: Sequence[FunctionMap], fixed: Sequence[str]) -> Table:
    """Return the table with the one number that goes with each value on the left where a function leads into a bin."""
    for function in functions:
        if function.dependent in fixed or not any(
            number is not None for number in function.numbers
        ):
            continue
        column = table.schema[function.dependent]
        determinant, dependent = table.code(function.determinant), table.code(function.dependent)
        known = determinant < len(function.codes)
        source = np.where(known, determinant, 0).astype(np.int64)
        numbers = np.array([np.nan if number is None else number for number in function.numbers])[
            source
        ]
        change = known & (np.array(function.codes)[source] == dependent) & ~np.isnan(numbers)
        if change.any():
            table = replace(table, data=_with_column(table.data, column, change, numbers[change]))
    return table


def _with_column(data: pa.Table, column: Column, rows: Mask, numbers: NDArray[Any]) -> pa.Table:
    """Return the table with stored numbers put into some rows of a column."""
    index = data.column_names.index(column.name)
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
    return data.set_column(index, data.schema.field(index), changed)


def _replace_rows(
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
    return replace(table, data=data, codes=Codes.from_columns(codes, table.codes.sizes))


def _settle_relations(
    table: Table,
    relations: Sequence[Relation],
    functions: Sequence[FunctionMap],
    rng: np.random.Generator,
    fixed: Sequence[str],
    *,
    forced: bool = False,
) -> tuple[Table, NDArray[np.int64]]:
    """Return the table with numbers that keep the relations, and the rows that still break one."""
    frozen = {
        *fixed,
        *(
            function.dependent
            for function in functions
            if any(n is not None for n in function.numbers)
        ),
    }
    cells_by_name: dict[str, _Cells] = {}
    unsettled = [np.empty(0, dtype=np.int64)]
    for component in _components(relations):
        names = dict.fromkeys(name for relation in component for name in relation.columns)
        columns = {name: _Cells.from_column(table, name, frozen=name in frozen) for name in names}
        unsettled.append(_settle(component, columns, rng, forced=forced))
        cells_by_name |= columns
    return _write_cells(table, cells_by_name), np.unique(np.concatenate(unsettled))


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
        np.logical_or.reduce([rows_breaking(relation, values) for relation in relations])
    )
    for attempt in range(BIN_TRIES if forced else 0, BIN_TRIES + 1):
        if not len(wrong):
            break
        rows = {name: cells.select(wrong) for name, cells in columns.items()}
        if attempt:
            for cells in rows.values():
                cells.redraw(rng)
        for order in [r for r in relations if isinstance(r, Order)] if forced else []:
            _force(order, rows)
        for solver in solvers:
            solver(rows, exact=attempt < BIN_TRIES)
        seen = {name: cells.values for name, cells in rows.items()}
        still_broken = np.logical_or.reduce(
            [rows_breaking(relation, seen) for relation in relations]
        )
        if not forced:
            still_broken |= np.logical_or.reduce([cells.outside for cells in rows.values()])
        for name, cells in columns.items():
            cells.take(wrong[~still_broken], rows[name], ~still_broken)
        wrong = wrong[still_broken]
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
    def from_column(cls, table: Table, name: str, *, frozen: bool) -> _Cells:
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

    def select(self, rows: NDArray[np.int64]) -> _Cells:
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
        if self.frozen or not self.column.is_numeric:
            return
        drawn = decode_column(self.column, self.codes, rng)
        values = values_of(self.column, drawn, self.codes)
        self.numbers = np.where(self.present, values.numbers, self.numbers)

    def put(self, rows: Mask, numbers: NDArray[np.float64], *, exact: bool) -> None:
        """Put computed numbers into rows, on the digits of the column; what is in no bin, or not in the one drawn, is outside."""
        on_grid = round_numbers(self.column, numbers)
        codes, fits = numbers_to_codes(self.column, on_grid)
        self.numbers[rows] = on_grid
        self.outside[rows] = ~fits | (exact & (codes != self.codes[rows]))
        if not exact:
            self.codes[rows] = codes

    def take(self, rows: NDArray[np.int64], other: _Cells, chosen: Mask) -> None:
        self.numbers[rows], self.codes[rows] = other.numbers[chosen], other.codes[chosen]
        self.changed[rows] = True


def round_numbers(column: Column, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
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
    codes, fits = codec.codes_of_numbers(stored)
    return codes, fits & ~spoken_for


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
    parts = relation.terms.parts
    out = [relation.result]
    factors = [1.0, *(addend.factor for addend in parts)]
    if any(addend.function for addend in parts) or not relation.has_integer_factors:
        return out
    for addend, unit in zip(parts, relation.units[1:], strict=True):
        if abs(addend.factor) != 1:
            continue
        steps = [
            abs(f) * u / unit if unit else 1.0 for f, u in zip(factors, relation.units, strict=True)
        ]
        constant = relation.terms.constant / unit if unit else 1.0
        if all(u or not unit for u in relation.units) and all(
            abs(s - round(s)) < 1e-9 for s in [*steps, constant]
        ):
            out.append(addend.column)
    return out


def _solver(relation: Equality, free: Sequence[str]) -> Solver:
    factors = {addend.column: addend.factor for addend in relation.terms.parts}

    def solve(rows: Mapping[str, _Cells], *, exact: bool) -> None:
        present = np.logical_and.reduce([rows[name].present for name in relation.columns])
        widths = []
        for name in free:
            low, high, _ = code_ranges(rows[name].column)
            widths.append((high - low)[rows[name].codes] * abs(factors.get(name, 1.0)))
        chosen = np.stack(widths).argmax(axis=0)
        for i, name in enumerate(free):
            where = present & (chosen == i)
            if not where.any():
                continue
            numbers = {each: rows[each].numbers[where] for each in relation.columns}
            total, _ = row_sums(relation.terms, numbers)
            computed = (
                total
                if name == relation.result
                else numbers[name] - (total - numbers[relation.result]) / factors[name]
            )
            rows[name].put(where, computed, exact=exact)

    return solve


def _force(order: Order, rows: Mapping[str, _Cells]) -> None:
    """Set a free column of an order to where it just holds, in the rows where it does not."""
    seen = {name: rows[name].values for name in order.columns}
    wrong = rows_breaking(order, seen)
    addend = next(
        (p for p in order.difference.parts if not rows[p.column].frozen and not p.function), None
    )
    if addend is None or not wrong.any():
        return
    difference, _ = row_sums(
        order.difference, {name: rows[name].numbers[wrong] for name in order.columns}
    )
    cells = rows[addend.column]
    step = unit_of(cells.column) or 1e-6 * max(1.0, float(np.abs(difference).max()))
    cells.put(
        wrong,
        cells.numbers[wrong]
        - difference / addend.factor
        + (np.sign(addend.factor) * step if order.strict else 0.0),
        exact=False,
    )


def _write_cells(table: Table, columns: Mapping[str, _Cells]) -> Table:
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
    return replace(table, data=data, codes=Codes.from_columns(codes, table.codes.sizes))
