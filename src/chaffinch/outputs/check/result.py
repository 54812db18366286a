"""What a check returns: each output, each stage, the rules and the verdict, on all outputs and on each; what may leave, and what is confidential.

No verdict is "safe": what was not found may be too small to be found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_type_hints

from ..._base.errors import InputError, join_names
from ..._base.results import Number, RunFacts, finite, from_plain, shown_parts
from ...stats.intervals import Estimate
from ..document import Outputs
from ..margins import KnownMargins
from ..rules import RuleReport
from ..rules.findings import ORDER, RuleFinding, Status
from ..solve.settings import plain_options
from ..source import CheckAbout
from .agreement import Agreement, Exposed
from .assessment import CumulativeStage, OutputFit, Stage
from .attribution import EnsembleTcap, RiskMeasure
from .mitigation import MitigationPlan
from .settings import CheckSettings

Word = Literal[
    "no excess found",
    "excess found",
    "outputs inconsistent",
    "not reached (lower bound)",
    "too uncertain",
    "nothing measured",
    "rules only",
]

MOST_FITS = 5
"""Outputs of which is said how far datasets came: those that fewest have."""


FORMAT = "chaffinch-check"
CONFIDENTIAL_FORMAT = "chaffinch-check-confidential"
VERSION = 3
PARTS = (
    "resolved",
    "records",
    "left_out",
    "outputs",
    "all",
    "cumulative",
    "without",
    "agreement",
)
"""The parts of a result that stand in its plain data as they are."""


OWN_NUMBERS = "numbers are not the data's"


@dataclass(frozen=True)
class CheckedOutput:
    """One output of a check."""

    name: str
    """What the output is called."""
    kind: str
    """What kind of output it is."""
    statbarn: str
    """The class a checker files it under."""
    released: bool
    """Whether it was released already."""
    consistent: bool | None
    """Whether its published numbers are those of the data; None where it came as a recipe, without
    numbers.
    """
    columns: tuple[str, ...]
    """The columns it is about."""
    fit: OutputFit | None
    """How well the ensembles reproduce it."""
    unmeasured: str = ""
    """Why it was not measured, or not compared with the data; empty where nothing was in the way.
    """
    rules_only: str = ""
    """Why datasets cannot be evolved from it, so that rules alone say something of it; empty where
    they can.
    """
    left_out: int | str = 0
    """How many records have a missing value in one of its columns and are not in it, rounded; "<10"
    for few.
    """


@dataclass(frozen=True, kw_only=True)
class ResolvedSettings:
    """What a check settled outputs its settings."""

    key_sets: int = 0
    """How many sets of keys there were."""
    margins: KnownMargins = field(default_factory=KnownMargins)
    """The columns whose margins datasets started from, and how these were known."""
    seed: int | None = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CheckResult:
    """What outputs give away about the people they come from, and what the rules of thumb say.

    Parameters
    ----------
    verdict
        The outcome in words.
    settings, resolved
        What was asked for, with key sizes and proposals as they came out; and what else was settled on the way.
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
    settings: CheckSettings
    records: int | str
    left_out: float
    outputs: tuple[CheckedOutput, ...]
    all: Stage | None
    cumulative: tuple[CumulativeStage, ...]
    without: tuple[Stage, ...]
    agreement: tuple[Agreement, ...]
    rules: RuleReport
    exposed_classes: int | str
    seconds: float
    resolved: ResolvedSettings = field(default_factory=ResolvedSettings)
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
            or any(skipped.verdict == "fail" for skipped in self.about.skipped)
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
        """Return what may leave, as plain data (`chaffinch-check`, version 3): no record, no value of the data, no small count."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "about": shown_parts(self.about),
            "verdict": self.verdict.to_dict(),
            "passed": self.passed,
            "summary": shown_parts(self.summary),
            "settings": plain_options(self.settings),
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
            {"where": [], **finding}
            for finding in rules.get("findings", ())
            if isinstance(finding, Mapping)
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
        options = from_plain(dict[str, Any], data.get("settings"), what="'settings'")
        parts["settings"] = CheckSettings.from_options(**options)
        run = parts.pop("run")
        seconds = from_plain(float, run.pop("seconds", 0.0), what="'run.seconds'")
        return cls(**parts, seconds=seconds, run=from_plain(RunFacts, run, what="'run'"))

    def confidential(self) -> dict[str, Any]:
        """Return what must not leave: the exposed classes with their values and counts, and the cells behind each rule."""
        return {
            "format": CONFIDENTIAL_FORMAT,
            "version": 1,
            "confidential": True,
            "exposed": [exposed.to_dict() for exposed in self.exposed],
            "rules": self.rules.confidential(),
        }


class NotAssessed(NamedTuple):
    """A rule that was not assessed to the end, and the output that it was about."""

    rule: str
    output: str


@dataclass(frozen=True)
class CheckVerdict:
    """The outcome of a check."""

    word: Word
    """`no excess found`, `excess found`, `outputs inconsistent`, `not reached (lower bound)`;
    `too uncertain` where even a marginal risk of 1 would have been missed, `nothing measured` where
    no output could be, `rules only` where that was not asked for.
    """
    detectable: Number
    """The smallest marginal risk that would have been found with a chance of 80 %, under the worse
    convention; nan if nothing was attributed, infinite if none would have been found.
    """
    sentences: tuple[str, ...] = ()
    """What it means, in plain words."""
    not_assessed: tuple[NotAssessed, ...] = ()
    """Rules that were not assessed to the end, each with its output: whatever the word, this is not
    all clear.
    """
    unmeasured: tuple[str, ...] = ()
    """The outputs that could not be measured, or whose numbers could not be compared with the data.
    """

    @property
    def text(self) -> str:
        """The words as shown: "no excess found" never stands without what could have been detected, and what was not looked at."""
        shown = (
            f"{self.detectable:.3f}" if math.isfinite(self.detectable) else "nothing was attributed"
        )
        text = (
            f"no excess found (detectable: {shown})"
            if self.word == "no excess found"
            else self.word
        )
        text += "; not all outputs assessed" if self.unmeasured else ""
        return f"{text}; not all rules assessed" if self.not_assessed else text

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "word": self.word,
            "text": self.text,
            "detectable": finite(self.detectable),
            "sentences": list(self.sentences),
            "not_assessed": [rule._asdict() for rule in self.not_assessed],
            "unmeasured": list(self.unmeasured),
        }


def verdict_of(
    measures: Sequence[RiskMeasure],
    *,
    reached: float,
    measured: bool | None = True,
    fits: Sequence[OutputFit] = (),
    margins: KnownMargins | None = None,
    inconsistent: Sequence[str] = (),
    not_assessed: Sequence[tuple[str, str]] = (),
    unmeasured: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> CheckVerdict:
    """Return the verdict.

    `measured` is whether some output could be measured, None where the rules alone were asked for; `unmeasured` has, by name, why an output
    could not be; `fits` say how far datasets came that do not have every output, `margins` what they started from; `notes` are further
    sentences.

    Examples
    --------
    >>> verdict_of([], reached=1.0, inconsistent=["table 2"]).text
    'outputs inconsistent'
    >>> verdict_of([], reached=1.0, not_assessed=[("suppression undone", "table 2")]).text
    'no excess found (detectable: nothing was attributed); not all rules assessed'
    """
    known = [measure.detectable for measure in measures if not math.isnan(measure.detectable)]
    detectable = max(known, default=math.nan)
    excesses = [measure for measure in measures if measure.finding.excess_found]
    word = _word(measured, bool(inconsistent), bool(excesses), reached, detectable)
    sentences = [
        *_inconsistent_sentences(inconsistent, measured),
        *map(_excess_sentence, excesses),
        *_no_excess_sentences(measured, bool(excesses), detectable),
        *_unreached_sentences(reached, fits),
        *([] if margins is None else [start_sentence(margins)]),
        *(f"Not assessed: '{name}'. {reason}" for name, reason in (unmeasured or {}).items()),
        *notes,
    ]
    if not_assessed:
        rules = join_names(dict.fromkeys(f"{rule} ('{output}')" for rule, output in not_assessed))
        sentences.append(
            f"Not all was looked at, and nothing is said of the rest: not assessed to the end: {rules}."
        )
    return CheckVerdict(
        word,
        detectable,
        tuple(sentences),
        tuple(NotAssessed(rule, output) for rule, output in not_assessed),
        tuple(unmeasured or ()),
    )


def _word(
    measured: bool | None, inconsistent: bool, excess: bool, reached: float, detectable: float
) -> Word:
    """The first that holds."""
    outcomes: dict[Word, bool] = {
        "outputs inconsistent": inconsistent,
        "rules only": measured is None,
        "nothing measured": not measured,
        "excess found": excess,
        "not reached (lower bound)": reached < 1.0,
        "too uncertain": math.isinf(detectable),
        "no excess found": True,
    }
    return next(word for word, holds in outcomes.items() if holds)


def _inconsistent_sentences(names: Sequence[str], measured: bool | None) -> Iterator[str]:
    if names:
        quoted = ", ".join(f"'{name}'" for name in names)
        anew = ": the risk was measured with numbers computed anew" if measured else ""
        yield f"The published numbers of {quoted} are not those that the data give, and nothing here vouches for them{anew}."


def _excess_sentence(measure: RiskMeasure) -> str:
    marginal = measure.marginal
    return (
        f"An attacker who uses the outputs is right about '{measure.sensitive}' more often for people in the data than for others: "
        f"by {marginal.value:.3f} ({marginal.low:.3f} to {marginal.high:.3f}; convention {measure.convention})."
        + _margins_sentence(measure.prior_marginal)
    )


def _no_excess_sentences(measured: bool | None, excess: bool, detectable: float) -> Iterator[str]:
    """Why there is no excess: nothing was measured, or what would have been found."""
    if measured is None:
        yield "Only the rules were asked: what an attacker could do with the numbers was not measured."
    elif not measured:
        yield "No output could be measured: only the rules say something."
    elif not excess and math.isinf(detectable):
        yield (
            "No difference was found between people in the data and people held out, but none could have been: with so few datasets or people even "
            "the largest, 1, would be missed with a chance above 20 %. Ask for more syntheses."
        )
    elif not excess and math.isnan(detectable):
        yield "No dataset was certain about anyone under any key set, so nothing was attributed and there is no rate to compare."
    elif not excess:
        yield (
            "No difference was found between people in the data and people held out; "
            f"one of {detectable:.3f} would have been found with a chance of 80 %."
        )


def _unreached_sentences(reached: float, fits: Sequence[OutputFit]) -> Iterator[str]:
    """How many datasets have every output, and how far the others came from those that fewest have."""
    if reached < 1.0:
        yield (
            f"Only {100 * reached:.0f} % of the datasets reproduce every output within its precision: what was measured is a lower bound. "
            "Give the search more proposals."
        )
        worst = sorted(fits, key=lambda fit: fit.reached)[:MOST_FITS]
        yield from (fit.how_far for fit in worst if fit.reached < 1.0)


def _margins_sentence(prior: Estimate) -> str:
    """What the margins tell of their own people without any output, where that is more than nothing."""
    if not prior.low > 0.0:
        return ""
    return f" The margins that datasets start from give {prior.value:.3f} ({prior.low:.3f} to {prior.high:.3f}) of that without any output."


def start_sentence(margins: KnownMargins) -> str:
    """Return what an attacker was taken to know outputs the outputs, in a sentence.

    Examples
    --------
    >>> start_sentence(KnownMargins(published=("sex",), assumed=("age", "area")))
    "Datasets start from how often each level occurs: as published for 'sex'; the attacker was assumed to know it of 'age', 'area'."
    """
    if not margins.names:
        return "Datasets start with every level as often as any other: the attacker was assumed to know nothing but the outputs."
    known, assumed = (
        join_names([f"'{name}'" for name in names])
        for names in ((*margins.declared, *margins.published), margins.assumed)
    )
    parts = [f"as published for {known}"] if known else []
    parts += [f"the attacker was assumed to know it of {assumed}"] if assumed else []
    return f"Datasets start from how often each level occurs: {'; '.join(parts)}."


@dataclass(frozen=True)
class OutputSummary:
    """One output that wants to leave, or a result of a folder that could not be read.

    `verdict` is `fail` where something speaks against it, `not assessed` where something could not be looked at and nothing else fails,
    `review` where a person should look, `pass` for none of these. Under `rules only` it is the verdict of the rules, and of a comparison with
    the data where numbers came with it.
    """

    output: str
    kind: str
    rules: Status | None
    """The worst of what the rules say of it; None where it could not be read."""
    marginal: Estimate | None
    """The most that the step at which it was added adds to the marginal risk, over attributes and
    conventions; None where not measured.
    """
    together: int
    """How many outputs were added in that step: with more than one it is what they add together."""
    verdict: Status
    why: tuple[str, ...]
    """What the verdict rests on, in few words each; empty for `pass`."""


def summary_of(result: CheckResult) -> tuple[OutputSummary, ...]:
    """Return a verdict for each output that wants to leave, and for each result that could not be read; the worst first."""
    replaced = {recipe.name: recipe.readable for recipe in result.about.by_recipe}
    risks = _risks(result.cumulative, result.all)
    excess = result.all is not None and result.all.excess
    asked = not result.settings.rules_only
    rows = [
        _row(
            output,
            result.rules,
            risks.get(output.name),
            excess=excess,
            replaced=replaced,
            asked=asked,
        )
        for output in result.outputs
        if not output.released
    ]
    rows += [
        OutputSummary(
            skipped.name,
            skipped.kind,
            result.rules.status(skipped.name) if result.rules.about(skipped.name) else None,
            None,
            0,
            skipped.verdict,
            (skipped.reason,),
        )
        for skipped in result.about.skipped
    ]
    return tuple(sorted(rows, key=lambda row: -ORDER.index(row.verdict)))


def counted_words(rows: Sequence[OutputSummary], *, ignored: int = 0) -> str:
    """Return how many outputs have which verdict, in words, and how many were ignored.

    Examples
    --------
    >>> row = OutputSummary("t", "table", "fail", None, 0, "fail", ("threshold",))
    >>> counted_words([row, row])
    '2 outputs: 2 fail.'
    >>> counted_words([row], ignored=1)
    '2 outputs: 1 fail, 1 ignored.'
    """
    counts = Counter(row.verdict for row in rows)
    phrases = [f"{counts[status]} {status}" for status in reversed(ORDER) if counts[status]]
    phrases += [f"{ignored} ignored"] if ignored else []
    total = len(rows) + ignored
    return f"{total} output{'' if total == 1 else 's'}: {', '.join(phrases) or 'none'}."


def outputs_to_withhold(
    rules: RuleReport, *, released: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return outputs that fail by themselves; and further ones, few, without which no outputs fail together.

    The second are chosen one by one, each time the output that most of the failures between outputs are about; those `released` already
    cannot be held back.

    Examples
    --------
    >>> from chaffinch.outputs.rules.findings import finding
    >>> pairs = [("a", "b"), ("b", "c"), ("b", "d")]
    >>> bad = [finding(one, "table", "differencing", ["x"], total=1, sentence="", other=other) for one, other in pairs]
    >>> outputs_to_withhold(RuleReport(tuple(bad), "default", "0" * 64))
    ((), ('b',))
    """
    failures = [finding for finding in rules if finding.status == "fail"]
    alone = tuple(dict.fromkeys(finding.output for finding in failures if len(finding.names) == 1))
    between = [finding for finding in failures if not set(finding.names) & set(alone)]
    more: list[str] = []
    while between:
        names = [name for finding in between for name in finding.names if name not in released]
        if not names:
            break
        name = Counter(names).most_common(1)[0][0]
        more.append(name)
        between = [finding for finding in between if name not in finding.names]
    return alone, tuple(more)


