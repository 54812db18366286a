"""What a command says on standard error while it works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .._base.runtime import progress_bar
from ..table import Note
from ..table.rows import Rows
from ..table.sources import EngineChoice
from ..workflows.run import Observer, RunOptions
from .command import echo
from .options import command_line, ledger_allows, show_notes, start_arrow


@dataclass(frozen=True, kw_only=True)
class ConsoleObserver(Observer):
    """Prints which engine was chosen, and what was dropped, pooled or pointed out.

    Of private data names of columns alone are printed. Columns that look personal are pointed out also where all else is `quiet`, if the command `learns` from the table.
    """

    quiet: bool
    learns: bool = False

    def before_reading(self, choice: EngineChoice) -> None:
        """Print which engine was chosen, where the table is large."""
        if choice.sentence and not self.quiet:
            echo(f"Note: {choice.sentence}", err=True)

    def engine_changed(self, why: str) -> None:
        """Print why rows are read into memory though they are many."""
        if not self.quiet:
            echo(f"Note: {why.partition(':')[0]}: they are read.", err=True)

    def opened(self, notes: Iterable[Note]) -> None:
        """Point out columns that look personal."""
        show_notes(notes)

    def after_reading(self, rows: Rows) -> None:
        """Print what reading found."""
        if self.learns or not self.quiet:
            show_notes(rows.notes, quiet=self.quiet)


@contextmanager
def console_run(
    *,
    seed: int | None = None,
    threads: int | None = None,
    quiet: bool = False,
    plain: bool = False,
    learns: bool = False,
) -> Iterator[RunOptions]:
    """Give the run of a command, which says how far it is; a project ledger that says no ends the command with 1.

    `plain`: lines of a long run are printed also where no terminal watches.
    """
    start_arrow(threads)
    with progress_bar(quiet=quiet, plain=plain) as progress, ledger_allows():
        yield RunOptions(
            seed=seed,
            threads=threads,
            progress=progress,
            observer=ConsoleObserver(quiet=quiet, learns=learns),
            command=command_line(),
        )
