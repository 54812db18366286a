"""The private door: a table under declared domains, read so that no record can stop, shape or name anything.

`chaffinch.read` fits its schema to the data and raises where they do not fit. Here the schema is sealed before the first row
is read (`domain`), every cell has a code, and messages speak of names, types and declarations only.

**Values** (`declared_values`): the one place where a stored cell becomes a value of its declared type; no cell stops it or changes another's. Each value is a function of its own cell and of the declaration. Values of the declared family (numbers, dates and times, times of
day, spans, truth, words) are converted as arrays; all others are spelled (`spell`) and read as words are. Both ways agree, since one odd cell
decides how pandas stores its column. What cannot be read is null, and `place` sends nulls where the declaration says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.checks import check_whole
from .._base.errors import FileError, InputError, join_names
from ..table.codes import Codes
from ..table.domain import missing_words
from ..table.fit_schema import check_columns
from ..table.formats import Source, Tagged
from ..table.formats.format import FileOptions, ReadOptions
from ..table.persons import person_numbers
from ..table.rows import as_rows
from ..table.schema import UNKNOWN, Column, Note, Schema
from ..table.schema_file import SchemaLike, as_schema, kind_by_name
from ..table.settings import Reading
from ..table.sources import open_source, recognise
from ..table.spell import spell_values
from ..table.table import Origin, Table
from ..table.text import each_value, parse_each_word, spelling_of, word_tokens
from ..table.types import (
    DAY,
    LARGEST,
    clock_shift,
    from_numbers,
    is_bytes,
    is_words,
    parse_type,
    type_family,
    units_per_second,
    value_type,
)
from .domain import (
    SILENT,
    check_declared,
    declared_codes,
    declared_schema,
    numbers_of,
    undeclared_error,
    with_usual_type,
)


class CellParts(Protocol):
    """Cells that are counted part by part, as often as asked."""

    @property
    def folder(self) -> Path | None:
        """Where something may be kept between passes, for its owner alone; None where the cells are in memory."""

    def parts(self, columns: Sequence[str]) -> Iterator[StoredCells]:
        """Yield the cells of all rows, of the named columns at least."""


@dataclass(frozen=True, eq=False)
class StoredCells:
    """The cells of a source as they are stored: nothing is understood yet.

    `missing_codes` holds, for columns of a `Table`, the missing codes that its file spelled beside nulls, and `spelled` names the columns
    of files that spell them so. `persons` is how many rows are kept of each person, 0 where every row is a person of its own.
    """

    name: str
    columns: Mapping[str, pa.Array]
    missing_codes: Mapping[str, pa.Array]
    text: bool
    origin: Origin
    spelled: frozenset[str] = frozenset()
    sealed: Table | None = None
    persons: int = 0

    @property
    def n_rows(self) -> int:
        """The number of rows: confidential under add-remove."""
        return len(next(iter(self.columns.values())))

    @property
    def folder(self) -> None:
        """Nothing of them needs to be kept: they are in memory."""
        return None

    def parts(self, columns: Sequence[str]) -> Iterator[StoredCells]:
        """Yield the cells, which are all in one part."""
        yield self


def prepare(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    **options: Unpack[FileOptions],
) -> Table:
    """Return a table with a sealed schema: codes that each depend on their own row and on public declarations.

    The schema is public and has a declared domain for every column. Its types are those of the result, whatever the source stores:
    how a column is stored may depend on a single record. With `person`, the column that tells persons apart, up to `rows_per_person`
    rows of each are kept; a row that has too many or too few cells is left out, for its person is not known.

    Stability: without `person` each record of the source gives one row of codes, a function of that record, so neighbours
    stay neighbours under both relations. With `person` see `keep_rows`. A line of a text file is a record, whatever its quotes, unless
    the schema declares `line_breaks`: every quote is closed then, by the word of whoever wrote that.
    """
    declared = declared_of(source, schema)
    declared = with_person(declared, person)
    check_declared(declared, source=shown_source(source))
    sealed = declared_schema(declared)
    cells = open_cells(source, declared, person=person, rows_per_person=rows_per_person, **options)
    if cells.sealed is not None and cells.sealed.schema == sealed:
        table = cells.sealed
        return (
            table
            if not cells.persons
            else replace(table, schema=replace(table.schema, persons=cells.persons))
        )
    columns = tuple(replace(sealed[name], spelled=name in cells.spelled) for name in cells.columns)
    sealed = replace(declared_schema(replace(sealed, columns=columns)), persons=cells.persons)
    return coded_cells(cells, sealed)


def coded_cells(cells: StoredCells, sealed: Schema) -> Table:
    """Return cells as a table under a sealed schema of their columns: values in the declared types, and a code for each of them."""
    arrays, codes = [], []
    for column in sealed:
        values, tokens = typed_cells(column, cells)
        arrays.append(in_type(values, parse_type(column.type)))
        if column.modelled:
            codes.append(declared_codes(column, values, tokens))
    data = pa.Table.from_arrays(arrays, names=[column.name for column in sealed])
    origin = replace(
        cells.origin, dtypes=_dtypes(sealed) if cells.origin.native == "pandas" else {}
    )
    return Table(
        sealed, data, Codes.from_columns(codes, sealed.sizes, n_rows=data.num_rows), (), origin
    )


def declared_of(source: Any, schema: SchemaLike | None) -> Schema:
    """Return the schema that is declared for a source: the given one, or that of a `Table`.

    A table that was read without the promise has the types that its source stored, which records may have decided: its whole
    numbers become int64, its floats double, its words strings.
    """
    rows = as_rows(source)
    if schema is None and rows is not None:
        plain = rows.schema
        return (
            plain if plain.sealed else replace(plain, columns=tuple(map(_with_plain_type, plain)))
        )
    declared = as_schema(schema)
    if declared is None:
        raise undeclared_error(shown_source(source))
    return declared


def discovering_schema(
    source: Any,
    schema: SchemaLike | None,
    discover: str = "all",
    **options: Unpack[FileOptions],
) -> Schema:
    """Return the schema with all that it leaves open to be discovered; without a schema, one of the names of columns alone.

    Of a source only the header is read. Columns whose names say who somebody is, or number rows, are identifiers: `kind_by_name`.
    """
    if discover != "all":
        raise InputError(
            f"discover must be 'all'. Got {discover!r}. For single columns write discover = true in the schema."
        )
    declared = as_schema(schema)
    if declared is None:
        names = open_header(source, **options).schema.names
        declared = Schema(
            tuple(Column(name, kind_by_name(name) or UNKNOWN) for name in names), public=True
        )
    return declared.discovering()


def guarantee_schema(source: Any, reading: Reading, discover: str | None) -> Schema | None:
    """Return the schema for a private fit; with `discover` also what that adds to it, from the header of the source where there is none."""
    if discover is None:
        return reading.declared
    declared = reading.declared if reading.schema is not None else None
    return discovering_schema(source, declared, discover, **reading.file)


def left_out(schema: Schema) -> list[Note]:
    """Return what to say of columns that are identifiers by their names alone: they are not in what is drawn."""
    names = [column.name for column in schema if column.kind == "identifier"]
    if not names:
        return []
    sentence = f"Left out, since their names say who somebody is or number rows: {join_names(names)}. To have them modelled, declare them in a schema."
    return [Note("", "identifiers", sentence)]


def _with_plain_type(column: Column) -> Column:
    kind = value_type(parse_type(column.type))
    plain = is_words(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (plain and column.modelled) or column.spelled:  # text stores no types
        return column
    usual = "string" if is_words(kind) else "int64" if pa.types.is_integer(kind) else "double"
    return replace(column, type=usual)


def open_cells(
    source: Any,
    schema: Schema,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    **options: Unpack[FileOptions],
) -> StoredCells:
    """Return the cells of a source, of at most `rows_per_person` rows of each person; `prepare` and `discover` take them."""
    cells = source if isinstance(source, StoredCells) else _cells(source, schema, options)
    check_columns(cells.name, list(cells.columns), schema)
    if person is None and cells.sealed is None:
        person = schema.only("person")
    if person is None or isinstance(source, StoredCells):
        return cells
    schema[person]
    rows = pa.array(keep_rows(cells.columns[person], rows_per_person))
    sealed = None if cells.sealed is None else cells.sealed.take(rows.to_numpy())
    columns = {name: array.take(rows) for name, array in cells.columns.items()}
    missing_codes = {name: array.take(rows) for name, array in cells.missing_codes.items()}
    if cells.text:  # only a row of the wrong length has null cells: its person is not known, and may have many more
        has_person = columns[person].is_valid()
        columns = {name: array.filter(has_person) for name, array in columns.items()}
    return replace(
        cells, columns=columns, missing_codes=missing_codes, sealed=sealed, persons=rows_per_person
    )


def _cells(source: Any, schema: Schema, options: FileOptions) -> StoredCells:
    if (rows := as_rows(source)) is not None:
        source = rows.table()
        missing_codes = {
            c.name: missing_words(c, source.code(c.name)) for c in source.schema.modelled
        }
        return StoredCells(
            "table",
            {name: plain_cells(source.data.column(name)) for name in source.columns},
            {name: array for name, array in missing_codes.items() if array is not None},
            False,
            source.origin,
            frozenset(column.name for column in source.schema if column.spelled),
            source if source.schema.sealed else None,
        )
    opened = source if isinstance(source, Source) else open_header(source, schema, **options)
    return cells_of_rows(opened, opened.table())


def cells_of_rows(source: Source, rows: pa.Table) -> StoredCells:
    """Return the cells of some rows of a source, of all its columns or of some."""
    columns = {name: plain_cells(rows.column(name)) for name in rows.column_names}
    spelled = frozenset(columns if source.text else ())
    return StoredCells(
        source.name,
        columns,
        {},
        source.text,
        Origin(source.native, {}, source.layout, index=source.index),
        spelled,
    )


def open_header(
    source: Any, schema: Schema | None = None, **options: Unpack[FileOptions]
) -> Source:
    """Return a source that no record can stop; of a file only the header has been read, with the names of its columns.

    Where a text file has no line of names, they are as many as the schema declares.
    """
    if isinstance(source, str | os.PathLike):
        form = recognise(
            source, by_name=ReadOptions.from_options(options, tolerant=True).undescribed
        )
        if form.open is not None and not form.private:
            raise FileError(
                f"A private fit does not read '{source}', {form.a_file}: its reader may stop at a value, or look at values to tell what they are. "
                "Save it as Parquet or CSV."
            )
    columns, line_breaks = (
        (None, False) if schema is None else (len(schema.columns), schema.line_breaks)
    )
    return open_source(source, tolerant=True, columns=columns, line_breaks=line_breaks, **options)


def shown_source(source: Any) -> str:
    """Return what messages call a source: its path, or DATA."""
    return str(source) if isinstance(source, str | os.PathLike) else "DATA"


def plain_cells(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without dictionaries; words and bytes with offsets of 64 bits, for all of them may be long."""
    chunks = [_plain_chunk(chunk) for chunk in values.chunks or [pa.array([], values.type)]]
    return pa.concat_arrays(chunks) if len(chunks) > 1 else chunks[0]


