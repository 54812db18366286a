"""`chaffinch ledger`: what a model promises and spent, or what the releases of a project add up to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.files import check_outputs
from .options import JsonOut, write_json
from .screen import console, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..privacy.account import Account
    from ..privacy.project import Project


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
    from ..privacy.project import create_project, is_project, open_project
    from ..privacy.totals import checked_rule

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
    from ..privacy.budget import HEAD

    screen.print(account.sentence, markup=False)
    show_table(HEAD, account.rows_table())
    epsilon, delta = account.spent_promise
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
            release.unit.words,
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
