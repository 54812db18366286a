"""Where a table comes from: files and objects, all as streams of Arrow batches that can be read again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from .._base.errors import FileError, InputError, listed
from .decimal_sign import check_sign
from .formats import FORMATS, Format, Labels, ReadOptions, Source, Tagged
from .formats.delimited import CSV
from .formats.format import readable
from .formats.objects import open_object

__all__ = ["Labels", "Source", "Tagged", "expected_shape", "open_source", "recognise"]


def open_source(
    source: Any, *, encoding: str = "utf-8", delimiter: str | None = None, decimal: str | None = None,
    tolerant: bool = False,
) -> Source:  # fmt: skip
    """Return a source for a path, for a pandas, polars, pyarrow or any other Arrow-speaking object, or a dataset.

    `tolerant` gives one that no record can stop, for private fits: see `ReadOptions`.
    """
    sign = check_sign(decimal)
    if isinstance(source, str | os.PathLike):
        opened = _open_file(Path(source), ReadOptions(encoding, delimiter, tolerant))
    else:
        opened = open_object(source, tolerant=tolerant)
    with readable(opened.name):
        names = opened.schema.names
    if any(not str(name).strip() for name in names):
        raise InputError(f"'{opened.name}' has a column without a name (column {_first_empty(names)}). Name it.")
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"'{opened.name}' has columns of one name: {listed(double)}. Rename them.")
    return replace(opened, decimal=sign) if opened.text else opened


def _first_empty(names: Sequence[str]) -> int:
    return next(i for i, name in enumerate(names, start=1) if not str(name).strip())


def recognise(path: Path) -> Format:
    """Return the format of a file by its first bytes, or for text by its name: CSV where no format claims it."""
    try:
        with open(path, "rb") as handle:
            head = handle.read(512)
    except FileNotFoundError:
        raise FileError(f"No such file: '{path}'.") from None
    except IsADirectoryError:
        raise FileError(f"'{path}' is a folder. Name a file.") from None
    except OSError as error:
        raise FileError(f"Cannot read '{path}': {error.strerror}.") from error
    if not head:
        raise FileError(f"'{path}' is empty. A table needs column names and rows.")
    name = path.name.lower()
    for form in FORMATS:
        if form.starts(head, name):
            return form
    for form in FORMATS:
        if form.claims(name):
            if form.by_name:
                return form
            raise FileError(
                f"'{path}' is named as {form.name} but does not start as such a file does. It may be damaged or misnamed."
            )
    return CSV


def expected_shape(path: Path, *, encoding: str = "utf-8", delimiter: str | None = None) -> tuple[int, int] | None:
    """Return about how many rows and columns a file has, without reading it; None where that cannot be told."""
    try:
        form = recognise(path)
        return None if form.shape is None else form.shape(path, ReadOptions(encoding, delimiter))
    except (FileError, InputError, pa.ArrowException, OSError):
        return None  # reading it says what is wrong


def _open_file(path: Path, options: ReadOptions) -> Source:
    form = recognise(path)
    if form.open is None:
        raise FileError(f"'{path}' is a {form.name} file, which is not read. Save it as Parquet or CSV.")
    with readable(str(path)):
        return form.open(path, options)
