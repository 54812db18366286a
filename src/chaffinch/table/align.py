"""Several tables on one grid: the levels and bins of the first, so that their counts can be compared cell by cell.

A table that lost a level keeps its cell, empty; values that the first table never had share the cell `(other)`; numbers
beyond its range fall in its end bins.

A pass over each of the others finds what of its values the original's codes have no room for (`UnseenLevels`); then every chunk of every table is
coded alike (`AlignChunk`), wherever its rows are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError, join_names
from .._base.runtime import thread_map
from .codes import Codes
from .compare.values import missing_tokens
from .domain import encode_column
from .fit_schema import enough_rows, parse_columns
from .persons import person_numbers
from .rows import UNKNOWN, Names, Rows, Step
from .schema import Column, Note, Schema
from .table import Origin, Table
from .text import WordValues, parse_other_spelling, spelling_of
from .types import is_numeric, parse_type, to_numbers, type_name, value_type, whole_array


@overload
def align(original: Table, *others: Any, names: Sequence[str] = ...) -> tuple[Table, ...]: ...
@overload
def align(original: Rows, *others: Any, names: Sequence[str] = ...) -> tuple[Rows, ...]: ...
def align(
    original: Rows, *others: Any, names: Sequence[str] = ("synthetic", "holdout")
) -> tuple[Rows, ...]:
    """Return the tables with one schema between them: the original's, with a cell for what only the others have.

    Columns without codes (identifiers, free text) are left out. Others are tables, paths or frames, which are read where the original's rows are (`Rows.open`); `names` is what
    messages call them. Notes of a table say for which of its columns the grid had to be widened.

    Raises
    ------
    InputError
        If columns differ, or if no value of a column is one that the original has.

    Examples
    --------
    >>> from chaffinch.table import read
    >>> first = read(pa.table({"a": ["x", "y", "z"] * 10, "b": [1, 2] * 15}))
    >>> _, second = align(first, pa.table({"b": [2, 1, 1], "a": ["x", "new", "x"]}))
    >>> second.schema["a"].codec.names(), second.code("a").tolist()
    (['x', 'y', 'z', '(other)'], [0, 3, 0])
    """
    enough_rows("The original table", original.n_rows)
    original = original.comparable()
    schema = original.schema
    opened = [original.open(other) for other in others]
    for rows, name in zip(opened, names, strict=False):
        _check_same_columns(schema, rows, name)
        if rows.n_rows != UNKNOWN:
            enough_rows(f"The {name} table", rows.n_rows)
    columns = schema.modelled
    # Tables drawn from a model of the original have its very columns.
    if all(
        rows.schema.names and all(rows.schema[c.name].codec is c.codec for c in columns)
        for rows in opened
    ):
        return tuple(_of_columns(rows, columns) for rows in (original, *opened))
    unseen, sizes = [], []
    for rows, name in zip(opened, names, strict=False):
        levels, n_rows = rows.reduce(UnseenLevels(columns, name, rows.text))
        enough_rows(f"'{rows.name}'" if rows.name else f"The {name} table", n_rows)
        unseen.append(levels)
        sizes.append(n_rows)
    shared, grid, notes = shared_columns(schema, unseen, _own_levels(original), names)
    person = schema.only("person") if original.person_of is not None else None
    step = AlignChunk(tuple(shared), grid, origin=getattr(original, "origin", Origin()))
    return (
        original.map(step, grid, notes=original.notes),
        *(
            rows.map(
                replace(step, name=name, text=rows.text, person=person),
                grid,
                n_rows=n_rows,
                notes=tuple(table_notes),
            )
            for rows, name, n_rows, table_notes in zip(opened, names, sizes, notes, strict=False)
        ),
    )


def _check_same_columns(original: Schema, other: Rows, name: str) -> None:
    """Raise unless another table has the columns of the original, and no others."""
    if lost := [column for column in original.names if column not in other.columns]:
        raise InputError(
            f"The {name} table lacks columns of the original: {join_names(lost)}. Compare tables with the same columns."
        )
    known = {column.name for column in original}
    if extra := [column for column in other.columns if column not in known]:
        raise InputError(
            f"The {name} table has columns that the original lacks: {join_names(extra)}. Drop them, or add them there."
        )


def _of_columns(rows: Rows, columns: Sequence[Column]) -> Rows:
    """Return rows with these columns alone, in this order; themselves if they are so already."""
    names = [column.name for column in columns]
    if [column.name for column in rows.schema] == names:
        return rows
    schema = replace(rows.schema, columns=tuple(rows.schema[name] for name in names))
    return rows.map(SelectColumns(schema), schema, notes=rows.notes)


@dataclass(frozen=True, eq=False)
class SelectColumns(Step):
    """Makes a chunk of some columns alone."""

    schema: Schema

    def needs(self, columns: Names) -> Names:
        """Return the same columns; of all, those that are left."""
        return self.schema.names if columns is None else columns

    def __call__(self, chunk: Table) -> Table:
        names = [name for name in self.schema.names if name in chunk.schema.places]
        codes = Codes.from_columns([chunk.code(name) for name in names], self.schema.sizes)
        values = [name for name in names if name in chunk.data.column_names]
        return replace(chunk, schema=self.schema, data=chunk.data.select(values), codes=codes)


def values_of_column(chunk: Table, column: Column, name: str, *, text: bool) -> WordValues:
    """Return the values of a column of another table as the original spells them, null where missing, and which of the column's missing codes stood there."""
    if column.name in chunk.schema.places:
        values, tokens = whole_array(chunk.data.column(column.name)), missing_tokens(chunk, column)
    elif text:
        cells = chunk.data.column(column.name)
        levels = () if column.codec is None else column.codec.levels
        return parse_other_spelling(cells, spelling_of(column), levels, name=column.name)
    else:
        spelled = {column.name: spelling_of(column)}
        values, tokens = parse_columns(chunk.data, spelled, text=False)[column.name]
    return _as_numbers_of(column, values, name), tokens


