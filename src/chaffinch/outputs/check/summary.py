"""A verdict for each output: what the rules say of it, what it adds to the marginal risk, and what both come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._base.errors import listed
from ...stats.crossed import Estimate
from ..rules.findings import ORDER, Finding, RuleReport, Status
from .assessment import CumulativeStage, Stage

if TYPE_CHECKING:
    from .result import CheckedOutput, CheckResult


OWN_NUMBERS = "numbers are not the data's"


@dataclass(frozen=True)
class OutputSummary:
    """One output that wants to leave, or a result of a folder that could not be read.

    `verdict` is `fail` where something speaks against it, `not assessed` where something could not be looked at and nothing else fails,
    `review` where a person should look, `pass` for none of these. Under `rules only` it is the verdict of the rules, and of a comparison with
    the data where numbers came with it.
    """

    output: str
    kind: str
    rules: Status | None  # The worst of what the rules say of it; None where it could not be read
    # The most that the step at which it was added adds to the marginal risk, over attributes and conventions; None where not measured
    marginal: Estimate | None
    together: int  # How many outputs were added in that step: with more than one it is what they add together
    verdict: Status
    why: tuple[str, ...]  # What the verdict rests on, in few words each; empty for `pass`

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "output": self.output,
            "kind": self.kind,
            "rules": self.rules,
            "marginal": None if self.marginal is None else self.marginal.to_dict(),
            "together": self.together,
            "verdict": self.verdict,
            "why": list(self.why),
        }


def summary_of(result: CheckResult) -> tuple[OutputSummary, ...]:
    """Return a verdict for each output that wants to leave, and for each result that could not be read; the worst first."""
    replaced = {one.name: one.readable for one in result.about.by_recipe}
    risks = _risks(result.cumulative, result.all)
    excess = result.all is not None and any(measure.excess for measure in result.all.measures)
    asked = not result.settings.rules_only
    rows = [
        _row(one, result.rules, risks.get(one.name), excess=excess, replaced=replaced, asked=asked)
        for one in result.outputs
        if not one.released
    ]
    rows += [
        OutputSummary(
            one.name,
            one.kind,
            result.rules.status(one.name) if result.rules.of(one.name) else None,
            None,
            0,
            one.verdict,
            (one.reason,),
        )
        for one in result.about.skipped
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
    words = [f"{counts[status]} {status}" for status in reversed(ORDER) if counts[status]]
    words += [f"{ignored} ignored"] if ignored else []
    total = len(rows) + ignored
    return f"{total} output{'' if total == 1 else 's'}: {', '.join(words) or 'none'}."


def hold_back(
    rules: RuleReport, *, released: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return outputs that fail by themselves; and further ones, few, without which no outputs fail together.

    The second are chosen one by one, each time the output that most of the failures between outputs are about; those `released` already
    cannot be held back.

    Examples
    --------
    >>> from chaffinch.outputs.rules.findings import finding
    >>> pairs = [("a", "b"), ("b", "c"), ("b", "d")]
    >>> bad = [finding(one, "table", "differencing", ["x"], of=1, good="", bad="", other=other) for one, other in pairs]
    >>> hold_back(RuleReport(tuple(bad), "default", "0" * 64))
    ((), ('b',))
    """
    failures = [one for one in rules if one.status == "fail"]
    alone = tuple(dict.fromkeys(one.output for one in failures if len(one.names) == 1))
    left = [one for one in failures if not set(one.names) & set(alone)]
    more: list[str] = []
    while left:
        names = [name for one in left for name in one.names if name not in released]
        if not names:
            break
        name = Counter(names).most_common(1)[0][0]
        more.append(name)
        left = [one for one in left if name not in one.names]
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
        rose = _excess(stage) and (
            before is None or not _excess(before) or any(one.low > 0.0 for one in estimates)
        )
        known = [one for one in estimates if math.isfinite(one.value)]
        largest = max(known, key=lambda one: one.value, default=Estimate(math.nan))
        plain = Estimate(largest.value, largest.error, largest.low, largest.high, largest.freedom)
        risks |= {name: _AddedRisk(plain, len(names), rose) for name in names}
        before = stage
    return risks


def _excess(stage: Stage) -> bool:
    return any(measure.excess for measure in stage.measures)


def _row(
    one: CheckedOutput,
    rules: RuleReport,
    risk: _AddedRisk | None,
    *,
    excess: bool,
    replaced: Mapping[str, bool],
    asked: bool,
) -> OutputSummary:
    reasons = [
        *_measured(one, risk, excess=excess, asked=asked),
        *_replaced(one, replaced),
        *_by_rule(one.name, rules.of(one.name)),
    ]
    verdict: Status = max((status for status, _ in reasons), key=ORDER.index, default="pass")
    worst_first = sorted(reasons, key=lambda reason: -ORDER.index(reason[0]))
    why = tuple(dict.fromkeys(words for _, words in worst_first))
    estimate = None if risk is None else risk.estimate
    return OutputSummary(
        one.name,
        one.kind,
        rules.status(one.name),
        estimate,
        0 if risk is None else risk.together,
        verdict,
        why,
    )


def _measured(
    one: CheckedOutput, risk: _AddedRisk | None, *, excess: bool, asked: bool
) -> Iterator[tuple[Status, str]]:
    """What was found of an output's numbers that keeps it from passing; `asked`: whether more than the rules was asked for."""
    if one.consistent is False:
        yield "fail", OWN_NUMBERS
    if risk is not None and risk.excess:
        yield (
            ("fail" if excess else "review"),
            "adds marginal risk" if risk.together == 1 else "its step adds marginal risk",
        )
    if one.unmeasured:
        yield "not assessed", one.unmeasured
    elif asked and one.fit is None:
        yield "review", f"rules only: {one.rules_only}" if one.rules_only else "rules only"
    if one.fit is not None and one.fit.reached < 1.0:
        yield (
            "not assessed",
            f"{100 * one.fit.reached:.0f} % of the datasets have its numbers: a lower bound",
        )


def _replaced(one: CheckedOutput, replaced: Mapping[str, bool]) -> Iterator[tuple[Status, str]]:
    """That a recipe was judged in the place of a result, which says nothing of its files."""
    if replaced.get(one.name):
        yield "not assessed", "a recipe was judged in its place, though it can be read"
    elif one.name in replaced:
        yield "review", "a recipe was judged in its place"


def _by_rule(name: str, findings: Sequence[Finding]) -> Iterator[tuple[Status, str]]:
    """What the rules say of an output: each rule once, with the other outputs that it is about."""
    others: dict[tuple[Status, str], list[str]] = {}
    for one in findings:
        if one.status == "pass":
            continue
        beside = others.setdefault((one.status, one.rule), [])
        beside += [other for other in one.names if other != name and other not in beside]
    for (status, rule), names in others.items():
        word = "" if status == "fail" else f" ({status})"
        quoted = [f"'{other}'" for other in names]
        yield status, f"{rule}{word}{f' with {listed(quoted, most=3)}' if quoted else ''}"
