"""How commands read a table that a synthesiser is attacked with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._base.errors import InputError, SchemaError
from .._base.runtime import Progress
from ..privacy.session import open_lazy_source
from ..synth import Settings
from ..table import Table, read
from ..table.personal.detect import (
    check_decided,
    check_declared_decided,
    without_personal_warnings,
)
from ..table.settings import Reading
from .options import show_notes


def read_for(
    settings: Settings,
    path: Path,
    reading: Reading,
    *,
    quiet: bool,
    progress: Progress,
    like: Table | None = None,
) -> Table:
    """Return a table for a synthesiser: in silence and under a declared schema where it promises privacy, else as ever.

    `like` is a table that was read before: the other one is read with its schema.
    """
    if not settings.private and like is None:
        with without_personal_warnings():
            table = read(path, reading.declared, **reading.options, progress=progress)
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
    unread = open_lazy_source(
        path,
        reading.declared,
        **reading.file,
        person=None,
        rows_per_person=settings.unit.rows_per_person,
    )
    check_declared_decided(unread.schema)
    with without_personal_warnings():
        data: Any = unread.read()
    if not data.schema.sealed:
        raise InputError(
            "An attack needs a domain that is all declared: every fit would discover another. Declare the levels or bounds of "
            f"the columns with discover = true in '{reading.schema}'."
        )
    prepared: Table = data
    return prepared
