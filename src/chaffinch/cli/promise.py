"""What commands that promise privacy share: reading in silence, the preview, the project ledger, and the promise in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .options import console, write_json
from .reading import plain_delimiter

if TYPE_CHECKING:
    from ..privacy.opening import Unread
    from ..synth import Model
    from ..table import Schema, Table
    from .settings import Choice

__all__ = ["look_of", "open_input", "show_plan", "show_promise", "spend"]


def open_input(
    path: Path, choice: Choice, *, schema: Path | None, encoding: str, delimiter: str | None, decimal: str | None
) -> Unread:
    """Return the input under its declared schema, its header read and no record; no message depends on what a record holds."""
    from ..privacy.opening import open_unread

    return open_unread(
        path,
        schema,
        encoding=encoding,
        delimiter=plain_delimiter(delimiter),
        decimal=decimal,
        person=choice.person,
        rows_per_person=choice.rows_per_person,
    )


def look_of(table: Table) -> Table:
    """Return a table without rows that has the look of another: its kind of object and what divides its cells."""
    import numpy as np

    return table.take(np.empty(0, dtype=np.int64))


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


def spend(ledger: Path | None, choice: Choice, schema: Schema, seed: int | None, label: str) -> None:
    """Enter a release in the project ledger before a record is read; end with 1 if it does not allow it.

    What is entered is the plan that `--dry-run` shows, and its budget is that of the fit. Whatever can be known to fail is raised
    before: that costs nothing. A promise is checked so without a ledger too.
    """
    from .._base.errors import BudgetError, InputError
    from ..privacy.noise import noise_of
    from ..privacy.project import open_project

    if not choice.private:
        if ledger is not None:
            raise InputError("--ledger adds up privacy budgets: give --epsilon too.")
        return
    plan = choice.settings.plan(schema)
    noise_of(seed)
    if ledger is None:
        return
    try:
        open_project(ledger).spend(plan, label, test_only=seed is not None)
    except BudgetError as error:
        typer.echo(f"The project ledger says no: {error}", err=True)
        raise typer.Exit(1) from None


def show_promise(model: Model) -> None:
    """Say what is promised, in one sentence."""
    if model.privacy is not None:
        typer.echo(model.privacy.sentence, err=True)


def _declared(schema: Path | None, choice: Choice) -> Schema:
    from ..privacy.domain import undeclared
    from ..privacy.opening import promised_schema
    from ..table import read_schema

    if schema is None:
        raise undeclared()
    return promised_schema(read_schema(schema), person=choice.person, rows_per_person=choice.rows_per_person)
