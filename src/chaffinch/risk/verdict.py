"""What all findings of a study say together: whether there is an excess, what they say of a limit, and which finding leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .._base.results import from_plain, to_plain
from .._base.text import count_noun, detectable_words, display_name, format_signed, number, percent
from ..stats.familywise import FamilywiseTest
from ..stats.intervals import LimitState, limit_state
from .finding import NO_VALUE, NONE_FOUND, UNKNOWN, Finding, column_findings, record_findings

if TYPE_CHECKING:
    from .result import RiskResult

FEW_REASONS = 3
HALF_SIZE_BOUNDS = "The bounds are of models of half of the people: the table itself was not compared with people who are not in the data. Name such people as a holdout, or set some aside (--holdout-share 0.25)."
SAMPLE_BOUNDS = "Attacks and tests looked at a sample of the records: the bounds say nothing of what is outside it."
"""Why the bounds of a study cannot show that a table keeps a limit."""


@dataclass(frozen=True, kw_only=True)
class LimitVerdict:
    """What all findings of a study together, attacks and memorisation tests alike, say of a limit on the excess.

    Parameters
    ----------
    max_excess
        The limit.
    state
        `exceeds`: the simultaneous lower bound of some excess is above the limit. `shown to keep`: the simultaneous upper bounds of all are not.
        `undecided`: neither.
    lower_bound, upper_bound
        The largest lower and the largest upper bound; one-sided, each right for all findings together with 95 % confidence.
    detectable
        The smallest excess that the most precise and the least precise of the findings detect with 80 % power.
    attacks, tests
        How many findings there are.
    reasons
        Why the limit cannot be shown to be kept, whatever the bounds are: findings without a bound, a table that was not itself compared.
    """

    max_excess: float
    state: LimitState = LimitState.UNDECIDED
    lower_bound: float | None = None
    upper_bound: float | None = None
    detectable: tuple[float, float] | None = None
    attacks: int = 0
    tests: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """Whether the limit is shown to be kept, or exceeded; None where that is undecided."""
        return {LimitState.SHOWN: True, LimitState.EXCEEDS: False}.get(self.state)

    @property
    def sentence(self) -> str:
        """The state in words, with both bounds and what could be detected where it is undecided.

        Examples
        --------
        >>> print(LimitVerdict(max_excess=0.01, lower_bound=0.004, upper_bound=0.21, detectable=(0.03, 0.12), attacks=8, tests=11).sentence)
        ... # doctest: +NORMALIZE_WHITESPACE
        UNDECIDED: an excess of at most 0.01 is neither shown to hold nor shown to be exceeded. The largest excess of 8 attacks and 11 tests lies between
        0.004 and 0.21 (simultaneous 95 % bounds). An excess of 0.03 (the most precise) to 0.12 (the least precise) is detected with 80 % power.
        """
        limit, many = (
            f"an excess of at most {number(self.max_excess)}",
            _count_words(self.attacks, self.tests),
        )
        if self.state is LimitState.EXCEEDS:
            return f"EXCEEDS THE LIMIT: {limit} is allowed, and the largest excess of {many} is above {number(self.lower_bound)} (simultaneous 95 % lower bound)."
        if self.state is LimitState.SHOWN:
            return f"SHOWN TO KEEP THE LIMIT: {limit} is allowed, and every excess of {many} is below {number(self.upper_bound)} (simultaneous 95 % upper bound)."
        ends = [
            None if bound is None else number(bound)
            for bound in (self.lower_bound, self.upper_bound)
        ]
        low, high = ends
        where = (
            f"lies between {low} and {high} (simultaneous 95 % bounds)"
            if None not in ends
            else f"is above {low} (simultaneous 95 % lower bound) and has no upper bound"
            if low is not None
            else "has no lower bound"
            + (
                " and no upper bound"
                if high is None
                else f", and is below {high} (simultaneous 95 % upper bound)"
            )
        )
        parts = [
            f"UNDECIDED: {limit} is neither shown to hold nor shown to be exceeded.",
            f"The largest excess of {many} {where}.",
        ]
        if self.detectable is not None:
            first, last = map(detectable_words, self.detectable)
            size = (
                first
                if first == last
                else f"{first} (the most precise) to {last} (the least precise)"
            )
            nothing = min(self.detectable) > 1  # rates differ by 1 at most
            parts.append(
                "No excess of any size is detected with 80 % power."
                if nothing
                else f"An excess of {size} is detected with 80 % power."
            )
        return " ".join((*parts, *self.reasons))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, with `passed` and the sentence."""
        plain: dict[str, Any] = to_plain(self)
        return {**plain, "state": str(self.state), "passed": self.passed, "sentence": self.sentence}

    @classmethod
    def from_policy(cls, policy: Mapping[str, Any] | None) -> LimitVerdict | None:
        """Return the verdict that the policy of a result holds; None where there was no limit. An older one that names no state decides nothing but an excess."""
        if policy is None or policy.get("max_excess") is None:
            return None
        names = {entry.name for entry in fields(cls)}
        state = policy.get("state") or (
            LimitState.EXCEEDS if policy.get("passed") is False else LimitState.UNDECIDED
        )
        return from_plain(
            cls,
            {
                **{
                    name: value
                    for name, value in policy.items()
                    if name in names and value is not None
                },
                "state": state,
            },
            what="'policy'",
        )


