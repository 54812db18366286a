"""`chaffinch attack`: was this person in the data, and can somebody be singled out? Attacks on a synthesiser by shadow modelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .attack_options import AttackRequest, check_word, with_asked
from .help import RegistryCommand
from .options import console

if TYPE_CHECKING:
    from ..risk.membership import MembershipResult
    from ..risk.singling_out import SinglingOutResult

__all__ = ["attack"]

attack = typer.Typer(
    name="attack",
    help="Attack a synthesiser: was a person in the data, and can somebody be singled out?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those hold records
)


@attack.command(cls=RegistryCommand)
@with_asked
def membership(
    wanted: AttackRequest,
    *,
    max_auc: Annotated[
        float | None, typer.Option(help="End with 1 if the lower end of the AUC's interval is above this.")
    ] = None,
) -> None:
    """Say how well it can be told from a release who was in the data: AUC, and true positives at few false ones.

    Attackers learn from shadows: fits on subsets of the population with and without each target. They are tested on others.
    """
    from ..report.membership import membership_page
    from ..risk.membership.study import membership as attack_membership

    _check_limit("--max-auc", max_auc)
    result: MembershipResult = wanted.run(attack_membership)
    bound = result.interval[0]
    result = wanted.finished(result, _policy("max_auc", max_auc, bound))
    wanted.write(result, lambda: membership_page(result))
    if not wanted.quiet:
        _print(*result.table(), result)
    _end("AUC", bound, max_auc)


@attack.command("singling-out", cls=RegistryCommand)
@with_asked
def singling_out(
    wanted: AttackRequest,
    *,
    releases: Annotated[int, typer.Option(help="Fresh releases to attack.")] = 1000,
    combine: Annotated[
        str, typer.Option(help="Which target is named: argmax (the surest), weighted by skill, or the surest of strong ones.")
    ] = "argmax",
    max_success: Annotated[
        float | None, typer.Option(help="End with 1 if the lower end of the interval of success is above this.")
    ] = None,
) -> None:  # fmt: skip
    """Say how often somebody who is in the data is singled out from a release, beside what guessing gives.

    For each release the attacker names one target. That is right if the target is in the data, and nobody else has the same values.
    """
    from ..report.singling_out import singling_out_page
    from ..risk.singling_out.study import singling_out as attack_singling_out

    _check_limit("--max-success", max_success)
    check_word("--combine", combine)
    result: SinglingOutResult = wanted.run(attack_singling_out, combine=combine, releases=releases)
    result = wanted.finished(result, _policy("max_success", max_success, result.interval[0]))
    wanted.write(result, lambda: singling_out_page(result))
    if not wanted.quiet:
        _print(*result.table(), result)
    _end("success", result.interval[0], max_success)


def _check_limit(option: str, limit: float | None) -> None:
    from .._base.errors import InputError

    if limit is not None and not 0 <= limit <= 1:
        raise InputError(f"{option} must lie between 0 and 1. Got {limit:g}.")


def _policy(name: str, limit: float | None, bound: float) -> dict[str, Any]:
    return {name: limit, "lower_bound": bound, "passed": limit is None or bound <= limit}


def _end(what: str, bound: float, limit: float | None) -> None:
    if limit is not None and bound > limit:
        typer.echo(f"The {what} is above {bound:.3g} with its interval; the policy allows {limit:g}.", err=True)
        raise typer.Exit(1)


def _print(head: Sequence[str], rows: Sequence[Sequence[str]], result: MembershipResult | SinglingOutResult) -> None:
    from rich.table import Table

    table = Table(*head, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    screen = console()
    screen.print(table, markup=False)
    population = f"{result.population:,}" if isinstance(result.population, int) else result.population
    screen.print(
        f"{result.targets} targets; subsets of {result.rows:,} out of {population} records"
        + (f"; {result.duplicates} left out, as others have the same values." if result.duplicates else "."),
        markup=False,
    )
    screen.print(result.sentence, markup=False)
