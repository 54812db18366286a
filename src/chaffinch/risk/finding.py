"""What an attack found: on whom it was tried, the value between its references, the difference with its interval and p-value, what would have been detected, in words too.

Attacks on columns, memorisation tests, attacks on several releases, membership, singling out, audits and the marginal risk of outputs all give a `Finding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._base.masking import is_small, masked_count
from .._base.results import UNLESS_EMPTY, UNLESS_NONE, PlainData, plain_form
from .._base.text import between, detectable_words, display_name, format_signed, number, percent
from ..stats.sampled import Records
from .attacker import Attacker, By, Direction, attacker_of

FEW_KEYS = 6
ALPHA = 0.05
FOUND, NONE_FOUND, UNKNOWN, NO_VALUE = (
    "excess found",
    "no excess found",
    "not known",
    "not applicable",
)
"""What may be said of a finding."""

HEAD = (
    "attack",
    "on",
    "keys",
    "value",
    "guess",
    "holdout",
    "original",
    "label only",
    "excess",
    "95 % interval",
    "p, all together",
)
"""The columns of `finding_rows`."""

RELEASES_HEAD = (
    "attack",
    "on",
    "keys",
    "together",
    "holdout",
    "excess, together",
    "excess, each alone",
    "added",
    "95 % interval",
    "p, all together",
)
"""The columns of `releases_rows`."""

MAX_RELEASES_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class ReleasesGain:
    """What several releases of the same people add to one of them.

    `alone`: the excess from each release by itself, in their order; a model's last. `added`, `interval`, `p_value`, `p_family`: the excess from
    all less the mean of those from each table by itself, its interval, and p-values of "nothing is added", the last adjusted for all attackers.
    """

    alone: tuple[float | None, ...] = ()
    added: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_family: float | None = None

    @property
    def adds(self) -> bool:
        """Whether more is told together than alone, beyond chance over all attackers."""
        return self.p_family is not None and self.p_family <= ALPHA


@dataclass(frozen=True, kw_only=True)
class Trials:
    """The runs behind a finding about a method: all of them, those that were judged, and the guesses in these, all and right; a run may have several."""

    runs: int
    judged: int
    guesses: int
    right: int


@dataclass(frozen=True, kw_only=True)
class Finding(PlainData):
    """What one attacker found.

    Parameters
    ----------
    attacker
        Its name, see `about`.
    convention, keys, sensitive
        Of an attack on a column: how its value counts, the columns known, the column wanted. Of singling out the convention is who learns.
    scope
        What else it was tried on, where that is no column: the pair of tables of an audit and how it was looked at, the outputs of a check.
    quantity
        What the value is a value of, where its attacker leaves that open: the measure of a promise.
    value, interval
        Of the original's people, attacked from the synthetic table; mean over tables where there are several. `direction` says which way is safe.
    guess, guess_by
        What somebody without keys scores on the same people, counted as the attack counts: with the one best "value" for all, or where
        the attack draws with a "draw" from their distribution; for a memorisation test what somebody reaches who does not look at the released values.
        None where nobody counts, or it is not known.
    holdout, original, marginals_only, label_only
        The same attack on the holdout's people; and on the original's people from the original itself, from independent columns, and
        from a table in which the sensitive columns know the label alone.
    claim
        What is promised, where a promise is tested.
    excess, excess_interval, p_value, detectable
        How far members are from others towards risk, see `stats.excess`; None without a holdout. Where there is no other group to compare with,
        how far the value is above a guess, or above the claim. `detectable` is the smallest that would be found with a probability of 80 %; of an audit the claim
        times how many times the claimed epsilon the true one would have to be, None where not even a hundredth of the noise is enough or the claim is broken.
    p_family, lower_bound, upper_bound
        The p-value adjusted for all attackers together, and bounds of the excess that hold for all at once, on each side. Of shadow modelling and of an
        audit they are those of the finding itself, whose level says for how many it is.
    n_people, n_matched
        People attacked (by a memorisation test members and others), and those whom the source has a row for; words where they are few. Tests by distance
        draw some of very many.
    records, n_compared
        Where tables are in files: whether value, guess and references are of all records or of a sample, and how many members the excess, the
        intervals and the p-values are of: those of the sample, each scored against all rows where `records` is "all".
    trials
        Of an audit the runs behind it, of singling out the releases.
    releases
        Where several releases were attacked together: what they add to one.
    coarse
        Keys and the sensitive column that were not compared by their values, and how they were, in words: an outsider may tell more apart.
    reason
        Why there is no value, or no excess.
    key_sets
        How many sets of keys it is the worst of.
    """

    SUBJECT: ClassVar[str] = "a finding"

    attacker: str = ""
    convention: str = ""
    keys: tuple[str, ...] = ()
    sensitive: str = ""
    scope: tuple[str, ...] = field(default=(), metadata=UNLESS_EMPTY)
    quantity: str = field(default="", metadata=UNLESS_EMPTY)
    value: float | None = None
    interval: tuple[float, float] | None = None
    direction: Direction = "lower is safer"
    guess: float | None = None
    guess_by: By = "value"
    holdout: float | None = None
    original: float | None = None
    marginals_only: float | None = None
    label_only: float | None = None
    claim: float | None = field(default=None, metadata=UNLESS_NONE)
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_family: float | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    detectable: float | None = None
    n_people: int | str | None = 0
    n_matched: int | str | None = None
    records: Records | None = field(default=None, metadata=UNLESS_NONE)
    n_compared: int | str | None = field(default=None, metadata=UNLESS_NONE)
    trials: Trials | None = field(default=None, metadata=UNLESS_NONE)
    releases: ReleasesGain | None = field(default=None, metadata=UNLESS_NONE)
    coarse: tuple[str, ...] = ()
    reason: str | None = None
    key_sets: int = field(default=1, metadata=plain_form(omit=lambda finding, count: count == 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data, with the word for it."""
        return {**super().to_dict(), "word": self.word}

    # What it is.

    @property
    def about(self) -> Attacker:
        """Who attacks: what it is called, how it is defined, and what it does not see."""
        return attacker_of(self.attacker)

    @property
    def on_column(self) -> bool:
        """Whether it is about a sensitive column: attribute disclosure."""
        return bool(self.sensitive)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes it the same attack in two studies: the attacker, and on what it was tried. With another convention it counts otherwise."""
        return self.attacker, tuple(sorted(self.keys)), self.sensitive, self.scope

    @property
    def title(self) -> str:
        """The attacker's title, with the convention where there is one."""
        return self._with_convention(self.about.title)

    @property
    def short_title(self) -> str:
        """The same where there is little room."""
        return self._with_convention(self.about.short)

    def _with_convention(self, title: str) -> str:
        return f"{title} ({self.convention})" if self.convention else title

    @property
    def target(self) -> str:
        """On what it was tried, in words."""
        if self.sensitive:
            return f"{display_name(self.sensitive, 40)}, knowing {keys_words(self.keys)}"
        return ", ".join(display_name(name, 40) for name in self.scope) or "whole records"

    @property
    def description(self) -> str:
        """Which attack it is, on what and knowing what."""
        if not self.sensitive:
            return display_name(self.title, 80)
        return f"{display_name(self.title, 60)} on {display_name(self.sensitive, 40)} knowing {keys_words(self.keys, limit=4)}"

    # What it says.

    @property
    def excess_found(self) -> bool:
        """Whether there is an excess beyond chance, over all findings together."""
        return (self.p_family is not None and self.p_family <= ALPHA) or (
            self.lower_bound is not None and self.lower_bound > 0
        )

    @property
    def assessed(self) -> bool:
        """Whether it says something: a value, or, where that hides few people, whether it is more than chance."""
        return self.value is not None or self.p_family is not None

    @property
    def word(self) -> str:
        """The finding in a word.

        Examples
        --------
        >>> Finding(value=0.6, excess=0.1, p_family=0.001).word, Finding(value=0.6).word, Finding().word
        ('excess found', 'not known', 'not applicable')
        """
        if self.excess_found:
            return FOUND
        bounded = self.upper_bound is not None or self.claim is not None
        if self.p_family is not None or (bounded and self.lower_bound is not None):
            return NONE_FOUND
        return NO_VALUE if self.value is None else UNKNOWN

    @property
    def verdict(self) -> str:
        """The word, with what belongs behind it.

        Examples
        --------
        >>> Finding(value=0.6, excess=0.01, p_family=0.4, detectable=0.02).verdict
        'no excess found (detectable: 0.02)'
        >>> Finding(value=0.6).verdict
        'not known: no holdout'
        """
        if self.word == NONE_FOUND and self.claim is None:
            return f"{NONE_FOUND} (detectable: {detectable_words(self.detectable)})"
        if self.word == UNKNOWN:
            stated = (
                "no excess could be stated" if self.excess is None else "all people score alike"
            )
            return f"{UNKNOWN}: {'no holdout' if self.holdout is None else stated}"
        return self.word

    @property
    def rank(self) -> tuple[float, float]:
        """What findings are ranked by, the worst highest: the excess, without one how far the value is above the guess."""
        above = -9.0 if self.value is None else self.value - (self.guess or 0.0)
        return (-9.0 if self.excess is None else self.excess, above)

    def value_words(self, value: float | None) -> str:
        """Return a value as it is shown: a share in per cent."""
        if value is None:
            return number(None)
        return percent(value) if self.about.share else number(value)

    @property
    def sentence(self) -> str:
        r"""The finding as one plain sentence.

        Examples
        --------
        >>> finding = Finding(attacker="exact_row", value=0.02, holdout=0.01, excess=0.01, p_family=0.4)
        >>> print(finding.sentence.replace("\u00a0", " "))
        The whole row is in the released table for 2 % of the people in the data, and for 1 % of people who are not: no more than chance gives.
        """
        if self.claim is not None:
            return _claim_sentence(self)
        return _column_sentence(self) if self.sensitive else _record_sentence(self)

    # What may leave.

    def masked(self, threshold: int, members: float, others: float) -> Finding:
        """Return the finding as it may leave: counts masked, and no share of fewer than `threshold` people.

        `members` and `others` are the numbers of people behind the two shares. Whether the difference is more than chance still leaves.
        """
        counts = {
            name: masked_count(int(count), threshold)
            for name in ("n_people", "n_matched", "n_compared")
            if (count := getattr(self, name)) is not None
        }
        hidden: set[str] = set()
        reason = self.reason
        if self.n_compared is not None and 0 < int(self.n_compared) < threshold:
            hidden |= {*_COMPARED, "interval", "p_value"}
            reason = (
                reason
                or f"Fewer than {threshold} people of the sample count, so what is compared does not leave."
            )
        if self.about.share and is_small(members, threshold):
            # A ratio over a handful of people tells their number; the guess too, where it is about the same people.
            hidden |= {*_COMPARED, "value", "interval", "holdout", "p_value"}
            hidden |= {"guess"} if (self.about.people == "matched") else set()
            reason = f"It is about fewer than {threshold} people, so its value does not leave; whether it is more than chance does."
        elif self.about.share and is_small(others, threshold):
            hidden |= {*_COMPARED, "holdout"}
            reason = (
                reason
                or f"Fewer than {threshold} people of the holdout count, so what is compared with them does not leave."
            )
        return replace(self, reason=reason, **counts, **dict.fromkeys(hidden))  # type: ignore[arg-type]


