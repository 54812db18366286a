"""Commands that attack a synthesiser: `chaffinch attack` and `chaffinch audit`.

`attack` asks by shadow modelling whether this person was in the data, and whether somebody can be singled out. `audit` runs a private synthesiser on
neighbouring tables, and sets what that proves beside its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.files import check_outputs
from .command import group
from .options import (
    HtmlOut,
    JsonOut,
    Personal,
    Quiet,
    Rare,
    RequireShown,
    SchemaIn,
    Synth,
    Threads,
    TimeLimit,
    expanded,
    file_options,
    names_of,
    reading_of,
    run_facts,
    show_lines,
    show_table,
    start_arrow,
    write_confidential,
    write_json,
)

if TYPE_CHECKING:
    from ..risk.membership import MembershipResult
    from ..risk.shown import ShownResult
    from ..risk.singling_out import SinglingOutResult
    from ..stats.intervals import Interval
    from ..table import FileOptions
    from ..table.settings import Reading


Result = TypeVar("Result", "MembershipResult", "SinglingOutResult")

DataFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="The table whose people are attacked.", show_default=False),
]
Population = Annotated[
    Path | None,
    typer.Option(
        help="More people of the same kind, known to the attacker. Without: DATA itself is the population."
    ),
]
Targets = Annotated[int, typer.Option(help="People to attack: the most vulnerable records.")]
Rows = Annotated[
    int | None,
    typer.Option(
        help="Records in each subset. Without: a fifth of DATA, or as many as DATA has if there is a population."
    ),
]
ShadowsIn = Annotated[int, typer.Option(help="Pairs of shadows to learn each target from.")]
Tests = Annotated[int, typer.Option(help="Pairs of shadows to test on.")]
Tables = Annotated[int, typer.Option(help="Synthetic tables drawn from each shadow to learn from.")]
Design = Annotated[
    str,
    typer.Option(
        help="shared (all targets learn from the same shadows) or neighbours (pairs apart in one record)."
    ),
]
Share = Annotated[
    str,
    typer.Option(
        help="With shared: a target is in half of the shadows, or in its natural share of them."
    ),
]
Box = Annotated[
    str,
    typer.Option(
        "--features", help="blackbox (from synthetic tables) or whitebox (from the fitted model)."
    ),
]
Look = Annotated[
    str, typer.Option(help="What is seen of a table: queries, naive, histogram or closest.")
]
Learner = Annotated[str, typer.Option(help="Who learns: {learners}.")]
Ranking = Annotated[
    str,
    typer.Option(
        help="How vulnerable records are found: hamming, cosine, extremes, rarity, or the union of these."
    ),
]
Grid = Annotated[
    str,
    typer.Option(
        help="release (shadows are read as a release is; values are seen) or population (its levels and bins)."
    ),
]
Duplicates = Annotated[
    str, typer.Option(help="Records with equal values: drop all but one, or keep those of others.")
]
Keep = Annotated[
    Path | None,
    typer.Option(
        help="Folder for finished shadows: a run that was stopped goes on from there. It is confidential."
    ),
]
Confidential = Annotated[
    Path | None,
    typer.Option(
        help="Write the targets' records and how each fared here: confidential, readable by you alone."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="The same seed gives the same result, on any number of cores."),
]

WAYS = {
    "--ranking": ("union", "hamming", "cosine", "extremes", "rarity"),
    "--duplicates": ("drop", "keep"),
}
PLANNED = {
    "--features": "box",
    "--look": "features",
    "--design": "design",
    "--share": "share",
    "--grid": "grid",
    "--learner": "learner",
    "--combine": "combine",
}
"""Options, and the settings of the attack that they are."""


@dataclass(frozen=True)
class Limit:
    """What may be reached at most, by the name of its option; `noun` is of what, and `require_shown` whether it must be shown to be kept."""

    name: str
    value: float | None
    noun: str
    require_shown: bool

    def __post_init__(self) -> None:
        option = f"--{self.name.replace('_', '-')}"
        if self.require_shown and self.value is None:
            raise InputError(f"--require-shown needs a limit: name {option}.")
        if self.value is not None and not 0 <= self.value <= 1:
            raise InputError(f"{option} must lie between 0 and 1. Got {self.value:.12g}.")

    def policy(self, interval: Interval) -> dict[str, Any]:
        """Return the limit, what the interval says of it, and whether it is kept where that is decided; nothing without a limit."""
        if self.value is None:
            return {}
        from ..stats.intervals import LimitState, limit_state

        state = limit_state(*interval, self.value)
        return {
            self.name: self.value,
            "state": str(state),
            "lower_bound": interval[0],
            "upper_bound": interval[1],
            "passed": {LimitState.SHOWN: True, LimitState.EXCEEDS: False}.get(state),
        }

    def check(self, policy: Mapping[str, Any], *, quiet: bool) -> bool:
        """Print what a policy says of the limit, with `quiet` on the error stream unless it is shown to be kept; return whether it is kept."""
        if self.value is None:
            return True
        state = policy["state"]
        low, high = (
            _beside_limit(policy[f"{end}_bound"], self.value) for end in ("lower", "upper")
        )
        verdict = {
            "exceeds": f"EXCEEDS THE LIMIT: the {self.noun} may be {self.value:.12g} at most, and the 95 % interval is",
            "shown to keep": f"SHOWN TO KEEP THE LIMIT: the {self.noun} may be {self.value:.12g} at most, and the 95 % interval is",
            "undecided": (
                f"UNDECIDED: that the {self.noun} is {self.value:.12g} at most is neither shown to hold nor shown to be exceeded. The 95 % interval is"
            ),
        }[state]
        line = f"{verdict} {low} to {high}."
        if not quiet:
            show_lines(line)
        elif state != "shown to keep":
            typer.echo(line, err=True)
        return state == "shown to keep" or (state == "undecided" and not self.require_shown)


def _beside_limit(end: float, limit: float) -> str:
    """Return an end of an interval with three digits, or as many as leave it on its side of a limit."""
    texts = [f"{end:.{digits}g}" for digits in range(3, 18)]
    return next(
        (
            text
            for text in texts
            if (float(text) > limit, float(text) < limit) == (end > limit, end < limit)
        ),
        texts[-1],
    )


@dataclass(frozen=True)
class AttackRequest:
    """What the options that both attacks share amount to."""

    data: Path
    population: Path | None
    settings: Any
    plan: dict[str, Any]
    options: dict[str, Any]
    reading: Reading
    json: Path | None
    html: Path | None
    confidential: Path | None
    keep: Path | None
    quiet: bool

    def run(self, study: Callable[..., Any], combine: str = "argmax", **more: Any) -> Any:
        """Read the data and return the study; a run that is stopped says where its finished shadows are."""
        from .._base.runtime import progress_bar
        from ..risk.membership import ShadowSettings
        from .reading import read_for

        plan = ShadowSettings(**{**self.plan, "combine": combine})
        try:
            with progress_bar(quiet=self.quiet) as progress:
                options: dict[str, Any] = {"quiet": self.quiet, "progress": progress}
                table = read_for(self.settings, self.data, self.reading, **options)
                others = None
                if self.population is not None:
                    others = read_for(
                        self.settings, self.population, self.reading, like=table, **options
                    )
                return study(
                    table,
                    self.settings,
                    others,
                    settings=plan,
                    progress=progress,
                    **self.options,
                    **more,
                )
        except KeyboardInterrupt:
            if self.keep is None:
                raise
            typer.echo(
                f"Stopped. Finished shadows are kept in '{self.keep}': the same command goes on from there.",
                err=True,
            )
            raise typer.Exit(130) from None

    def finish(self, result: Result, page: Callable[[Result], str], limit: Limit) -> None:
        """Write and print a result with the names of files, what was allowed and how it ran; exit code 1 where the limit is not kept."""
        about = {
            "data": self.data.name,
            "population": None if self.population is None else self.population.name,
            "seed": self.options["seed"],
        }
        policy = limit.policy(result.interval)
        result = replace(result, about=about, policy=policy, run={**result.run, **run_facts()})
        if self.json is not None:
            write_json(self.json, result.to_dict())
        if self.html is not None:
            from .._base.results import write_page

            write_page(self.html, page(result))
        if self.confidential is not None:
            write_confidential(self.confidential, result.confidential())
        is_kept = limit.check(policy, quiet=self.quiet)
        if not self.quiet:
            print_result(result)
        if not is_kept:
            raise typer.Exit(1)


@expanded(file=file_options)
def asked(
    *,
    data: DataFile,
    synth: Synth,
    population: Population = None,
    schema: SchemaIn = None,
    targets: Targets = 50,
    rows: Rows = None,
    shadows: ShadowsIn = 1000,
    tests: Tests = 500,
    tables: Tables = 4,
    design: Design = "shared",
    share: Share = "half",
    features: Box = "blackbox",
    look: Look = "queries",
    learner: Learner = "combined",
    ranking: Ranking = "union",
    grid: Grid = "release",
    duplicates: Duplicates = "drop",
    time_limit: TimeLimit = None,
    keep: Keep = None,
    confidential: Confidential = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Seed = None,
    file: FileOptions,
    rare: Rare = "pool",
    personal: Personal = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> AttackRequest:
    """Return what the options amount to; raise where they cannot be. Nothing has been read yet."""
    from ..synth import synthesiser_of

    reading = reading_of(schema=schema, rare=rare, personal=personal, **file)
    choices = {
        "--design": design,
        "--share": share,
        "--features": features,
        "--look": look,
        "--learner": learner,
        "--ranking": ranking,
        "--grid": grid,
        "--duplicates": duplicates,
    }
    for option, word in choices.items():
        check_word(option, word)
    settings = synthesiser_of(synth)
    check_outputs(data, json, html, confidential, inputs=[population])
    start_arrow(threads)
    return AttackRequest(
        data=data,
        population=population,
        settings=settings,
        plan={
            "shadows": shadows,
            "tests": tests,
            "tables": tables,
            "design": design,
            "share": share,
            "box": features,
            "grid": grid,
            "features": look,
            "learner": learner,
        },
        options={
            "targets": targets,
            "rows": rows,
            "duplicates": duplicates,
            "ranking": ranking,
            "seed": seed,
            "workers": threads,
            "keep": keep,
            "time_limit": time_limit,
        },
        reading=reading,
        json=json,
        html=html,
        confidential=confidential,
        keep=keep,
        quiet=quiet,
    )


def check_word(option: str, word: str) -> None:
    """Raise unless a word is one of those that an option takes."""
    from ..risk.membership.settings import choices

    check_name(f"{option} choice", word, WAYS.get(option) or choices()[PLANNED[option]])


@expanded(wanted=asked)
def membership(
    wanted: AttackRequest,
    *,
    max_auc: Annotated[
        float | None,
        typer.Option(help="End with 1 if the lower end of the AUC's interval is above this."),
    ] = None,
    require_shown: RequireShown = False,
) -> None:
    """Say how well it can be told from a release who was in the data: AUC, and true positives at few false ones.

    Attackers learn from shadows: fits on subsets of the population with and without each target. They are tested on others.
    """
    from ..report.attacks import membership_page
    from ..risk.membership.study import membership as attack_membership

    limit = Limit("max_auc", max_auc, "AUC", require_shown)
    wanted.finish(wanted.run(attack_membership), membership_page, limit)


@expanded(wanted=asked)
def singling_out(
    wanted: AttackRequest,
    *,
    releases: Annotated[int, typer.Option(help="Fresh releases to attack.")] = 1000,
    combine: Annotated[
        str,
        typer.Option(
            help="Which target is named: argmax (the surest), weighted by skill, or the surest of strong ones."
        ),
    ] = "argmax",
    max_success: Annotated[
        float | None,
        typer.Option(help="End with 1 if the lower end of the interval of success is above this."),
    ] = None,
    require_shown: RequireShown = False,
) -> None:
    """Say how often somebody who is in the data is singled out from a release, beside what guessing gives.

    For each release the attacker names one target. That is right if the target is in the data, and nobody else has the same values.
    """
    from ..report.attacks import singling_out_page
    from ..risk.singling_out import singling_out as attack_singling_out

    noun = "share of releases with somebody singled out"
    limit = Limit("max_success", max_success, noun, require_shown)
    check_word("--combine", combine)
    result = wanted.run(attack_singling_out, combine=combine, releases=releases)
    wanted.finish(result, singling_out_page, limit)


def print_result(result: ShownResult) -> None:
    """Print the table of a result, and the result in words."""
    screen = show_table(*result.table())
    for line in result.lines():
        screen.print(line, markup=False)


@expanded(file=file_options)
def audit(
    *,
    synth: Synth,
    epsilon: Annotated[
        float | None, typer.Option(help="The claimed epsilon; that of SPEC unless given.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The claimed delta; that of SPEC unless given.")
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="add-remove or replace-one: what the claim is for; that of SPEC unless given."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A table of your own, for the pair 'average'. Needs --schema if SPEC is private."
        ),
    ] = None,
    schema: SchemaIn = None,
    runs: Annotated[
        int, typer.Option(help="Runs for each pair of tables: more show a larger epsilon.")
    ] = 2000,
    pairs: Annotated[
        str | None,
        typer.Option(help="Some of {pairs}, as A,B; all unless given."),
    ] = None,
    box: Annotated[
        str,
        typer.Option(
            help="mechanism looks at the noisy answers of a fit, white into the model, black at the released table; all unless given."
        ),
    ] = "mechanism,white,black",
    rows: Annotated[
        int | None, typer.Option(help="Rows drawn of each model; 500 or more unless given.")
    ] = None,
    average_rows: Annotated[
        int, typer.Option(help="The most records of DATA in the pair 'average'.")
    ] = 1000,
    level: Annotated[float, typer.Option(help="Confidence of all bounds together.")] = 0.999,
    time_limit: TimeLimit = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="The same seed gives the same result, on any number of cores."),
    ] = None,
    file: FileOptions,
    personal: Personal = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Audit a promise of privacy: attack runs on tables that differ in one record, and say which epsilon that proves.

    Exit code 1 if that is more than is claimed. `not refuted` is no proof that the claim holds.
    """
    from .._base.results import write_page
    from .._base.runtime import progress_bar
    from ..privacy.relation import NEIGHBOURS
    from ..synth.settings import synthesiser_of
    from .reading import read_for

    settings = synthesiser_of(synth)
    if neighbours is not None:
        check_name("neighbour relation", neighbours, NEIGHBOURS)
    if data is None and schema is not None:
        raise InputError("--schema is for --data: name the table, or leave it out.")
    check_outputs(data or Path(), json, html)  # without data there is no input to write over
    start_arrow(threads)
    from ..risk.auditing import AuditSettings, measure_audit

    tried = AuditSettings(
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,  # type: ignore[arg-type]
        pairs=names_of(pairs) or None,
        runs=runs,
        box=names_of(box),
        rows=rows,
        average_rows=average_rows,
        level=level,
    )
    with progress_bar(quiet=quiet) as progress:
        table = None
        if data is not None:
            reading = reading_of(schema=schema, personal=personal, **file)
            table = read_for(settings, data, reading, quiet=quiet, progress=progress)
        result = measure_audit(
            settings,
            table,
            tried,
            seed=seed,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    about = {"synth": synth, "data": None if data is None else data.name, "seed": seed}
    result = replace(result, about=about, run=run_facts())
    if json is not None:
        write_json(json, result.to_dict())
    if html is not None:
        from ..report.attacks import audit_page

        write_page(html, audit_page(result))
    if not quiet:
        print_result(result)
    if result.verdict == "claim broken":
        raise typer.Exit(1)


attack = group(
    "Attack a synthesiser: was a person in the data, and can somebody be singled out?",
    membership=membership,
    singling_out=singling_out,
)
