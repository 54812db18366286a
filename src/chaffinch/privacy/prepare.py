"""The private door: a table under declared domains, read so that no record can stop, shape or name anything.

`chaffinch.read` fits its schema to the data and raises where they do not fit. Here the schema is sealed before the first row
is read (`domain`), every cell has a code, and messages speak of names, types and declarations only.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import FileError, SchemaError, listed, unknown_name
from ..table.codes import Codes
from ..table.encode import missing_words
from ..table.grid import LARGEST, from_numbers
from ..table.read import as_schema
from ..table.schema import Column, Schema
from ..table.sources import Source, Tagged, open_source, recognise
from ..table.table import Origin, Table
from ..table.types import is_numeric, is_words, parse_type, type_name, value_type
from .domain import check_declared, declared_schema, numbers_of, place, undeclared, with_usual_type, words_of
from .persons import keep_rows

__all__ = ["Cells", "check_columns", "open_cells", "open_header", "prepare", "typed_cells", "with_person"]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a source as they are stored: nothing is understood yet.

    `words` holds, for columns of a `Table`, the missing codes that its text file spelled beside nulls. `persons` is how many rows are
    kept of each person, 0 where every row is a person of its own.
    """

    name: str
    columns: Mapping[str, pa.Array]
    words: Mapping[str, pa.Array]
    text: bool
    origin: Origin
    sealed: Table | None = None
    persons: int = 0

    @property
    def n_rows(self) -> int:
        """The number of rows: confidential under add-remove."""
        return len(next(iter(self.columns.values())))


def prepare(
    source: Any,
    schema: Schema | str | os.PathLike[str] | None = None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Table:
    """Return a table with a sealed schema: codes that each depend on their own row and on public declarations.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow), an object, a `Table`, a `Source` or `Cells`. Any number of rows, also none; one column is
        enough.
    schema
        Public and with a declared domain for every column; None for that of a `Table`.
    person, rows_per_person
        The column that tells persons apart, if they may have several rows, and how many rows of each are kept. It is an
        identifier: it has no codes. A row that has too many or too few cells is left out, for its person is not known.

    Stability: without `person` each record of the source gives one row of codes, a function of that record, so neighbours
    stay neighbours under both relations. With `person` see `keep_rows`. The records of a text file are what its quotes make
    of it: a quote that is never closed takes in all that follows, for every reader.
    """
    declared = as_schema(schema if schema is not None or not isinstance(source, Table) else source.schema)
    if declared is None:
        raise undeclared(_shown(source))
    declared = with_person(declared, person)
    check_declared(declared, source=_shown(source))
    sealed = declared_schema(declared)
    cells = open_cells(
        source, declared, person=person, rows_per_person=rows_per_person, encoding=encoding, delimiter=delimiter
    )
    if cells.sealed is not None and cells.sealed.schema == sealed:
        held = cells.sealed
        return held if not cells.persons else replace(held, schema=replace(held.schema, persons=cells.persons))
    columns, arrays, codes = [], [], []
    sealed = declared_schema(replace(sealed, columns=tuple(_as_stored(sealed[name], cells) for name in cells.columns)))
    for column in sealed:
        values, tokens = typed_cells(column, cells)
        columns.append(column)
        arrays.append(values)
        if column.modelled:
            codes.append(place(column, values, tokens))
    data = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
    sealed = replace(sealed, persons=cells.persons)
    return Table(sealed, data, Codes.of(codes, sealed.sizes), (), _origin(cells, sealed))


def open_cells(
    source: Any,
    schema: Schema,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Cells:
    """Return the cells of a source, of at most `rows_per_person` rows of each person; `prepare` and `discover` take them."""
    cells = source if isinstance(source, Cells) else _cells(source, encoding, delimiter)
    check_columns(cells.name, list(cells.columns), schema)
    if person is None or isinstance(source, Cells):
        return cells
    schema[person]
    rows = pa.array(keep_rows(cells.columns[person], rows_per_person))
    sealed = None if cells.sealed is None else cells.sealed.take(rows.to_numpy())
    columns = {name: array.take(rows) for name, array in cells.columns.items()}
    words = {name: array.take(rows) for name, array in cells.words.items()}
    if cells.text:  # only a row of the wrong length has null cells: its person is not known, and may have many more
        whole = columns[person].is_valid()
        columns = {name: array.filter(whole) for name, array in columns.items()}
    return replace(cells, columns=columns, words=words, sealed=sealed, persons=rows_per_person)


def _cells(source: Any, encoding: str, delimiter: str | None) -> Cells:
    if isinstance(source, Table):
        words = {c.name: missing_words(c, source.code(c.name)) for c in source.schema.modelled}
        return Cells(
            "table",
            {name: _plain(source.data.column(name)) for name in source.columns},
            {name: array for name, array in words.items() if array is not None},
            False,
            source.origin,
            source if source.schema.sealed else None,
        )
    opened = source if isinstance(source, Source) else open_header(source, encoding=encoding, delimiter=delimiter)
    whole = opened.table()
    columns = {name: _plain(whole.column(name)) for name in whole.column_names}
    return Cells(opened.name, columns, {}, opened.text, Origin(opened.native, opened.dtypes, opened.delimiter))


def open_header(source: Any, *, encoding: str = "utf-8", delimiter: str | None = None) -> Source:
    """Return a source that no record can stop; of a file only the header has been read, with the names of its columns."""
    if isinstance(source, str | os.PathLike) and recognise(Path(source)) in ("sav", "dta"):
        raise FileError(
            f"A private fit does not read '{source}': the reader of SPSS and Stata files may stop at a value. Save it as "
            "Parquet or CSV."
        )
    return open_source(source, encoding=encoding, delimiter=delimiter, tolerant=True)


def _shown(source: Any) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else "DATA"


def _plain(values: pa.ChunkedArray) -> pa.Array:
    array = values.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # an empty one, or words of more than 2 GiB
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], type=array.type)
    if isinstance(array.type, Tagged):
        return array.storage.field("value")
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def with_person(schema: Schema, person: str | None) -> Schema:
    """Return the schema with the persons' column as an identifier: it has no codes."""
    if person is None:
        return schema
    old = schema[person]
    new = Column(
        person, "identifier", "identifier", old.type, old.title, output=old.output if not old.modelled else "drop"
    )
    return replace(schema, columns=tuple(new if column.name == person else column for column in schema))


