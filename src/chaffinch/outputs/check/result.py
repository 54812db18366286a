"""What a check returns: each output, each stage, the rules and the verdict; what may leave, and what is confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_type_hints

from ..._base.errors import InputError
from ..._base.results import RunFacts, from_plain, shown_parts
from ..document import Outputs
from ..rules import RuleReport
from ..rules.findings import Status
from .agreement import Agreement, Exposed
from .assessment import CumulativeStage, Stage
from .attribution import EnsembleTcap
from .ensembles import OutputFit
from .error_lines import ErrorLine
from .mitigation import MitigationPlan
from .settings import ResolvedSettings
from .sizes import RiskBySize
from .summary import OutputSummary, counted_words, summary_of
from .verdict import CheckVerdict
from .whole import WholeDataRisk

FORMAT = "chaffinch-check"
VERSION = 1
PARTS = (
    "settings",
    "records",
    "left_out",
    "outputs",
    "all",
    "cumulative",
    "without",
    "agreement",
    "whole",
    "sizes",
    "error_lines",
)
"""The parts of a result that stand in its plain data as they are."""


@dataclass(frozen=True)
class CheckedOutput:
    """One output of a check."""

    # name, kind, statbarn: What it is, and the class a checker files it under
    name: str
    kind: str
    statbarn: str
    released: bool  # Whether it was released already
    consistent: (
        bool | None
    )  # Whether its published numbers are those of the data; None where it came as a recipe, without numbers
    columns: tuple[str, ...]  # The columns it is about
    fit: OutputFit | None  # How well the ensembles reproduce it
    unmeasured: str = ""  # Why it was not measured, or not compared with the data; empty where nothing was in the way
    rules_only: str = ""  # Why datasets cannot be evolved from it, so that rules alone say something of it; empty where they can
    left_out: int | str = (
        0  # How many records have a missing value in one of its columns and are not in it, rounded; "<10" for few
    )


@dataclass(frozen=True)
class NotChecked:
    """A result of an ACRO folder, or an output in a file, that could not be read, why, and what kind of result it is said to be."""

    name: str
    reason: str
    kind: str = ""
    verdict: Status = "not assessed"  # `fail` where what could be read of it fails all the same


@dataclass(frozen=True)
class ByRecipe:
    """A result of an ACRO folder in whose place a recipe was judged, and whether it could have been read."""

    name: str
    readable: bool


@dataclass(frozen=True)
class ReadFrom:
    """An output that was read from a file: where it stands, and what was understood."""

    name: str
    place: str
    understood: str


@dataclass(frozen=True, kw_only=True)
class CheckAbout:
    """What was checked: the names of files, the version of ACRO, what was released before and what was left out."""

    outputs: str | None = None
    acro: str | None = None
    data: str | None = None
    released: str | None = None
    released_head: str | None = None
    recorded: bool = False
    skipped: tuple[NotChecked, ...] = ()
    by_recipe: tuple[ByRecipe, ...] = ()
    not_asked: tuple[
        str, ...
    ] = ()  # Outputs that were left out as asked for: nothing is said of them
    # ignored, ignored_accepted: Outputs that outputs.toml ignores, which were not assessed; and whether they may leave all the same
    ignored: tuple[str, ...] = ()
    ignored_accepted: bool = False
    read: tuple[ReadFrom, ...] = ()  # Outputs that were read from files, with what was understood


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CheckResult:
    """What outputs give away about the people they come from, and what the rules of thumb say.

    Parameters
    ----------
    verdict
        The outcome in words.
    settings
        What was asked for: keys, sensitive attributes, syntheses, engine, seed and so on.
    records, left_out
        How many records there are, rounded; and the share of them, 0 to 1, that took no part in the attack for a missing value. What each
        output leaves out stands with it (`outputs`).
    outputs
        Each output.
    all
        What all outputs that could be measured give away together; None where none could, or only the rules were asked for.
    cumulative
        The same as outputs are added one by one to those released already; all of them come last.
    without
        What the outputs give away when one is left out.
    agreement
        How often the datasets agree on people.
    whole, sizes, error_lines
        Outputs of all the data; marginal risk by size; attribution by error. Empty where not asked for.
    rules
        What the rules of thumb say.
    exposed_classes
        About how many classes of people are given away.
    seconds
        How long it took.
    mitigation, mitigated
        What to change so that they pass, where that was asked for, and the check of the changed outputs.
    exposed, recipes, tcaps
        Those classes, which are confidential; the outputs; and by sensitive attribute, what the ensemble of each fold gives away. Not in
        plain data.
    """

    verdict: CheckVerdict
    settings: ResolvedSettings
    records: int | str
    left_out: float
    outputs: tuple[CheckedOutput, ...]
    all: Stage | None
    cumulative: tuple[CumulativeStage, ...]
    without: tuple[Stage, ...]
    agreement: tuple[Agreement, ...]
    whole: tuple[WholeDataRisk, ...]
    sizes: tuple[RiskBySize, ...]
    error_lines: tuple[ErrorLine, ...]
    rules: RuleReport
    exposed_classes: int | str
    seconds: float
    about: CheckAbout = field(default_factory=CheckAbout)
    run: RunFacts = field(default_factory=RunFacts)
    mitigation: MitigationPlan | None = None
    mitigated: CheckResult | None = None
    exposed: tuple[Exposed, ...] = ()
    recipes: Outputs | None = None
    tcaps: Mapping[str, tuple[EnsembleTcap, ...]] = field(default_factory=dict)

    @cached_property
    def summary(self) -> tuple[OutputSummary, ...]:
        """A verdict for each output that wants to leave, and for each result that could not be read; the worst first."""
        return summary_of(self)

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the outputs and each was assessed to the end: no excess, no rule that failed, every output reached
        and consistent, every result read, nothing ignored unless that was accepted.

        Also where nothing could be attributed: outputs so coarse that no dataset is certain about anyone are not held back for that.
        """
        return (
            not self.failed
            and self.verdict.word in ("no excess found", "rules only")
            and self.rules.worst != "not assessed"
            and all(row.verdict in ("pass", "review") for row in self.summary)
            and (not self.about.ignored or self.about.ignored_accepted)
        )

    @property
    def failed(self) -> bool:
        """Whether something speaks against the outputs: an excess, numbers that are not the data's or were not reached, a failed rule.

        Neither passed nor failed is what was not assessed to the end.
        """
        against = ("excess found", "outputs inconsistent", "not reached (lower bound)")
        return (
            self.verdict.word in against
            or self.rules.worst == "fail"
            or any(one.verdict == "fail" for one in self.about.skipped)
        )

    @property
    def text(self) -> str:
        """The verdict on all outputs together in one line, with how many of them have which verdict."""
        return (
            f"{self.verdict.text}. {counted_words(self.summary, ignored=len(self.about.ignored))}"
        )

    def __repr__(self) -> str:
        return f"CheckResult({self.verdict.text}; rules: {self.rules.worst}; {len(self.outputs)} outputs)"

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave, as plain data (`chaffinch-check`, version 1): no record, no value of the data, no small count."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "about": shown_parts(self.about),
            "verdict": self.verdict.to_dict(),
            "passed": self.passed,
            "summary": [row.to_dict() for row in self.summary],
            **{name: shown_parts(getattr(self, name)) for name in PARTS},
            "rules": self.rules.to_dict(),
            "exposed_classes": self.exposed_classes,
            **({} if self.mitigation is None else {"mitigation": self.mitigation.to_dict()}),
            "run": {**self.run.to_dict(), "seconds": self.seconds},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CheckResult:
        """Return the result that plain data hold, without what is confidential.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        if not isinstance(data, Mapping) or (data.get("format"), data.get("version")) != (
            FORMAT,
            VERSION,
        ):
            raise InputError(
                f"The data must be of format '{FORMAT}', version {VERSION}. Give the JSON of chaffinch check."
            )
        rules: Mapping[str, Any] = data["rules"] if isinstance(data.get("rules"), Mapping) else {}
        findings = [
            {"where": [], **one} for one in rules.get("findings", ()) if isinstance(one, Mapping)
        ]
        kinds = {**get_type_hints(cls), "run": dict[str, Any]}
        plain = {**data, "rules": {**rules, "findings": findings}}
        parts: dict[str, Any] = {
            name: from_plain(kinds[name], plain.get(name), what=f"'{name}'")
            for name in ("verdict", *PARTS, "rules", "exposed_classes", "about", "run")
        }
        parts["mitigation"] = from_plain(
            MitigationPlan | None,  # type: ignore[arg-type]
            data.get("mitigation"),
            what="'mitigation'",
        )
        run = parts.pop("run")
        seconds = from_plain(float, run.pop("seconds", 0.0), what="'run.seconds'")
        return cls(**parts, seconds=seconds, run=from_plain(RunFacts, run, what="'run'"))

    def confidential(self) -> dict[str, Any]:
        """Return what must not leave: the exposed classes with their values and counts, and the cells behind each rule."""
        return {
            "exposed": [one.to_dict() for one in self.exposed],
            "rules": self.rules.confidential(),
        }