def _plain_chunk(chunk: pa.Array) -> pa.Array:
    while True:
        if isinstance(chunk.type, Tagged):
            chunk = chunk.storage.field("value")
        elif isinstance(chunk, pa.ExtensionArray):
            chunk = chunk.storage
        elif pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary.take(chunk.indices.cast(pa.int64()))
        elif pa.types.is_run_end_encoded(chunk.type):
            chunk = pc.run_end_decode(chunk)
        elif pa.types.is_nested(chunk.type):  # no value of it has a reading
            return pa.nulls(len(chunk), chunk.type)
        else:
            wide = is_words(chunk.type) or is_bytes(chunk.type)
            return chunk.cast(pa.large_binary()) if wide else chunk


def with_person(schema: Schema, person: str | None) -> Schema:
    """Return the schema with the persons' column as an identifier: it has no codes. Unless named it is the one with the role `person`."""
    person = schema.only("person") if person is None else person
    if person is None:
        return schema
    old = schema[person]
    output = old.output if not old.modelled else "drop"
    new = Column(
        person,
        "identifier",
        "person",
        old.type,
        old.title,
        output=output,
        form=old.form,
        repeats=old.repeats,
    )
    return replace(
        schema, columns=tuple(new if column.name == person else column for column in schema)
    )


