"""Commands that attack a synthesiser: `chaffinch attack` and `chaffinch audit`.

`attack` asks by shadow modelling whether this person was in the data, and whether somebody can be singled out. `audit` runs a private synthesiser on
neighbouring tables, and sets what that proves beside its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.options import FILES, LEARN, MEASURE, Declared, Option
from ..risk.auditing.settings import AuditSettings
from ..risk.membership.settings import ShadowSettings, SinglingOutSettings
from ..risk.settings import RequireShown
from ..table.settings import Reading
from .command import Exit, echo, group
from .options import (
    Cores,
    Html,
    Json,
    RunRequest,
    RunSeed,
    Secrets,
    Silent,
    command_line,
    show_lines,
    show_table,
)

if TYPE_CHECKING:
    from ..risk.membership import MembershipResult
    from ..risk.shown import ShownResult
    from ..risk.singling_out import SinglingOutResult
    from ..stats.intervals import Interval


Result = TypeVar("Result", "MembershipResult", "SinglingOutResult")

Synth = Annotated[
    str,
    Option(
        "What makes synthetic tables, as bayesnet:parents=2,epsilon=1.",
        basic=True,
        panel=LEARN,
        metavar="SPEC",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Limit(Declared):
    """What may be reached at most, and whether it must be shown to be kept; `name`: of the option, `noun`: of what is limited."""

    name = noun = ""
    require_shown: RequireShown = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.require_shown and self.value is None:
            option = f"--{self.name.replace('_', '-')}"
            raise InputError(f"--require-shown needs a limit: name {option}.")

    @property
    def value(self) -> float | None:
        """The limit; None where there is none."""
        limit: float | None = getattr(self, self.name)
        return limit

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
            echo(line, err=True)
        return state == "shown to keep" or (state == "undecided" and not self.require_shown)


@dataclass(frozen=True, kw_only=True)
class AucLimit(Limit):
    """The most that the AUC of membership inference may be."""

    name, noun = "max_auc", "AUC"
    max_auc: Annotated[
        float | None,
        Option(
            "Limit on the AUC: end with 1 if its interval lies above this.",
            panel=MEASURE,
            ge=0,
            le=1,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SuccessLimit(Limit):
    """The largest share of releases from which somebody may be singled out."""

    name, noun = "max_success", "share of releases with somebody singled out"
    max_success: Annotated[
        float | None,
        Option(
            "Limit on success: end with 1 if its interval lies above this.",
            panel=MEASURE,
            ge=0,
            le=1,
        ),
    ] = None


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


@dataclass(frozen=True, kw_only=True)
class AttackRequest(RunRequest):
    """The files of an attack, how they are read and what attacks share beside its settings."""

    data: Annotated[
        Path,
        Option("The table whose people are attacked.", argument=True, metavar="DATA", leaves=False),
    ]
    synth: Synth
    population: Annotated[
        Path | None,
        Option(
            "More people of the same kind, known to the attacker. Default: DATA itself.",
            basic=True,
            panel=FILES,
            leaves=False,
        ),
    ] = None
    reading: Reading = field(default_factory=Reading)
    confidential: Secrets = None
    html: Html = None

    def run(self, study: Callable[..., Any], settings: ShadowSettings) -> Any:
        """Read the data and return the study; a run that is stopped says where its finished shadows are."""
        from ..synth import synthesiser_of
        from .reading import read_for

        synthesiser = synthesiser_of(self.synth)
        check_outputs(self.data, *self.files.paths, inputs=[self.population])
        try:
            with self.start(plain=False) as run:
                options: dict[str, Any] = {"quiet": self.quiet, "progress": run.progress}
                table = read_for(synthesiser, self.data, self.reading, **options)
                others = None
                if self.population is not None:
                    others = read_for(
                        synthesiser, self.population, self.reading, like=table, **options
                    )
                return study(
                    table,
                    synthesiser,
                    others,
                    settings=settings,
                    seed=self.seed,
                    workers=self.threads,
                    progress=run.progress,
                )
        except KeyboardInterrupt:
            folder = settings.run.shadow_folder
            if folder is None:
                raise
            echo(
                f"Stopped. Finished shadows are kept in '{folder}': the same command goes on from there.",
                err=True,
            )
            raise Exit(130) from None

    def finish(self, result: Result, page: Callable[[Result], str], limit: Limit) -> None:
        """Write and print a result with the names of files, what was allowed and how it ran; exit code 1 where the limit is not kept."""
        from ..workflows.run import RunOptions

        about = {
            "data": self.data.name,
            "population": None if self.population is None else self.population.name,
            "seed": self.seed,
        }
        policy = limit.policy(result.interval)
        facts = RunOptions(command=command_line()).facts
        result = replace(result, about=about, policy=policy, run={**result.run, **facts})
        self.files.write(result, partial(page, result))
        is_kept = limit.check(policy, quiet=self.quiet)
        if not self.quiet:
            print_result(result)
        if not is_kept:
            raise Exit(1)


def membership(*, request: AttackRequest, settings: ShadowSettings, limit: AucLimit) -> None:
    """Say how well it can be told from a release who was in the data: AUC, and true positives at few false ones.

    Attackers learn from shadows: fits on subsets of the population with and without each target. They are tested on others.
    """
    from ..report.attacks import membership_page
    from ..risk.membership.study import membership as attack_membership

    request.finish(request.run(attack_membership, settings), membership_page, limit)


def singling_out(
    *, request: AttackRequest, settings: SinglingOutSettings, limit: SuccessLimit
) -> None:
    """Say how often somebody who is in the data is singled out from a release, beside what guessing gives.

    For each release the attacker names one target. That is right if the target is in the data, and nobody else has the same values.
    """
    from ..report.attacks import singling_out_page
    from ..risk.singling_out import singling_out as attack_singling_out

    request.finish(request.run(attack_singling_out, settings), singling_out_page, limit)


def print_result(result: ShownResult) -> None:
    """Print the table of a result, and the result in words."""
    screen = show_table(*result.table())
    for line in result.lines():
        screen.print(line, markup=False)


def audit(
    *,
    synth: Synth,
    data: Annotated[
        Path | None,
        Option(
            "A table of your own for the pair average. Needs --schema if SPEC is private.",
            basic=True,
            panel=FILES,
            leaves=False,
        ),
    ] = None,
    reading: Reading,
    settings: AuditSettings,
    json: Json = None,
    html: Html = None,
    seed: RunSeed = None,
    quiet: Silent = False,
    threads: Cores = None,
) -> None:
    """Audit a promise of privacy: attack runs on tables that differ in one record, and say which epsilon that proves.

    Exit code 1 if that is more than is claimed. `not refuted` is no proof that the claim holds.
    """
    from ..report.attacks import audit_page
    from ..synth.settings import synthesiser_of
    from ..workflows.run import Destinations
    from .observer import console_run
    from .reading import read_for

    synthesiser = synthesiser_of(synth)
    if data is None and reading.schema is not None:
        raise InputError("--schema is for --data: name the table, or leave it out.")
    files = Destinations(json=json, html=html)
    check_outputs(data or Path(), *files.paths)  # without data there is no input to write over
    with console_run(seed=seed, threads=threads, quiet=quiet) as run:
        from ..risk.auditing import audit as audit_claim

        table = None
        if data is not None:
            table = read_for(synthesiser, data, reading, quiet=quiet, progress=run.progress)
        result = audit_claim(synthesiser, table, settings=settings, **run.options)
    about = {"synth": synth, "data": None if data is None else data.name, "seed": seed}
    result = replace(result, about=about, run=run.facts)
    files.write(result, partial(audit_page, result))
    if not quiet:
        print_result(result)
    if result.verdict == "claim broken":
        raise Exit(1)


attack = group(
    "Attack a synthesiser: was a person in the data, and can somebody be singled out?",
    membership=membership,
    singling_out=singling_out,
)
