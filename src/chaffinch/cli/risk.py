"""`chaffinch risk`: what a synthetic table gives away about sensitive columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.files import check_outputs
from .._base.options import MEASURE, Option
from .._base.text import count_noun
from ..risk.settings import RiskSettings
from ..table.settings import Reading
from ..workflows.settings import Execution
from .command import Exit, echo
from .options import (
    HoldoutAddress,
    InputAddress,
    MeasureRequest,
    Secrets,
    console,
    show_lines,
    show_table,
)

if TYPE_CHECKING:
    from ..report.result import ReportResult
    from ..risk import RiskResult
    from ..risk.policy import RiskPolicy
    from ..risk.verdict import LimitVerdict


@dataclass(frozen=True, kw_only=True)
class RiskRequest(MeasureRequest):
    """How a table is attacked, and where what is found goes."""

    confidential: Secrets = None


def risk(
    *,
    original: InputAddress,
    synthetic: Annotated[
        Sequence[str],
        Option(
            "The synthetic table, or several releases of the same people.",
            argument=True,
            metavar="SYNTHETIC",
            read=str,
        ),
    ],
    holdout: HoldoutAddress = None,
    settings: RiskSettings,
    model: Annotated[
        Path | None,
        Option(
            "A model of the same people, released too: what is drawn from it is attacked with the others.",
            panel=MEASURE,
            leaves=False,
        ),
    ] = None,
    execution: Execution,
    reading: Reading = Reading(rare="keep"),  # noqa: B008
    request: RiskRequest = RiskRequest(),
) -> None:
    """Attack a synthetic table: what it tells about sensitive columns to someone who knows the keys.

    Each attack stands beside the best guess without keys, the same attack on people who are not in the data (--holdout), and the
    original attacking itself. Without a holdout there is no excess, and nothing is called safe; one with people of the data is refused. --holdout-share is
    for a table that `release` made with the same share and seed. Memorisation tests compare whole rows, rare
    values and distances with those of the released table; without --keys and --sensitive they are run alone. With --max-excess the first line says what
    all of them together say of the limit: exceeded (exit code 1), shown to be kept, or undecided.
    """
    from ..risk.policy import RiskPolicy
    from ..table.holdout import UNSEEN, check_holdout_file, check_holdout_share
    from ..workflows.engines import compared_tables, engine_of

    share = settings.holdout_share
    check_holdout_share(share, holdout)
    check_holdout_file(original, holdout)
    policy = RiskPolicy.read(settings.limits, holdout=holdout is not None or share is not None)
    source, releases = Path(original), [Path(path) for path in synthetic]
    fresh = None if holdout is None else Path(holdout)
    check_outputs(source, *request.files.paths, inputs=[*releases, fresh])
    with (
        request.start() as run,
        compared_tables(
            engine_of(execution.engine, execution.cache),
            original,
            synthetic,
            holdout,
            reading,
            run,
            holdout_share=share,
            sample_rows=settings.sample_rows,
            models=int(model is not None),
        ) as (table, released, aside),
    ):
        from ..risk import measure_risk

        result = measure_risk(
            table, released, aside, settings, holdout_share=share, model=model, **run.options
        )
    result = policy.classify(result, run.facts).named(
        original=source.name,
        synthetic=[path.name for path in releases],
        holdout=fresh.name if fresh else None,
    )
    from ..report.release import render
    from ..report.result import report_of

    report = report_of(
        title=f"What {releases[0].name} gives away", risk=result, threshold=settings.threshold
    )
    request.files.write(result, partial(render, report))
    show_limit(result.limit, quiet=request.quiet)
    if not request.quiet:
        if request.verbose:
            show_findings(result)
        show_risk(report, request.html, scenario=not request.verbose)
        show_lines(UNSEEN if UNSEEN in result.about.notes else "")
        show_lines("" if result.about.sample is None else " ".join(result.about.sample.sentences))
    end(result.limit, policy)


def show_limit(verdict: LimitVerdict | None, *, quiet: bool = False, fate: str = "") -> None:
    """Print what is known of the limit, the first line of a command that has one; with --quiet on the error stream, unless it is shown to be kept.

    `fate`: what became of a table because of it.
    """
    if verdict is None:
        return
    line = f"{verdict.sentence} {fate}".strip()
    if not quiet:
        show_lines(line)
    elif not verdict.passed:
        echo(line, err=True)


def end(verdict: LimitVerdict | None, policy: RiskPolicy) -> None:
    """End with 1 where the limit is exceeded, or where that is required not shown to be kept."""
    if policy.refuses(verdict):
        raise Exit(1)


def show_risk(report: ReportResult, page: Path | None, *, scenario: bool = True) -> None:
    """Print what a table gives away in a few lines, what was not tried, and where the page is; who attacks unless that was said."""
    from .._base.results import not_measured
    from ..report.decision import left_out_of

    result = report.risk
    assert result is not None
    answers = report.decision.answers
    show_lines(
        *((result.about.scenario, *result.about.comparison) if scenario else ()),
        answers[0].sentence,
        family_line(result.cross_fit or result),
        "" if result.together is None else result.together.sentence,
        not_measured(left_out_of(report)),
        f"The page: {page}"
        if page is not None
        else "All figures: --verbose, --html PAGE or --json FILE.",
    )


def family_line(result: RiskResult) -> str:
    """Return what all attacks say together, in a sentence."""
    family = result.family
    if family.p_value is None or family.lower_bound is None:
        return family.reason
    upper = "" if family.upper_bound is None else f" and an upper bound of {family.upper_bound:.3g}"
    return (
        f"{count_noun(len(result.findings), 'attack')} together: p = {family.p_value:.3g} for the hypothesis that members and others are alike; the largest excess has a simultaneous 95 % lower bound of "
        f"{family.lower_bound:.3g}{upper}."
    )


def show_findings(result: RiskResult) -> None:
    """Print the findings, the worst first where there are many."""
    from ..risk.finding import HEAD
    from ..risk.result import MOST

    console().print(result.about.scenario, markup=False)
    for note in result.about.comparison:
        console().print(note, markup=False)
    rows = result.rows()
    columns = [j for j in range(len(HEAD)) if any(row[j] for row in rows[:MOST])]
    shown = [[row[j] for j in columns] for row in rows[:MOST]]
    screen = show_table([HEAD[j] for j in columns], shown) if rows else console()
    if len(rows) > MOST:
        screen.print(f"The {MOST} worst of {len(rows):,} attacks; the others are in the JSON.")
