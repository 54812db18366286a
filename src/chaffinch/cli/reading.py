"""How commands read their input, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from .._base.errors import unknown_name
from .._base.progress import Progress
from ..table import Note, Scan, scan

__all__ = ["scan_input", "show_notes"]


def scan_input(
    path: Path, *, schema: Path | None, encoding: str, delimiter: str | None, rare: str, progress: Progress
) -> Scan:
    """Return a scan of the input file: memory stays bounded whatever its size."""
    if rare not in ("pool", "keep"):
        raise unknown_name("value of --rare", rare, ("pool", "keep"))
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    return scan(path, schema, encoding=encoding, delimiter=delimiter, rare=rare, progress=progress)  # type: ignore[arg-type]


def show_notes(notes: Iterable[Note]) -> None:
    """Say on standard error what was dropped, pooled or pointed out."""
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
