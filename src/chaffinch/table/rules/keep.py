"""The rules of a table: found where the schema states none, fitted to its records, and said with
how many records break them.

Relations are put on codes here: which combinations of codes leave a relation possible, and what a
column that determines another maps to. Codes of numbers are ranges. A combination of codes may
occur if some numbers of their ranges keep the relation; which numbers are drawn is decided
afterwards. Missing codes leave every relation open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Mask
from ..._base.errors import SchemaError, join_names
from ..._base.masking import masked_count
from ..domain import ColumnDomain, Intervals
from ..schema import Column, FunctionMap, Note, Schema
from ..table import Table
from ..types import to_numbers
from .constraints import AllowedCodes, broken_rows
from .find import RowBatch, constant_columns, find_rules
from .relations import (
    Equality,
    Function,
    MissingTogether,
    Order,
    Relation,
    part_of,
    per_unit,
    relations_of,
    rows_breaking,
    table_values,
    values_of,
)

SHOWN = 6
MOST_GRID = 1 << 18
"""The most combinations of codes that are looked at for one relation; above, rows are put right by
their numbers alone.
"""

Ranges = tuple[NDArray[np.float64], NDArray[np.float64], Mask]


def with_rules(table: Table, threshold: int) -> Table:
    """Return a table with its declared rules fitted to it, and a note if records break them: how
    many, if that is no small count.

    Raises SchemaError where the schema refuses such records. Never for a private fit.
    """
    schema = table.schema
    if not schema.rules:
        return table
    table = replace(table, schema=replace(schema, functions=fitted_functions(table, threshold)))
    wrong = {text: rows for text, rows in rules_broken_by(table).items() if rows.any()}
    if not wrong:
        return table
    many = masked_count(int(np.logical_or.reduce(list(wrong.values())).sum()), threshold)
    return replace(table, notes=(*table.notes, _broken_note(schema, many, wrong)))


def with_found_rules(table: Table, threshold: int) -> Table:
    """Return a table with the rules that all its records keep, and a note that names them."""
    schema = table.schema
    codes = {name: table.code(name) for name in schema.names}
    batch = RowBatch(
        Lazy(
            lambda name: values_of(schema[name], table.data.column(name), codes[name]), schema.names
        ),
        codes,
    )
    rule_search = find_rules(schema, table.n_rows, lambda _: [batch], threshold=threshold)
    rules = (*rule_search.rules, *constant_columns(schema, table.data, codes))
    schema = replace(
        schema, rules=rules, searched=True, found_rules=rules, suggested=rule_search.suggested
    )
    table = replace(table, schema=schema, notes=(*table.notes, *found_notes(schema)))
    return replace(table, schema=replace(schema, functions=fitted_functions(table, threshold)))


def found_notes(schema: Schema) -> list[Note]:
    """Return the note on rules that were found; none where there are none."""
    if not schema.found_rules:
        return []
    texts = join_names((f"'{text}'" for text in schema.found_rules), max_names=SHOWN)
    if schema.only("person") is not None:
        return [
            Note(
                "",
                "rules",
                f"Rules that all records keep: {texts}. Rows that are drawn for persons do not keep them yet.",
            )
        ]
    return [
        Note(
            "",
            "rules",
            f"Rules that all records keep, and drawn rows too: {texts}. The schema file lists them, to edit or delete.",
        )
    ]


def rules_of_batches(
    schema: Schema,
    n_rows: int,
    batches: Callable[[Collection[str] | None], Iterable[RowBatch]],
    *,
    find: bool,
    threshold: int,
    sample: RowBatch | None = None,
    codes: Callable[[Collection[str]], Iterable[RowBatch]] | None = None,
) -> tuple[Schema, list[Note]]:
    """Return a schema with its rules fitted to rows that come in batches, and notes: what
    `with_found_rules` and `with_rules` do to a table.

    `batches` gives all rows, of all columns or of those named; `sample` is as in `find_rules`.
    `codes` gives rows of which the codes of the named columns are enough, and the numbers as they
    are stored where they have bins; None: `batches` does.
    """
    notes: list[Note] = []
    if find:
        rule_search = find_rules(schema, n_rows, batches, threshold=threshold, sample=sample)
        schema = replace(
            schema,
            rules=rule_search.rules,
            searched=True,
            found_rules=rule_search.rules,
            suggested=rule_search.suggested,
        )
        notes = found_notes(schema)
    relations, tally = relations_of(schema), _FunctionTally(schema)
    wrong = 0
    again = (codes or batches)(tally.columns) if tally.functions else ()
    for batch in again if find else batches(None):
        tally.add(batch)
        if not find:
            plain = [
                rows_breaking(relation, batch.values)
                for relation in relations
                if not isinstance(relation, Function)
            ]
            wrong += int(np.logical_or.reduce([broken_rows(schema, batch.codes), *plain]).sum())
    schema = replace(schema, functions=tally.maps(threshold))
    for function, table in zip(tally.functions, tally.counts, strict=True) if not find else ():
        sizes = schema[function.determinant].fitted_codec, schema[function.dependent].fitted_codec
        present = table[: sizes[0].n_values - sizes[0].other, : sizes[1].n_values]
        wrong += int(present.sum() - present.max(axis=1, initial=0).sum())
    if wrong:
        notes = [_broken_note(schema, masked_count(wrong, threshold), schema.rules)]
    return schema, notes


def functions_of_batches(
    schema: Schema, batches: Callable[[Collection[str]], Iterable[RowBatch]], threshold: int
) -> tuple[FunctionMap, ...]:
    """Return what `fitted_functions` does, of rows that come in batches: one pass over the columns
    of functions, none where there are none.
    """
    tally = _FunctionTally(schema)
    for batch in batches(tally.columns) if tally.functions else ():
        tally.add(batch)
    return tally.maps(threshold)


def has_bins(codec: ColumnDomain | None) -> bool:
    """Return whether any code is a bin of several numbers."""
    return codec is not None and len(codec.bin_codes) > 0


class _FunctionTally:
    """How many records have each pair of codes of the columns of functions, and which numbers."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.functions = [
            relation for relation in relations_of(schema) if isinstance(relation, Function)
        ]
        self.counts = [
            np.zeros((schema[f.determinant].size, schema[f.dependent].size), dtype=np.int64)
            for f in self.functions
        ]
        self.numbers = [_CellNumbers() for _ in self.functions]

    @property
    def columns(self) -> set[str]:
        """The columns that have a part in functions."""
        return {name for function in self.functions for name in function.columns}

    def add(self, batch: RowBatch) -> None:
        for function, table, numbers in zip(self.functions, self.counts, self.numbers, strict=True):
            cells = (
                batch.codes[function.determinant].astype(np.int64) * table.shape[1]
                + batch.codes[function.dependent]
            )
            table += np.bincount(cells, minlength=table.size).reshape(table.shape)
            if has_bins(self.schema[function.dependent].codec):
                numbers.add(cells, batch.stored[function.dependent])

    def maps(self, threshold: int) -> tuple[FunctionMap, ...]:
        return tuple(
            function_of_counts(
                function, self.schema, table, numbers.usual(table.shape[1], threshold)
            )
            for function, table, numbers in zip(
                self.functions, self.counts, self.numbers, strict=True
            )
        )


