"""How commands read their input, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import typer

from .._base.errors import unknown_name
from .._base.progress import Progress
from ..table import Note, Scan, scan

__all__ = ["check_rare", "plain_delimiter", "scan_input", "show_notes"]


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
    return scan(
        path,
        schema,
        encoding=encoding,
        delimiter=plain_delimiter(delimiter),
        decimal=decimal,
        rare=check_rare(rare),
        progress=progress,
    )


def check_rare(rare: str) -> Literal["pool", "keep"]:
    """Return the value of --rare, or raise."""
    if rare == "pool" or rare == "keep":
        return rare  # type: ignore[return-value]
    raise unknown_name("--rare mode", rare, ("pool", "keep"))


def plain_delimiter(delimiter: str | None) -> str | None:
    """Return the delimiter itself where it was given by name."""
    return None if delimiter is None else {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)


def show_notes(notes: Iterable[Note]) -> None:
    """Say on standard error what was dropped, pooled or pointed out."""
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
