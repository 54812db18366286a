"""Text files in a zip archive: the only one, or the one that is named. Nothing is unpacked to
disk.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from ..._base.errors import FileError
from .delimited import open_text
from .format import FORMATS, Format, ReadOptions, Source, chosen_table
from .packing import ZIP, TextFile, check_archive

_NOT_TEXT = (
    b"PAR1",
    b"ARROW1",
    ZIP,
    b"$FL2",
    b"$FL3",
    b"<stata_dta>",
    b"SQLite format 3",
    b"\xd0\xcf\x11\xe0",
    b"\x1f\x8b",
    b"%PDF",
)


def _members(path: Path) -> list[str]:
    """Return the names of the files in an archive but for what programs leave there."""
    with zipfile.ZipFile(path) as archive:
        names = [
            member.filename
            for member in archive.infolist()
            if not member.is_dir() and member.file_size
        ]
    return [
        name
        for name in names
        if not name.startswith("__MACOSX/") and not name.rpartition("/")[2].startswith(".")
    ]


def _open(path: Path, options: ReadOptions) -> Source:
    check_archive(path)
    member = chosen_table(path, options.table, _members(path), "file")

    def opened() -> BinaryIO:
        archive = zipfile.ZipFile(path)
        handle = archive.open(member)
        archive.close()  # what was opened in it stays so until it is closed itself
        return cast(BinaryIO, io.BufferedReader(cast(Any, handle)))

    with opened() as handle:
        head = handle.read(512)
    if head.startswith(_NOT_TEXT):
        raise FileError(f"The file in '{path}' is no text. Unpack it, and name the unpacked file.")
    stream: Callable[[], Any] = lambda: pa.PythonFile(opened(), mode="r")  # noqa: E731
    delimiter = "\t" if member.lower().endswith((".tsv", ".tab")) else None
    source = open_text(TextFile(f"{path}::{member}", opened, stream), options, delimiter, "zip")
    return replace(source, layout=replace(source.layout, table=member))


FORMATS.register(
    Format(
        "zip",
        "a text file in a .zip",
        recognise=lambda head, name: head.startswith(ZIP),
        read_endings=(".zip",),
        open=_open,
        tables=True,
        files="a zip archive",
    )
)