def _broken_note(schema: Schema, many: int | str, wrong: Iterable[str]) -> Note:
    """The note on records that break rules; SchemaError where the schema refuses them."""
    texts = join_names((f"'{text}'" for text in wrong), max_names=3)
    if schema.broken_rules == "refuse":
        raise SchemaError(
            f'{many} of the records break rules of the schema, which says broken_rules = "refuse": {texts}. Correct the records or the rules, '
            'or write broken_rules = "enforce": drawn rows then keep them all the same.'
        )
    return Note(
        "",
        "rules",
        f"{many} of its records break what the schema says of all: {texts}. Drawn rows will not.",
    )


class _CellNumbers:
    """Which numbers the records of a cell of two columns have, and how many have each."""

    def __init__(self) -> None:
        self.cells: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.numbers: NDArray[np.float64] = np.empty(0)
        self.counts: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def add(self, cells: NDArray[np.int64], numbers: NDArray[Any]) -> None:
        """Add the cells and the numbers of some records."""
        cells = np.concatenate([self.cells, cells])
        joined = np.concatenate([self.numbers, numbers.astype(np.float64)])
        counts = np.concatenate([self.counts, np.ones(len(numbers), dtype=np.int64)])
        order = np.lexsort([joined, cells])
        cells, joined = cells[order], joined[order]
        first = np.ones(len(cells), dtype=bool)
        first[1:] = (cells[1:] != cells[:-1]) | (joined[1:] != joined[:-1])
        self.cells, self.numbers = cells[first], joined[first]
        self.counts = (
            np.add.reduceat(counts[order], np.flatnonzero(first)) if len(cells) else counts
        )

    def usual(self, width: int, threshold: int) -> Callable[[int, int], float | None]:
        """Return a function that gives the most frequent number of a cell (row, column of `width`),
        the lowest of ties; None below the threshold.
        """

        def number(row: int, column: int) -> float | None:
            first, last = np.searchsorted(
                self.cells, [row * width + column, row * width + column + 1]
            )
            cell_counts = self.counts[first:last]
            return (
                float(self.numbers[first + cell_counts.argmax()])
                if len(cell_counts) and cell_counts.max() >= threshold
                else None
            )

        return number


