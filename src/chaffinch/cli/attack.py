"""`chaffinch attack`: was this person in the data, and can somebody be singled out? Attacks on a synthesiser by shadow modelling."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .measuring import run_facts
from .options import (
    Decimal,
    Delimiter,
    Encoding,
    HtmlOut,
    JsonOut,
    Quiet,
    Rare,
    SchemaIn,
    Threads,
    check_outputs,
    console,
)

if TYPE_CHECKING:
    from .._base.progress import Progress
    from ..risk.membership.study import MembershipStudy
    from ..risk.singling_out.study import SinglingOut
    from ..table import Table

__all__ = ["attack", "read_for"]

attack = typer.Typer(
    name="attack",
    help="Attack a synthesiser: was a person in the data, and can somebody be singled out?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those hold records
)

DataFile = Annotated[
    Path, typer.Argument(metavar="DATA", help="The table whose people are attacked.", show_default=False)
]
Synth = Annotated[
    str,
    typer.Option(
        "--synth", metavar="SPEC", help="What makes synthetic tables, as bayesnet:parents=2,epsilon=1.", show_default=False
    ),
]  # fmt: skip
Population = Annotated[
    Path | None,
    typer.Option(help="More people of the same kind, known to the attacker. Without: DATA itself is the population."),
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
    str, typer.Option(help="shared (all targets learn from the same shadows) or neighbours (pairs apart in one record).")
]  # fmt: skip
Share = Annotated[
    str, typer.Option(help="With shared: a target is in half of the shadows, or in its natural share of them.")
]
Box = Annotated[
    str, typer.Option("--features", help="blackbox (from synthetic tables) or whitebox (from the fitted model).")
]
Look = Annotated[str, typer.Option(help="What is seen of a table: queries, naive, histogram or closest.")]
Learner = Annotated[str, typer.Option(help="linear, or extra-trees (P3's).")]
Distance = Annotated[str, typer.Option(help="How vulnerable records are found: hamming, or cosine of mixed types.")]
Duplicates = Annotated[str, typer.Option(help="Records with equal values: drop all but one, or keep those of others.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds that one fit may take; no limit unless given.")]
Keep = Annotated[
    Path | None,
    typer.Option(help="Folder for finished shadows: a run that was stopped goes on from there. It is confidential."),
]
Inside = Annotated[
    Path | None,
    typer.Option(help="Write the targets' records and how each fared here: confidential, readable by you alone."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="The same seed gives the same result, on any number of cores.")
]

ONE_OF = {
    "--features": ("blackbox", "whitebox"),
    "--look": ("queries", "naive", "histogram", "closest"),
    "--design": ("shared", "neighbours"),
    "--share": ("half", "natural"),
    "--learner": ("linear", "extra-trees"),
    "--distance": ("hamming", "cosine"),
    "--duplicates": ("drop", "keep"),
    "--combine": ("argmax", "weighted", "strong"),
}


@dataclass(frozen=True)
class Asked:
    """What the options that both attacks share amount to."""

    data: Path
    population: Path | None
    settings: Any
    plan: dict[str, Any]
    options: dict[str, Any]
    reading: dict[str, Any]
    json: Path | None
    html: Path | None
    inside: Path | None
    keep: Path | None
    quiet: bool

    def run(self, study: Callable[..., Any], combine: str = "argmax", **more: Any) -> Any:
        """Read the data and return the study; a run that is stopped says where its finished shadows are."""
        from .._base.progress import progress_bar
        from ..risk.membership.plan import ShadowPlan

        plan = ShadowPlan(**self.plan, combine=combine)  # type: ignore[arg-type]
        try:
            with progress_bar(quiet=self.quiet) as progress:
                table = read_for(self.settings, self.data, quiet=self.quiet, progress=progress, **self.reading)
                others = None
                if self.population is not None:
                    others = read_for(
                        self.settings, self.population, like=table, quiet=self.quiet, progress=progress, **self.reading
                    )
                return study(table, self.settings, others, plan=plan, progress=progress, **self.options, **more)
        except KeyboardInterrupt:
            if self.keep is None:
                raise
            typer.echo(
                f"Stopped. Finished shadows are kept in '{self.keep}': the same command goes on from there.", err=True
            )
            raise typer.Exit(130) from None

    def write(self, study: MembershipStudy | SinglingOut, kind: str, policy: dict[str, Any]) -> None:
        """Write what was asked for: plain data, a page, and for the steward alone the targets' records."""
        import json as plain

        from .._base.html import write_page
        from .._base.safe_files import write_text
        from ..report.membership import membership_page
        from ..report.singling_out import singling_out_page
        from .options import write_json

        told = study.to_dict()
        run = {**told.pop("run"), **run_facts()}
        about = {
            "data": self.data.name,
            "population": None if self.population is None else self.population.name,
            "seed": self.options["seed"],
        }
        data = {"format": f"chaffinch-{kind}", "version": 1, "about": about, **told, "policy": policy, "run": run}
        if self.json is not None:
            write_json(self.json, data)
        if self.html is not None:
            page = membership_page if kind == "membership" else singling_out_page
            write_page(self.html, page(data))
        if self.inside is not None:
            secrets = plain.dumps(study.inside(), indent=1, ensure_ascii=False)
            write_text(self.inside, secrets + "\n", mode=0o600)


