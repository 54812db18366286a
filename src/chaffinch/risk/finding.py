"""What an attack or a memorisation test found: who was tried, the value between its references, the difference with its interval and p-value, in words too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._base.masking import is_small, masked_count
from .._base.text import number, percent, shown
from ..stats.sampled import Records
from .attacker import Attacker, By, Direction, attacker_of

FEW_KEYS = 6


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one attacker found: with one set of keys on one sensitive column, or, by a memorisation test, about who was in the data.

    Parameters
    ----------
    attacker
        Its name, see `about`.
    value, interval
        Of the original's people, attacked from the synthetic table; mean over tables where there are several. `direction` says which way is safe.
    guess, guess_by
        What somebody without keys scores on the same people, counted as the attack counts: with the one best "value" for all, or where
        the attack draws with a "draw" from their distribution; for a memorisation test what somebody reaches who does not look at the released values.
        None where nobody counts, or it is not known.
    holdout, original, marginals_only, label_only
        The same attack on the holdout's people; and on the original's people from the original itself, from independent columns, and
        from a table in which the sensitive columns know the label alone.
    excess, excess_interval, p_value, detectable
        How far members are from others towards risk, see `stats.excess`; None without a holdout.
    p_family, lower_bound, upper_bound
        The p-value adjusted for all attacks and tests together, and bounds of the excess that hold for all at once, on each side.
    n_people, n_matched
        People attacked (by a memorisation test members and others), and those whom the source has a row for; words where they are few. Tests by distance
        draw some of very many.
    records, n_compared
        Where tables are in files: whether value, guess and references are of all records or of a sample, and how many members the excess, the
        intervals and the p-values are of: those of the sample, each scored against all rows where `records` is "all".
    coarse
        Keys and the sensitive column that were not compared by their values, and how they were, in words: an outsider may tell more apart.
    reason
        Why there is no value, or no excess.
    """

    attacker: str = ""
    convention: str | None = ""
    keys: tuple[str, ...] = ()
    sensitive: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    direction: Direction = "lower is safer"
    guess: float | None = None
    guess_by: By = "value"
    holdout: float | None = None
    original: float | None = None
    marginals_only: float | None = None
    label_only: float | None = None
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_family: float | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    detectable: float | None = None
    n_people: int | str | None = 0
    n_matched: int | str | None = None
    coarse: tuple[str, ...] = ()
    reason: str | None = None
    records: Records | None = None
    n_compared: int | str | None = None

    @property
    def about(self) -> Attacker:
        """Who attacks: what it is called, how it is defined, and what it does not see."""
        return attacker_of(self.attacker)

    @property
    def title(self) -> str:
        """The attacker's title, with the convention where there is one."""
        return self.about.title + (f" ({self.convention})" if self.convention else "")

    @property
    def description(self) -> str:
        """Which attack it is, on what and knowing what."""
        if not self.sensitive:
            return shown(self.title, 80)
        return f"{shown(self.title, 60)} on {shown(self.sensitive, 40)} knowing {keys_words(self.keys, most=4)}"

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return sentence_of(self) if self.sensitive else finding_sentence(self)

    def people_behind(self, n_holdout: int) -> tuple[float, float]:
        """Return how many members, and how many of the holdout's people, the two shares are made of.

        A value is a share of people, or their mean chance: times their number it is how many are found, or are to be expected.
        """
        n_people = int(self.n_people or 0)
        of_matched = (self.about.people == "matched") and self.n_matched is not None
        matched = int(self.n_matched or 0) if of_matched else n_people
        members = (self.value or 0.0) * matched or (matched if of_matched else 0.0)
        return members, (self.holdout or 0.0) * n_holdout * (
            matched / n_people if n_people else 1.0
        )

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


def sentence_of(attack: Finding, sets: int = 1) -> str:
    """Return what an attack found, as one plain sentence; `sets` is how many sets of keys it was tried with."""
    if attack.value is None:
        return f"Not applicable: {shown((attack.reason or 'no value was given').rstrip('.'), 300)}."
    says = attack.about.says.replace("{sensitive}", shown(attack.sensitive, 40))
    others = (
        "" if attack.holdout is None else f" and {percent(attack.holdout)} of people who are not"
    )
    out = f"Knowing {keys_words(attack.keys)}, {says} right for {percent(attack.value)} of the people in the data{others}"
    if attack.guess is not None:
        drawn = attack.guess_by == "draw"
        way = (
            "drawing from the distribution of values"
            if drawn
            else "always guessing the most frequent value"
        )
        some = " of the people it is about" * (attack.about.people == "matched")
        out += f"; {way}{some} is right for {percent(attack.guess)}"
    tried = f" The worst of {sets:,} sets of keys." if sets > 1 else ""
    coarse = f" {coarse_sentence(attack.coarse)}" if attack.coarse else ""
    return f"{out}.{tried}{coarse}"