_COMPARED = ("excess", "excess_interval", "upper_bound", "detectable")
"""What a comparison of members with others says of its size."""


def _column_sentence(finding: Finding) -> str:
    if finding.value is None:
        reason = display_name((finding.reason or "no value was given").rstrip("."), 300)
        if not finding.excess_found:
            return f"Not applicable: {reason}."
        return f"{finding.description}: {reason}{_chance_words(finding)}."
    says = finding.about.says.replace("{sensitive}", display_name(finding.sensitive, 40))
    others = (
        "" if finding.holdout is None else f" and {percent(finding.holdout)} of people who are not"
    )
    sentence = f"Knowing {keys_words(finding.keys)}, {says} right for {percent(finding.value)} of the people in the data{others}"
    if finding.guess is not None:
        drawn = finding.guess_by == "draw"
        way = (
            "drawing from the distribution of values"
            if drawn
            else "always guessing the most frequent value"
        )
        matched = " of the people it is about" * (finding.about.people == "matched")
        sentence += f"; {way}{matched} is right for {percent(finding.guess)}"
    sets = f" The worst of {finding.key_sets:,} sets of keys." if finding.key_sets > 1 else ""
    coarse = f" {coarse_sentence(finding.coarse)}" if finding.coarse else ""
    return f"{sentence}.{sets}{coarse}"