def limit_verdict(result: RiskResult, max_excess: float) -> LimitVerdict:
    """Return what all findings of a result together say of a limit.

    A limit is shown to be kept only where every finding has an upper bound and the bounds are of the released table itself: with a holdout, of one release,
    of all its records.
    """
    side = result.cross_fit or result
    family = side.family
    reasons = [HALF_SIZE_BOUNDS] if side is not result else []
    if len(result.about.synthetic) > 1 or result.together is not None:
        reasons.append(
            "The bounds are of each of several releases: all of them together have none."
        )
    if result.about.sample is not None and not result.about.sample.all_records:
        reasons.append(SAMPLE_BOUNDS)
    findings = side.findings
    if not family.upper:
        reasons.append(f"There are no bounds. {display_name(family.reason, 400)}".strip())
    elif family.unbounded:
        names = [
            _reason_without_bound(findings[number])
            for number in family.unbounded
            if number < len(findings)
        ]
        rest = len(names) - FEW_REASONS
        reasons.append(
            f"Without an upper bound: {'; '.join(names[:FEW_REASONS])}{f'; and {rest} more' if rest > 0 else ''}."
        )
    sizes = detectable_sizes(findings)
    return LimitVerdict(
        max_excess=max_excess,
        state=limit_state(family.lower_bound, None if reasons else family.upper_bound, max_excess),
        lower_bound=family.lower_bound,
        upper_bound=family.upper_bound,
        detectable=(min(sizes), max(sizes)) if sizes else None,
        attacks=len(column_findings(findings)),
        tests=len(record_findings(findings)),
        reasons=tuple(reasons),
    )


def _reason_without_bound(finding: Finding) -> str:
    name = finding.title + (
        f" on {display_name(finding.sensitive, 40)}" if finding.sensitive else ""
    )
    return f"{name} ({display_name((finding.reason or 'nobody is counted').rstrip('.'), 160)})"


def _count_words(attacks: int, tests: int, test: str = "test") -> str:
    counts = ((attacks, "attack"), (tests, test))
    return " and ".join(count_noun(count, what) for count, what in counts if count) or "no attacks"


def detectable_sizes(findings: Sequence[Finding]) -> list[float]:
    """Return the excesses that findings detect with 80 % power."""
    return [finding.detectable for finding in findings if finding.detectable is not None]


def strongest_finding(findings: Sequence[Finding], family: FamilywiseTest) -> Finding | None:
    """Return the finding that leads: the strongest of all, one with an excess found before all others.

    Findings are ranked as the family ranks them, by p-values that are adjusted for all of them. Without people to compare with there are none: then
    the attack that is furthest above a guess leads, and a test only where no attack has a value. None where nothing could be assessed.
    """
    assessed = [finding for finding in findings if finding.assessed]
    candidates = [finding for finding in assessed if finding.excess_found] or assessed
    if family.strongest is not None and family.strongest < len(findings):
        leading = findings[family.strongest]
        if any(leading is finding for finding in candidates):
            return leading
    compared = [finding for finding in candidates if finding.p_family is not None]
    if compared:
        return min(
            compared, key=lambda finding: (finding.p_family or 0.0, -(finding.excess or 0.0))
        )
    on_columns = column_findings(candidates)
    if on_columns:
        return max(on_columns, key=lambda finding: finding.rank)
    return next(iter(candidates), None)


def family_word(family: FamilywiseTest) -> str:
    """Return the word for all findings together: whether any excess is more than chance."""
    together = Finding(p_family=family.p_value, lower_bound=family.lower_bound)
    return UNKNOWN if together.word == NO_VALUE else together.word


def family_words(findings: Sequence[Finding], family: FamilywiseTest) -> str:
    """Return the word for all findings together, with what the most and the least precise of them detect."""
    word = family_word(family)
    if word != NONE_FOUND:
        return word
    sizes = detectable_sizes(findings)
    low, high = (detectable_words(end(sizes, default=None)) for end in (min, max))
    return f"{word} (detectable: {low if low == high else f'{low} to {high}'})"


def family_sentence(findings: Sequence[Finding], family: FamilywiseTest) -> str:
    """Return what all findings say together."""
    if family.p_value is None:
        return f"{display_name((family.reason or 'no p-value was given').rstrip('.'), 400)}."
    counts = len(column_findings(findings)), len(record_findings(findings))
    sentence = f"Over {_count_words(*counts, 'memorisation test')}, the chance of a largest excess like this one, were people in the data and others alike, is {percent(family.p_value)}."
    lower, number_of_strongest = family.lower_bound, family.strongest
    if lower is not None:
        sentence += (
            f" With 95 % confidence some attack has an excess above {format_signed(lower)}."
            if lower > 0
            else f" The simultaneous lower bound is {format_signed(lower)}, not above 0."
        )
    if number_of_strongest is not None and 0 <= number_of_strongest < len(findings):
        sentence += f" Strongest: {findings[number_of_strongest].description}."
    return sentence