@SILENT
def typed_cells(column: Column, cells: StoredCells) -> tuple[pa.Array, NDArray[np.int16] | None]:
    """Return the values of a column in its declared type, null where a cell has none, and which missing code stood there.

    What a cell becomes depends on the cell and on the declaration, never on other cells.
    """
    blank = cells.text and column.modelled
    return declared_values(
        column,
        cells.columns[column.name],
        missing_codes=cells.missing_codes.get(column.name),
        blank=blank,
    )


def _dtypes(schema: Schema) -> dict[str, Any]:
    """Return the pandas dtypes of columns that may have missing values where plain ones have none: whole numbers and truth.

    Whether a drawn column has any must not show in its dtype.
    """
    import pandas as pd

    out: dict[str, Any] = {}
    for column in schema.modelled:
        kind, codec = parse_type(column.type), column.codec
        truth = pa.types.is_boolean(kind)
        assert codec is not None
        if not (
            codec.null
            or codec.other
            or any(truth or isinstance(code, str) for code in codec.missing)
        ):
            continue
        if truth:
            out[column.name] = pd.BooleanDtype()
        elif pa.types.is_integer(kind):
            sign = "U" if pa.types.is_unsigned_integer(kind) else ""
            out[column.name] = pd.api.types.pandas_dtype(f"{sign}Int{kind.bit_width}")
    return out


