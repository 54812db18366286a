"""Writing tables: batch by batch, into a file that appears only when it is whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from .._base.errors import FileError
from .._base.files import replacing
from .formats import FORMATS
from .formats.format import Writer
from .sources import recognise, split_location
from .table import Table
from .types import without_metadata

NOTE = "chaffinch"
"""The key of metadata that say how Chaffinch made a table: the only ones of a whole table that are
written. No table that is read keeps it.
"""


def file_format(path: str | os.PathLike[str]) -> str:
    """Return the name of the format that a path ends in; raise for an unknown one."""
    return _writer_of(path)[0]


def ending_like(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file that is written as another came: its own, or that of a format
    that its kind is written in.

    Examples
    --------
    >>> ending_like("people.csv.gz"), ending_like("people.xlsx::May")
    ('.csv.gz', '.xlsx')
    """
    file, _ = split_location(path)
    ending = _ending(file.name)
    return ending if ending in _writers() else recognise(file).written_as


def _writers() -> dict[str, tuple[str, Writer]]:
    return {
        ending: (form.name, form.writer)
        for form in FORMATS
        if form.writer
        for ending in form.endings
    }


def _ending(name: str) -> str:
    """Return the longest ending of a format that is written, or an empty string."""
    return next(
        (
            ending
            for ending in sorted(_writers(), key=len, reverse=True)
            if name.lower().endswith(ending)
        ),
        "",
    )


def _writer_of(path: str | os.PathLike[str]) -> tuple[str, Writer]:
    writers = _writers()
    ending = _ending(Path(path).name)
    if not ending:
        known = [ending for ending in writers if ending.count(".") == 1]
        raise FileError(f"Cannot tell the format of '{path}'. End it in one of {', '.join(known)}.")
    return writers[ending]


def write_table(table: Table, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a table to a file; over one that is there only with `overwrite`."""
    with table_writer(path, overwrite=overwrite) as write:
        write(table)


@contextlib.contextmanager
def table_writer(
    path: str | os.PathLike[str], *, overwrite: bool = False, paid: bool = False
) -> Iterator[Callable[[Table], None]]:
    """Give a function that appends a table to a file; the file takes its place when the block ends
    well.
    """
    writer = _writer_of(path)[1]
    with (
        replacing(path, overwrite=overwrite, paid=paid) as temporary_path,
        writer(temporary_path, Path(path)) as write,
    ):
        yield lambda table: write(_bare(table))


def _bare(table: Table) -> Table:
    """Return the table without what its Arrow fields say besides their types: no file carries the
    history or the comments of an original.
    """
    schema = without_metadata(table.data.schema, keep=(NOTE.encode(),))
    return (
        table
        if schema.equals(table.data.schema, check_metadata=True)
        else replace(table, data=pa.Table.from_arrays(table.data.columns, schema=schema))
    )
