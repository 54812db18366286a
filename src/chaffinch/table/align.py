"""Several tables on one grid: the levels and bins of the first, so that their counts can be compared cell by cell.

A table that lost a level keeps its cell, empty; values that the first table never had share the cell `(other)`; numbers
beyond its range fall in its end bins.

`align` takes tables in memory, `align_files` files that are read part by part, and both give the same codes and values. Of files one pass over each of the others
finds what of its values the original's codes have no room for; then every part of every file is coded alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError, listed
from .._base.runtime import Progress, silent, thread_map
from .code_cache import CodeLayout, temporary_folder
from .codes import Codes
from .compare.values import missing_tokens
from .domain import encode_column
from .fit_schema import enough_rows, typed
from .formats import Source
from .long import LongTable
from .persons import person_numbers
from .scan import Scan
from .schema import Column, Note, Role, Schema
from .sources import open_source
from .table import Origin, Table
from .text import WordValues, parse_other_spelling, spelling_of
from .types import is_numeric, parse_type, to_numbers, type_name, value_type, whole_array
from .weights import with_constant_weight


@dataclass(frozen=True)
class OtherTable:
    """A table to bring onto the grid: its name for messages, its columns, and how to get the values of one."""

    name: str
    columns: Sequence[str]
    table: Table | None
    source: Source | None
    whole: pa.Table

    def values(self, column: Column) -> WordValues:
        """Return the values of a column, null where missing, and which of the grid's missing codes stood there."""
        if self.table is not None:
            values, tokens = (
                self.whole.column(column.name).combine_chunks(),
                missing_tokens(self.table, column),
            )
        elif self.source is not None and self.source.text:
            cells, codec = self.whole.column(column.name), column.codec
            levels = () if codec is None else codec.levels
            return parse_other_spelling(cells, spelling_of(column), levels, name=column.name)
        else:
            values, tokens = typed(self.whole, {column.name: spelling_of(column)}, text=False)[
                column.name
            ]
        return _as_numbers_of(column, values, self.name), tokens