@SILENT
def keep_rows(
    ids: pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any], max_rows: int
) -> NDArray[np.int64]:
    """Return which rows to keep, in order: the first `max_rows` of each person, as the file has them.

    Every row without an id (null or NaN) is a person of its own: nothing else is known of it. Ids are compared as they are
    stored; words without the blanks around them.

    Proof that one person changes at most m kept rows, under both relations: whether a row is kept depends on how many rows
    *of its own person* stand before it, and on nothing else. Take all rows of one person out of a table: the rows of everybody
    else have as many of their own before them as they had, so the same ones are kept. The two results differ in the kept rows of
    that person alone, at most m (add-remove); exchange the person for another, and m go and m come (replace-one). The
    argument holds for any order of rows that does not itself depend on other persons' rows.

    What is not promised: that the number of kept rows is public. Under "replace-one" the number of persons is, but one
    person may keep fewer rows than another.

    Examples
    --------
    >>> keep_rows(["ann", "bob", "ann", "ann", None, None], 2).tolist()
    [0, 1, 2, 4, 5]
    """
    check_whole("rows_per_person", max_rows, 1)
    persons = person_numbers(ids)
    order = np.argsort(persons, kind="stable")
    sorted_persons = persons[order]
    starts = (
        np.flatnonzero(np.concatenate([[True], sorted_persons[1:] != sorted_persons[:-1]]))
        if len(sorted_persons)
        else np.empty(0, dtype=np.int64)
    )
    rank = np.arange(len(sorted_persons)) - np.repeat(
        starts, np.diff(np.append(starts, len(sorted_persons)))
    )
    keep = np.empty(len(sorted_persons), dtype=bool)
    keep[order] = rank < max_rows
    return np.flatnonzero(keep).astype(np.int64)


MOST_BYTES = 2**31 - 1
"""The most bytes of words that an array with offsets of 32 bits can hold."""


def declared_values(
    column: Column, values: pa.Array, *, missing_codes: pa.Array | None = None, blank: bool = False
) -> tuple[pa.Array, NDArray[np.int16] | None]:
    """Return cells as values of the column's declared type, null where they are none, and which missing code stood there.

    Cells may be of any type but a dictionary; `missing_codes` are the missing codes that stood beside nulls, where they are stored apart.
    `blank`: cells without a letter are empty ones, as in a text file, and wherever words stand for something else.
    Words have offsets of 64 bits and no dictionary: `in_type` gives them those that are declared.
    """
    column = with_usual_type(column)
    kind, has_words = (
        value_type(parse_type(column.type)),
        is_words(values.type) or is_bytes(values.type),
    )
    tokens = None if missing_codes is None else word_tokens(missing_codes, column.missing)
    same = not has_words and type_family(values.type) == type_family(kind) != "none"
    if same and (tokens is not None or not _codes_are_values(column)):
        return _whole_days(_convert(column, values, kind)), tokens
    if is_words(kind) and not blank:
        return spell_values(values), tokens
    spelling = spelling_of(column)
    if not has_words:  # our own spelling has a point, whatever sign the column's file has
        values, spelling = spell_values(values), replace(spelling, decimal=".", thousands="")
    typed, spelled = parse_each_word(values, spelling, exact=column.kind == "categorical")
    return _whole_days(typed), spelled if tokens is None else tokens