class Lazy(Mapping[str, Any]):
    """Values by name, each worked out when it is asked for first."""

    def __init__(self, make: Callable[[str], Any], names: Iterable[str]) -> None:
        self._make, self._names, self._made = make, tuple(names), dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def rules_broken_by(table: Table, schema: Schema | None = None) -> dict[str, NDArray[np.bool_]]:
    """Return for each rule of a schema (the table's own unless given) which rows of a table break
    it. Confidential: it says so of records.
    """
    schema = schema or table.schema
    out: dict[str, NDArray[np.bool_]] = {}
    relations = [
        relation
        for relation in relations_of(schema)
        if set(relation.columns) <= set(table.schema.names)
    ]
    values = table_values(table, {name for relation in relations for name in relation.columns})
    for relation in relations:
        wrong = rows_breaking(relation, values)
        out[relation.text] = out[relation.text] | wrong if relation.text in out else wrong
    texts = [text for text in schema.rules if text not in out]
    codes = {name: table.code(name) for name in table.schema.names}
    for text in texts:
        out[text] = broken_rows(replace(table.schema, rules=(text,)), codes)
    return {text: out[text] for text in schema.rules}


def code_ranges(column: Column) -> Ranges:
    """Return the lowest and the highest number of each code in the units of rules, and which codes
    are numbers.
    """
    codec = column.fitted_codec
    low, high, is_number = codec.number_ranges()
    spare, scale = (0, codec.size - codec.n_values), per_unit(column)
    return np.pad(low, spare) / scale, np.pad(high, spare) / scale, np.pad(is_number, spare)


def relation_groups(schema: Schema, functions: Sequence[FunctionMap]) -> tuple[AllowedCodes, ...]:
    """Return for each relation of a fitted schema which combinations of codes may occur. Relations
    over too many combinations have none.

    Raises SchemaError if a relation allows nothing: it contradicts the levels or bounds.
    """
    out = []
    maps = {(function.determinant, function.dependent): function for function in functions}
    for relation in relations_of(schema):
        columns = tuple(dict.fromkeys(relation.columns))
        sizes = [schema[name].size for name in columns]
        if prod(sizes) > MOST_GRID:
            continue
        allowed = _allowed_codes(relation, [schema[name] for name in columns], maps)
        if allowed is None:
            continue
        if not allowed.any():
            raise SchemaError(
                f"No record can keep '{relation.text}': it contradicts the levels or bounds of its columns. Correct one."
            )
        out.append(AllowedCodes(columns, allowed, (relation.text,)))
    return tuple(out)


def _allowed_codes(
    relation: Relation, columns: Sequence[Column], maps: Mapping[tuple[str, str], FunctionMap]
) -> Mask | None:
    if isinstance(relation, Function):
        function = maps.get((relation.determinant, relation.dependent))
        return None if function is None else _by_function(function, *columns)
    shapes = [[-1 if i == j else 1 for i in range(len(columns))] for j in range(len(columns))]
    if isinstance(relation, MissingTogether):
        empty = [
            (np.arange(c.size) >= c.fitted_codec.n_values).reshape(shape)
            for c, shape in zip(columns, shapes, strict=True)
        ]
        all_present, all_missing = np.ones((1,), dtype=bool), np.ones((1,), dtype=bool)
        for mask in empty:
            all_present, all_missing = all_present & ~mask, all_missing & mask
        return np.asarray(all_present | all_missing)
    total = relation.terms if isinstance(relation, Equality) else relation.difference
    if any(addend.function and not addend.function.startswith("year") for addend in total.parts):
        return None
    ranges = {
        column.name: (*code_ranges(column), shape)
        for column, shape in zip(columns, shapes, strict=True)
    }
    low, high = (
        np.full([1] * len(columns), total.constant),
        np.full([1] * len(columns), total.constant),
    )
    open_ones = np.zeros([1] * len(columns), dtype=bool)
    parts = [(p.column, p.factor, p.function) for p in total.parts]
    if isinstance(relation, Equality):
        parts.append((relation.result, -1.0, ""))
    for name, factor, word in parts:
        first, last, is_number, shape = ranges[name]
        ends = np.sort(np.stack([part_of(first, word), part_of(last, word)]) * factor, axis=0)
        low, high = low + ends[0].reshape(shape), high + ends[1].reshape(shape)
        open_ones = open_ones | ~is_number.reshape(shape)
    size = np.maximum(np.abs(low), np.abs(high))
    if isinstance(relation, Order):
        return np.asarray(
            open_ones | ((high > 1e-9 * size) if relation.strict else (high >= -1e-9 * size))
        )
    room = relation.slack * (1 + 1e-6) + 1e-6 * size
    return np.asarray(open_ones | ((low <= room) & (high >= -room)))


