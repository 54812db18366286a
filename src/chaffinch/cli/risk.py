"""`chaffinch risk`: what a synthetic table gives away about sensitive columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.checks import check_at_least
from .._base.errors import InputError, unknown_name
from .._base.files import check_outputs
from .._base.masking import THRESHOLD
from .._base.text import count_noun
from .options import (
    Attackers,
    Cache,
    ClusterEngine,
    HoldoutPlace,
    HoldoutShare,
    HtmlOut,
    JsonOut,
    KeySizes,
    MaxExcess,
    Place,
    PublicOut,
    Quiet,
    Rare,
    RequireShown,
    SampleRows,
    SchemaIn,
    SvmRows,
    TcapConvention,
    Thorough,
    Threads,
    Threshold,
    Tolerance,
    Verbose,
    console,
    expanded,
    file_options,
    key_sizes_of,
    names_of,
    reading_of,
    run_facts,
    show_lines,
    show_table,
    write_confidential,
)

if TYPE_CHECKING:
    from ..report.result import ReportResult
    from ..risk import RiskResult, RiskSettings
    from ..risk.policy import RiskPolicy
    from ..risk.verdict import LimitVerdict
    from ..table import FileOptions
    from ..table.settings import Reading


@expanded(file=file_options)
def reading_by_value(*, schema: SchemaIn = None, file: FileOptions, rare: Rare = "keep") -> Reading:
    """Return how the input is read: rare levels by name, as an outsider sees them, unless they are to be pooled."""
    return reading_of(schema=schema, rare=rare, **file)


@expanded(reading=reading_by_value)
def risk(
    *,
    original: Place,
    synthetic: Annotated[
        list[str],
        typer.Argument(
            parser=str,
            metavar="SYNTHETIC...",
            help="The synthetic table, or several releases of the same people.",
            show_default=False,
        ),
    ],
    keys: Annotated[
        str | None,
        typer.Option(
            help="Columns that an outsider knows of a person, as A,B; without them memorisation tests alone."
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Columns that are not to be found out, as A,B.")
    ] = None,
    holdout: HoldoutPlace = None,
    holdout_share: HoldoutShare = None,
    key_sizes: KeySizes = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column whose relation to the sensitive ones is meant to stay."),
    ] = None,
    attackers: Attackers = None,
    thorough: Thorough = False,
    parts: Annotated[
        str | None,
        typer.Option(
            help="Two sets of columns to link, as A,B:C,D; the keys and all other columns unless given."
        ),
    ] = None,
    tcap_convention: TcapConvention = "matched_rows",
    numeric: Annotated[
        str,
        typer.Option(
            help="Numbers are equal if they are (values), or by bins of the schema (bins)."
        ),
    ] = "values",
    tolerance: Tolerance = None,
    repeats: Annotated[
        int, typer.Option(help="Draws of people for intervals and p-values.")
    ] = 1000,
    svm_rows: SvmRows = 5000,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    sample_rows: SampleRows = 100_000,
    policy: Annotated[
        Path | None,
        typer.Option(help="TOML file that says max_excess, and where wanted require_shown."),
    ] = None,
    max_excess: MaxExcess = None,
    require_shown: RequireShown = False,
    confidential: Annotated[
        Path | None,
        typer.Option(
            help="Write each record's risk and the exposed classes here: confidential, readable by you alone."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model of the same people that is released too: tables are drawn from it and attacked together with the others."
        ),
    ] = None,
    threshold: Threshold = THRESHOLD,
    reading: Reading,
    seed: Annotated[
        int | None, typer.Option(help="Seed of draws: the same seed gives the same figures.")
    ] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    public: PublicOut = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    threads: Threads = None,
) -> None:
    """Attack a synthetic table: what it tells about sensitive columns to someone who knows the keys.

    Each attack stands beside the best guess without keys, the same attack on people who are not in the data (--holdout), and the
    original attacking itself. Without a holdout there is no excess, and nothing is called safe; one with people of the data is refused. --holdout-share is
    for a table that `release` made with the same share and seed. Memorisation tests compare whole rows, rare
    values and distances with those of the released table; without --keys and --sensitive they are run alone. With --max-excess the first line says what
    all of them together say of the limit: exceeded (exit code 1), shown to be kept, or undecided.
    """
    from .._base.runtime import progress_bar
    from ..risk.policy import RiskPolicy
    from ..risk.settings import LimitSettings
    from ..table.holdout import UNSEEN, check_holdout_file, check_holdout_share
    from ..workflows.engines import compared_tables, engine_of
    from ..workflows.run import RunOptions
    from .estimates import Speaker
    from .options import start_arrow, write_json

    check_holdout_share(holdout_share, holdout)
    check_holdout_file(original, holdout)
    allowed = RiskPolicy.read(
        LimitSettings(max_excess=max_excess, require_shown=require_shown, policy=policy),
        holdout=holdout is not None or holdout_share is not None,
    )
    settings = risk_settings(
        keys=keys,
        sensitive=sensitive,
        key_sizes=key_sizes,
        label=label,
        attackers=attackers,
        parts=parts,
        convention=tcap_convention,
        numeric=numeric,
        rare=reading.rare,
        repeats=repeats,
        svm_rows=svm_rows,
        tolerance=tolerance,
        threshold=threshold,
        thorough=thorough,
        sample_rows=sample_rows,
    )
    mine, theirs, fresh = (
        Path(original),
        [Path(place) for place in synthetic],
        None if holdout is None else Path(holdout),
    )
    check_outputs(mine, json, html, public, confidential, inputs=[*theirs, fresh])
    start_arrow(threads)
    from ..risk import measure_risk

    with progress_bar(quiet=quiet, plain=True) as progress:
        observer = Speaker(quiet=quiet)
        run = RunOptions(seed=seed, threads=threads, progress=progress, observer=observer)
        with compared_tables(
            engine_of(engine, cache),
            original,
            synthetic,
            holdout,
            reading,
            run,
            holdout_share=holdout_share,
            sample_rows=sample_rows,
            models=int(model is not None),
        ) as (table, released, aside):
            result = measure_risk(
                table,
                released,
                aside,
                settings,
                holdout_share=holdout_share,
                model=model,
                **run.options,
            )
    result = allowed.judged(result, run_facts()).named(
        original=mine.name,
        synthetic=[path.name for path in theirs],
        holdout=fresh.name if fresh else None,
    )
    from ..report.release import write_report
    from ..report.result import report_of

    if json is not None:
        write_json(json, result.to_dict())
    report = report_of(title=f"What {theirs[0].name} gives away", risk=result, threshold=threshold)
    write_report(report, html, public)
    if confidential is not None:
        write_confidential(confidential, result.confidential())
    show_limit(result.limit, quiet=quiet)
    if not quiet and verbose:
        show_findings(result)
    if not quiet:
        show_risk(report, html, scenario=not verbose)
        show_lines(UNSEEN if UNSEEN in result.about.notes else "")
        show_lines("" if result.about.sample is None else " ".join(result.about.sample.sentences))
    end(result.limit, allowed)


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
        typer.echo(line, err=True)


def end(verdict: LimitVerdict | None, policy: RiskPolicy) -> None:
    """End with 1 where the limit is exceeded, or where that is required not shown to be kept."""
    if policy.refuses(verdict):
        raise typer.Exit(1)


def risk_settings(
    *,
    keys: str | None,
    sensitive: str | None,
    key_sizes: str | None,
    label: str | None,
    attackers: str | None,
    parts: str | None = None,
    convention: str,
    numeric: str = "values",
    rare: str = "keep",
    repeats: int = 1000,
    svm_rows: int,
    tolerance: list[str] | None = None,
    threshold: int = THRESHOLD,
    thorough: bool = False,
    sample_rows: int = 100_000,
) -> RiskSettings:
    """Return the settings that the options amount to."""
    from ..risk import RiskSettings

    if numeric not in ("values", "bins"):
        raise unknown_name("--numeric mode", numeric, ("values", "bins"))
    check_at_least("repeats", repeats, 1)
    return RiskSettings(
        keys=names_of(keys),
        sensitive=names_of(sensitive),
        key_sizes=key_sizes_of(key_sizes),
        label=label,
        attackers=names_of(attackers) or None,
        parts=_parts(parts),
        tcap_convention=convention,  # type: ignore[arg-type]
        numeric=numeric,  # type: ignore[arg-type]
        rare=rare,  # type: ignore[arg-type]
        resamples=repeats,
        svm_rows=svm_rows or None,
        tolerance=_widths(tolerance),
        threshold=threshold,
        thorough=thorough,
        sample_rows=sample_rows,
    )


def _parts(words: str | None) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    if words is None:
        return None
    first, colon, second = words.partition(":")
    if not colon or not first or not second or ":" in second:
        raise InputError(
            f"--parts takes two sets of columns with a colon between, as age,sex:income,job. Got '{words}'."
        )
    return tuple(names_of(first)), tuple(names_of(second))


def _widths(words: list[str] | None) -> dict[str, float]:
    out = {}
    for word in words or ():
        name, _, width = word.rpartition("=")
        try:
            out[name] = float(width)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"--tolerance takes COLUMN=WIDTH, as age=5. Got '{word}'.")
    return out


def show_risk(report: ReportResult, page: Path | None, *, scenario: bool = True) -> None:
    """Print what a table gives away in a few lines, what was not tried, and where the page is; who attacks unless that was said."""
    from .._base.results import not_measured
    from ..report.decision import decision_of, left_out_of

    result = report.risk
    assert result is not None
    answers = decision_of(report).answers
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