def finding_sentence(finding: Finding) -> str:
    r"""Return what a test found, as one plain sentence, with what the comparison is worth behind it.

    Examples
    --------
    >>> finding = Finding(attacker="exact_row", value=0.02, holdout=0.01, excess=0.01, p_family=0.4)
    >>> print(finding_sentence(finding).replace("\u00a0", " "))
    The whole row is in the released table for 2 % of the people in the data, and for 1 % of people who are not: no more than chance gives.
    """
    if finding.value is None:
        said = shown((finding.reason or "no value was given").rstrip("."), 300)
        return f"{finding.about.title}: {said}{_worth(finding)}."
    shown_as = percent if finding.about.share else number
    text = finding.about.sentence
    if finding.holdout is None:
        text = (
            text[: max(text.rfind(mark, 0, text.index("{holdout}")) for mark in ",;")]
            if "{holdout}" in text
            else text
        )
    text = text.replace("{value}", shown_as(finding.value))
    text = text.replace("{holdout}", "" if finding.holdout is None else shown_as(finding.holdout))
    if finding.guess is not None:
        text += f"; without a look at the table {shown_as(finding.guess)} would be"
    return f"{text}{_worth(finding)}."


def _worth(finding: Finding) -> str:
    if finding.p_family is None:
        return ""
    if finding.p_family <= 0.05 or (finding.lower_bound or 0.0) > 0:
        return ": more than chance gives"
    return ": no more than chance gives"


def keys_words(keys: Iterable[str], *, most: int = FEW_KEYS) -> str:
    """Return keys as a list that fits.

    Examples
    --------
    >>> keys_words(["age", "sex", "race"], most=2)
    'age, sex and 1 more'
    """
    names = [shown(name, 32) for name in keys]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "") or "no keys"


def coarse_sentence(coarse: Sequence[str]) -> str:
    """Return how columns were compared that were not compared by their values.

    Examples
    --------
    >>> coarse_sentence(["age in bins"])
    'Not compared by their values: age in bins. Someone who compares values may tell more people apart.'
    """
    return f"Not compared by their values: {shown('; '.join(coarse), 400)}. Someone who compares values may tell more people apart."


@dataclass(frozen=True)
class KeySetSummary:
    """One attacker on one sensitive column: mean and maximum over sets of keys."""

    sensitive: str
    measure: str
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


def by_measure(attacks: Iterable[Finding]) -> tuple[KeySetSummary, ...]:
    """Return mean and maximum over key sets for each sensitive column and attacker."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for attack in attacks:
        if attack.value is not None:
            groups.setdefault((attack.sensitive, attack.attacker), []).append(attack)
    out = []
    for (sensitive, measure), group in groups.items():
        top = max(group, key=_value)
        excesses = [attack.excess for attack in group if attack.excess is not None]
        out.append(
            KeySetSummary(
                sensitive,
                measure,
                len(group),
                float(np.mean([_value(a) for a in group])),
                _value(top),
                top.keys,
                float(np.mean(excesses)) if excesses else None,
                max(excesses, default=None),
            )
        )
    return tuple(out)


def by_attacker(attacks: Iterable[Finding]) -> tuple[AttackerSummary, ...]:
    """Return mean and maximum over attackers that say a value, by sensitive column and keys."""
    groups: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for attack in attacks:
        if attack.about.answers and attack.value is not None:
            groups.setdefault((attack.sensitive, attack.keys), []).append(attack)
    sides = ("value", "guess", "holdout", "original", "marginals_only", "label_only")
    return tuple(
        AttackerSummary(
            sensitive=sensitive,
            keys=keys,
            attackers=tuple(a.attacker for a in group),
            maximum=_value(top),
            maximum_attacker=top.attacker,
            **{side: mean_of([getattr(a, side) for a in group]) for side in sides},
        )
        for (sensitive, keys), group in groups.items()
        if len(group) > 1
        for top in [max(group, key=_value)]
    )


def _value(attack: Finding) -> float:
    return attack.value or 0.0


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean; None where one is absent."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) and known else None
