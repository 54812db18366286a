"""What commands that promise privacy share: the preview, and the promise in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .options import console, write_json

if TYPE_CHECKING:
    from ..synth import Model
    from ..table import Schema
    from .settings import Choice

__all__ = ["show_plan", "show_promise"]


def show_plan(choice: Choice, schema: Path | None, json: Path | None) -> None:
    """Print how the budget would be split. The data are not opened."""
    from rich.table import Table as RichTable

    from .._base.errors import InputError
    from ..privacy.budget import HEAD

    if not choice.private:
        raise InputError("--dry-run shows how a privacy budget would be split: give --epsilon.")
    plan = choice.settings.plan(_declared(schema, choice))
    screen = console()
    screen.print(
        f"Budget: epsilon {plan.budget.epsilon:g}"
        + (f", delta {plan.budget.delta:g}" if plan.budget.delta is not None else "")
        + f"; {plan.unit.words}. Nothing has been spent.",
        markup=False,
    )
    table = RichTable(*HEAD, box=None, pad_edge=False)
    for row in plan.rows_table():
        table.add_row(*row)
    screen.print(table, markup=False)
    if json is not None:
        write_json(json, {"format": "chaffinch-plan", "version": 1, **plan.to_dict()})


def show_promise(model: Model | None) -> None:
    """Say what is promised, in one sentence."""
    if model is not None and model.privacy is not None:
        typer.echo(model.privacy.sentence, err=True)


def _declared(schema: Path | None, choice: Choice) -> Schema:
    from ..privacy.domain import undeclared
    from ..privacy.opening import promised_schema
    from ..table import read_schema

    if schema is None:
        raise undeclared()
    return promised_schema(read_schema(schema), person=choice.person, rows_per_person=choice.rows_per_person)
