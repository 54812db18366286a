"""One attack between its references, and summaries of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._base.masking import is_small, masked_count
from ...stats.sampled import Records
from .attacker import Attacker, By, attacker_of


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack with one set of keys on one sensitive column, between its references.

    All values are shares, 0 to 1, and lower is safer.

    Parameters
    ----------
    value, interval
        Of the original's people, attacked from the synthetic table; mean over tables where there are several.
    guess, guess_by
        What somebody without keys scores on the same people, counted as the attack counts: with the one best "value" for all, or where
        the attack draws with a "draw" from their distribution (`guess.py`). None where nobody counts.
    holdout, original, marginals_only, label_only
        The same attack on the holdout's people; and on the original's people from the original itself, from independent columns, and
        from a table in which the sensitive columns know the label alone.
    excess, excess_interval, p_value, detectable
        How much more the attack tells about members, see `stats.excess`; None without a holdout.
    p_family, lower_bound, upper_bound
        The p-value adjusted for all attacks together, and bounds of the excess that hold for all at once, on each side.
    n_records, n_matched
        People attacked, and those whom the source has a row for; words where they are few.
    records, n_compared
        Where tables are in files: whether value, guess and references are of all records or of a sample, and how many members the excess, the
        intervals and the p-values are of: those of the sample, each scored against all rows where `records` is "all".
    coarse
        Keys and the sensitive column that were not compared by their values, and how they were, in words: an outsider may tell more apart.
    reason
        Why there is no value, or no excess.
    """

    measure: str = ""
    convention: str | None = ""
    keys: tuple[str, ...] = ()
    sensitive: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    direction: str = "lower is safer"
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
    n_records: int | str | None = 0
    n_matched: int | str | None = None
    coarse: tuple[str, ...] = ()
    reason: str | None = None
    records: Records | None = None
    n_compared: int | str | None = None

    @property
    def attacker(self) -> Attacker:
        """Who attacks."""
        return attacker_of(self.measure)

    @property
    def title(self) -> str:
        """The attacker's title, with the convention where there is one."""
        return self.attacker.title + (f" ({self.convention})" if self.convention else "")

    def masked(self, threshold: int, n_holdout: int = 0) -> Attack:
        """Return the attack as it may leave: counts masked, and no value about fewer than `threshold` people, of the data or of the `n_holdout` of the holdout.

        A value is a share of people, or their mean chance: times their number it is how many are found, or are to be expected.
        """
        n_records, n_matched = int(self.n_records or 0), self.n_matched
        of_matched = self.attacker.people == "matched" and n_matched is not None
        matched = int(n_matched or 0) if of_matched else n_records
        behind = (matched if of_matched else 0, (self.value or 0.0) * matched)
        others = (self.holdout or 0.0) * n_holdout * (matched / n_records if n_records else 1.0)
        shown = replace(
            self,
            n_records=masked_count(n_records, threshold),
            n_matched=None if n_matched is None else masked_count(int(n_matched), threshold),
            n_compared=None
            if self.n_compared is None
            else masked_count(int(self.n_compared), threshold),
        )
        if self.n_compared is not None and 0 < int(self.n_compared) < threshold:
            few = f"Fewer than {threshold} people of the sample count, so what is compared does not leave."
            shown = replace(
                shown,
                interval=None,
                excess=None,
                excess_interval=None,
                p_value=None,
                upper_bound=None,
                detectable=None,
                reason=self.reason or few,
            )
        if not any(is_small(count, threshold) for count in behind):
            if is_small(others, threshold):
                few = f"Fewer than {threshold} people of the holdout count, so what is compared with them does not leave."
                shown = replace(
                    shown,
                    holdout=None,
                    excess=None,
                    excess_interval=None,
                    upper_bound=None,
                    detectable=None,
                    reason=self.reason or few,
                )
            return shown
        # A ratio over a handful of people tells their number; the guess too, where it is about the same people.
        return replace(
            shown,
            value=None,
            interval=None,
            guess=None if self.attacker.people == "matched" else self.guess,
            excess=None,
            excess_interval=None,
            p_value=None,
            upper_bound=None,
            detectable=None,
            holdout=None,
            n_matched=masked_count(int(n_matched or 0), threshold),
            reason=f"It is about fewer than {threshold} people, so its value does not leave.",
        )


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


def by_measure(attacks: Iterable[Attack]) -> tuple[KeySetSummary, ...]:
    """Return mean and maximum over key sets for each sensitive column and attacker."""
    groups: dict[tuple[str, str], list[Attack]] = {}
    for attack in attacks:
        if attack.value is not None:
            groups.setdefault((attack.sensitive, attack.measure), []).append(attack)
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


def by_attacker(attacks: Iterable[Attack]) -> tuple[AttackerSummary, ...]:
    """Return mean and maximum over attackers that say a value, by sensitive column and keys."""
    groups: dict[tuple[str, tuple[str, ...]], list[Attack]] = {}
    for attack in attacks:
        if attack.attacker.answers and attack.value is not None:
            groups.setdefault((attack.sensitive, attack.keys), []).append(attack)
    sides = ("value", "guess", "holdout", "original", "marginals_only", "label_only")
    return tuple(
        AttackerSummary(
            sensitive=sensitive,
            keys=keys,
            attackers=tuple(a.measure for a in group),
            maximum=_value(top),
            maximum_attacker=top.measure,
            **{side: mean_of([getattr(a, side) for a in group]) for side in sides},
        )
        for (sensitive, keys), group in groups.items()
        if len(group) > 1
        for top in [max(group, key=_value)]
    )


def _value(attack: Attack) -> float:
    return attack.value or 0.0


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean; None where one is absent."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) and known else None