def check_columns(name: str, columns: Sequence[str], schema: Schema) -> None:
    """Raise unless the columns of a source, called `name`, are those that the schema declares."""
    declared = [column.name for column in schema]
    for column in declared:
        if column not in columns:
            raise unknown_name("column", column, columns)
    if extra := [column for column in columns if column not in declared]:
        raise SchemaError(
            f"The schema lacks columns of '{name}': {listed(extra)}. Add them, or drop them from the data."
        )


def _family(kind: pa.DataType) -> str:
    kind = value_type(kind)
    tests = {"words": is_words, "whole": pa.types.is_integer, "truth": pa.types.is_boolean}
    if kind in (pa.float32(), pa.float64()):
        return "float"
    return next((name for name, test in tests.items() if test(kind)), type_name(kind))


def _as_stored(column: Column, cells: Cells) -> Column:
    """Return the column with the type that the source stores where that is of its family, else as declared.

    Dates and times keep the declared type: bounds count its units. The width of a dictionary's numbers would tell how many
    words there are: it is always 32 bits.
    """
    column = replace(column, spelled=cells.text or column.name in cells.words)
    stored, kind = cells.columns[column.name].type, parse_type(with_usual_type(column).type)
    if (
        not column.modelled
        or cells.text
        or stored in (pa.binary(), pa.large_binary())
        or _family(stored) != _family(kind)
    ):
        return column
    if pa.types.is_dictionary(stored):
        inner = value_type(stored)
        stored = pa.dictionary(pa.int32(), inner, stored.ordered) if column.kind == "categorical" else inner
    return replace(column, type=type_name(stored))


