"""What commands that learn and draw share: the settings their options amount to, and how they speak while they work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .._base.errors import InputError, LedgerError
from ..table.sources import expected_shape
from ..workflows.running import Observer
from ..workflows.synthesise import ReadSettings, SynthesisSettings
from .estimates import Work, say_drawing, say_measuring, say_work
from .reading import check_rare, plain_delimiter, show_notes

if TYPE_CHECKING:
    from ..table import Note, Schema, Table
    from ..utility import UtilitySettings
    from .settings import Choice

__all__ = ["DrawingSpeaker", "Speaker", "check_counts", "ledger_allows", "reading_of", "say_synthesis", "synthesis_settings"]


def reading_of(
    schema: Path | None, encoding: str, delimiter: str | None, decimal: str | None, rare: str, *, private: bool
) -> ReadSettings:
    """Return how the input is read. A promise pools nothing: its levels are declared."""
    return ReadSettings(
        schema=schema, encoding=encoding, delimiter=plain_delimiter(delimiter), decimal=decimal,
        rare="pool" if private else check_rare(rare),
    )  # fmt: skip


def synthesis_settings(
    choice: Choice, reading: ReadSettings, output: Path, *, ledger: Path | None, rows: int | None = None, copies: int = 1
) -> SynthesisSettings:
    """Return what the options of a command that learns amount to."""
    if ledger is not None and not choice.private:
        raise InputError("--ledger adds up privacy budgets: give --epsilon too.")
    return SynthesisSettings(
        synthesiser=choice.settings, reading=reading, keep=choice.keep, person=choice.person, rows=rows, copies=copies,
        ledger=ledger, entry=output.name,
    )  # fmt: skip


def check_counts(rows: int | None, copies: int, choice: Choice) -> None:
    """Raise unless rows and copies can be drawn."""
    if rows is not None and rows < 0:
        raise InputError(f"rows must be at least 0. Got {rows}.")
    if copies < 1:
        raise InputError(f"copies must be at least 1. Got {copies}.")
    if choice.keep and rows is not None:
        raise InputError("--keep completes the rows of the input: --rows cannot be given with it.")


@contextmanager
def ledger_allows() -> Iterator[None]:
    """End with 1 where the project ledger does not allow a release."""
    try:
        yield
    except LedgerError as error:
        typer.echo(f"The project ledger says no: {error}", err=True)
        raise typer.Exit(1) from None


@dataclass
class DrawingSpeaker(Observer):
    """Says how long drawing will take, of a model that is there."""

    quiet: bool
    outputs: Sequence[Path]

    def before_drawing(self, rows: int, schema: Schema) -> None:
        """Say how long drawing and writing will take."""
        if not self.quiet:
            say_drawing(rows, schema, self.outputs)


@dataclass
class Speaker(Observer):
    """Says on standard error how long work will take, and what was dropped, pooled or pointed out.

    Of private data names of columns alone are spoken of, and that also where all else is quiet.
    """

    quiet: bool
    reading: ReadSettings
    work: Work
    measuring: UtilitySettings | None = None
    shape: tuple[int, int] | None = None

    def before_reading(self, source: Any) -> None:
        """Say how long all the work will take, where the file tells its size."""
        if self.quiet:
            return
        self.shape = expected_shape(source, encoding=self.reading.encoding, delimiter=self.reading.delimiter)
        if self.shape is not None:
            say_work(self.work, *self.shape)

    def opened(self, notes: Iterable[Note]) -> None:
        """Point out columns that look personal."""
        show_notes(notes)

    def after_reading(self, table: Table, seconds: float) -> None:
        """Say how long the rest will take, where the file did not tell, and what reading found."""
        if self.shape is None and not self.quiet:
            say_work(self.work, table.n_rows, len(table.schema.names), reading=seconds)
        show_notes(table.notes, quiet=self.quiet)

    def before_drawing(self, rows: int, schema: Schema) -> None:
        """Say how long drawing will take: nothing was said before, of a table that is read in silence."""
        if not self.quiet:
            say_drawing(rows, schema, self.work.outputs)

    def before_measuring(self, table: Table) -> None:
        """Say how long measuring will take, where it is long."""
        if not self.quiet and self.measuring is not None:
            say_measuring(table, self.measuring)


def say_synthesis(
    outputs: Sequence[Path], model: Path | None, *, rows: int, shares: Sequence[float], private: bool
) -> None:
    """Say where the files are and how many rows equal an original one."""
    for i, path in enumerate(outputs):
        equal = f"; {shares[i]:.1%} equal an original row, codes compared" if shares else ""
        typer.echo(f"Wrote {path}: {rows:,} rows{equal}.", err=True)
    if model is not None:
        contents = "it holds released tables" if private else "it holds counts of records, confidential"
        typer.echo(f"Wrote {model}: {contents}.", err=True)
