"""`chaffinch frontier`: settings by what they give away and what they are worth, and the release that is most useful under limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.masking import THRESHOLD
from .._base.text import count_noun
from .options import (
    Attackers,
    Formula,
    Holdout,
    Input,
    JsonOut,
    LedgerIn,
    Quiet,
    RequireShown,
    Threads,
    Threshold,
    command_line,
    expanded,
    ledger_allows,
    names_of,
    reading_of,
    show_lines,
    show_promise,
    start_arrow,
    write_json,
)
from .settings import OrderBy, PersonId, WeightIn

if TYPE_CHECKING:
    from ..report.frontier_result import FrontierResult
    from ..table.settings import Reading
    from ..workflows.frontier.deliver import Delivery
    from ..workflows.frontier.settings import FrontierSettings


UNCOVERED = "The frontier's figures are taken from the original, and no promise of privacy covers them, the page or the exit code: keep them inside."


@expanded(reading=reading_of)
def frontier(
    *,
    input: Input,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Folder to write to; made if it is not there. A search that was stopped goes on in its folder.",
        ),
    ],
    keys: Annotated[
        str,
        typer.Option(
            help="Columns that an outsider may know of a person, as A,B.", show_default=False
        ),
    ],
    sensitive: Annotated[
        str,
        typer.Option(
            help="Columns that an outsider wants, as A,B: those that may be protected.",
            show_default=False,
        ),
    ],
    label: Annotated[
        str | None, typer.Option(help="Purpose: the column that learners are to predict.")
    ] = None,
    formula: Formula = None,
    tables: Annotated[
        str | None, typer.Option(help="Purpose: tables that are wanted, as A,B;C,D,E.")
    ] = None,
    worth: Annotated[
        str | None,
        typer.Option(
            help="The purpose to choose by, of several: accuracy, regression, tables, or tvd_2, phi_k, tvd_3, pmse."
        ),
    ] = None,
    max_excess: Annotated[
        float | None,
        typer.Option(
            help="The excess over other people that an attack may have: the most useful settings below are chosen."
        ),
    ] = None,
    max_auc: Annotated[
        float | None,
        typer.Option(help="The AUC that a membership attack may have; it takes many fits."),
    ] = None,
    require_shown: RequireShown = False,
    epsilons: Annotated[
        str,
        typer.Option(
            help="Budgets of promises to try, as none,10,3,1; none is no promise. They need a schema that declares the domain."
        ),
    ] = "none",
    choose: Annotated[
        str | None,
        typer.Option(
            help="With --epsilons: public (largest epsilon, defaults; no figure is looked at), private (charged), or none (release nothing)."
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="How long to search, as 10min, 90s or 1h.")
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            help="How many settings to try: the same number and seed give the same files. 24 without a budget.",
            show_default=False,
        ),
    ] = None,
    holdout: Holdout = None,
    attackers: Attackers = None,
    share: Annotated[
        float, typer.Option(help="Share of people who are set aside to confirm the choice.")
    ] = 0.5,
    weight: WeightIn = None,
    person_id: PersonId = None,
    order_by: OrderBy = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    threshold: Threshold = THRESHOLD,
    reading: Reading,
    ledger: LedgerIn = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the search; drawn, and kept, unless given. With --epsilons: for tests only, no privacy."
        ),
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Try settings, draw what they give away beside what they are worth, and release the most useful that is not seen to exceed limits.

    People are parted by person: settings are tried on one part and the choice is confirmed on the other, which the search never sees. The table that is
    released is made of everybody. confidential/ gets frontier.html, frontier.json, the list of evaluated settings and the report of the release; to-release/ the table. Ends
    with 1 where nothing could be confirmed, or the release itself exceeds a limit. Ctrl-C keeps what is done, and the same command goes on from there.
    """
    from .._base.files import holding
    from .._base.runtime import progress_bar
    from ..risk.policy import RiskPolicy
    from ..stats.intervals import LimitState
    from ..table.holdout import check_holdout_file
    from ..table.sources import open_source
    from ..table.write import ending_like
    from ..workflows.frontier.deliver import deliver
    from ..workflows.frontier.run import STOPPED, FrontierData, check_search_folder, run_frontier
    from ..workflows.release import TO_RELEASE
    from ..workflows.run import RunOptions

    check_holdout_file(input, holdout)
    check_outputs(
        input,
        json if json is None or json.resolve().parent != output.resolve() else None,
        updated=[ledger],
    )
    for path in (
        input,
        holdout,
        reading.schema if isinstance(reading.schema, Path) else None,
        ledger,
    ):
        if path is not None and (output / TO_RELEASE).resolve() in path.resolve().parents:
            raise InputError(
                f"The input '{path}' lies where the release is written. Name another folder."
            )
    settings = frontier_settings(
        keys=keys,
        sensitive=sensitive,
        label=label,
        formula=formula,
        tables=tables,
        worth=worth,
        max_excess=max_excess,
        max_auc=max_auc,
        epsilons=epsilons,
        choose=choose,
        budget=budget,
        evaluations=evaluations,
        attackers=attackers,
        share=share,
        threshold=threshold,
    )
    if ledger is not None and not settings.private:
        raise InputError("--ledger adds up privacy budgets: give --epsilons and --choose too.")
    if require_shown and not settings.limits:
        raise InputError("--require-shown needs a limit: name --max-excess or --max-auc.")
    RiskPolicy(max_excess, require_shown=require_shown and max_excess is not None).check(
        holdout=holdout is not None
    )
    check_search_folder(output, paid=settings.private)
    start_arrow(threads)
    with holding(output), progress_bar(quiet=quiet, plain=True) as progress, ledger_allows():
        run = RunOptions(seed=seed, threads=threads, progress=progress, command=command_line())
        source = FrontierData(
            data=input,
            holdout=None if holdout is None else open_source(holdout, **reading.other_file),
            reading=reading,
            person=person_id,
            order=order_by,
            weight=weight,
        )
        found = run_frontier(source, settings, run=run, folder=output)
        found = replace(found, result=found.result.named(input.name))
        done = deliver(
            found, source, output, ending=ending_like(input), title=title, run=run, ledger=ledger
        )
    result = done.result
    if json is not None:
        write_json(json, result.to_dict())
    line = "" if result.choice is None else result.choice.limit_sentence
    if line and not quiet:
        show_lines(line)
    elif line and result.choice is not None and result.choice.state is not LimitState.SHOWN:
        typer.echo(line, err=True)
    if not quiet:
        _show(done, output, found.resumed)
        if settings.private:
            typer.echo(UNCOVERED, err=True)
    _end(result, stopped=result.about.stopped.startswith(STOPPED), require_shown=require_shown)