def _by_function(function: FunctionMap, determinant: Column, dependent: Column) -> Mask:
    allowed = np.ones((determinant.size, dependent.size), dtype=bool)
    for code, image in enumerate(function.codes):
        if image >= 0:
            allowed[code, : dependent.fitted_codec.n_values] = False
            allowed[code, image] = True
    return allowed


def function_of_counts(
    relation: Function,
    schema: Schema,
    counts: NDArray[Any],
    number_of: Callable[[int, int], float | None],
) -> FunctionMap:
    """Return the map of each left code to the right code that most of its records have.

    Left codes that no record has go where most records are. `number_of(left, right)` is the number
    that stands for a bin, if any does.
    """
    domain, column = schema[relation.determinant].fitted_codec, schema[relation.dependent]
    codec = column.fitted_codec
    n = codec.n_values
    if not n:
        return FunctionMap(relation.determinant, relation.dependent, (), ())
    seen = np.asarray(counts)[: domain.n_values, :n]
    usual = int(seen.sum(axis=0).argmax())
    codes = np.where(seen.any(axis=1), seen.argmax(axis=1), usual).tolist()
    bins = set(codec.bin_codes.tolist())
    numbers = tuple(
        (shared if (shared := number_of(code, image)) is not None else _middle(codec, image))
        if image in bins and codec.numeric
        else None
        for code, image in enumerate(codes)
    )
    return FunctionMap(relation.determinant, relation.dependent, tuple(codes), numbers)


def _middle(codec: Intervals, code: int) -> float:
    """The number in the middle of what is drawn from a bin: on its digits, and no atom."""
    knots = codec.knots[int(np.flatnonzero(codec.bin_codes == code)[0])]
    low, high = (float(ends[code]) for ends in codec.ranges())
    middle = float(np.interp(0.5, *knots))
    grid = (
        float(codec.step)
        if codec.integral
        else 0.0
        if codec.decimals is None
        else 10.0**-codec.decimals
    )
    for steps in (0, 1, -1, 2, -2, 3, -3):
        number = middle if not grid else np.rint(middle / grid + steps) * grid
        number = (
            float(np.round(number, codec.decimals)) if codec.decimals is not None else float(number)
        )
        if (
            low <= number <= high
            and int(codec.encode(np.array([number], dtype=codec.atoms.dtype))[0]) == code
        ):
            return number
    return low


def check_functions(schema: Schema) -> None:
    """Raise unless the functions of a schema fit the codes of its columns: files are not
    trusted.
    """
    for function in schema.functions:
        domain, image_domain = (
            schema[function.determinant].fitted_codec,
            schema[function.dependent].fitted_codec,
        )
        fits = len(function.codes) in (0, domain.n_values) and all(
            -1 <= code < image_domain.n_values for code in function.codes
        )
        low, high, _ = image_domain.number_ranges()
        fits = fits and all(
            n is None or (image_domain.numeric and low[c] <= n <= high[c])
            for c, n in zip(function.codes, function.numbers, strict=True)
        )
        if not fits:
            raise SchemaError(
                f"The function from '{function.determinant}' to '{function.dependent}' does not go with their codes."
            )


def fitted_functions(table: Table, threshold: int) -> tuple[FunctionMap, ...]:
    """Return the maps of columns that determine others, fitted to all records of a table."""
    names = table.schema.names
    stored = Lazy(lambda name: to_numbers(table.data.column(name))[0], names)
    batch = RowBatch({}, {name: table.code(name) for name in names}, stored)
    return functions_of_batches(table.schema, lambda _: [batch], threshold)
