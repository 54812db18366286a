"""How commands read a table that is measured, attacked or described, and what they say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._base.errors import InputError, SchemaError
from .._base.runtime import Progress
from ..privacy.session import open_unread
from ..synth import Settings
from ..table import Scan, Source, Table, read, scan
from ..table.personal.detect import check_decided, check_declared_decided
from ..table.sources import EngineChoice, open_source
from ..workflows.synthesise import ReadSettings
from .options import show_notes, without_warnings


def scan_input(path: Path | Source, reading: ReadSettings, progress: Progress) -> Scan:
    """Return a scan of the input file: memory stays bounded whatever its size."""
    with without_warnings():
        return scan(path, reading.declared, **reading.file, rare=reading.rare, progress=progress)


def read_input(
    path: Path | Source, reading: ReadSettings, *, quiet: bool, progress: Progress
) -> Table:
    """Return the table of a file, and say, unless quiet, what was dropped, pooled or pointed out."""
    with without_warnings():
        table = read(path, reading.declared, **reading.file, rare=reading.rare, progress=progress)
    if not quiet:
        show_notes(table.notes)
    return table


def open_input(
    path: Path | Source,
    reading: ReadSettings,
    choice: EngineChoice,
    *,
    quiet: bool,
    progress: Progress,
) -> Table | Scan:
    """Return the table of a file, or a scan of it for the engine that reads batch by batch, and say what `read_input` says."""
    if not choice.stream:
        return read_input(path, reading, quiet=quiet, progress=progress)
    scanned = scan_input(path, reading, progress)
    show_notes(scanned.notes, quiet=quiet)
    return scanned


def open_beside(path: Path, reading: ReadSettings) -> Source:
    """Return a file that is compared with the original, opened with what was said of that: encoding, delimiter, header and the like."""
    return open_source(path, **reading.beside)


def read_for(
    settings: Settings,
    path: Path,
    reading: ReadSettings,
    *,
    quiet: bool,
    progress: Progress,
    like: Table | None = None,
) -> Table:
    """Return a table for a synthesiser: in silence and under a declared schema where it promises privacy, else as ever.

    `like` is a table that was read before: the other one is read with its schema.
    """
    if not settings.private and like is None:
        with without_warnings():
            table = read(
                path, reading.declared, **reading.file, rare=reading.rare, progress=progress
            )
        check_decided(table.schema)
        show_notes(table.notes, quiet=quiet)
        return table
    if not settings.private and like is not None:
        try:
            return read(path, like.schema, **reading.file, progress=progress)
        except SchemaError as error:
            raise InputError(
                f"The population '{path.name}' does not fit the schema of the data. {error} A file that says what may occur in both can be "
                "given with --schema."
            ) from None
    unread = open_unread(
        path,
        reading.declared,
        **reading.file,
        person=None,
        rows_per_person=settings.unit.rows_per_person,
    )
    check_declared_decided(unread.schema)
    with without_warnings():
        data: Any = unread.read()
    if not isinstance(data, Table):
        raise InputError(
            "An attack needs a domain that is all declared: every fit would discover another. Declare the levels or bounds of "
            f"the columns with discover = true in '{reading.schema}'."
        )
    return data