HARDLY = "hardly any violation"
"""In place of a factor, where even noise a hundred times too small would not have been found four times out of five."""


def claim_factor(finding: Finding) -> float | None:
    """Return how many times the claimed epsilon the true one would have to be to be found with a probability of 80 %; None where that is not known."""
    if finding.detectable is None or not finding.claim:
        return None
    return finding.detectable / finding.claim


def _claim_sentence(finding: Finding) -> str:
    pair, box = finding.scope
    sentence = f"Pair '{pair}', {box} box: {finding.quantity} is at least {finding.value:.3g}, claimed {finding.claim:.3g}"
    if finding.excess_found:
        return f"{sentence}: claim broken."
    factor, runs = claim_factor(finding), f"{finding.trials.runs if finding.trials else 0:,} runs"
    if factor is None:
        return f"{sentence}: not refuted, and these {runs} would have found {HARDLY}."
    return f"{sentence}: not refuted; a true epsilon of {factor:.2g} times the claim would have been found with a probability of 80 % in {runs}."


def _record_sentence(finding: Finding) -> str:
    if finding.value is None:
        reason = display_name((finding.reason or "no value was given").rstrip("."), 300)
        return f"{finding.about.title}: {reason}{_chance_words(finding)}."
    text = finding.about.sentence
    if finding.holdout is None and "{holdout}" in text:
        text = text[: max(text.rfind(mark, 0, text.index("{holdout}")) for mark in ",;")]
    text = text.replace("{value}", finding.value_words(finding.value))
    text = text.replace("{holdout}", finding.value_words(finding.holdout))
    if finding.guess is not None:
        text += f"; without a look at the table {finding.value_words(finding.guess)} would be"
    return f"{text}{_chance_words(finding)}."