def in_type(values: pa.Array, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return declared values in the declared type to the bit, whatever words there are: dictionaries have indices of 32 bits."""
    inner = value_type(kind)
    narrow = _narrow(values, inner) if is_words(inner) else values
    return narrow.dictionary_encode() if pa.types.is_dictionary(kind) else narrow


def _codes_are_values(column: Column) -> bool:
    """Whether a missing code that is a word reads as a value: then cells are words first, as they are in a text file."""
    codes = [code for code in column.missing if isinstance(code, str)]
    values = each_value(pa.array(codes, pa.large_string()), spelling_of(column))
    return values.null_count < len(codes)


def _narrow(texts: pa.Array, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return words in a type that may have offsets of 32 bits: in as many pieces as they need, null for a word that is too long."""
    if pa.types.is_large_string(kind):
        return texts
    lengths = np.asarray(
        pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False), dtype=np.int64
    )
    if int(lengths.sum()) <= MOST_BYTES:
        return texts.cast(kind)
    long = lengths > MOST_BYTES
    texts = pc.if_else(pa.array(long), pa.scalar(None, texts.type), texts)
    pieces, start, n_bytes = [], 0, 0
    for row, length in enumerate(np.where(long, 0, lengths).tolist()):
        if n_bytes + length > MOST_BYTES:
            pieces.append(texts.slice(start, row - start).cast(kind))
            start, n_bytes = row, 0
        n_bytes += length
    return pa.chunked_array([*pieces, texts.slice(start).cast(kind)], type=kind)


def _convert(column: Column, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values as those of another type of the same family."""
    stored = values.type
    if stored == kind:
        return values
    numbers, present = numbers_of(values)
    if type_family(kind) != "number":
        return _rescale(numbers, stored, present, kind)
    if pa.types.is_integer(kind) and numbers.dtype == np.float64:
        if column.kind == "categorical":
            present = present & (numbers == np.rint(numbers)) & np.isfinite(numbers)
        numbers = np.rint(np.clip(np.where(present, numbers, 0.0), -LARGEST, LARGEST)).astype(
            np.int64
        )
    return from_numbers(numbers, present, kind)


def _rescale(
    numbers: NDArray[Any], stored: pa.DataType, present: NDArray[np.bool_], kind: pa.DataType
) -> pa.Array:
    """Return moments, times or spans that are counted in units of one type as those of another; none overflows."""
    # Days are the coarsest unit: as fractions of a second, both ways are whole numbers of each other.
    if _is_zoned(stored) and _is_zoned(kind):  # from the clock of one zone to that of the other
        numbers = (
            np.clip(numbers, -(2**62), 2**62)
            - clock_shift(stored)
            + clock_shift(pa.timestamp(stored.unit, tz=kind.tz))
        )
    stored_units, wanted = (
        1 if k == pa.date32() else DAY * units_per_second(k) for k in (stored, kind)
    )
    if wanted >= stored_units:
        factor = wanted // stored_units
        limit = LARGEST // factor
        return from_numbers(np.clip(numbers, -limit, limit) * factor, present, kind)
    return from_numbers(numbers // (stored_units // wanted), present, kind)


def _is_zoned(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz)


def _whole_days(values: pa.Array) -> pa.Array:
    """Return days that are counted in milliseconds (date64) without the part of a day, which Arrow takes for damage."""
    if values.type != pa.date64():
        return values
    numbers, present = numbers_of(values)
    day = 1000 * DAY
    return from_numbers(numbers // day * day, present, values.type)
