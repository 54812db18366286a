"""Writing tables: batch by batch, into a file that appears only when it is whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from .._base.errors import FileError
from .._base.safe_files import replacing
from .formats import FORMATS
from .formats.format import Writer
from .table import Table

__all__ = ["file_format", "table_writer", "write_table"]


def file_format(path: str | os.PathLike[str]) -> str:
    """Return the name of the format that a path ends in; raise for an unknown one."""
    return _written(path)[0]


def _written(path: str | os.PathLike[str]) -> tuple[str, Writer]:
    writers = {ending: (form.name, form.writer) for form in FORMATS if form.writer for ending in form.endings}
    name = Path(path).name.lower()
    for ending in sorted(writers, key=len, reverse=True):
        if name.endswith(ending):
            return writers[ending]
    raise FileError(f"Cannot tell the format of '{path}'. End it in one of {', '.join(writers)}.")


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file."""
    with table_writer(path) as write:
        write(table)


@contextlib.contextmanager
def table_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Table], None]]:
    """Give a function that appends a table to a file; the file takes its place when the block ends well."""
    writer = _written(path)[1]
    with replacing(path) as part, writer(part, Path(path)) as write:
        yield write