@dataclass(frozen=True, eq=False)
class AlignChunk(Step):
    """Makes a chunk of a table a chunk under the shared schema: of the original, or of the other table of a name.

    `person`: the column that says whose row it is, where people of the original have several.
    """

    shared: tuple[SharedColumn, ...]
    schema: Schema
    name: str = ""
    text: bool = False
    person: str | None = None
    origin: Origin = field(default_factory=Origin)

    values = True

    def needs(self, columns: Names) -> Names:
        """Return the columns themselves: one at least, to learn how many rows a chunk has; all where persons are looked for."""
        if columns is None:
            return None if self.person is not None else self.schema.names
        return [c.original.name for c in self.shared if c.original.name in columns] or [
            self.schema.names[0]
        ]

    def __call__(self, chunk: Table) -> Table:
        wanted = [c for c in self.shared if c.original.name in chunk.data.column_names]
        coded = thread_map(lambda column: self._coded(chunk, column), wanted)
        nothing: NDArray[Any] = np.zeros(chunk.n_rows, dtype=np.uint8)
        codes = {c.original.name: codes for c, (_, codes) in zip(wanted, coded, strict=True)}
        return Table(
            self.schema,
            pa.Table.from_arrays([values for values, _ in coded], names=list(codes)),
            Codes.from_columns(
                [codes.get(name, nothing) for name in self.schema.names], self.schema.sizes
            ),
            (),
            self.origin,
            person_of=self._persons(chunk),
            first_row=chunk.first_row,
        )

    def _coded(self, chunk: Table, column: SharedColumn) -> tuple[Any, NDArray[Any]]:
        if not self.name:
            return chunk.data.column(column.original.name), column.of_rows(chunk)
        values, tokens = values_of_column(chunk, column.original, self.name, text=self.text)
        known = column.original.name in chunk.schema.places
        if known and chunk.schema[column.original.name].codec is column.original.codec:
            return values, column.of_rows(chunk)
        return values, column.of_other(values, tokens)

    def _persons(self, chunk: Table) -> NDArray[np.int64] | None:
        """Whose rows those of another table are, where it says it."""
        known = self.person is None or self.person not in chunk.data.column_names
        if not self.name or chunk.schema.names or known:
            return chunk.person_of
        return person_numbers(chunk.data.column(self.person))