def align(
    original: Table, *others: Any, names: Sequence[str] = ("synthetic", "holdout")
) -> tuple[Table, ...]:
    """Return the tables with one schema between them: the original's, with a cell for what only the others have.

    Columns without codes (identifiers, free text) are left out. Others are tables, paths or frames; `names` is what
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
    original = with_constant_weight(
        original
    )  # weights are counted by, not compared: one cell holds them all
    opened = [_open(other, name) for other, name in zip(others, names, strict=False)]
    for other in opened:
        same_columns(original.schema, other)
    columns = original.schema.modelled
    if all(_same_codes(other.table, columns) for other in opened):
        same = [other.table for other in opened if other.table is not None]
        return tuple(_of_columns(table, columns) for table in (original, *same))
    shared: list[Column] = []
    codes: list[list[NDArray[Any]]] = [[] for _ in range(len(opened) + 1)]
    notes: list[list[Note]] = [[] for _ in opened]
    data: list[list[pa.Array]] = [[] for _ in opened]
    for column in columns:
        values = [other.values(column) for other in opened]
        roomy = with_room(column, fractions=any(has_fractions(array) for array, _ in values))
        coded = [
            _coded(other, column, roomy, pair) for other, pair in zip(opened, values, strict=True)
        ]
        coded.insert(0, SharedColumn(column, roomy, roomy).of_rows(original))
        used = [np.bincount(one, minlength=roomy.size) > 0 for one in coded]
        for i, other in enumerate(opened):
            notes[i] += widening_notes(column, roomy, used[i + 1], other.name)
            data[i].append(values[i][0])
        final = without_spare_room(column, roomy, np.logical_or.reduce(used))
        shared.append(final)
        for table_codes, one in zip(codes, coded, strict=True):
            table_codes.append(roomy.fitted_codec.remap(one, final.fitted_codec))
    schema = Schema(tuple(shared), original.schema.rare_below)
    names_ = list(schema.names)
    persons = [original.person_of, *(_person_of(original, other) for other in opened)]
    tables = [
        original.data.select(names_),
        *(pa.Table.from_arrays(arrays, names=names_) for arrays in data),
    ]
    return tuple(
        Table(
            schema,
            table,
            Codes.of(table_codes, schema.sizes),
            note,
            original.origin,
            person_of=whose,
        )
        for table, table_codes, note, whose in zip(
            tables, codes, [original.notes, *map(tuple, notes)], persons, strict=True
        )
    )


def align_files(
    original: Scan,
    *others: Any,
    names: Sequence[str] = ("synthetic", "holdout"),
    progress: Progress = silent,
) -> tuple[LongTable, ...]:
    """Return files with one schema between them: the original's, with a cell for what only the others have.

    Others are paths, frames, scans or tables. Columns without codes (identifiers, free text) are left out, as are those that the schema gives no part
    in what is compared.

    Raises
    ------
    InputError
        If columns differ, if no value of a column is one that the original has, or if people have several rows or records weights.
    """
    check_long_schema(original.schema)
    enough_rows("The original table", original.n_rows)
    opened = [opened_table(other) for other in others]
    called = list(names[: len(opened)])
    rooms: list[list[ColumnRoom]] = []
    sizes: list[int] = []
    for name, source in zip(called, opened, strict=True):
        progress(f"reading the {name} table", -1)
        found, n_rows = _rooms(name, source, original.schema)
        enough_rows(
            f"'{source.name}'" if isinstance(source, Source) else f"The {name} table", n_rows
        )
        rooms.append(found)
        sizes.append(n_rows)
    own = _own_rooms(original, original.schema.modelled)
    shared, schema, notes = shared_columns(original.schema, rooms, own, called)
    read = _original_parts(original, schema, shared)
    tables = [LongTable(schema, original.n_rows, read, read, original.notes)]
    for name, source, n_rows, said in zip(called, opened, sizes, notes, strict=True):
        read = _other_parts(name, source, schema, shared)
        tables.append(LongTable(schema, n_rows, read, read, tuple(said)))
    return tuple(tables)


@contextmanager
def files_on_one_grid(
    original: Scan, *others: Any, progress: Progress = silent
) -> Iterator[tuple[LongTable, ...]]:
    """Yield what `align_files` returns, with the codes of all rows kept in a folder that its owner alone can read, until the block ends."""
    aligned = align_files(original, *others, progress=progress)
    n_bytes = sum(table.n_rows * CodeLayout.of(table.schema).row_bytes for table in aligned)
    with temporary_folder(n_bytes=n_bytes) as folder:
        progress("coding rows", -1)
        yield tuple(replace(table, folder=folder).cached() for table in aligned)


def _open(other: Any, name: str) -> OtherTable:
    if isinstance(other, Table):
        enough_rows(f"The {name} table", other.n_rows)
        return OtherTable(name, other.columns, other, None, other.data)
    source = other if isinstance(other, Source) else open_source(other)
    whole = source.table()
    enough_rows(f"'{source.name}'", whole.num_rows)
    return OtherTable(name, whole.column_names, None, source, whole)


def same_columns(original: Schema, other: OtherTable) -> None:
    """Raise unless another table has the columns of the original, and no others."""
    if lost := [name for name in original.names if name not in other.columns]:
        raise InputError(
            f"The {other.name} table lacks columns of the original: {listed(lost)}. Compare tables with the same columns."
        )
    known = {column.name for column in original}
    if extra := [name for name in other.columns if name not in known]:
        raise InputError(
            f"The {other.name} table has columns that the original lacks: {listed(extra)}. Drop them, or add them there."
        )


def _same_codes(table: Table | None, columns: Sequence[Column]) -> bool:
    """Return whether a table has the codes of these very columns, as one drawn from a model of the original has."""
    return table is not None and all(table.schema[c.name].codec is c.codec for c in columns)


def _of_columns(table: Table, columns: Sequence[Column]) -> Table:
    """Return a table with these columns alone, in this order; itself if it is so already."""
    names = [column.name for column in columns]
    if [column.name for column in table.schema] == names:
        return table
    codes = Codes.of([table.code(name) for name in names], [column.size for column in columns])
    schema = replace(table.schema, columns=tuple(table.schema[name] for name in names))
    return Table(
        schema,
        table.data.select(names),
        codes,
        table.notes,
        table.origin,
        person_of=table.person_of,
    )


def _person_of(original: Table, other: OtherTable) -> NDArray[np.int64] | None:
    """Return whose rows those of another table are, where people of the original have several and the table says it."""
    if other.table is not None or original.person_of is None:
        return None if other.table is None else other.table.person_of
    name = original.schema.only("person")
    return person_numbers(other.whole.column(name)) if name in other.columns else None


def with_room(column: Column, *, fractions: bool) -> Column:
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


def widening_notes(column: Column, roomy: Column, used: NDArray[np.bool_], name: str) -> list[Note]:
    """Return what to say of a column of another table, which uses some codes, that the original's codes have no room for."""
    codec, wide = column.fitted_codec, roomy.fitted_codec
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
    if wide.whole != codec.whole:
        sentences.append(f"the {name} table may hold fractions, the original whole numbers")
    if wide.null and not codec.null and used[wide.n_values]:
        sentences.append(f"the {name} table has missing values, the original none")
    return [Note(column.name, "widened", sentence) for sentence in sentences]


