"""Options that say what to measure, and how commands show the verdict."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import console, number

if TYPE_CHECKING:
    from .._base.progress import Progress
    from ..table import Table
    from ..utility import UtilityResult, UtilitySettings, VerdictRow

__all__ = [
    "Formula",
    "Holdout",
    "Measures",
    "Models",
    "Repeats",
    "SvmRows",
    "asked_measures",
    "command_line",
    "measured",
    "run_facts",
    "show_verdict",
    "utility_settings",
]

Holdout = Annotated[
    Path | None, typer.Option(help="People of the same population who are not in the original: a fresh sample.")
]
Formula = Annotated[str | None, typer.Option(help="Regression to fit on both tables, as 'income ~ age + sex'.")]
Repeats = Annotated[int, typer.Option(help="Splits for learners; more take longer and give tighter figures.")]
Measures = Annotated[
    str | None,
    typer.Option(help="Some of {metrics}, as A,B; or all but some, as -A,-B."),
]
Models = Annotated[str | None, typer.Option(help="Learners of the learning table: some of {models}, as A,B.")]
SvmRows = Annotated[int, typer.Option(help="The most records a support vector machine learns from; 0 for all.")]


def utility_settings(
    *, label: str | None, formula: str | None, repeats: int, measures: str | None, models: str | None, svm_rows: int
) -> UtilitySettings:
    """Return what to measure, from the words of the command line."""
    from .._base.errors import InputError
    from ..utility import UtilitySettings
    from .journey import names_of

    if svm_rows and svm_rows < 10:
        raise InputError(f"--svm-rows must be at least 10, or 0 for all. Got {svm_rows}.")
    return UtilitySettings(
        label=label, formula=formula, measures=asked_measures(measures), models=names_of(models) or None, repeats=repeats,
        svm_rows=svm_rows or None,
    )  # fmt: skip


def measured(
    original: Table, synthetic: Path, settings: UtilitySettings, *, names: tuple[str, str], holdout: Path | None,
    seed: int | None, threads: int | None, progress: Progress,
) -> UtilityResult:  # fmt: skip
    """Return the utility of a synthetic file, with the names of the files and what ran it."""
    from ..utility import measure_utility

    result = measure_utility(original, synthetic, holdout, settings, seed=seed, threads=threads, progress=progress)
    named = result.named(original=names[0], synthetic=names[1], holdout=holdout.name if holdout else None)
    return replace(named, run=replace(named.run, **run_facts()))


def asked_measures(words: str | None) -> tuple[str, ...] | None:
    """Return the measures that were asked for; names with a minus are left out of all."""
    from .._base.errors import InputError
    from ..utility.metric import asked_metrics, choices
    from .journey import names_of

    asked = names_of(words)
    if not asked:
        return None
    left_out = [name[1:] for name in asked if name.startswith("-")]
    if left_out and len(left_out) < len(asked):
        raise InputError("--measures names measures to take (A,B) or to leave out (-A,-B), not both.")
    asked_metrics(left_out or asked)
    return tuple(name for name in choices() if name not in left_out) if left_out else asked


def run_facts() -> dict[str, Any]:
    """Return what may differ between two equal runs: versions, the date, the command."""
    from ..workflows.running import RunOptions

    return RunOptions(command=command_line()).facts


def command_line() -> str:
    """Return the command as it was given, with the names of files and not where they lie."""
    return shlex.join(["chaffinch", *map(_without_folder, sys.argv[1:])])


def _without_folder(word: str) -> str:
    """Return a word of the command line with the names of files, not where they lie.

    Examples
    --------
    >>> _without_folder("--json=/data/secret/u.json"), _without_folder("data/a.csv"), _without_folder("--seed")
    ('--json=u.json', 'a.csv', '--seed')
    """
    option, equals, value = word.rpartition("=")
    return option + equals + Path(value).name if "/" in value or "\\" in value else word


def show_verdict(rows: Sequence[VerdictRow]) -> None:
    """Print the verdict table."""
    from rich.table import Table as RichTable

    screen = console()
    head = ("measure", "value", "95 % interval", "independent columns", "resampled", "holdout", "identical", "verdict")
    table = RichTable(*head, box=None, pad_edge=False)
    for row in rows:
        between = f"{number(row.interval[0])} to {number(row.interval[1])}" if row.interval else ""
        references = (row.marginals, row.resample, row.holdout, row.identical)
        table.add_row(row.measure, number(row.value), between, *map(number, references), row.word)
    screen.print(table)
    for row in rows:
        if row.sentence:
            screen.print(f"- {row.sentence}", markup=False)
