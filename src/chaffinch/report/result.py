"""A report as one typed result: studies of utility and of risk, their verdicts, how the table was made, and what was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.results import RunFacts, check_format, from_plain, without_none
from .._base.text import display_name
from ..risk.result import AttackedTable, RiskResult
from ..synth.account import SynthesisAccount
from ..utility.result import TableSummary, UtilityAbout, UtilityResult, VerdictRow
from .promise import Promise, PromiseRow, promise_of

if TYPE_CHECKING:
    from .decision import Decision

FORMAT, VERSION = "chaffinch-report", 3
UTILITY: dict[str, Any] = {"format": "chaffinch-utility", "version": 1}
RISK: dict[str, Any] = {"format": RiskResult.FORMAT, "version": RiskResult.VERSION}
APART = frozenset(("format", "version", "run", "verdict"))
"""What a study has of its own and a report once for all."""
_Plain = dict[str, Any]
STEP = "Give the JSON of chaffinch utility or chaffinch risk, or report.json of chaffinch release."


@dataclass(frozen=True, kw_only=True)
class ReportResult:
    """What a page shows: `to_dict` gives `report.json`, and `from_dict` reads it back.

    `rows` are the verdict on utility. `threshold` is what small counts were masked by; the plain data say it where it
    is another than usual.
    """

    title: str = ""
    about: UtilityAbout = field(default_factory=UtilityAbout)
    synthesis: SynthesisAccount | None = None
    utility: UtilityResult | None = None
    risk: RiskResult | None = None
    rows: tuple[VerdictRow, ...] = ()
    threshold: int = THRESHOLD
    run: RunFacts = field(default_factory=RunFacts, compare=False)

    @cached_property
    def privacy_promise(self) -> Promise | None:
        """What is promised, worked out from its account; None where nothing is known of how the table was made."""
        return promise_of(self.synthesis)

    @property
    def promise(self) -> PromiseRow | None:
        """What is promised, as a row of the verdict; None where nothing is known of how the table was made."""
        return None if self.privacy_promise is None else self.privacy_promise.row

    @cached_property
    def decision(self) -> Decision:
        """What to decide by: what a page opens with."""
        from .decision import decision_of  # which is made of reports

        return decision_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data: `chaffinch-report`, version 3. `decision` is what a page opens with, worked out anew when read."""
        out: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "about": self.about.to_dict(),
        }
        out["synthesis"] = None if self.synthesis is None else self.synthesis.to_dict()
        if self.utility is not None:
            out["utility"] = {
                k: v for k, v in self.utility.to_dict().items() if k not in APART and k != "about"
            }
        if self.risk is not None:
            out["risk"] = {
                key: value for key, value in self.risk.to_dict().items() if key not in APART
            }
        if self.threshold != THRESHOLD:
            out["threshold"] = self.threshold
        verdict: list[VerdictRow | PromiseRow] = [*self.rows]
        verdict += [] if self.promise is None else [self.promise]
        out["decision"] = self.decision.to_dict()
        return {**out, "verdict": [row.to_dict() for row in verdict], "run": self.run.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ReportResult:
        """Return the report that plain data hold.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        check_format(data, FORMAT, VERSION, "Make one of a study: report_of(study, title=...).")
        plain = without_none(data)
        frame: dict[str, Any] = {
            name: _without_none(plain[name]) for name in ("about", "run") if name in plain
        }
        verdict = from_plain(tuple[_Plain, ...], plain.get("verdict", ()), what="'verdict'")
        studies = {
            name: from_plain(_Plain, plain.get(name, {}), what=f"'{name}'")
            for name in ("utility", "risk")
        }
        # The promise is worked out anew from its account; a row that says so is for readers of the JSON.
        on_utility = (row for row in verdict if row.get("section") != "promise")
        return cls(
            title=str(plain.get("title", "")),
            about=from_plain(UtilityAbout, frame.get("about", {}), what="'about'"),
            synthesis=SynthesisAccount.from_dict(plain.get("synthesis")),
            utility=UtilityResult.from_dict({**studies["utility"], **UTILITY, **frame})
            if "utility" in data
            else None,
            risk=RiskResult.from_dict({**studies["risk"], **RISK}) if "risk" in data else None,
            rows=tuple(map(VerdictRow.from_dict, on_utility)),
            threshold=from_plain(int, plain.get("threshold", THRESHOLD), what="'threshold'"),
            run=from_plain(RunFacts, frame.get("run", {}), what="'run'"),
        )


def report_of(
    study: UtilityResult | Mapping[str, Any] | None = None,
    *,
    title: str,
    synthesis: SynthesisAccount | Mapping[str, Any] | None = None,
    risk: RiskResult | Mapping[str, Any] | None = None,
    threshold: int = THRESHOLD,
) -> ReportResult:
    """Return a report: studies of utility, of risk or of both with their verdicts, and how the table was made.

    Each may be a result, or its JSON as the commands write it. A synthesis adds a row on its promise of privacy to the verdict, also where
    there is none. `threshold` is what the studies masked small counts by.

    Raises
    ------
    InputError
        If neither study is given, or one is something else.
    """
    utility = (
        study
        if study is None or isinstance(study, UtilityResult)
        else UtilityResult.from_dict(study)
    )
    attacked = risk if risk is None or isinstance(risk, RiskResult) else RiskResult.from_dict(risk)
    account = (
        synthesis
        if isinstance(synthesis, SynthesisAccount)
        else SynthesisAccount.from_dict(synthesis)
    )
    if utility is not None:
        about = utility.about
    elif attacked is not None:
        about = _about(attacked)
    else:
        raise InputError(
            "A report needs a study of utility, of risk, or both. Got none: give study or risk."
        )
    runs = [result.run for result in (utility, attacked) if result is not None]
    # Under a promise, a broken one included, how long work on the records took is nobody's business.
    timed = account is None or account.model.privacy is None
    return ReportResult(
        title=title,
        about=about,
        synthesis=account,
        utility=utility,
        risk=attacked,
        threshold=threshold,
        run=_together(runs, timed=timed),
        rows=() if utility is None else utility.verdict,
    )


def as_report(data: Any, which: str) -> ReportResult:
    """Return a result as a report: of utility, of risk, of both, or the JSON of one; `which` says of what, for messages."""
    if isinstance(data, ReportResult):
        return data
    if isinstance(data, UtilityResult):
        return report_of(data, title="")
    if isinstance(data, RiskResult):
        return report_of(title="", risk=data)
    if not isinstance(data, Mapping):
        raise InputError(f"{which} must be a report as JSON. Got a {type(data).__name__}. {STEP}")
    formats: dict[Any, tuple[int, Any]] = {
        UTILITY["format"]: (UTILITY["version"], UtilityResult),
        RISK["format"]: (RISK["version"], RiskResult),
        FORMAT: (VERSION, ReportResult),
    }
    if data.get("format") not in formats:
        got = (
            f"format '{display_name(data['format'])}'"
            if "format" in data
            else "data without a format"
        )
        raise InputError(f"{which} must be of format {' or '.join(formats)}. Got {got}. {STEP}")
    version, kind = formats[data["format"]]
    if data.get("version") != version:
        raise InputError(
            f"{which} is of version {display_name(data.get('version'))}; this Chaffinch reads version {version}. Measure again, or update."
        )
    return as_report(kind.from_dict(data), which)


def _about(risk: RiskResult) -> UtilityAbout:
    """What a study of risk was about, its synthetic tables told as one."""

    def summary_of(table: AttackedTable) -> TableSummary:
        return TableSummary(rows=table.rows, name=table.name)

    about = risk.about
    return UtilityAbout(
        original=summary_of(about.original),
        synthetic=summary_of(about.one_synthetic),
        label=about.label,
        seed=about.seed,
        notes=about.notes,
        holdout=None if about.holdout is None else summary_of(about.holdout),
    )


def _together(runs: Sequence[RunFacts], *, timed: bool) -> RunFacts:
    """Return how studies were run as one: the first says what both say, seconds are all kept, or none of them."""
    *others, last = runs
    for run in reversed(others):
        seconds = {**last.seconds, **run.seconds}
        last = RunFacts(
            seconds,
            run.versions or last.versions,
            run.date or last.date,
            run.command or last.command,
        )
    return last if timed else replace(last, seconds={})


def _without_none(data: Any) -> dict[str, Any]:
    """A mapping without what is not known, however deep."""
    return {
        key: _without_none(value) if isinstance(value, Mapping) else value
        for key, value in without_none(data).items()
    }
