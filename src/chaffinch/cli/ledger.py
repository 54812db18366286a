"""Commands about privacy budgets: `chaffinch plan` says what to expect of one before it is spent, and does not open the data; `chaffinch ledger` says what a model
promises and spent, or what the releases of a project add up to.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._base.files import check_outputs
from .._base.text import count_noun
from .options import JsonOut, SchemaIn, console, show_table, write_json
from .settings import DiscoverIn

if TYPE_CHECKING:
    from rich.console import Console

    from ..privacy.ledger import Account
    from ..privacy.project import Project
    from ..table.settings import Reading
    from ..workflows.plan import PlanResult
    from .settings import Choice


def plan(
    *,
    input: Annotated[
        Path | None,
        typer.Argument(
            help="The data, if you like: not opened, and may be left out.", show_default=False
        ),
    ] = None,
    schema: SchemaIn = None,
    epsilon: Annotated[float, typer.Option(help="The budget to weigh.", show_default=False)],
    delta: Annotated[
        float | None, typer.Option(help="The chance that the promise may fail with.")
    ] = None,
    method: Annotated[str, typer.Option(help="{private_methods}.")] = "bayesnet",
    groups: Annotated[
        str | None,
        typer.Option(
            help="With fieldgroups: columns that share a table, as A,B;C,D. Learnt unless given."
        ),
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove or replace-one. Each method has its own default.")
    ] = None,
    person_id: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None,
    rows_per_person: Annotated[int, typer.Option(help="The most rows kept of one person.")] = 1,
    rows: Annotated[
        int | None, typer.Option(help="The number of rows; that of the schema unless given.")
    ] = None,
    discover: DiscoverIn = None,
    json: JsonOut = None,
) -> None:
    """Say what to expect of a privacy budget before it is spent: from the schema, the number of rows and epsilon alone.

    The data are not opened, so this may be asked as often as you like. With --discover and without a schema their header is read.
    """
    from .._base.errors import InputError
    from ..privacy.prepare import guarantee_schema
    from ..table.settings import Reading
    from ..workflows.plan import plan as plan_budget
    from .settings import choose

    if json is not None:
        check_outputs(input or Path("."), json)
    promise: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "rows_per_person": rows_per_person,
        "neighbours": neighbours,
    }
    choice = choose(method=method, person_id=person_id, groups=groups, discover=discover, **promise)
    if discover is not None and schema is None and input is None:
        raise InputError(
            "--discover all without a schema takes the names of columns from the data: name the input."
        )
    given = (
        schema if discover is None else guarantee_schema(input, Reading(schema=schema), discover)
    )
    result = plan_budget(given, choice.settings, rows=rows, person=person_id, neighbours=neighbours)
    if json is not None:
        write_json(json, result.to_dict())
    _show(console(), result)


def _show(screen: Console, result: PlanResult) -> None:
    """Print the advice, then how the chosen method would split the budget."""
    from ..privacy.ledger import HEAD as SPLIT
    from ..workflows.plan import HEAD

    advice, chosen, split = result.advice, result.advice.chosen, result.split
    screen.print(
        f"{count_noun(advice.rows, 'row')}, {count_noun(advice.columns, 'column')}, {count_noun(chosen.pairs, 'pair')} of columns. The data were not opened; "
        "nothing has been spent.",
        markup=False,
    )
    show_table(HEAD, result.rows())
    screen.print(f"{chosen.method}: {chosen.verdict.sentence}", markup=False)
    if advice.warning:
        screen.print(advice.warning, markup=False)
    for sentence in advice.remedies:
        screen.print(f"- {sentence}", markup=False)
    for sentence in result.discovery:
        screen.print(sentence, markup=False)
    budget = split.budget
    delta = "" if budget.delta is None else f", delta {budget.delta:g}"
    screen.print(
        f"\nHow {chosen.method} would split epsilon {budget.epsilon:g}{delta}; {split.unit.description}:",
        markup=False,
    )
    show_table(SPLIT, split.rows_table())


def show_plan(choice: Choice, input: Path, reading: Reading, json: Path | None) -> None:
    """Print how the budget would be split, and what discovery costs. The data are not opened; without a schema their header is read."""
    from .._base.errors import InputError
    from ..privacy.domain import undeclared
    from ..privacy.ledger import HEAD
    from ..privacy.prepare import guarantee_schema, left_out
    from ..privacy.session import discovery_price, plan_budget, promised_schema

    if not choice.private:
        raise InputError("--dry-run shows how a privacy budget would be split: give --epsilon.")
    settings = choice.settings
    given = guarantee_schema(input, reading, choice.discover)
    if given is None:
        raise undeclared()
    schema = promised_schema(
        given, person=choice.person, rows_per_person=settings.unit.rows_per_person
    )
    plan = settings.plan(schema)
    price = discovery_price(plan_budget(schema, settings.budget, settings.unit))
    screen = console()
    screen.print(
        f"Budget: epsilon {plan.budget.epsilon:g}"
        + (f", delta {plan.budget.delta:g}" if plan.budget.delta is not None else "")
        + f"; {plan.unit.description}. Nothing has been spent.",
        markup=False,
    )
    show_table(HEAD, plan.rows_table())
    for sentence in () if price is None else price.sentences:
        screen.print(sentence, markup=False)
    for note in left_out(schema) if choice.discover is not None and reading.schema is None else ():
        screen.print(str(note), markup=False)
    if json is not None:
        discovery = {} if price is None else {"discovery": price.to_dict()}
        write_json(json, {"format": "chaffinch-plan", "version": 1, **plan.to_dict(), **discovery})


NO_PROMISE = "This model carries no promise: it was fitted without epsilon."


def ledger(
    path: Annotated[
        Path, typer.Argument(help="A model file, or a project ledger.", show_default=False)
    ],
    new: Annotated[bool, typer.Option("--new", help="Make a project ledger at PATH.")] = False,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="With --new: the most epsilon that all releases may add up to; no limit unless given."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="With --new: the delta of the limit; none unless given.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="With --new: the name of the data; that of the file unless given."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            help="With --new: which sum is held to the limit: gaussian (unless given), zcdp or basic."
        ),
    ] = None,
    json: JsonOut = None,
) -> None:
    """Print what a model promises and what each touch of the data cost, or what the releases of a project add up to."""
    from .._base.errors import InputError
    from ..privacy.project import checked_rule, create_project, is_project, open_project

    check_outputs(path, json)
    screen = console()
    if not new and not (epsilon is None and delta is None and data is None and rule is None):
        raise InputError(
            "--epsilon, --delta, --data and --rule are for a new project ledger. Add --new, or leave them out."
        )
    if new or is_project(path):
        project = (
            create_project(
                path, epsilon=epsilon, delta=delta, data=data or path.stem, rule=checked_rule(rule)
            )
            if new
            else open_project(path)
        )
        if json is not None:
            write_json(json, project.to_dict())
        _show_project(screen, project)
        return
    from ..synth import load_model

    account = load_model(path).privacy
    if json is not None:
        write_json(json, {"privacy": None if account is None else account.to_dict()})
    if account is None:
        screen.print(NO_PROMISE, markup=False)
    else:
        show_account(screen, account)


def show_account(screen: Console, account: Account) -> None:
    """Print an account: the promise, the charges, what was spent and how it adds up."""
    from ..privacy.ledger import HEAD

    screen.print(account.sentence, markup=False)
    show_table(HEAD, account.rows_table())
    epsilon, delta = account.spent_guarantee
    at = f" at delta {delta:.6g}" if delta else ""
    currency = account.budget.currency
    dust = account.unspent < 1e-6 * account.budget.total  # from rounding
    screen.print(
        f"Spent {currency} {account.spent:.6g} of {account.budget.total:.6g}, which is epsilon {epsilon:.6g}{at}; "
        f"unspent {currency} {0.0 if dust else account.unspent:.6g}.",
        markup=False,
    )
    screen.print(account.conversion, markup=False)
    screen.print(
        f"Noise: {account.noise_source}. Number of rows: {account.rows_how}.", markup=False
    )


def _show_project(screen: Console, project: Project) -> None:
    """Print a project: its limit, its releases, and what they add up to."""
    if project.epsilon is None:
        limit = "no limit"
    else:
        limit = f"limit epsilon {project.epsilon:.6g}, delta {0.0 if project.delta is None else project.delta:.6g}"
    screen.print(
        f"Project ledger of '{project.data}': {limit}; releases: {len(project.releases)}.",
        markup=False,
    )
    rows: list[tuple[str, ...]] = [
        (
            release.label + (" (TEST ONLY)" if release.test_only else ""),
            release.when,
            f"{release.budget.epsilon:.6g}",
            "" if release.budget.delta is None else f"{release.budget.delta:.6g}",
            release.budget.kind,
            release.unit.description,
        )
        for release in project.releases
    ]
    if rows:
        show_table(("release", "when", "epsilon", "delta", "accounting", "neighbours"), rows)
    totals = project.totals
    screen.print(totals.sentence, markup=False)
    if project.epsilon is not None:
        screen.print(
            f"Left of the limit: epsilon {max(0.0, project.epsilon - totals.epsilon):.6g}.",
            markup=False,
        )