def _chance_words(finding: Finding) -> str:
    if finding.word not in (FOUND, NONE_FOUND):
        return ""
    return f": {'' if finding.excess_found else 'no '}more than chance gives"


def keys_words(keys: Iterable[str], *, limit: int = FEW_KEYS) -> str:
    """Return keys as a list that fits.

    Examples
    --------
    >>> keys_words(["age", "sex", "race"], limit=2)
    'age, sex and 1 more'
    """
    names = [display_name(name, 32) for name in keys]
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "") or "no keys"


def coarse_sentence(coarse: Sequence[str]) -> str:
    """Return how columns were compared that were not compared by their values.

    Examples
    --------
    >>> coarse_sentence(["age in bins"])
    'Not compared by their values: age in bins. Someone who compares values may tell more people apart.'
    """
    return f"Not compared by their values: {display_name('; '.join(coarse), 400)}. Someone who compares values may tell more people apart."


# Several findings.


def column_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings about sensitive columns."""
    return tuple(finding for finding in findings if finding.on_column)


def record_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings about whole records: memorisation."""
    return tuple(finding for finding in findings if not finding.on_column)


def has_several_key_sets(findings: Iterable[Finding]) -> bool:
    """Return whether a sensitive column was attacked with more than one set of keys."""
    sets: dict[str, set[tuple[str, ...]]] = {}
    for finding in column_findings(findings):
        sets.setdefault(finding.sensitive, set()).add(finding.keys)
    return any(len(key_sets) > 1 for key_sets in sets.values())