def read_for(
    settings: Any,
    path: Path,
    *,
    schema: Path | None,
    encoding: str,
    delimiter: str | None,
    decimal: str | None,
    rare: str,
    quiet: bool,
    progress: Progress,
    like: Table | None = None,
) -> Table:
    """Return a table for a synthesiser: in silence and under a declared schema where it promises privacy, else as ever.

    `like` is a table that was read before: the other one is read with its schema.
    """
    from .._base.errors import InputError, SchemaError
    from ..table import Table, read
    from .journey import Journey
    from .reading import plain_delimiter
    from .settings import Choice

    choice = Choice(settings, None, ())
    if like is not None and not choice.private:
        try:
            return read(
                path,
                like.schema,
                encoding=encoding,
                delimiter=plain_delimiter(delimiter),
                decimal=decimal,
                progress=progress,
            )
        except SchemaError as error:
            raise InputError(
                f"The population '{path.name}' does not fit the schema of the data. {error} A file that says what may occur in both can be "
                "given with --schema."
            ) from None
    journey = Journey(quiet=quiet, threads=None, seed=None, progress=progress)
    table = journey.read(path, choice, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare=rare)
    if not isinstance(table, Table):
        raise InputError(
            "An attack needs a domain that is all declared: every fit would discover another. Declare the levels or bounds of "
            f"the columns with discover = true in '{schema}'."
        )
    return table


def asked(
    data: DataFile,
    *,
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
    learner: Learner = "linear",
    distance: Distance = "hamming",
    duplicates: Duplicates = "drop",
    time_limit: TimeLimit = None,
    keep: Keep = None,
    inside: Inside = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Seed = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    rare: Rare = "pool",
    quiet: Quiet = False,
    threads: Threads = None,
) -> Asked:
    """Return what the options amount to; raise where they cannot be. Nothing has been read yet."""
    from ..synth.spec import synthesiser_of
    from .options import start_arrow
    from .reading import check_rare

    words = {
        "--design": design, "--share": share, "--features": features, "--look": look, "--learner": learner,
        "--distance": distance, "--duplicates": duplicates,
    }  # fmt: skip
    for option, word in words.items():
        check_word(option, word)
    check_rare(rare)
    settings = synthesiser_of(synth)
    check_outputs(data, json, html, inside)
    if population is not None:
        check_outputs(population, json, html, inside)
    start_arrow(threads)
    return Asked(
        data=data,
        population=population,
        settings=settings,
        plan={
            "shadows": shadows, "tests": tests, "tables": tables, "design": design, "share": share, "box": features, "features": look,
            "learner": learner,
        },
        options={
            "targets": targets, "rows": rows, "duplicates": duplicates, "distance": distance, "seed": seed, "workers": threads,
            "keep": keep, "time_limit": time_limit,
        },
        reading={"schema": schema, "encoding": encoding, "delimiter": delimiter, "decimal": decimal, "rare": rare},
        json=json,
        html=html,
        inside=inside,
        keep=keep,
        quiet=quiet,
    )  # fmt: skip