def widen_column(column: Column, *, fractions: bool) -> Column:
    """Return the column with codes for missing values, for levels outside its own, and no bounds; whole numbers stay so without `fractions`."""
    wide = column.fitted_codec.widened(parse_type(column.type), fractions=fractions)
    if not wide.numeric:
        return replace(column, codec=wide)
    return replace(
        column, codec=wide, out_of_range="clip", edges=None, binning="quantile", bounds=None
    )


def _as_numbers_of(column: Column, values: pa.Array, name: str) -> pa.Array:
    """Return the values of a numeric column in the units of the original: dates as days, times in its own ticks."""
    kind = parse_type(column.type)
    if values.type == kind or not (column.codec is None or column.codec.numeric):
        return values
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    stored = value_type(values.type)
    if is_numeric(stored) and pa.types.is_temporal(stored) == pa.types.is_temporal(kind):
        if not pa.types.is_temporal(kind):
            return values
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return values.cast(kind, safe=False)
    raise InputError(
        f"Column '{column.name}' of the {name} table holds {type_name(stored)}, that of the original {type_name(kind)}. "
        "Compare columns of one kind."
    )


def has_fractions(values: pa.Array) -> bool:
    """Return whether some of the numbers are not whole."""
    if not pa.types.is_floating(values.type) and not pa.types.is_decimal(values.type):
        return False
    numbers, present = to_numbers(values)
    finite = numbers[present & np.isfinite(numbers)]
    return bool((np.rint(finite) != finite).any())


def widening_notes(
    column: Column, widened: Column, used: NDArray[np.bool_], name: str
) -> list[Note]:
    """Return what to say of a column of another table, which uses some codes, that the original's codes have no room for."""
    codec, wide = column.fitted_codec, widened.fitted_codec
    sentences = []
    if wide.other and used[len(wide.levels)]:
        if not used[: len(wide.levels)].any() and len(codec.levels):
            raise InputError(
                f"Column '{column.name}': no value of the {name} table is one that the original has. Check that the "
                "columns mean the same and are spelled the same."
            )
        if not codec.other:
            sentences.append(
                f"the {name} table has levels that the original lacks; they share one cell, (other)"
            )
    if wide.integral != codec.integral:
        sentences.append(f"the {name} table may hold fractions, the original whole numbers")
    if wide.null and not codec.null and used[wide.n_values]:
        sentences.append(f"the {name} table has missing values, the original none")
    return [Note(column.name, "widened", sentence) for sentence in sentences]


def narrow_column(column: Column, widened: Column, used: NDArray[np.bool_]) -> Column:
    """Return the column without the codes for (other) and missing that were added and that no table uses."""
    final = widened.fitted_codec.narrowed(column.fitted_codec, used)
    return column if final is column.codec else replace(widened, codec=final)


@dataclass(frozen=True)
class SharedColumn:
    """A column of the original, with room for what only others have, and as it is shared."""

    original: Column
    widened: Column
    final: Column

    def of_rows(self, chunk: Table) -> NDArray[Any]:
        """Return the codes of rows of the original that have codes of its own.

        The few values that were made missing are values here, or a copy of the file would differ from the original.
        """
        if not self.original.fitted_codec.n_values:
            values = whole_array(chunk.data.column(self.original.name))
            return self.of_other(values, missing_tokens(chunk, self.original))
        return self.original.fitted_codec.remap(
            chunk.code(self.original.name), self.final.fitted_codec
        )

    def of_other(self, values: pa.Array, tokens: Any) -> NDArray[Any]:
        """Return the codes of another table's values."""
        codes = encode_column(self.widened, values, tokens)
        return self.widened.fitted_codec.remap(codes, self.final.fitted_codec)