@dataclass(frozen=True)
class _AddedRisk:
    """What the step of an output adds: the largest of it, how many outputs the step has, and whether the step brings an excess."""

    estimate: Estimate
    together: int
    excess: bool


def _risks(stages: Sequence[CumulativeStage], last: Stage | None) -> Mapping[str, _AddedRisk]:
    """By output what its step adds; of the first step, its own marginal risk."""
    risks: dict[str, _AddedRisk] = {}
    before: CumulativeStage | None = None
    for stage in stages:
        names = [name for name in stage.outputs if before is None or name not in before.outputs]
        estimates = (
            [measure.marginal for measure in stage.measures]
            if before is None
            else list(stage.added)
        )
        rose = stage.excess and (
            before is None or not before.excess or any(estimate.low > 0.0 for estimate in estimates)
        )
        known = [estimate for estimate in estimates if math.isfinite(estimate.value)]
        largest = max(known, key=lambda estimate: estimate.value, default=Estimate(math.nan))
        plain = Estimate(largest.value, largest.error, largest.low, largest.high, largest.freedom)
        risks |= {name: _AddedRisk(plain, len(names), rose) for name in names}
        before = stage
    return risks


def _row(
    output: CheckedOutput,
    rules: RuleReport,
    risk: _AddedRisk | None,
    *,
    excess: bool,
    replaced: Mapping[str, bool],
    asked: bool,
) -> OutputSummary:
    reasons = [
        *_measurement_reasons(output, risk, excess=excess, asked=asked),
        *_recipe_reasons(output, replaced),
        *_rule_reasons(output.name, rules.about(output.name)),
    ]
    verdict: Status = max((status for status, _ in reasons), key=ORDER.index, default="pass")
    worst_first = sorted(reasons, key=lambda reason: -ORDER.index(reason[0]))
    why = tuple(dict.fromkeys(reason for _, reason in worst_first))
    estimate = None if risk is None else risk.estimate
    return OutputSummary(
        output.name,
        output.kind,
        rules.status(output.name),
        estimate,
        0 if risk is None else risk.together,
        verdict,
        why,
    )