def check_word(option: str, word: str) -> None:
    """Raise unless a word is one of those that an option takes."""
    from .._base.errors import unknown_name

    if word not in ONE_OF[option]:
        raise unknown_name(f"{option} choice", word, ONE_OF[option])


def with_asked(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of `asked` in place of its first parameter, and their outcome given to it."""
    shared = inspect.signature(asked, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True)
    merged = [*shared.values(), *list(own.parameters.values())[1:]]
    merged = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in merged]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        wanted = asked(**{name: given.pop(name) for name in shared})
        command(wanted, **given)

    with_options.__signature__ = own.replace(parameters=merged)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
    del with_options.__wrapped__
    return with_options


@attack.command()
@with_asked
def membership(
    wanted: Asked,
    *,
    max_auc: Annotated[
        float | None, typer.Option(help="End with 1 if the lower end of the AUC's interval is above this.")
    ] = None,
) -> None:
    """Say how well it can be told from a release who was in the data: AUC, and true positives at few false ones.

    Attackers learn from shadows: fits on subsets of the population with and without each target. They are tested on others.
    """
    from ..risk.membership.study import study_membership

    _check_limit("--max-auc", max_auc)
    study: MembershipStudy = wanted.run(study_membership)
    bound = study.pooled.auc_interval[0]
    wanted.write(study, "membership", _policy("max_auc", max_auc, bound))
    if not wanted.quiet:
        _show_membership(study)
    _end("AUC", bound, max_auc)


@attack.command("singling-out")
@with_asked
def singling_out(
    wanted: Asked,
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
    from ..risk.singling_out.study import study_singling_out

    _check_limit("--max-success", max_success)
    check_word("--combine", combine)
    study: SinglingOut = wanted.run(study_singling_out, combine=combine, releases=releases)
    wanted.write(study, "singling-out", _policy("max_success", max_success, study.interval[0]))
    if not wanted.quiet:
        _show_singling_out(study)
    _end("success", study.interval[0], max_success)


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


def _show_membership(study: MembershipStudy) -> None:
    from rich.table import Table

    levels = [f"true positives at {100 * at.level:g} % false" for at in study.pooled.at]
    table = Table("", "AUC", "95 % interval", "advantage", *levels, box=None, pad_edge=False)
    for name, one in (("attackers", study.pooled), ("closest row", study.closest), ("worst target", study.worst)):
        rates = [
            "too few trials" if a.tpr is None or a.tpr_interval is None
            else f"{a.tpr:.3f} ({a.tpr_interval[0]:.3f} to {a.tpr_interval[1]:.3f})"
            for a in one.at
        ]  # fmt: skip
        low, high = one.auc_interval
        table.add_row(name, f"{one.auc:.3f}", f"{low:.3f} to {high:.3f}", f"{one.advantage:.3f}", *rates)
    _print(table, study)


def _show_singling_out(study: SinglingOut) -> None:
    from rich.table import Table

    head = ("attributes", "success", "95 % interval", "weight", "blind attacker", "without release")
    table = Table(*head, box=None, pad_edge=False)
    for one in (*study.isolations, study.closest):
        low, high = one.interval
        name = f"{one.attributes}, closest row" if one is study.closest else str(one.attributes)
        table.add_row(
            name, f"{one.success:.3f}", f"{low:.3f} to {high:.3f}", f"{one.weight:.2g}", f"{one.blind:.3f}", f"{one.drawn:.3f}"
        )  # fmt: skip
    _print(table, study)


def _print(table: Any, study: MembershipStudy | SinglingOut) -> None:
    from .._base.masking import about

    world = study.world
    screen = console()
    screen.print(table, markup=False)
    left_out = about(world.duplicates)
    screen.print(
        f"{len(world.targets)} targets; subsets of {world.rows:,} out of {about(world.n_population):,} records"
        + (f"; {left_out} left out, as others have the same values." if world.duplicates else "."),
        markup=False,
    )
    screen.print(study.sentence, markup=False)
