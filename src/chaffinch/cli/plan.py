"""`chaffinch plan`: what to expect of a privacy budget before it is spent. The data are not opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import JsonOut, Quiet, SchemaIn, SeedIn, Threads, check_outputs, console, number, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from ..privacy.advice import Advice, Expectation
    from ..privacy.ledger import Plan
    from ..synth import Settings
    from ..table import Schema

__all__ = ["plan"]

HEAD = (
    "method",
    "neighbours",
    "column: noise",
    "count",
    "error",
    "pair: noise",
    "count",
    "useful pairs",
    "at once",
    "largest table",
    "enough for",
)


def plan(
    *,
    input: Annotated[
        Path | None, typer.Argument(help="The data, if you like: not opened, and may be left out.", show_default=False)
    ] = None,
    schema: SchemaIn = None,
    epsilon: Annotated[float, typer.Option(help="The budget to weigh.", show_default=False)],
    delta: Annotated[float | None, typer.Option(help="The chance that the promise may fail with.")] = None,
    method: Annotated[str, typer.Option(help="{private_methods}.")] = "bayesnet",
    groups: Annotated[
        str | None, typer.Option(help="With fieldgroups: columns that share a table, as A,B;C,D. Learnt unless given.")
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove or replace-one. Each method has its own default.")
    ] = None,
    person_id: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None,
    rows_per_person: Annotated[int, typer.Option(help="The most rows kept of one person.")] = 1,
    rows: Annotated[int | None, typer.Option(help="The number of rows; that of the schema unless given.")] = None,
    json: JsonOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Say what to expect of a privacy budget before it is spent: from the schema, the number of rows and epsilon alone.

    The data are not opened, so this may be asked as often as you like.
    """
    from ..privacy.advice import advise
    from .settings import choose

    if json is not None:
        check_outputs(input or Path("."), json)
    declared = _declared(schema, rows, person_id)
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rows_per_person": rows_per_person}
    if neighbours is not None:
        promise["neighbours"] = neighbours
    chosen = choose(method=method, person_id=person_id, groups=groups, **promise).settings
    split = chosen.plan(declared)
    advice = advise(declared, declared.rows or 0, [s.expectation(declared) for s in _compared(chosen, promise)])
    if json is not None:
        write_json(json, {"format": "chaffinch-advice", "version": 1, **advice.to_dict(), "plan": split.to_dict()})
    _show(console(), advice, split)


def _declared(path: Path | None, rows: int | None, person: str | None) -> Schema:
    """Return the schema with codecs made from its declaration alone, and with a number of rows."""
    from .._base.errors import InputError, PrivacyError
    from ..privacy.discover import wanted_columns
    from ..privacy.domain import declared_schema, undeclared
    from ..privacy.prepare import with_person
    from ..table import read_schema

    if path is None:
        raise undeclared()
    schema = with_person(read_schema(path), person)
    if rows is not None and rows < 0:
        raise InputError(f"--rows must be at least 0. Got {rows}.")
    if rows is None and schema.rows is None:
        raise InputError(
            "A plan needs the number of rows: give --rows N (roughly is enough), or declare it in the schema."
        )
    if wanted := wanted_columns(schema):
        names = ", ".join(column.name for column in wanted)
        raise PrivacyError(
            "A plan needs a declared domain: how many tables there are and how noisy depends on it. To be discovered: "
            f"{names}. Declare them, or see with --dry-run what discovering them costs."
        )
    return declared_schema(replace(schema, rows=schema.rows if rows is None else rows))


def _compared(chosen: Settings, promise: dict[str, Any]) -> list[Settings]:
    """Return the chosen settings, then those of the other methods with the same promise; pure and zCDP where there is a delta."""
    from ..synth import BayesNet, PrivBayes

    others: list[Settings] = [BayesNet(**promise), BayesNet(**{**promise, "delta": None}), PrivBayes(**promise)]
    by_title = {chosen.title: chosen}
    for settings in others:
        by_title.setdefault(settings.title, settings)
    return list(by_title.values())


def _show(screen: Console, advice: Advice, split: Plan) -> None:
    """Print the advice, then how the chosen method would split the budget."""
    from rich.table import Table
    from rich.text import Text

    from ..privacy.budget import HEAD as SPLIT

    chosen = advice.chosen
    screen.print(
        f"{advice.rows:,} rows, {advice.columns:,} columns, {chosen.pairs:,} pairs of columns. The data were not opened; "
        "nothing has been spent.",
        markup=False,
    )
    table = Table(*HEAD, box=None, pad_edge=False)
    for told in advice.methods:
        table.add_row(*(Text(cell) for cell in _row(told)))
    screen.print(table)
    screen.print(f"{chosen.method}: {chosen.verdict.words}", markup=False)
    for sentence in advice.remedies:
        screen.print(f"- {sentence}", markup=False)
    budget = split.budget
    delta = "" if budget.delta is None else f", delta {budget.delta:g}"
    screen.print(
        f"\nHow {chosen.method} would split epsilon {budget.epsilon:g}{delta}; {split.unit.words}:", markup=False
    )
    table = Table(*SPLIT, box=None, pad_edge=False)
    for row in split.rows_table():
        table.add_row(*(Text(cell) for cell in row))
    screen.print(table)


def _row(told: Expectation) -> tuple[str, ...]:
    return (
        told.method,
        told.relation,
        number(told.column_noise),
        number(told.column_count),
        number(told.column_error),
        number(told.pair_noise),
        number(told.pair_count),
        f"{told.useful_pairs:,} of {told.pairs:,}",
        f"{told.at_once:,}",
        f"{told.largest_table:,} cells" + ("" if told.parents is None else f", {told.parents} parents"),
        told.verdict.value,
    )
