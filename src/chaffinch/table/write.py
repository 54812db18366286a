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
from .sources import located, recognise
from .table import Table

__all__ = ["ending_like", "file_format", "table_writer", "write_table"]


def file_format(path: str | os.PathLike[str]) -> str:
    """Return the name of the format that a path ends in; raise for an unknown one."""
    return _written(path)[0]


def ending_like(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file that is written as another came: its own, or that of a format that its kind is written in.

    Examples
    --------
    >>> ending_like("people.csv.gz"), ending_like("people.xlsx::May")
    ('.csv.gz', '.xlsx')
    """
    file, _ = located(path)
    ending = _ending(file.name)
    return ending if ending in _writers() else recognise(file).written_as


def _writers() -> dict[str, tuple[str, Writer]]:
    return {ending: (form.name, form.writer) for form in FORMATS if form.writer for ending in form.endings}


def _ending(name: str) -> str:
    """Return the longest ending of a format that is written, or an empty string."""
    return next((ending for ending in sorted(_writers(), key=len, reverse=True) if name.lower().endswith(ending)), "")


def _written(path: str | os.PathLike[str]) -> tuple[str, Writer]:
    writers = _writers()
    ending = _ending(Path(path).name)
    if not ending:
        known = [ending for ending in writers if ending.count(".") == 1]
        raise FileError(f"Cannot tell the format of '{path}'. End it in one of {', '.join(known)}.")
    return writers[ending]


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