def typed_cells(column: Column, cells: Cells) -> tuple[pa.Array, NDArray[np.int16] | None]:
    """Return the values of a column in its declared type, null where a cell has none, and which missing code stood there.

    What a cell becomes depends on the cell, on the stored type and on the declaration, never on other cells.
    """
    column = with_usual_type(column)
    values, kind = cells.columns[column.name], value_type(parse_type(column.type))
    if not column.modelled:
        return pa.array(words_of(values), type=pa.string()) if _bytes_like(values.type) else values, None
    beside = cells.words.get(column.name)
    if beside is not None:
        tokens = _tokens(column, beside.dictionary_encode())
        return _converted(column, values, kind), tokens
    if not _bytes_like(value_type(values.type)):
        return _converted(column, values, kind), None
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    words = words_of(coded.dictionary)
    tokens = None
    if cells.text or not is_words(kind):
        tokens = _tokens(column, coded)
        words = [None if word is None or not word.strip() or word in column.missing else word for word in words]
    parsed = pa.array(words, type=pa.string()).cast(kind) if is_words(kind) else _parsed(column, words, kind)
    taken = parsed.take(coded.indices.cast(pa.int64()))
    return taken.dictionary_encode() if pa.types.is_dictionary(parse_type(column.type)) else taken, tokens


def _tokens(column: Column, coded: pa.DictionaryArray) -> NDArray[np.int16] | None:
    if not any(isinstance(code, str) for code in column.missing):
        return None
    position = {code: i for i, code in enumerate(column.missing) if isinstance(code, str)}
    table = np.array([*(position.get(word or "", -1) for word in words_of(coded.dictionary)), -1], dtype=np.int16)
    return np.asarray(table[coded.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy(zero_copy_only=False)])


def _parsed(column: Column, words: list[str | None], kind: pa.DataType) -> pa.Array:
    """Return words as values of a type, null where they read as none."""
    if pa.types.is_boolean(kind):
        true, _, false = (column.format if "/" in column.format else "true/false").partition("/")
        truth = {"true": True, "false": False, true: True, false: False}
        return pa.array(
            [None if w is None else truth.get(w.strip(), truth.get(w.strip().lower())) for w in words], pa.bool_()
        )
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        read = _seconds_of_day if pa.types.is_time(kind) else _seconds
        seconds = [None if word is None else read(word.strip()) for word in words]
        if column.format.startswith("%"):
            trimmed = pa.array([None if word is None else word.strip() for word in words], type=pa.string())
            parsed = pc.strptime(trimmed, column.format, "s", error_is_null=True).cast(pa.int64()).to_pylist()
            # strptime puts a time of day on a day in 1900: what is left of it is the time.
            day = 86_400 if pa.types.is_time(kind) else None
            seconds = [second if second is None or day is None else second % day for second in parsed]
        present = np.array([second is not None for second in seconds], dtype=bool)
        return _moments(np.array([second or 0 for second in seconds], dtype=np.int64), 1, present, kind)
    found = [None if word is None else _number(word.strip()) for word in words]
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return pa.nulls(len(words), kind)
    if pa.types.is_integer(kind):  # cell by cell: a fraction in one must not cost another its last digits
        found = [None if number is None else _whole(number, exact=column.kind == "categorical") for number in found]
    else:
        found = [None if number is None else _real(number) for number in found]
    present = np.array([number is not None for number in found], dtype=bool)
    dtype = np.int64 if pa.types.is_integer(kind) else np.float64
    return from_numbers(np.array([number or 0 for number in found], dtype=dtype), present, kind)


