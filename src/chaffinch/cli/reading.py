"""How commands read their input, and what they say of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import typer

from .._base.errors import PersonalDataWarning, unknown_name
from .._base.progress import Progress
from ..table import Note, Scan, scan
from ..table.personal import PERSONAL

__all__ = ["check_rare", "plain_delimiter", "scan_input", "show_notes", "without_warnings"]


def scan_input(
    path: Path,
    *,
    schema: Path | None,
    encoding: str,
    delimiter: str | None,
    decimal: str | None,
    rare: str,
    progress: Progress,
) -> Scan:
    """Return a scan of the input file: memory stays bounded whatever its size."""
    with without_warnings():
        return scan(
            path,
            schema,
            encoding=encoding,
            delimiter=plain_delimiter(delimiter),
            decimal=decimal,
            rare=check_rare(rare),
            progress=progress,
        )


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep Python from warning of columns that look personal: commands say it in their own way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PersonalDataWarning)
        yield


def check_rare(rare: str) -> Literal["pool", "keep"]:
    """Return the value of --rare, or raise."""
    if rare == "pool" or rare == "keep":
        return rare  # type: ignore[return-value]
    raise unknown_name("--rare mode", rare, ("pool", "keep"))


def plain_delimiter(delimiter: str | None) -> str | None:
    """Return the delimiter itself where it was given by name."""
    return None if delimiter is None else {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)


def show_notes(notes: Iterable[Note], *, quiet: bool = False) -> None:
    """Say on standard error what was dropped, pooled or pointed out; columns that look personal also where all else is quiet."""
    for note in notes:
        if note.what == PERSONAL:
            typer.echo(f"Warning: {note}", err=True)
        elif not quiet:
            typer.echo(f"Note: {note}", err=True)