def _measurement_reasons(
    output: CheckedOutput, risk: _AddedRisk | None, *, excess: bool, asked: bool
) -> Iterator[tuple[Status, str]]:
    """What was found of an output's numbers that keeps it from passing; `asked`: whether more than the rules was asked for."""
    if output.consistent is False:
        yield "fail", OWN_NUMBERS
    if risk is not None and risk.excess:
        yield (
            ("fail" if excess else "review"),
            "adds marginal risk" if risk.together == 1 else "its step adds marginal risk",
        )
    if output.unmeasured:
        yield "not assessed", output.unmeasured
    elif asked and output.fit is None:
        yield "review", f"rules only: {output.rules_only}" if output.rules_only else "rules only"
    if output.fit is not None and output.fit.reached < 1.0:
        yield (
            "not assessed",
            f"{100 * output.fit.reached:.0f} % of the datasets have its numbers: a lower bound",
        )


def _recipe_reasons(
    output: CheckedOutput, replaced: Mapping[str, bool]
) -> Iterator[tuple[Status, str]]:
    """That a recipe was judged in the place of a result, which says nothing of its files."""
    if replaced.get(output.name):
        yield "not assessed", "a recipe was judged in its place, though it can be read"
    elif output.name in replaced:
        yield "review", "a recipe was judged in its place"


def _rule_reasons(name: str, findings: Sequence[RuleFinding]) -> Iterator[tuple[Status, str]]:
    """What the rules say of an output: each rule once, with the other outputs that it is about."""
    others: dict[tuple[Status, str], list[str]] = {}
    for finding in findings:
        if finding.status == "pass":
            continue
        outputs = others.setdefault((finding.status, finding.rule), [])
        outputs += [other for other in finding.names if other != name and other not in outputs]
    for (status, rule), names in others.items():
        word = "" if status == "fail" else f" ({status})"
        quoted = [f"'{other}'" for other in names]
        yield status, f"{rule}{word}{f' with {join_names(quoted, max_names=3)}' if quoted else ''}"