def frontier_settings(
    *,
    keys: str,
    sensitive: str,
    label: str | None,
    formula: str | None,
    tables: str | None,
    worth: str | None,
    max_excess: float | None,
    max_auc: float | None,
    epsilons: str,
    choose: str | None,
    budget: str | None,
    evaluations: int | None,
    attackers: str | None,
    share: float,
    threshold: int,
) -> FrontierSettings:
    """Return the settings that the options amount to."""
    from ..report.frontier_result import Limits
    from ..workflows.frontier.settings import FrontierSettings, minutes

    return FrontierSettings(
        keys=names_of(keys),
        sensitive=names_of(sensitive),
        label=label,
        formula=formula,
        tables=tuple(names_of(part) for part in (tables or "").split(";") if part.strip()),
        worth=worth,
        limits=Limits(max_excess, max_auc),
        epsilons=_budgets(epsilons),
        choose=choose,  # type: ignore[arg-type]
        seconds=None if budget is None else minutes(budget),
        evaluations=evaluations,
        attackers=names_of(attackers) or None,
        share=share,
        threshold=threshold,
    )


def _budgets(words: str) -> tuple[float | None, ...]:
    out: list[float | None] = []
    for word in names_of(words):
        try:
            out.append(None if word == "none" else float(word))
        except ValueError:
            raise InputError(
                f"An epsilon must be a number above 0, or none. Got '{word}'. Write --epsilons none,10,3,1."
            ) from None
    return tuple(dict.fromkeys(out))


def _show(done: Delivery, output: Path, resumed: int) -> None:
    from ..workflows.release import CONFIDENTIAL, TO_RELEASE

    result = done.result
    if resumed:
        typer.echo(f"Went on from {count_noun(resumed, 'setting')} that '{output}' held.", err=True)
    leaving = [name for name in done.names if name.startswith(f"{TO_RELEASE}/")]
    wrote = (
        f"Wrote {output}: {', '.join(leaving)} to leave once you decide so, the rest in {CONFIDENTIAL}/."
        if leaving
        else f"Wrote {output}: nothing to leave, all in {CONFIDENTIAL}/."
    )
    asked = (
        ""
        if result.choice is not None or result.about.stopped.startswith("Stopped")
        else "Nothing was chosen: name --max-excess to have the most useful settings below it chosen and released."
    )
    show_lines(
        f"{count_noun(len(result.evaluations), 'setting')} tried, {len(result.front())} on the front. {result.about.stopped}",
        *([result.choice.sentence] if result.choice else []),
        *([asked] if asked else []),
        wrote,
        f"The page to decide by: {output / CONFIDENTIAL / 'frontier.html'}",
    )
    if done.release is not None:
        show_promise(done.release.model)


def _end(result: FrontierResult, *, stopped: bool, require_shown: bool = False) -> None:
    """End with 130 where a hand stopped it, and with 1 where nothing could be confirmed, a limit is exceeded, or, where that is required, not shown to be kept."""
    from ..stats.intervals import LimitState

    if stopped:
        raise typer.Exit(130)
    if result.choice is not None and (
        not result.choice.allowed or (require_shown and result.choice.state is not LimitState.SHOWN)
    ):
        raise typer.Exit(1)
