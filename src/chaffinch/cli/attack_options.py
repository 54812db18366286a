"""What both attacks on a synthesiser share: their options, and what these amount to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .measuring import run_facts
from .options import Decimal, Delimiter, Encoding, HtmlOut, JsonOut, Quiet, Rare, SchemaIn, Threads, check_outputs

if TYPE_CHECKING:
    from .._base.progress import Progress
    from ..risk.membership import MembershipResult
    from ..risk.singling_out import SinglingOutResult
    from ..table import Table

__all__ = ["AttackRequest", "Synth", "TimeLimit", "check_word", "read_for", "with_asked"]

Result = TypeVar("Result", "MembershipResult", "SinglingOutResult")

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
Learner = Annotated[str, typer.Option(help="Who learns: {learners}.")]
Distance = Annotated[str, typer.Option(help="How vulnerable records are found: hamming, or cosine of mixed types.")]
Duplicates = Annotated[str, typer.Option(help="Records with equal values: drop all but one, or keep those of others.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds that one fit may take; no limit unless given.")]
Keep = Annotated[
    Path | None,
    typer.Option(help="Folder for finished shadows: a run that was stopped goes on from there. It is confidential."),
]
Confidential = Annotated[
    Path | None,
    typer.Option(help="Write the targets' records and how each fared here: confidential, readable by you alone."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="The same seed gives the same result, on any number of cores.")
]

WAYS = {"--distance": ("hamming", "cosine"), "--duplicates": ("drop", "keep")}
PLANNED = {
    "--features": "box", "--look": "features", "--design": "design", "--share": "share", "--learner": "learner", "--combine": "combine",
}  # fmt: skip
"""Options, and the settings of the attack that they are."""


@dataclass(frozen=True)
class AttackRequest:
    """What the options that both attacks share amount to."""

    data: Path
    population: Path | None
    settings: Any
    plan: dict[str, Any]
    options: dict[str, Any]
    reading: dict[str, Any]
    json: Path | None
    html: Path | None
    confidential: Path | None
    keep: Path | None
    quiet: bool

    def run(self, study: Callable[..., Any], combine: str = "argmax", **more: Any) -> Any:
        """Read the data and return the study; a run that is stopped says where its finished shadows are."""
        from .._base.progress import progress_bar
        from ..risk.membership import ShadowSettings

        plan = ShadowSettings(**{**self.plan, "combine": combine})
        try:
            with progress_bar(quiet=self.quiet) as progress:
                table = read_for(self.settings, self.data, quiet=self.quiet, progress=progress, **self.reading)
                others = None
                if self.population is not None:
                    others = read_for(
                        self.settings, self.population, like=table, quiet=self.quiet, progress=progress, **self.reading
                    )
                return study(table, self.settings, others, settings=plan, progress=progress, **self.options, **more)
        except KeyboardInterrupt:
            if self.keep is None:
                raise
            typer.echo(
                f"Stopped. Finished shadows are kept in '{self.keep}': the same command goes on from there.", err=True
            )
            raise typer.Exit(130) from None

    def finished(self, result: Result, policy: dict[str, Any]) -> Result:
        """Return a result with the names of files, what was allowed and how it ran."""
        about = {
            "data": self.data.name,
            "population": None if self.population is None else self.population.name,
            "seed": self.options["seed"],
        }
        return replace(result, about=about, policy=policy, run={**result.run, **run_facts()})

    def write(self, result: MembershipResult | SinglingOutResult, page: Callable[[], str]) -> None:
        """Write what was asked for: plain data, a page, and for the steward alone the targets' records."""
        import json as plain

        from .._base.html import write_page
        from .._base.safe_files import write_text
        from .options import write_json

        if self.json is not None:
            write_json(self.json, result.to_dict())
        if self.html is not None:
            write_page(self.html, page())
        if self.confidential is not None:
            secrets = plain.dumps(result.confidential(), indent=1, ensure_ascii=False)
            write_text(self.confidential, secrets + "\n", mode=0o600)


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
                path, like.schema, encoding=encoding, delimiter=plain_delimiter(delimiter), decimal=decimal, progress=progress
            )  # fmt: skip
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
    confidential: Confidential = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Seed = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    rare: Rare = "pool",
    quiet: Quiet = False,
    threads: Threads = None,
) -> AttackRequest:
    """Return what the options amount to; raise where they cannot be. Nothing has been read yet."""
    from ..synth import synthesiser_of
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
    check_outputs(data, json, html, confidential)
    if population is not None:
        check_outputs(population, json, html, confidential)
    start_arrow(threads)
    return AttackRequest(
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
        confidential=confidential,
        keep=keep,
        quiet=quiet,
    )  # fmt: skip


def check_word(option: str, word: str) -> None:
    """Raise unless a word is one of those that an option takes."""
    from .._base.errors import unknown_name
    from ..risk.membership import ATTACKERS
    from ..risk.membership.settings import CHOICES

    known = WAYS.get(option) or {**CHOICES, "learner": ATTACKERS.names}[PLANNED[option]]
    if word not in known:
        raise unknown_name(f"{option} choice", word, known)


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