def without_spare_room(column: Column, roomy: Column, used: NDArray[np.bool_]) -> Column:
    """Return the column without the codes for (other) and missing that were added and that no table uses."""
    final = roomy.fitted_codec.narrowed(column.fitted_codec, used)
    return column if final is column.codec else replace(roomy, codec=final)


def _coded(other: OtherTable, column: Column, roomy: Column, values: WordValues) -> NDArray[Any]:
    """Return the codes of another table on the wider grid: its own, moved, where it has those of the original's column."""
    if (
        other.table is not None
        and other.table.schema[column.name].codec is column.codec
        and column.fitted_codec.n_values
    ):
        return column.fitted_codec.remap(other.table.code(column.name), roomy.fitted_codec)
    return encode_column(roomy, *values)


@dataclass(frozen=True)
class SharedColumn:
    """A column of the original, with room for what only others have, and as it is shared."""

    own: Column
    roomy: Column
    final: Column

    def of_original(self, values: pa.Array, tokens: Any) -> NDArray[Any]:
        """Return the codes of the original's values."""
        if not self.own.fitted_codec.n_values:
            return self.of_other(values, tokens)
        codes = encode_column(self.own, values, tokens)
        return self.own.fitted_codec.remap(codes, self.final.fitted_codec)

    def of_rows(self, part: Table) -> NDArray[Any]:
        """Return the codes of rows of the original that have codes of its own.

        The few values that were made missing are values here, or a copy of the file would differ from the original.
        """
        if not self.own.fitted_codec.n_values:
            return self.of_other(_values(part, self.own.name), missing_tokens(part, self.own))
        return self.own.fitted_codec.remap(part.code(self.own.name), self.final.fitted_codec)

    def of_other(self, values: pa.Array, tokens: Any) -> NDArray[Any]:
        """Return the codes of another table's values."""
        codes = encode_column(self.roomy, values, tokens)
        return self.roomy.fitted_codec.remap(codes, self.final.fitted_codec)


class ColumnRoom:
    """What of one file's values a column of the original has no codes for."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.used = np.zeros(with_room(column, fractions=True).size, dtype=bool)
        self.fractions = False

    def add(self, values: pa.Array, tokens: Any) -> None:
        fractions = has_fractions(values)
        self.fractions |= fractions
        self.used[
            np.unique(encode_column(with_room(self.column, fractions=fractions), values, tokens))
        ] = True


MEASURED_IN_MEMORY: dict[Role, str] = {
    "person": "people have several rows",
    "weight": "records have weights",
}
"""Roles of columns whose tables are compared in memory, and what they say of a table."""


def check_long_schema(schema: Schema) -> None:
    """Raise where rows of a table have to be in memory to be compared."""
    for role, what in MEASURED_IN_MEMORY.items():
        if (
            schema.only(role) is not None and not schema.sealed
        ):  # a promise has bounded the rows of a person, and each is taken for itself
            raise InputError(
                f"Tables in which {what} are measured in memory: pass --engine memory, or leave the role '{role}' out of the schema."
            )


def shared_columns(
    schema: Schema,
    rooms: Sequence[Sequence[ColumnRoom]],
    own: Mapping[str, Sequence[ColumnRoom]],
    called: Sequence[str],
) -> tuple[list[SharedColumn], Schema, list[list[Note]]]:
    """Return the columns of a grid that has room for what other tables have, its schema, and what is to be said of each of those tables."""
    shared: list[SharedColumn] = []
    notes: list[list[Note]] = [[] for _ in rooms]
    for j, column in enumerate(schema.modelled):
        every = [found[j] for found in rooms]
        roomy = with_room(column, fractions=any(room.fractions for room in every))
        for name, room, said in zip(called, every, notes, strict=True):
            said += widening_notes(column, roomy, room.used, name)
        used = [room.used for room in (*every, *own.get(column.name, ()))]
        final = without_spare_room(
            column, roomy, np.logical_or.reduce([np.zeros(roomy.size, dtype=bool), *used])
        )
        shared.append(SharedColumn(column, roomy, final))
    return shared, Schema(tuple(one.final for one in shared), schema.rare_below), notes


def opened_table(other: Any) -> Source | Table:
    """Return anything that can be brought onto a grid as a source, or as the table that it is."""
    if isinstance(other, Source | Table):
        return other
    return other.source if isinstance(other, Scan) else open_source(other)


def _rooms(name: str, source: Source | Table, schema: Schema) -> tuple[list[ColumnRoom], int]:
    """Return what a file's columns need, and how many rows it has."""
    found = [ColumnRoom(column) for column in schema.modelled]
    columns = source.columns if isinstance(source, Table) else source.schema.names
    same_columns(schema, OtherTable(name, columns, None, None, pa.table({})))
    n_rows = 0
    for other in _batches(name, source, [room.column.name for room in found]):
        thread_map(lambda room: room.add(*other.values(room.column)), found)  # noqa: B023
        n_rows += other.whole.num_rows
    return found, n_rows


