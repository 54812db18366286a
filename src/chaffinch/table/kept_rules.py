"""The rules of a table: found where the schema states none, fitted to its records, and said with how many records break them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import SchemaError, listed
from .._base.masking import masked_count
from .codec import Codec, Intervals
from .constraints import broken_rows
from .find_rules import RowBatch, constant_columns, find_rules
from .function_map import FunctionMap
from .grid import to_numbers
from .note import Note
from .relation_codes import fit_function, function_of_counts
from .relations import Function, broken, relations_of, table_values, values_of
from .schema import Schema
from .table import Table

SHOWN = 6


def with_rules(table: Table, threshold: int) -> Table:
    """Return a table with its declared rules fitted to it, and a note if records break them: how many, if that is no small count.

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
    found = find_rules(schema, table.n_rows, lambda _: [batch], threshold=threshold)
    rules = (*found.rules, *constant_columns(schema, table.data, codes))
    schema = replace(schema, rules=rules, searched=True, found=rules, suggested=found.suggested)
    table = replace(table, schema=schema, notes=(*table.notes, *found_notes(schema)))
    return replace(table, schema=replace(schema, functions=fitted_functions(table, threshold)))


def found_notes(schema: Schema) -> list[Note]:
    """Return the note on rules that were found; none where there are none."""
    if not schema.found:
        return []
    texts = listed((f"'{text}'" for text in schema.found), most=SHOWN)
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
    """Return a schema with its rules fitted to rows that come in batches, and notes: what `with_found_rules` and `with_rules` do to a table.

    `batches` gives all rows, of all columns or of those named; `sample` is as in `find_rules`. `codes` gives rows of which the codes of the named
    columns are enough, and the numbers as they are stored where they have bins; None: `batches` does.
    """
    notes: list[Note] = []
    if find:
        found = find_rules(schema, n_rows, batches, threshold=threshold, sample=sample)
        schema = replace(
            schema, rules=found.rules, searched=True, found=found.rules, suggested=found.suggested
        )
        notes = found_notes(schema)
    relations, tally = relations_of(schema), _FunctionTally(schema)
    wrong = 0
    again = (codes or batches)(tally.columns) if tally.functions else ()
    for batch in again if find else batches(None):
        tally.add(batch)
        if not find:
            plain = [
                broken(relation, batch.values)
                for relation in relations
                if not isinstance(relation, Function)
            ]
            wrong += int(np.logical_or.reduce([broken_rows(schema, batch.codes), *plain]).sum())
    schema = replace(schema, functions=tally.maps(threshold))
    for function, table in zip(tally.functions, tally.counts, strict=True) if not find else ():
        sizes = schema[function.left].fitted_codec, schema[function.right].fitted_codec
        there = table[: sizes[0].n_values - sizes[0].other, : sizes[1].n_values]
        wrong += int(there.sum() - there.max(axis=1, initial=0).sum())
    if wrong:
        notes = [_broken_note(schema, masked_count(wrong, threshold), schema.rules)]
    return schema, notes


def functions_of_batches(
    schema: Schema, batches: Callable[[Collection[str]], Iterable[RowBatch]], threshold: int
) -> tuple[FunctionMap, ...]:
    """Return what `fitted_functions` does, of rows that come in batches: one pass over the columns of functions, none where there are none."""
    tally = _FunctionTally(schema)
    for batch in batches(tally.columns) if tally.functions else ():
        tally.add(batch)
    return tally.maps(threshold)


def has_bins(codec: Codec | None) -> bool:
    """Return whether some of the codes stand for several numbers."""
    return isinstance(codec, Intervals) and len(codec.bin_codes) > 0


class _FunctionTally:
    """How many records have each pair of codes of the columns of functions, and which numbers."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.functions = [
            relation for relation in relations_of(schema) if isinstance(relation, Function)
        ]
        self.counts = [
            np.zeros((schema[f.left].size, schema[f.right].size), dtype=np.int64)
            for f in self.functions
        ]
        self.numbers = [_CellNumbers() for _ in self.functions]

    @property
    def columns(self) -> set[str]:
        """The columns that have a part in functions."""
        return {name for function in self.functions for name in function.columns}

    def add(self, batch: RowBatch) -> None:
        """Add some rows."""
        for function, table, numbers in zip(self.functions, self.counts, self.numbers, strict=True):
            cells = (
                batch.codes[function.left].astype(np.int64) * table.shape[1]
                + batch.codes[function.right]
            )
            table += np.bincount(cells, minlength=table.size).reshape(table.shape)
            if has_bins(self.schema[function.right].codec):
                numbers.add(cells, batch.stored[function.right])

    def maps(self, threshold: int) -> tuple[FunctionMap, ...]:
        """Return what the functions map to."""
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
    texts = listed((f"'{text}'" for text in wrong), most=3)
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
        """Return what gives the number that most records of a cell (row, column of so many) have, the least of these; None if they are too few."""

        def number(row: int, column: int) -> float | None:
            first, last = np.searchsorted(
                self.cells, [row * width + column, row * width + column + 1]
            )
            own = self.counts[first:last]
            return (
                float(self.numbers[first + own.argmax()])
                if len(own) and own.max() >= threshold
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


def fitted_functions(table: Table, threshold: int) -> tuple[FunctionMap, ...]:
    """Return what columns that determine others map to, from all records of a table."""
    schema = table.schema

    def stored(name: str) -> NDArray[Any] | None:
        return (
            to_numbers(table.data.column(name))[0]
            if isinstance(schema[name].codec, Intervals)
            else None
        )

    return tuple(
        fit_function(
            relation,
            schema,
            table.code(relation.left),
            table.code(relation.right),
            stored(relation.right),
            threshold=threshold,
        )
        for relation in relations_of(schema)
        if isinstance(relation, Function)
    )


def rules_broken_by(table: Table, schema: Schema | None = None) -> dict[str, NDArray[np.bool_]]:
    """Return for each rule of a schema (the table's own unless given) which rows of a table break it. Confidential: it says so of records."""
    schema = schema or table.schema
    out: dict[str, NDArray[np.bool_]] = {}
    relations = [
        relation
        for relation in relations_of(schema)
        if set(relation.columns) <= set(table.schema.names)
    ]
    values = table_values(table, {name for relation in relations for name in relation.columns})
    for relation in relations:
        wrong = broken(relation, values)
        out[relation.text] = out[relation.text] | wrong if relation.text in out else wrong
    texts = [text for text in schema.rules if text not in out]
    codes = {name: table.code(name) for name in table.schema.names}
    for text in texts:
        out[text] = broken_rows(replace(table.schema, rules=(text,)), codes)
    return {text: out[text] for text in schema.rules}
