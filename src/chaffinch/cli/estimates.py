"""How long work will take, said before it starts where it is more than a few seconds, and who says it while a command works.

Rates are of two cores (`benchmarks/synth_journey.py` measures them anew, beside what is said): a machine with more is quicker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.text import count_noun
from ..synth import Settings
from ..table import FileOptions, Note, Schema
from ..table.rows import Rows
from ..table.schema import LEVEL_KINDS
from ..table.settings import Reading
from ..table.sources import HELD, EngineChoice, expected_shape
from ..workflows.run import Observer
from .command import echo
from .options import show_notes

if TYPE_CHECKING:
    from ..utility import UtilitySettings


SAID_FROM = 5.0
"""Seconds from which on something is said."""

START = 2.0
"""Seconds until Python, packages and compiled kernels are loaded."""

READ_TEXT, READ_OTHER = 1.9e-7, 1.1e-7
"""Seconds to read a cell of a text file or of another, understand it and encode it."""

PER_COLUMN = 4e-3
"""Seconds to understand and fit a column, however few its rows."""

VISIT, PER_SET = 6e-10, 2e-6
"""Seconds to count one row in one set of columns, and to ask for a set and weigh it, however few the rows."""

DRAW = 2.8e-8
"""Seconds to draw a cell and give it a value."""

KEY, LOOK_UP = 1e-8, 6e-9
"""Seconds for a cell of the original to be keyed, and for a drawn one to be looked up: more where rows are all distinct, less where few are."""

WRITE_TEXT, WRITE_OTHER = 1.1e-7, 3.3e-8
"""Seconds to write a cell to a text file or to another."""

PER_SVM_FIT = 0.7
"""Seconds to fit a support vector machine to 5,000 records."""


@dataclass(frozen=True)
class Work:
    """What a command is about to do with a file: read it, learn from it, and draw tables.

    Parameters
    ----------
    settings
        The synthesiser.
    source
        The file to read.
    outputs
        The files to write, each a synthesis.
    rows
        Rows to draw for each; as many as the source has where None.
    """

    settings: Settings
    source: Path
    outputs: Sequence[Path] = ()
    rows: int | None = None

    def seconds(self, n_rows: int, n_columns: int) -> dict[str, float]:
        """Return how long each step will take for a table of so many rows and columns."""
        cells = n_rows * n_columns
        drawn = (n_rows if self.rows is None else self.rows) * n_columns
        out = {
            "reading": cells * (READ_TEXT if _is_text(self.source) else READ_OTHER)
            + n_columns * PER_COLUMN,
            "learning": self.settings.counted_sets(n_columns) * (n_rows * VISIT + PER_SET),
        }
        if self.outputs:
            out["comparing"] = cells * KEY + drawn * LOOK_UP * len(self.outputs)
            out |= drawing_seconds(drawn, self.outputs)
        return out


def say_work(
    work: Work, n_rows: int, n_columns: int, *, stream: bool = False, **known: float
) -> None:
    """Say how long a command will take in all, and each of its steps; `known` has what steps that are done did take."""
    steps = {**work.seconds(n_rows, n_columns), **known}
    total = START + sum(steps.values())
    if total <= SAID_FROM:
        return
    parts = ", ".join(
        f"{name} {_time(seconds)}" for name, seconds in steps.items() if seconds >= 1.0
    )
    memory = (
        "bounded memory"
        if stream
        else f"{0.3 + n_rows * n_columns * HELD / 2**30:.1f} GiB of memory"
    )
    what = "The synthesis" if work.outputs else "Learning the model"
    echo(
        f"{what} will take about {_time(total)}{f' ({parts})' if parts else ''} and {memory}.",
        err=True,
    )


def drawing_seconds(cells: int, outputs: Sequence[Path]) -> dict[str, float]:
    """Return how long it will take to draw so many cells for each of the files, and to write them."""
    each = [WRITE_TEXT if _is_text(path) else WRITE_OTHER for path in outputs]
    return {"drawing": cells * DRAW * len(outputs), "writing": cells * sum(each)}


def say_drawing(n_rows: int, schema: Schema, outputs: Sequence[Path]) -> None:
    """Say how long it will take to draw rows and write them, of a model that is there."""
    seconds = START + sum(drawing_seconds(n_rows * len(schema.names), outputs).values())
    if seconds > SAID_FROM:
        rows = n_rows * len(outputs)
        echo(
            f"Drawing and writing {count_noun(rows, 'row')} will take about {_time(seconds)}, in bounded memory.",
            err=True,
        )


def say_measuring(n_rows: int, schema: Schema, settings: UtilitySettings) -> None:
    """Say how long measuring will take where support vector machines make it long."""
    from ..utility.metric import asked_metrics

    if "delta" not in asked_metrics(settings.measures, thorough=settings.thorough):
        return
    repeats = settings.splits
    labels = sum(column.kind in LEVEL_KINDS for column in schema.modelled)
    rows = min(n_rows, settings.svm_rows or n_rows)
    seconds = labels * (repeats + 1) * 2 * PER_SVM_FIT * (rows / 5000) ** 2
    if seconds > SAID_FROM:
        cap = f" on {count_noun(rows, 'record')} each" if rows < n_rows else ""
        echo(
            f"delta fits {labels * (repeats + 1) * 2} support vector machines{cap}: about {_time(seconds)}. --measures=-delta "
            "leaves it out.",
            err=True,
        )


@dataclass(kw_only=True)
class Speaker(Observer):
    """Says on standard error which engine was chosen, how long work will take, and what was dropped, pooled or pointed out.

    Of private data names of columns alone are spoken of, and that also where all else is quiet. `work`: what a command makes of a table, read as `reading` says;
    `measuring`: what it measures; `outputs`: what it draws from a model that is there.
    """

    quiet: bool
    work: Work | None = None
    reading: Reading | None = None
    measuring: UtilitySettings | None = None
    outputs: Sequence[Path] = ()
    shape: tuple[int, int] | None = None
    stream: bool = False

    def before_reading(self, source: Any, choice: EngineChoice) -> None:
        """Say which engine was chosen, where the table is large, and how long all the work will take, where the file tells its size."""
        if self.quiet:
            return
        self.stream = choice.stream
        if choice.sentence:
            echo(f"Note: {choice.sentence}", err=True)
        if self.work is not None and isinstance(source, str | os.PathLike):
            options = FileOptions() if self.reading is None else self.reading.file
            self.shape = expected_shape(Path(source), **options)
            if self.shape is not None:
                say_work(self.work, *self.shape, stream=self.stream)

    def engine_changed(self, why: str) -> None:
        """Say why rows are read into memory though they are many."""
        self.stream = False
        if not self.quiet:
            echo(f"Note: {why.partition(':')[0]}: they are read.", err=True)

    def opened(self, notes: Iterable[Note]) -> None:
        """Point out columns that look personal."""
        show_notes(notes)

    def after_reading(self, rows: Rows, seconds: float) -> None:
        """Say how long the rest will take, where the file did not tell and this machine does it, and what reading found."""
        if self.work is not None and self.shape is None and rows.local and not self.quiet:
            columns = len(rows.schema.names)
            say_work(self.work, rows.n_rows, columns, stream=self.stream, reading=seconds)
        if self.work is not None or not self.quiet:
            show_notes(rows.notes, quiet=self.quiet)

    def before_drawing(self, rows: int, schema: Schema) -> None:
        """Say how long drawing will take: nothing was said before, of a model that is there or of a table that is read in silence."""
        if not self.quiet:
            say_drawing(rows, schema, self.outputs if self.work is None else self.work.outputs)

    def before_measuring(self, rows: int, schema: Schema) -> None:
        """Say how long measuring will take, where it is long."""
        if not self.quiet and self.measuring is not None:
            say_measuring(rows, schema, self.measuring)


def _is_text(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".tab", ".txt"))


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