class UsedCodes:
    """The codes of a widened column that one table uses, and whether a value is a fraction."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.used = np.zeros(widen_column(column, fractions=True).size, dtype=bool)
        self.fractions = False

    def add(self, values: pa.Array, tokens: Any) -> None:
        """Look at values, and at which missing codes stood there: one of each kind is encoded."""
        fractions = has_fractions(values)
        self.fractions |= fractions
        rows = _one_of_each(values, tokens, by_value=not self.column.fitted_codec.numeric)
        few = None if tokens is None else tokens[rows]
        widened = widen_column(self.column, fractions=fractions)
        self.used[np.unique(encode_column(widened, values.take(pa.array(rows)), few))] = True


def _one_of_each(
    values: pa.Array, tokens: NDArray[np.int16] | None, *, by_value: bool
) -> NDArray[np.int64]:
    """Return the first row of each value, or of each kind of number (finite, NaN, infinite, missing), and of each missing code."""
    if by_value:
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        kinds = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    else:
        numbers, present = to_numbers(values)
        kinds = np.where(present, np.isnan(numbers) + 2 * np.isposinf(numbers), 4)
        kinds = kinds + np.where(present & np.isneginf(numbers), 3, 0)
    if tokens is not None:
        kinds = kinds.astype(np.int64) * (int(tokens.max(initial=0)) + 2) + tokens + 1
    rows: NDArray[np.int64] = np.unique(kinds, return_index=True)[1]
    return rows


@dataclass(frozen=True, eq=False)
class UnseenLevels:
    """Finds what of a table's values the original's columns have no codes for, and how many rows it has. `original`: it is the original itself."""

    compared: tuple[Column, ...]
    name: str
    text: bool = False
    original: bool = False

    values = True

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.compared]

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the codes of each column that are used, and whether there are fractions."""
        used_codes, n_rows = [UsedCodes(column) for column in self.compared], 0
        for chunk in chunks:
            thread_map(lambda codes: codes.add(*self._values(chunk, codes.column)), used_codes)  # noqa: B023
            n_rows += chunk.n_rows
        return pa.table(
            {
                "used": [codes.used.tobytes() for codes in used_codes],
                "fractions": [bool(codes.fractions) for codes in used_codes],
                "n_rows": [n_rows] * len(used_codes),
            }
        )

    def _values(self, chunk: Table, column: Column) -> WordValues:
        if self.original:
            return whole_array(chunk.data.column(column.name)), missing_tokens(chunk, column)
        return values_of_column(chunk, column, self.name, text=self.text)

    def result(self, summaries: Iterator[pa.Table]) -> tuple[list[UsedCodes], int]:
        """Return what each column needs, and the number of rows."""
        used_codes, n_rows = [UsedCodes(column) for column in self.compared], 0
        for summary in summaries:
            for codes, row in zip(used_codes, summary.to_pylist(), strict=True):
                codes.used |= np.frombuffer(row["used"], dtype=bool)
                codes.fractions |= row["fractions"]
            n_rows += summary.column("n_rows")[0].as_py()
        return used_codes, n_rows


def shared_columns(
    schema: Schema,
    unseen: Sequence[Sequence[UsedCodes]],
    original_codes: Mapping[str, UsedCodes],
    names: Sequence[str],
) -> tuple[list[SharedColumn], Schema, list[list[Note]]]:
    """Return the columns of a grid that has room for what other tables have, its schema, and what is to be said of each of those tables."""
    shared: list[SharedColumn] = []
    notes: list[list[Note]] = [[] for _ in unseen]
    for j, column in enumerate(schema.modelled):
        used_codes = [levels[j] for levels in unseen]
        widened = widen_column(
            column, fractions=any(column_codes.fractions for column_codes in used_codes)
        )
        for name, column_codes, note in zip(names, used_codes, notes, strict=False):
            note += widening_notes(column, widened, column_codes.used, name)
        if column.name in original_codes:
            used_codes.append(original_codes[column.name])
        used = np.logical_or.reduce(
            [
                np.zeros(widened.size, dtype=bool),
                *(column_codes.used for column_codes in used_codes),
            ]
        )
        shared.append(SharedColumn(column, widened, narrow_column(column, widened, used)))
    return shared, Schema(tuple(column.final for column in shared), schema.rare_below), notes


def _own_levels(original: Rows) -> dict[str, UsedCodes]:
    """Return what the original itself needs in columns whose few values were made missing: a copy of the file must not differ from it."""
    emptied = tuple(c for c in original.schema.modelled if not c.fitted_codec.n_values)
    if not emptied:
        return {}
    used_codes, _ = original.reduce(UnseenLevels(emptied, "original", original=True))
    return {column_codes.column.name: column_codes for column_codes in used_codes}