def worst_of_key_sets(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return one finding for each attacker on each target: where it was tried with several sets of keys one with an excess found if there is any, and of these the worst."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        target = finding.sensitive, finding.attacker, finding.convention, finding.scope
        groups.setdefault(target, []).append(finding)
    by_column: dict[str, list[Finding]] = {}
    for group in groups.values():
        worst = max([f for f in group if f.excess_found] or group, key=lambda f: f.rank)
        by_column.setdefault(worst.sensitive, []).append(replace(worst, key_sets=len(group)))
    return tuple(finding for column in by_column.values() for finding in column)


def finding_rows(findings: Iterable[Finding]) -> list[list[str]]:
    """Return a row of words for each finding, the worst first, as `HEAD` names them."""

    def position(finding: Finding) -> tuple[bool, float]:
        reached = finding.excess if finding.excess is not None else finding.value
        return not finding.on_column, -(reached or 0.0)

    return [
        [
            finding.short_title,
            *_target_cells(finding),
            *(
                "" if value is None else number(value)
                for value in (
                    finding.value,
                    finding.guess,
                    finding.holdout,
                    finding.original,
                    finding.label_only,
                )
            ),
            *_excess_cells(finding.excess, finding.excess_interval, finding.p_family),
        ]
        for finding in sorted(findings, key=position)
    ]


def releases_rows(findings: Iterable[Finding]) -> list[list[str]]:
    """Return a row of words for each finding about several releases, as `RELEASES_HEAD` names them."""
    return [
        [
            finding.short_title,
            *_target_cells(finding),
            *("" if value is None else number(value) for value in (finding.value, finding.holdout)),
            "" if finding.excess is None else format_signed(finding.excess),
            alone_words(gain),
            *_excess_cells(gain.added, gain.interval, gain.p_family),
        ]
        for finding in findings
        if (gain := finding.releases) is not None
    ]


def alone_words(gain: ReleasesGain) -> str:
    """Return the excess from each release by itself, in words."""
    excesses = [
        "masked" if excess is None else format_signed(excess)
        for excess in gain.alone[:MAX_RELEASES_SHOWN]
    ]
    return ", ".join(excesses) + ", ..." * (len(gain.alone) > MAX_RELEASES_SHOWN)


def _target_cells(finding: Finding) -> tuple[str, str]:
    if finding.on_column:
        return display_name(finding.sensitive, 40), keys_words(finding.keys, limit=20)
    return finding.target, ""


def _excess_cells(
    excess: float | None, interval: tuple[float, float] | None, p_family: float | None
) -> tuple[str, str, str]:
    return (
        "" if excess is None else format_signed(excess),
        "" if interval is None else between(interval),
        "" if p_family is None else number(p_family),
    )


@dataclass(frozen=True)
class KeySetSummary:
    """One attacker on one sensitive column: mean and maximum over sets of keys."""

    sensitive: str
    attacker: str
    key_sets: int
    mean: float
    maximum: float
    maximum_keys: tuple[str, ...]
    mean_excess: float | None
    maximum_excess: float | None


@dataclass(frozen=True)
class AttackerSummary:
    """One set of keys on one sensitive column: mean and maximum over attackers that say a value; references are means too."""

    sensitive: str
    keys: tuple[str, ...]
    attackers: tuple[str, ...]
    value: float | None
    guess: float | None
    holdout: float | None
    original: float | None
    marginals_only: float | None
    label_only: float | None
    maximum: float
    maximum_attacker: str


def over_key_sets(findings: Iterable[Finding]) -> tuple[KeySetSummary, ...]:
    """Return mean and maximum over key sets for each sensitive column and attacker."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in column_findings(findings):
        if finding.value is not None:
            groups.setdefault((finding.sensitive, finding.attacker), []).append(finding)
    summaries = []
    for (sensitive, attacker), group in groups.items():
        top = max(group, key=_value)
        excesses = [finding.excess for finding in group if finding.excess is not None]
        summaries.append(
            KeySetSummary(
                sensitive,
                attacker,
                len(group),
                float(np.mean([_value(finding) for finding in group])),
                _value(top),
                top.keys,
                float(np.mean(excesses)) if excesses else None,
                max(excesses, default=None),
            )
        )
    return tuple(summaries)


def over_attackers(findings: Iterable[Finding]) -> tuple[AttackerSummary, ...]:
    """Return mean and maximum over attackers that say a value, by sensitive column and keys."""
    groups: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for finding in column_findings(findings):
        if finding.about.answers and finding.value is not None:
            groups.setdefault((finding.sensitive, finding.keys), []).append(finding)
    references = ("value", "guess", "holdout", "original", "marginals_only", "label_only")
    return tuple(
        AttackerSummary(
            sensitive=sensitive,
            keys=keys,
            attackers=tuple(finding.attacker for finding in group),
            maximum=_value(top),
            maximum_attacker=top.attacker,
            **{side: mean_of([getattr(finding, side) for finding in group]) for side in references},
        )
        for (sensitive, keys), group in groups.items()
        if len(group) > 1
        for top in [max(group, key=_value)]
    )


def _value(finding: Finding) -> float:
    return finding.value or 0.0


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean; None where one is absent."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) and known else None
