"""Commands about privacy budgets: `chaffinch plan` says what to expect of one before it is spent, and does not open the data; `chaffinch ledger` says what a model
promises and spent, or what the releases of a project add up to.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from .._base.files import check_outputs, write_json
from .._base.options import LEARN, PRIVACY, Option
from .._base.text import count_noun
from ..workflows.settings import MethodSettings
from .options import Json, console, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..privacy.ledger import Account
    from ..privacy.project import Project
    from ..workflows.plan import PlanResult


def plan(
    *,
    input: Annotated[
        Path | None,
        Option(
            "The data, if you like: not opened, and may be left out.", argument=True, leaves=False
        ),
    ] = None,
    method: Annotated[str, Option("{private_methods}.", basic=True, panel=LEARN)] = "bayesnet",
    settings: MethodSettings,
    rows: Annotated[
        int | None,
        Option(
            "Number of rows, roughly. Default: that of the schema.",
            basic=True,
            panel=LEARN,
            unit="rows",
            ge=0,
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Say what to expect of a privacy budget before it is spent: from the schema, the number of rows and epsilon alone.

    The data are not opened, so this may be asked as often as you like. With --discover and without a schema their header is read.
    """
    from .._base.errors import InputError
    from ..privacy.prepare import guarantee_schema
    from ..workflows.plan import plan as plan_budget

    if json is not None:
        check_outputs(input or Path("."), json)
    reading, guarantee = settings.reading, settings.options.guarantee
    if guarantee.discover is not None and reading.schema is None and input is None:
        raise InputError(
            "--discover all without a schema takes the names of columns from the data: name the input."
        )
    result = plan_budget(
        guarantee_schema(input, reading, guarantee.discover),
        replace(settings, method=method).synthesiser,
        rows=rows,
        person=settings.roles.person,
        neighbours=guarantee.neighbours,
    )
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


def show_plan(settings: MethodSettings, input: Path, json: Path | None) -> None:
    """Print how the budget would be split, and what discovery costs. The data are not opened; without a schema their header is read."""
    from .._base.errors import InputError
    from ..privacy.domain import undeclared_error
    from ..privacy.ledger import HEAD
    from ..privacy.prepare import guarantee_schema, left_out
    from ..privacy.session import discovery_price, plan_budget, promised_schema

    if not settings.private:
        raise InputError("--dry-run shows how a privacy budget would be split: give --epsilon.")
    method, reading = settings.synthesiser, settings.reading
    discover = settings.options.guarantee.discover
    given = guarantee_schema(input, reading, discover)
    if given is None:
        raise undeclared_error()
    schema = promised_schema(
        given, person=settings.roles.person, rows_per_person=method.unit.rows_per_person
    )
    plan = method.plan(schema)
    price = discovery_price(plan_budget(schema, method.budget, method.unit))
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
    for note in left_out(schema) if discover is not None and reading.schema is None else ():
        screen.print(str(note), markup=False)
    if json is not None:
        discovery = {} if price is None else {"discovery": price.to_dict()}
        write_json(json, {"format": "chaffinch-plan", "version": 1, **plan.to_dict(), **discovery})


NO_PROMISE = "This model carries no promise: it was fitted without epsilon."


def ledger(
    *,
    path: Annotated[
        Path, Option("A model file, or a project ledger.", argument=True, leaves=False)
    ],
    new: Annotated[
        bool, Option("Make a project ledger at PATH.", basic=True, panel=PRIVACY)
    ] = False,
    epsilon: Annotated[
        float | None,
        Option(
            "With --new: the most epsilon that releases may add up to. Default: no limit.",
            basic=True,
            panel=PRIVACY,
            gt=0,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        Option("With --new: delta of the limit. Default: none.", panel=PRIVACY, gt=0, lt=1),
    ] = None,
    data: Annotated[
        str | None,
        Option("With --new: name of the data. Default: that of the file.", basic=True),
    ] = None,
    rule: Annotated[
        Literal["gaussian", "zcdp", "basic"] | None,
        Option(
            "With --new: sum held to the limit: gaussian, zcdp or basic. Default: gaussian.",
            panel=PRIVACY,
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Print what a model promises and what each touch of the data cost, or what the releases of a project add up to."""
    from .._base.errors import InputError
    from ..privacy.project import create_project, is_project, open_project

    check_outputs(path, json)
    screen = console()
    if not new and not (epsilon is None and delta is None and data is None and rule is None):
        raise InputError(
            "--epsilon, --delta, --data and --rule are for a new project ledger. Add --new, or leave them out."
        )
    if new or is_project(path):
        project = (
            create_project(path, epsilon=epsilon, delta=delta, data=data or path.stem, rule=rule)
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
    at_delta = f" at delta {delta:.6g}" if delta else ""
    currency = account.budget.currency
    dust = account.unspent < 1e-6 * account.budget.total  # from rounding
    screen.print(
        f"Spent {currency} {account.spent:.6g} of {account.budget.total:.6g}, which is epsilon {epsilon:.6g}{at_delta}; "
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
