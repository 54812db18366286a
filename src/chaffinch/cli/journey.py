"""Read, fit, draw, write: the steps that several commands share, timed and accounted for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .._base.progress import Progress
from .._base.seeds import seed_sequence
from ..counts import MemoryCounter
from ..risk.attribution.equal import KeyedRows
from ..synth import Model
from ..table import Schema, Table, read, table_writer
from ..table.personal import personal_columns, personal_note
from ..table.sources import expected_shape
from ..table.write import file_format
from .estimates import Work, say_drawing, say_work
from .promise import look_of, open_input
from .reading import check_rare, plain_delimiter, show_notes, without_warnings
from .settings import Choice

__all__ = ["Journey", "copy_paths", "names_of"]

STEPS = ("read", "fit", "sample", "compare", "write")
"""What a run spends its time on; `compare` is looking rows up in the original."""


def names_of(words: str | None) -> tuple[str, ...]:
    """Return the names in a comma-separated list.

    Examples
    --------
    >>> names_of("a, b")
    ('a', 'b')
    """
    return tuple(word.strip() for word in (words or "").split(",") if word.strip())


def copy_paths(output: Path, copies: int) -> list[Path]:
    """Return where each of several syntheses goes: OUT itself for one, OUT-1, OUT-2 ... for more."""
    file_format(output)
    if copies == 1:
        return [output]
    stem, dot, ending = output.name.partition(".")
    return [output.with_name(f"{stem}-{i}{dot}{ending}") for i in range(1, copies + 1)]


@dataclass
class Journey:
    """One run of a command: what was read, learnt and written, and how long each took."""

    quiet: bool
    threads: int | None
    seed: int | None
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    rows: int = 0
    copies: int = 0
    private: bool = False

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of a block to a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def read(
        self,
        path: Path,
        choice: Choice | None = None,
        *,
        schema: Path | None,
        encoding: str,
        delimiter: str | None,
        decimal: str | None,
        rare: str,
        work: Work | None = None,
        before: Callable[[Schema], object] | None = None,
    ) -> Any:
        """Return the input table; say what was dropped, pooled or pointed out. Of a private one names of columns alone are spoken of.

        How long all the `work` will take is said first, or where a file does not tell its size as soon as it is read. `before` is
        called with the schema, to check options against it and to charge a project ledger: with a promise, when the header has been
        read and no record; without one, before the table is used.
        """
        if choice is not None and choice.private:
            unread = open_input(
                path, choice, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal
            )
            show_notes(personal_note(personal_columns(unread.schema)))
            if before is not None:
                before(unread.schema)
            with self.timed("read"), without_warnings():
                return unread.read()
        delimiter = plain_delimiter(delimiter)
        shape = None
        if work is not None and not self.quiet:
            shape = expected_shape(path, encoding=encoding, delimiter=delimiter)
            if shape is not None:
                say_work(work, *shape)
        with self.timed("read"), without_warnings():
            table = read(
                path,
                schema,
                encoding=encoding,
                delimiter=delimiter,
                decimal=decimal,
                rare=check_rare(rare),
                progress=self.progress,
            )
        if before is not None:
            before(table.schema)
        if work is not None and shape is None and not self.quiet:
            say_work(work, table.n_rows, len(table.schema.names), reading=self.seconds["read"])
        if choice is not None or not self.quiet:
            show_notes(table.notes, quiet=self.quiet)
        return table

    def fit(self, choice: Choice, table: Any) -> tuple[Model, Table]:
        """Return the fitted model, and the table under its schema. With a promise, nothing is said that depends on the data."""
        self.private = choice.private
        if choice.private:
            with self.timed("fit"):
                model = choice.settings.fit(table, seed=self._stream(0), progress=self.progress)
                return model, table if isinstance(table, Table) else table.under(model.schema)
        with self.timed("fit"):
            counter = MemoryCounter(table, threads=self.threads)
            return choice.settings.fit(counter, seed=self._stream(0), progress=self.progress), table

    def draw(
        self, model: Model, table: Table, outputs: Sequence[Path], *, rows: int | None, keep: tuple[str, ...]
    ) -> None:
        """Draw and write each synthesis, batch by batch; as many rows as may be known unless told."""
        self.rows = model.n_rows if rows is None else rows
        if self.private and not self.quiet:  # nothing was said before, of a table that is read in silence
            say_drawing(self.rows, table.schema, outputs)
        keyed = None
        if not self.private:  # how many rows equal an original one is a figure of the data, and not paid for
            self.progress("keying the original's rows", -1)
            with self.timed("compare"):
                keyed = KeyedRows.of(table)
        for i, path in enumerate(outputs, start=1):
            equal = 0
            with table_writer(path) as write:
                for batch in self._batches(model, table, keep, self._stream(i)):
                    with self.timed("write"):
                        write(batch)
                    if keyed is not None:
                        with self.timed("compare"):
                            equal += int(keyed.holds(batch).sum())
            if keyed is not None:
                self.shares.append(equal / max(self.rows, 1))
        self.copies = len(outputs)

    def _batches(self, model: Any, table: Table, keep: tuple[str, ...], seed: Any) -> Iterator[Table]:
        if keep:
            with self.timed("sample"):
                whole = model.complete(table, keep=keep, seed=seed, threads=self.threads)
            yield whole
            return
        like = look_of(table) if self.private else table
        batches = model.batches(self.rows, seed=seed, like=like, threads=self.threads, progress=self.progress)
        while True:
            with self.timed("sample"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def account(self, model: Model, table: Table) -> dict[str, Any]:
        """Return the run as plain data: what was made, of what, how, and, without a promise, how long it took."""
        seconds = {step: round(self.seconds.get(step, 0.0), 6) for step in STEPS}
        return {
            "format": "chaffinch-synthesis",
            "version": 1,
            "rows": self.rows,
            "columns": [column.name for column in table.schema if column.written],
            "seed": self.seed,
            "network": model.to_dict(),
            "notes": [{"column": n.column, "what": n.what, "why": n.sentence} for n in table.notes],
            "copies": self.copies,
            **(
                {}
                if self.private
                else {"rows_equal_to_an_original": self.shares[0] if self.copies == 1 else self.shares}
            ),
            "run": {} if self.private else {"seconds": seconds},
        }

    def say(self, outputs: Sequence[Path], model: Path | None) -> None:
        """Say where the files are and how many rows equal an original one."""
        for i, path in enumerate(outputs):
            equal = f"; {self.shares[i]:.1%} equal an original row, codes compared" if self.shares else ""
            typer.echo(f"Wrote {path}: {self.rows:,} rows{equal}.", err=True)
        if model is not None:
            held = "it holds released tables" if self.private else "it holds counts of records, confidential"
            typer.echo(f"Wrote {model}: {held}.", err=True)

    def _stream(self, number: int) -> np.random.SeedSequence | None:
        """An own random stream for the fit and for each synthesis; None without a seed."""
        if self.seed is None:
            return None
        return np.random.SeedSequence(seed_sequence(self.seed).entropy, spawn_key=(number,))
