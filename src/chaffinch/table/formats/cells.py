"""Tables of Python cells as sources of words: what workbooks and databases hold is spelled, and understood as a text file is."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..note import Note
from .format import BATCH_ROWS, Labels, Source
from .layout import FileLayout


def spelled_source(
    name: str,
    columns: dict[str, pa.Array],
    layout: FileLayout,
    notes: Sequence[Note] = (),
    labels: dict[str, Labels] | None = None,
) -> Source:
    """Return columns of words as a source."""
    table = pa.table(columns)

    def read(names: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        yield from (table if names is None else table.select(list(names))).to_batches(
            max_chunksize=BATCH_ROWS
        )

    return Source(
        name, table.schema, read, text=True, layout=layout, notes=tuple(notes), labels=labels or {}
    )


def spelled_column(cells: Sequence[Any]) -> pa.Array:
    """Return the cells of a column as words, empty where there is none.

    Dates stand beside times as times at midnight.

    Examples
    --------
    >>> spelled_column([1.0, 2.5, "007", None, True, datetime.date(2020, 1, 2)]).to_pylist()
    ['1', '2.5', '007', '', 'TRUE', '2020-01-02']
    """
    timed = any(
        isinstance(cell, datetime.datetime) and cell.time() != datetime.time() for cell in cells
    )
    return pa.array([_spelled(cell, timed) for cell in cells], pa.string())


def _spelled(cell: Any, timed: bool) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2.0**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        second = _whole_second(cell)
        return second.strftime("%Y-%m-%d %H:%M:%S") if timed else second.date().isoformat()
    if isinstance(cell, datetime.date):
        return f"{cell.isoformat()} 00:00:00" if timed else cell.isoformat()
    if isinstance(cell, datetime.time):
        return cell.replace(microsecond=0).isoformat()
    return str(cell)


def _whole_second(moment: datetime.datetime) -> datetime.datetime:
    """Return the nearest second: workbooks hold times as fractions of a day, which are not exact."""
    try:
        return (moment + datetime.timedelta(microseconds=500_000)).replace(microsecond=0)
    except OverflowError:
        return moment.replace(microsecond=0)


def chosen_table(path: Any, asked: str | None, names: Sequence[str], what: str) -> str:
    """Return the table that is asked for, or the only one; raise with the names of all where that is not one."""
    from ..._base.errors import FileError, InputError, listed, unknown_name

    if asked is not None:
        if asked not in names:
            raise unknown_name(what, asked, names)
        return asked
    if not names:
        raise FileError(f"'{path}' has no {what} with anything in it.")
    if len(names) > 1:
        raise InputError(
            f"'{path}' has several {what}s: {listed(list(names))}. Name one, as '{path}::{names[0]}' or --table '{names[0]}' (table=... in Python)."
        )
    return names[0]