def _own_rooms(original: Scan, columns: Sequence[Column]) -> dict[str, list[ColumnRoom]]:
    """Return what the original itself needs in columns whose few values were made missing: a copy of the file must not differ from it."""
    found = [ColumnRoom(column) for column in columns if not column.fitted_codec.n_values]
    if found:
        names = [room.column.name for room in found]
        for batch in original.source.batches(names):
            part = original.encoded([batch], names)
            for room in found:
                room.add(_values(part, room.column.name), missing_tokens(part, room.column))
    return {room.column.name: [room] for room in found}


def _batches(name: str, source: Source | Table, columns: Sequence[str]) -> Iterator[OtherTable]:
    """Yield a file batch by batch, as a table to bring onto the grid; a table in memory as one."""
    if isinstance(source, Table):
        yield OtherTable(name, columns, source, None, source.data.select(list(columns)))
        return
    for batch in source.batches(list(columns)):
        yield OtherTable(name, columns, None, source, pa.Table.from_batches([batch]))


def _original_parts(
    original: Scan, schema: Schema, shared: Sequence[SharedColumn]
) -> Callable[[Collection[str] | None], Iterator[Table]]:
    def parts(columns: Collection[str] | None) -> Iterator[Table]:
        wanted = wanted_columns(shared, columns)
        names = [one.own.name for one in wanted]
        for batch in original.source.batches(names):
            part = original.encoded([batch], names)
            coded = thread_map(lambda one: one.of_rows(part), wanted)  # noqa: B023
            yield _part(
                schema,
                {name: _values(part, name) for name in names},
                dict(zip(names, coded, strict=True)),
            )

    return parts


def part_of_original(
    batch: pa.RecordBatch, schema: Schema, wanted: Sequence[SharedColumn], *, text: bool = False
) -> Table:
    """Return the part that a batch of the original is."""
    values = typed(batch, {one.own.name: spelling_of(one.own) for one in wanted}, text=text)
    coded = thread_map(lambda one: one.of_original(*values[one.own.name]), list(wanted))
    return _part(
        schema,
        {name: pair[0] for name, pair in values.items()},
        dict(zip(values, coded, strict=True)),
    )


def _other_parts(
    name: str, source: Source | Table, schema: Schema, shared: Sequence[SharedColumn]
) -> Callable[[Collection[str] | None], Iterator[Table]]:
    def parts(columns: Collection[str] | None) -> Iterator[Table]:
        wanted = wanted_columns(shared, columns)
        for other in _batches(name, source, [one.own.name for one in wanted]):
            yield part_of_other(other, schema, wanted)

    return parts


def part_of_other(other: OtherTable, schema: Schema, wanted: Sequence[SharedColumn]) -> Table:
    """Return the part that a batch of another table is."""
    names = [one.own.name for one in wanted]
    values = thread_map(lambda one: other.values(one.own), list(wanted))
    coded = thread_map(
        lambda pair: pair[0].of_other(*pair[1]), list(zip(wanted, values, strict=True))
    )
    return _part(
        schema,
        dict(zip(names, (array for array, _ in values), strict=True)),
        dict(zip(names, coded, strict=True)),
    )


def wanted_columns(
    shared: Sequence[SharedColumn], columns: Collection[str] | None
) -> list[SharedColumn]:
    """Return the columns to read: one at least, to learn how many rows a part has."""
    return [one for one in shared if columns is None or one.own.name in columns] or [shared[0]]


def _values(part: Table, name: str) -> pa.Array:
    return whole_array(part.data.column(name))


def _part(schema: Schema, values: dict[str, pa.Array], coded: dict[str, NDArray[Any]]) -> Table:
    n_rows = len(next(iter(values.values())))
    nothing: NDArray[Any] = np.zeros(n_rows, dtype=np.uint8)
    arrays = [coded.get(name, nothing) for name in schema.names]
    data = pa.Table.from_arrays(list(values.values()), names=list(values))
    return Table(schema, data, Codes.of(arrays, schema.sizes, n_rows=n_rows), (), Origin())
