"""Attacks in words: what each found, as a word by rules and as a sentence, and the rows that one reads first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ..._base.results import from_plain, to_plain
from ..._base.text import detectable_words, number, percent, shown, signed
from ...stats.familywise import Family
from ...stats.intervals import LimitState, limit_state
from ..attacker import By
from ..finding import Finding, keys_words, sentence_of

if TYPE_CHECKING:
    from .result import CrossFit, RiskResult


ALPHA = 0.05
FOUND, NONE_FOUND, UNKNOWN, NO_VALUE = (
    "excess found",
    "no excess found",
    "not known",
    "not applicable",
)
FEW_KEYS = 6
TOGETHER = "All attacks together"
FEW_REASONS = 3
HALF_SIZE_BOUNDS = "The bounds are of models of half of the people: the table itself was not compared with people who are not in the data. Name such people as a holdout, or set some aside (--holdout-share 0.25)."
SAMPLE_BOUNDS = "Attacks and tests looked at a sample of the records: the bounds say nothing of what is outside it."
"""Why the bounds of a study cannot show that a table keeps a limit."""


@dataclass(frozen=True, kw_only=True)
class RiskVerdictRow:
    """What one attacker found on one sensitive column, or all attacks together; fields beside those of utility's rows are the attack's.

    Where several sets of keys were tried, a row shows one with an excess found if there is any, and of these the worst.
    """

    section: str = "risk"
    id: str = ""
    measure: str = ""
    direction: str = "lower is safer"
    identical: float | None = None
    resample: float | None = None
    best: float | None = None
    kept: float | None = None
    question: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    holdout: float | None = None
    guess: float | None = None
    guess_by: By | None = None
    original: float | None = None
    marginals_only: float | None = None
    label_only: float | None = None
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_family: float | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    detectable: float | None = None
    convention: str | None = None
    marginals: float | None = None
    sensitive: str | None = None
    keys: tuple[str, ...] = ()
    key_sets: int | None = None
    coarse: tuple[str, ...] = ()
    word: str = ""
    words: str = ""
    sentence: str = ""

    @property
    def together(self) -> bool:
        """Whether the row is about all attacks."""
        return self.id in ("family", "cross_fit")

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, data: Any) -> RiskVerdictRow:
        """Return the row that plain data hold."""
        return from_plain(cls, data, what="a row of the verdict on risk")


_CARRIED = tuple(
    field.name
    for field in fields(RiskVerdictRow)
    if field.name in Finding.__dataclass_fields__ and field.name != "direction"
)


def verdict(result: RiskResult) -> tuple[RiskVerdictRow, ...]:
    """Return a row for each attacker on each sensitive column and each memorisation test that found an excess, then one for all together.

    One more is for all together in a cross-fit.
    """
    attacks = result.attacks
    holdout = result.about.holdout is not None or any(
        attack.holdout is not None for attack in attacks
    )
    groups: dict[str, dict[str, list[Finding]]] = {}
    for attack in attacks:
        groups.setdefault(attack.sensitive, {}).setdefault(attack.attacker, []).append(attack)
    rows = [
        _row(group, holdout=holdout) for measures in groups.values() for group in measures.values()
    ]
    tests = result.memorisation_tests
    holdout = holdout or any(test.holdout is not None for test in tests)
    crossed_tests = () if result.cross_fit is None else result.cross_fit.memorisation_tests
    rows += [row for row in map(_test_row, (*tests, *crossed_tests)) if row.word == FOUND]
    if attacks or tests:
        rows.append(_family_row("family", TOGETHER, result.family, attacks, tests, holdout=holdout))
    if result.cross_fit is not None:
        crossed = result.cross_fit
        of_both = (crossed.family, crossed.attacks, crossed.memorisation_tests)
        rows.append(_family_row("cross_fit", f"{TOGETHER}, cross-fit", *of_both, holdout=True))
    return tuple(rows)


def _row(attacks: Sequence[Finding], *, holdout: bool) -> RiskVerdictRow:
    with_excess = [attack for attack in attacks if judged(attack, holdout=holdout)[0] == FOUND]
    worst = max(with_excess or attacks, key=worse)
    word, words = judged(worst, holdout=holdout)
    return RiskVerdictRow(
        id=worst.attacker or "unnamed",
        measure=worst.about.title,
        question=f"Knowing {keys_words(worst.keys)}",
        **{name: getattr(worst, name) for name in _CARRIED},
        marginals=worst.marginals_only,
        key_sets=len(attacks),
        word=word,
        words=words,
        sentence=sentence_of(worst, len(attacks)),
    )


def _test_row(test: Finding) -> RiskVerdictRow:
    word, words = _judged(test.p_family, test.lower_bound, test.detectable, holdout=True)
    return RiskVerdictRow(
        id=test.attacker or "unnamed",
        measure=test.about.title,
        direction=test.direction,
        question="Does the table show who was in the data?",
        value=test.value,
        holdout=test.holdout,
        excess=test.excess,
        excess_interval=test.excess_interval,
        p_family=test.p_family,
        lower_bound=test.lower_bound,
        upper_bound=test.upper_bound,
        detectable=test.detectable,
        word=word,
        words=words,
        sentence=test.sentence,
    )


def _family_row(
    id: str,
    measure: str,
    family: Family,
    attacks: Sequence[Finding],
    tests: Sequence[Finding],
    *,
    holdout: bool,
) -> RiskVerdictRow:
    every = [*(attack.detectable for attack in attacks), *(test.detectable for test in tests)]
    sizes = [size for size in every if size is not None]
    low, high = (detectable_words(end(sizes)) if sizes else "" for end in (min, max))
    detectable = max(sizes, default=None)
    word, words = _judged(family.p_value, family.lower_bound, detectable, holdout=holdout)
    if word == NONE_FOUND and sizes:
        words = f"{word} (detectable: {low if low == high else f'{low} to {high}'})"
    return RiskVerdictRow(
        id=id,
        measure=measure,
        question="Is any excess more than chance?",
        p_family=family.p_value,
        lower_bound=family.lower_bound,
        upper_bound=family.upper_bound,
        detectable=detectable,
        word=word,
        words=words,
        sentence=family_sentence(family, attacks, tests),
    )


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
            _count_words(self.attacks, self.tests, "test"),
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
        names = {one.name for one in fields(cls)}
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
    side: RiskResult | CrossFit = result if result.cross_fit is None else result.cross_fit
    family = side.family
    reasons = [HALF_SIZE_BOUNDS] if side is not result else []
    if len(result.about.synthetic) > 1 or result.together is not None:
        reasons.append(
            "The bounds are of each of several releases: all of them together have none."
        )
    if result.about.sample is not None and not result.about.sample.whole:
        reasons.append(SAMPLE_BOUNDS)
    findings = [*side.attacks, *side.memorisation_tests]
    if not family.upper:
        reasons.append(f"There are no bounds. {shown(family.reason, 400)}".strip())
    elif family.unbounded:
        names = [_unbounded(findings[place]) for place in family.unbounded if place < len(findings)]
        rest = len(names) - FEW_REASONS
        reasons.append(
            f"Without an upper bound: {'; '.join(names[:FEW_REASONS])}{f'; and {rest} more' if rest > 0 else ''}."
        )
    sizes = [one.detectable for one in findings if one.detectable is not None]
    return LimitVerdict(
        max_excess=max_excess,
        state=limit_state(family.lower_bound, None if reasons else family.upper_bound, max_excess),
        lower_bound=family.lower_bound,
        upper_bound=family.upper_bound,
        detectable=(min(sizes), max(sizes)) if sizes else None,
        attacks=len(side.attacks),
        tests=len(side.memorisation_tests),
        reasons=tuple(reasons),
    )


def _unbounded(finding: Finding) -> str:
    name = finding.title + (f" on {shown(finding.sensitive, 40)}" if finding.sensitive else "")
    return f"{name} ({shown((finding.reason or 'nobody is counted').rstrip('.'), 160)})"


def _count_words(attacks: int, tests: int, test: str) -> str:
    parts = [
        f"{count:,} {what}{'s' * (count != 1)}"
        for count, what in ((attacks, "attack"), (tests, test))
        if count
    ]
    return " and ".join(parts) or "no attacks"


def several(attacks: Iterable[Finding]) -> bool:
    """Return whether a sensitive column was attacked with more than one set of keys."""
    sets: dict[str, set[tuple[str, ...]]] = {}
    for attack in attacks:
        sets.setdefault(attack.sensitive, set()).add(attack.keys)
    return any(len(tried) > 1 for tried in sets.values())


def worse(attack: Finding) -> tuple[float, float]:
    """Return what attacks are ranked by: the excess, without one how far the value is above the guess."""
    above = -9.0 if attack.value is None else attack.value - (attack.guess or 0.0)
    return (-9.0 if attack.excess is None else attack.excess, above)


def excess_found(finding: Finding) -> bool:
    """Return whether a finding has an excess beyond chance, over all findings together."""
    return _judged(finding.p_family, finding.lower_bound, None, holdout=True)[0] == FOUND


def strongest_finding(
    attacks: Sequence[Finding], tests: Sequence[Finding], family: Family
) -> Finding | None:
    """Return the finding that leads: the strongest of all attacks and tests alike, one with an excess found before all others.

    Findings are ranked as the family ranks them, by p-values that are adjusted for all of them. Without people to compare with there are none: then
    the attack that is furthest above a guess leads, and a test only where no attack has a value. None where nothing could be assessed.
    """
    findings = [*attacks, *tests]
    assessed = [one for one in findings if one.value is not None or one.p_family is not None]
    candidates = [one for one in assessed if excess_found(one)] or assessed
    if family.strongest is not None and family.strongest < len(findings):
        leading = findings[family.strongest]
        if any(leading is one for one in candidates):
            return leading
    compared = [one for one in candidates if one.p_family is not None]
    if compared:
        return min(compared, key=lambda one: (one.p_family or 0.0, -(one.excess or 0.0)))
    on_columns = [one for one in candidates if one.sensitive]
    return max(on_columns, key=worse) if on_columns else next(iter(candidates), None)


def judged(attack: Finding, *, holdout: bool) -> tuple[str, str]:
    """Return the word for an attack, and the word with what belongs behind it.

    Examples
    --------
    >>> judged(Finding(value=0.6, excess=0.01, p_family=0.4, detectable=0.02), holdout=True)
    ('no excess found', 'no excess found (detectable: 0.02)')
    >>> judged(Finding(value=0.6, excess=0.1, p_family=0.001), holdout=True)[0]
    'excess found'
    >>> judged(Finding(value=0.6), holdout=False)
    ('not known', 'not known: no holdout')
    """
    if attack.value is None:
        return NO_VALUE, NO_VALUE
    return _judged(attack.p_family, attack.lower_bound, attack.detectable, holdout=holdout)


def _judged(
    p: float | None, lower: float | None, detectable: float | None, *, holdout: bool
) -> tuple[str, str]:
    if (p is not None and p <= ALPHA) or (lower is not None and lower > 0):
        return FOUND, FOUND
    if p is not None:
        return NONE_FOUND, f"{NONE_FOUND} (detectable: {detectable_words(detectable)})"
    return UNKNOWN, f"{UNKNOWN}: {'no excess could be stated' if holdout else 'no holdout'}"


def family_sentence(
    family: Family, attacks: Sequence[Finding], tests: Sequence[Finding] = ()
) -> str:
    """Return what all attacks say together, and memorisation tests with them: these stand after the attacks in the family."""
    if family.p_value is None:
        return f"{shown((family.reason or 'no p-value was given').rstrip('.'), 400)}."
    many = _count_words(len(attacks), len(tests), "memorisation test")
    out = f"Over {many}, the chance of a largest excess like this one, were people in the data and others alike, is {percent(family.p_value)}."
    lower, place = family.lower_bound, family.strongest
    if lower is not None:
        out += (
            f" With 95 % confidence some attack has an excess above {signed(lower)}."
            if lower > 0
            else f" The simultaneous lower bound is {signed(lower)}, not above 0."
        )
    if place is not None and len(attacks) <= place < len(attacks) + len(tests):
        out += f" Strongest: {tests[place - len(attacks)].about.title}."
    if place is not None and 0 <= place < len(attacks):
        worst = attacks[place]
        out += f" Strongest: {worst.about.title} on {shown(worst.sensitive, 40)} knowing {keys_words(worst.keys)}."
    return out
