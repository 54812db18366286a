"""Where a table comes from: files and objects, all as streams of Arrow batches that can be read again."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from .._base.errors import FileError, InputError, listed
from .formats import FORMATS, FileOptions, Format, ReadOptions, Source
from .formats.delimited import CSV
from .formats.folder import FOLDER, is_pattern
from .formats.format import readable
from .formats.identity import identities
from .formats.objects import open_object
from .formats.packing import archive_names, packing_of, unpacked_head

HEAD = 4096
"""First bytes of a file by which its format is told."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^/].*", re.DOTALL)


def open_source(
    source: Any,
    *,
    tolerant: bool = False,
    columns: int | None = None,
    line_breaks: bool = False,
    **options: Unpack[FileOptions],
) -> Source:
    """Return a source for a path, for a pandas, polars, pyarrow or any other Arrow-speaking object, or a dataset.

    `tolerant` gives one that no record can stop, for private fits, where `columns` and `line_breaks` are declared: see `ReadOptions`.
    """
    if isinstance(source, Source):
        return source  # opened before, with options of its own
    asked = ReadOptions.of(options, tolerant=tolerant, columns=columns, line_breaks=line_breaks)
    if isinstance(source, str | os.PathLike):
        path, table = located(source)
        if table is not None and asked.table not in (None, table):
            raise InputError(
                f"'{source}' names the table '{table}', and '{asked.table}' was asked for. Name one."
            )
        opened = _open_file(path, replace(asked, table=asked.table or table))
    else:
        opened = open_object(source, tolerant=tolerant)
    with readable(opened.name):
        names = opened.schema.names
    if any(not str(name).strip() for name in names):
        raise InputError(
            f"'{opened.name}' has a column without a name (column {_first_empty(names)}). Name it."
        )
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"'{opened.name}' has columns of one name: {listed(double)}. Rename them.")
    return replace(opened, decimal=asked.decimal) if opened.text else opened


def located(source: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Return the path of a file, and the table in it where it was named with that: FILE::TABLE.

    Examples
    --------
    >>> located("visits.xlsx::May")
    (PosixPath('visits.xlsx'), 'May')
    >>> located("visits.csv")
    (PosixPath('visits.csv'), None)
    """
    path, text = Path(source), os.fspath(source)
    if path.exists():
        return path, None
    if _ADDRESS.fullmatch(text):
        raise FileError(
            f"'{text.partition(':')[0]}:' starts an address. Chaffinch opens no network connection: export the table to Parquet or CSV, or copy it into "
            "a DuckDB or SQLite file, and name that."
        )
    file, colons, table = text.rpartition("::")
    return (Path(file), table) if colons and file and table else (path, None)


def _first_empty(names: Sequence[str]) -> int:
    return next(i for i, name in enumerate(names, start=1) if not str(name).strip())


def recognise(source: str | os.PathLike[str], *, by_name: bool = False) -> Format:
    """Return the format of a file by its first bytes, unpacked, or for text by its name: CSV where no format claims it.

    `by_name` asks for a text file by its name alone, whatever its bytes: those are of a record where no line has the names of columns.
    """
    path, _ = located(source)
    if path.is_dir() or is_pattern(path):
        return FOLDER
    if not path.exists():
        raise FileError(f"No such file: '{path}'.")
    if (
        by_name
        and (
            claimed := next((form for form in FORMATS if form.claims(path.name.lower())), CSV)
        ).by_name
    ):
        return claimed
    with readable(str(path)):
        packing = packing_of(path)
        head = unpacked_head(path, HEAD) + archive_names(path)
    if not head:
        raise FileError(f"'{path}' is empty. A table needs column names and rows.")
    name = path.name.lower()
    for form in FORMATS:
        if form.starts(head, name):
            if packing is not None and not form.packed and form.open is not None:
                raise FileError(
                    f"'{path}' is {form.a_file} packed by {packing.name}. Unpack it, and name the unpacked file."
                )
            return form
    for form in FORMATS:
        if form.claims(name):
            if form.by_name:
                return form
            raise FileError(
                f"'{path}' is named as {form.name} but does not start as such a file does. It may be damaged or misnamed: if it is text, "
                "give it a name that ends in .csv."
            )
    return CSV


def expected_shape(path: Path, **options: Unpack[FileOptions]) -> tuple[int, int] | None:
    """Return about how many rows and columns a file has, without reading it; None where that cannot be told."""
    try:
        form, (file, table) = recognise(path), located(path)
        asked = ReadOptions.of(options)
        return (
            None
            if form.shape is None
            else form.shape(file, replace(asked, table=asked.table or table))
        )
    except (FileError, InputError, pa.ArrowException, OSError):
        return None  # reading it says what is wrong


def _open_file(path: Path, options: ReadOptions) -> Source:
    form = recognise(path, by_name=options.undescribed)
    if form.open is None:
        raise FileError(f"'{path}' is {form.a_file}, which is not read. {form.advice}")
    if options.table is not None and not form.tables:
        raise InputError(
            f"'{path}' is {form.a_file}: it has one table, and none that is called '{options.table}'. Leave the name of the table out."
        )
    files = identities([path] if path.is_file() else [])
    with readable(str(path)):
        opened = form.open(path, options)
    opened = replace(opened, files=opened.files or files)
    return (
        opened
        if opened.layout.format
        else replace(opened, layout=replace(opened.layout, format=form.name))
    )