def _number(word: str) -> int | float | None:
    """Return the number that a word spells, whole ones exactly; None for NaN and for what is no number.

    Examples
    --------
    >>> [_number(word) for word in ("007", "1e3", "-inf", "nan", "1_0", "x")]
    [7, 1000.0, -inf, None, None, None]
    """
    if "_" in word:
        return None
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _real(number: int | float) -> float:
    """Return a number as a float; beyond all floats it is infinite, as 1e400 is."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _whole(number: int | float, *, exact: bool) -> int | None:
    """Return a number as one that int64 holds: the nearest, or None where `exact` is asked and it is none."""
    inside = min(max(number, -LARGEST), LARGEST)
    if exact and inside != round(inside):
        return None
    return round(inside)


def _seconds(word: str) -> int | None:
    """Return the seconds since 1970 of a date or time in its plain spelling (ISO 8601), None for what is none."""
    try:
        moment = datetime.datetime.fromisoformat(word)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
    return math.floor((moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)).total_seconds())


def _seconds_of_day(word: str) -> int | None:
    """Return the seconds since midnight of a time of day in its plain spelling, None for what is none."""
    try:
        moment = datetime.time.fromisoformat(word)
    except ValueError:
        return None
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _moments(numbers: NDArray[np.int64], per_second: float, present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return moments, counted in units of which `per_second` make a second, as dates or times of a type; none overflows."""
    wanted = _units(kind)
    if wanted >= per_second:
        factor = round(wanted / per_second)
        most = LARGEST // factor
        out = np.clip(numbers, -most, most) * factor
    else:
        out = numbers // round(per_second / wanted)
    if kind == pa.date32():
        out = np.clip(out, -(2**31), 2**31 - 1)
    return from_numbers(out, present, kind)


def _units(kind: pa.DataType) -> float:
    """How many units of a date or time make a second."""
    return 1 / 86_400 if kind == pa.date32() else 1e3 if kind == pa.date64() else _PER_SECOND[kind.unit]


def _converted(column: Column, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values of another stored type as values of the declared one; types alone decide what can be converted."""
    if pa.types.is_dictionary(values.type):
        if is_words(values.type) and is_words(kind):
            return values
        values = values.cast(value_type(values.type))
    stored = values.type
    if stored == kind:
        return values
    moment, moments = (pa.types.is_date(t) or pa.types.is_timestamp(t) for t in (kind, stored))
    if is_words(kind):
        return _spelt(values).cast(kind)
    if moment and moments:
        return _moments(*_first(numbers_of(values), _units(stored)), kind)
    if moment or moments or not (is_numeric(stored) or pa.types.is_boolean(stored)) or pa.types.is_duration(stored):
        return pa.nulls(len(values), kind)
    if pa.types.is_boolean(stored):
        values = values.cast(pa.int8())
    numbers, present = numbers_of(values)
    if pa.types.is_boolean(kind):
        return pa.array(numbers == 1, mask=~present | ~np.isin(numbers, (0, 1)))
    if pa.types.is_integer(kind) and numbers.dtype == np.float64:
        if column.kind == "categorical":
            present = present & (numbers == np.rint(numbers)) & np.isfinite(numbers)
        numbers = np.rint(np.clip(np.where(present, numbers, 0.0), -LARGEST, LARGEST)).astype(np.int64)
    return from_numbers(numbers, present, kind)


def _first(
    found: tuple[NDArray[Any], NDArray[np.bool_]], units: float
) -> tuple[NDArray[Any], float, NDArray[np.bool_]]:
    return found[0], units, found[1]


def _spelt(values: pa.Array) -> pa.Array:
    """Return values as words, each by itself: null where a value has no spelling."""

    def spell(value: pa.Scalar) -> str | None:
        try:
            return str(value.cast(pa.string()).as_py()) if value.is_valid else None
        except (pa.ArrowException, ValueError, OverflowError):
            return None

    try:
        coded = values.dictionary_encode()
    except pa.ArrowNotImplementedError:  # decided by the type: lists, structs and the like
        return pa.nulls(len(values), pa.string())
    return pa.array([spell(value) for value in coded.dictionary], type=pa.string()).take(coded.indices)


def _bytes_like(kind: pa.DataType) -> bool:
    return is_words(kind) or kind in (pa.binary(), pa.large_binary())


def _origin(cells: Cells, schema: Schema) -> Origin:
    """Return what the table was made from, without dtypes that cannot hold what the schema allows.

    pandas has no missing values in plain whole numbers: whether a column had any would show in the output.
    """
    kept = {}
    for name, dtype in cells.origin.dtypes.items():
        column = schema[name]
        full = not (column.nullable or column.other or column.spelled)
        same = column.modelled and _family(cells.columns[name].type) == _family(parse_type(column.type))
        if same and (full or not isinstance(dtype, np.dtype) or dtype.kind == "f"):
            kept[name] = dtype
    return replace(cells.origin, dtypes=kept)
