"""Reading a file that is measured, attacked or checked, and words of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.progress import Progress
from ..privacy.opening import open_unread
from ..table import read
from ..table.personal import personal_columns, personal_note
from ..workflows.synthesise import copy_paths
from .reading import check_rare, plain_delimiter, show_notes, without_warnings

if TYPE_CHECKING:
    from .settings import Choice

__all__ = ["Journey", "copy_paths", "names_of"]


def names_of(words: str | None) -> tuple[str, ...]:
    """Return the names in a comma-separated list.

    Examples
    --------
    >>> names_of("a, b")
    ('a', 'b')
    """
    return tuple(word.strip() for word in (words or "").split(",") if word.strip())


@dataclass
class Journey:
    """One run of a command that reads a table."""

    quiet: bool
    threads: int | None
    seed: int | None
    progress: Progress

    def read(
        self, path: Path, choice: Choice | None = None, *, schema: Path | None, encoding: str, delimiter: str | None,
        decimal: str | None, rare: str,
    ) -> Any:  # fmt: skip
        """Return the input table; say what was dropped, pooled or pointed out. Of a private one names of columns alone are spoken of."""
        if choice is not None and choice.private:
            unread = open_unread(
                path, schema, encoding=encoding, delimiter=plain_delimiter(delimiter), decimal=decimal, person=choice.person,
                rows_per_person=choice.rows_per_person,
            )  # fmt: skip
            show_notes(personal_note(personal_columns(unread.schema)))
            with without_warnings():
                return unread.read()
        with without_warnings():
            table = read(
                path, schema, encoding=encoding, delimiter=plain_delimiter(delimiter), decimal=decimal, rare=check_rare(rare),
                progress=self.progress,
            )  # fmt: skip
        if choice is not None or not self.quiet:
            show_notes(table.notes, quiet=self.quiet)
        return table
