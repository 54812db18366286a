"""How long work will take, said before it starts where it is more than a few seconds.

Rates were measured on two cores; they tell minutes from hours, not seconds from each other.
"""

from __future__ import annotations

from math import comb

import typer

from ..synth import BayesNet
from ..table import Schema, Table
from .measuring import asked_measures

__all__ = ["say_drawing", "say_fitting", "say_measuring"]

SAID_FROM = 5.0
PER_VISIT = 2e-9
PER_CELL = 9e-8
PER_SVM_FIT = 0.7


def say_fitting(settings: object, schema: Schema, n_rows: int) -> None:
    """Say how long learning will take, from the number of column sets to be counted."""
    if not isinstance(settings, BayesNet):
        return
    d = len(schema.names)
    width = 2 if settings.search == "genetic" else settings.parents + 1
    sets = sum(comb(d, w) for w in range(1, width + 1)) if d <= 16 or settings.search == "greedy" else d * 600
    seconds = sets * n_rows * PER_VISIT
    if seconds > SAID_FROM:
        gigabytes = n_rows * (8 * width + 2 * d) / 2**30
        typer.echo(f"Learning the network will take about {_time(seconds)} and {gigabytes:.1f} GiB.", err=True)


def say_drawing(n_rows: int, schema: Schema, copies: int = 1) -> None:
    """Say how long drawing and writing rows will take."""
    seconds = n_rows * len(schema.names) * copies * PER_CELL
    if seconds > SAID_FROM:
        typer.echo(f"Drawing {n_rows * copies:,} rows will take about {_time(seconds)}, in bounded memory.", err=True)


def say_measuring(original: Table, measures: str | None, repeats: int, svm_rows: int) -> None:
    """Say how long measuring will take where support vector machines make it long."""
    asked = asked_measures(measures)
    if asked is not None and "delta" not in asked:
        return
    labels = sum(column.kind in ("categorical", "boolean") for column in original.schema.modelled)
    rows = min(original.n_rows, svm_rows or original.n_rows)
    seconds = labels * (repeats + 1) * 2 * PER_SVM_FIT * (rows / 5000) ** 2
    if seconds > SAID_FROM:
        cap = f" on {rows:,} records each" if rows < original.n_rows else ""
        typer.echo(
            f"delta fits {labels * (repeats + 1) * 2} support vector machines{cap}: about {_time(seconds)}. --measures=-delta "
            "leaves it out.",
            err=True,
        )


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
