"""Several files on one grid, read part by part: what `align` does with tables in memory.

One pass over each of the others finds what of its values the original's codes have no room for; then every part of every file is coded
alike. Codes and values are those that `align` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.runtime import Progress, silent, thread_map
from .align import (
    OtherTable,
    has_fractions,
    moved,
    same_columns,
    tokens_of,
    widening_notes,
    with_room,
    without_spare_room,
)
from .code_cache import CodeLayout, temporary_folder
from .codes import Codes
from .encode import encode_column
from .fit_schema import enough_rows, spelling_of, typed
from .formats import Source
from .long import LongTable
from .note import Note
from .scan import Scan
from .schema import Column, Role, Schema
from .sources import open_source
from .table import Origin, Table
from .types import whole_array


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
        return moved(
            encode_column(self.own, values, tokens), self.own.fitted_codec, self.final.fitted_codec
        )

    def of_rows(self, part: Table) -> NDArray[Any]:
        """Return the codes of rows of the original that have codes of its own."""
        if not self.own.fitted_codec.n_values:
            return self.of_other(_values(part, self.own.name), tokens_of(part, self.own))
        return moved(part.code(self.own.name), self.own.fitted_codec, self.final.fitted_codec)

    def of_other(self, values: pa.Array, tokens: Any) -> NDArray[Any]:
        """Return the codes of another table's values."""
        return moved(
            encode_column(self.roomy, values, tokens),
            self.roomy.fitted_codec,
            self.final.fitted_codec,
        )


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
    opened = [_opened(other) for other in others]
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
    first = _long(
        schema, original.n_rows, _original_parts(original, schema, shared), original.notes
    )
    return first, *(
        _long(schema, n_rows, _other_parts(name, source, schema, shared), tuple(said))
        for name, source, n_rows, said in zip(called, opened, sizes, notes, strict=True)
    )


def check_long_schema(schema: Schema) -> None:
    """Raise where rows of a table have to be in memory to be compared."""
    unfit: dict[Role, str] = {
        "person": "people have several rows",
        "weight": "records have weights",
    }
    for role, what in unfit.items():
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


def _long(
    schema: Schema,
    n_rows: int,
    read: Callable[[Collection[str] | None], Iterator[Table]],
    notes: tuple[Note, ...],
) -> LongTable:
    return LongTable(schema, n_rows, read, read, notes)


def _opened(other: Any) -> Source | Table:
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
                room.add(_values(part, room.column.name), tokens_of(part, room.column))
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
