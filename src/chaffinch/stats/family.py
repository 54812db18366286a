"""Many attacks on the same people: one p-value for all, and lower bounds that hold together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.plain import from_plain, without_none
from .._base.seeds import Seed, seed_sequence
from .excess import TIE, excess_error, stretch, value_of
from .panel import AttackPanel, Pair, check_draws, checked
from .rates import Group, Ratio, Statistic
from .splits import child

__all__ = ["Family", "family"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Family:
    """What several attacks say together about whether members are at more risk than others.

    `p_value`: of "members and others are alike under every attack": the share of random choices of members whose largest standardised
    excess over all attacks is as large as the observed one (that one counted). None, with `reason`, without any attack. `strongest`:
    the number of the attack with the largest standardised excess. `adjusted`: A p-value for each attack, adjusted for all of them
    (single-step maximum; Westfall and Young, 1993). None where excluded. `excesses`, `lower`: the excess of each attack, and a lower
    bound of each: all bounds hold together with the probability `level`. `excluded`: the attacks that could not be compared, by number,
    and why.
    """

    p_value: float | None = None
    strongest: int | None = None
    adjusted: tuple[float | None, ...] = ()
    excesses: tuple[float | None, ...] = ()
    lower: tuple[float | None, ...] = ()
    level: float = 0.95
    resamples: int = 1000
    excluded: Mapping[int, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def lower_bound(self) -> float | None:
        """The largest of the lower bounds: with probability `level`, some attack has an excess above it."""
        return max((bound for bound in self.lower if bound is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the family as plain data; where there are no people to compare with, the reason alone."""
        if not self.adjusted and self.p_value is None:
            return {"p_value": None, "lower_bound": None, "reason": self.reason}
        head: dict[str, Any] = {"p_value": self.p_value}
        if self.reason:
            head["not_applicable"] = self.reason
        return {
            **head,
            "strongest": self.strongest,
            "lower_bound": self.lower_bound,
            "adjusted_p_values": list(self.adjusted),
            "excesses": list(self.excesses),
            "lower_bounds": list(self.lower),
            "excluded": {str(number): reason for number, reason in self.excluded.items()},
            "level": self.level,
            "resamples": self.resamples,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Family:
        """Return the family that plain data hold."""
        plain = without_none(data)
        lower = plain.get("lower_bounds") or ([plain["lower_bound"]] if "lower_bound" in plain else [])
        words = {"adjusted": "adjusted_p_values", "excesses": "excesses"}
        parts = {name: plain.get(word) or [] for name, word in words.items()}
        reason = plain.get("reason") or plain.get("not_applicable") or ""
        return from_plain(cls, {**plain, **parts, "lower": lower, "reason": reason}, what="'family'")

    def without(self, hidden: Collection[int]) -> Family:
        """Return the family without the excesses of some attacks, by number: those that are about few people."""
        excesses = tuple(None if j in hidden else value for j, value in enumerate(self.excesses))
        return replace(self, excesses=excesses)


def family(
    members: Sequence[Pair], others: Sequence[Pair], *, statistics: Sequence[Statistic] | None = None,
    level_shares: Sequence[float | None] | None = None, resamples: int = 1000, level: float = 0.95, seed: Seed = None, threads: int | None = None,
) -> Family:  # fmt: skip
    """Return one p-value and simultaneous lower bounds for attacks on the same members and the same others.

    `members`, `others`: for each attack, two numbers for each person; people stand in the same order under all attacks. `statistics`:
    what the two numbers are, for each attack; (numerator, weight) of a ratio unless said otherwise. Kinds may be mixed. `level_shares`: the share of
    the odds of error that some attacks are given beforehand, whatever comes; the rest is divided equally among those without one.

    Notes
    -----
    People are permuted, and resampled, once for all attacks, so the dependence between attacks is kept. An attack's permuted
    excesses, the observed one among them, are standardised by their own mean and standard deviation: all choices of members are
    treated alike, so the family-wise p-value is exact. A permuted group without a value has no excess (0), as if observed so.
    What attacks are ranked by, for the largest of all, is the normal tail of the standardised excess over the attack's share of the level: with equal
    shares the standardised excess itself. Shares move power from attack to attack (Genovese, Roeder and Wasserman, 2006), and the
    p-value stays exact, since all choices of members are still treated alike.

    Examples
    --------
    >>> told, ones, people = [1] * 40 + [0] * 10, [1] * 50, [1, 0] * 25
    >>> found = family([(told, ones), (people, ones)], [(people, ones), (people, ones)], seed=1)
    >>> found.strongest, found.p_value < 0.01, found.adjusted[1] > 0.5, found.lower_bound > 0.05
    (0, True, True, True)
    """
    check_draws(resamples, level)
    rules = list(statistics) if statistics is not None else [Ratio()] * len(members)
    comparable, excluded = comparable_attacks(members, others, rules)
    if not comparable:
        none = (None,) * len(members)
        reason = "none of the attacks can be compared." if members else "there are no attacks."
        return Family(
            p_value=None, adjusted=none, excesses=none, lower=none, level=level, resamples=resamples, excluded=excluded,
            reason=f"There is no family-wise p-value: {reason}",
        )  # fmt: skip
    numbers, groups = list(comparable), list(comparable.values())
    panel = AttackPanel.of([m for m, _ in groups], [o for _, o in groups], [rules[j] for j in numbers])
    root = seed_sequence(seed)
    permuted = panel.permuted(resamples, child(root, 0), threads=threads)
    z = standardised(np.vstack([panel.observed(), permuted]))
    evidence = z if level_shares is None else _evidence(z, _shares(level_shares, len(members), numbers))
    as_large = np.count_nonzero(evidence[1:].max(axis=1)[:, None] >= evidence[0] - 1e-6, axis=0)
    adjusted = (1.0 + as_large) / (resamples + 1)

    spread = permuted.std(axis=0, ddof=1)
    values, errors = [], []
    for rule, (ours, theirs), wide in zip(panel.pool.statistics, groups, spread, strict=True):
        values.append(value_of(rule, ours, panel.common) - value_of(rule, theirs, panel.common))
        error, degrees = excess_error(rule, ours, theirs, float(wide) if wide > TIE else None)
        errors.append(error * stretch(degrees, level))
    reach = reach_of(panel.resampled(resamples, child(root, 1), threads=threads), level)
    lower = [max(-1.0, value - reach * error) for value, error in zip(values, errors, strict=True)]

    def spread_out(per_attack: Sequence[float] | Floats) -> tuple[float | None, ...]:
        by_number = dict(zip(numbers, per_attack, strict=True))
        return tuple(float(by_number[j]) if j in by_number else None for j in range(len(members)))

    return Family(
        p_value=float(adjusted.min()), strongest=numbers[int(evidence[0].argmax())], adjusted=spread_out(adjusted),
        excesses=spread_out(values), lower=spread_out(lower), level=level, resamples=resamples, excluded=excluded,
    )  # fmt: skip


def comparable_attacks(
    members: Sequence[Pair], others: Sequence[Pair], rules: Sequence[Statistic]
) -> tuple[dict[int, tuple[Group, Group]], dict[int, str]]:
    """Return the checked groups of the attacks that can be compared, and why the others cannot."""
    if not len(members) == len(others) == len(rules):
        raise InputError(
            f"A family needs members, others and statistics for the same attacks. "
            f"Got {len(members)}, {len(others)} and {len(rules)}."
        )
    comparable: dict[int, tuple[Group, Group]] = {}
    excluded: dict[int, str] = {}
    sizes = set()
    for j, rule in enumerate(rules):
        first, second, reason = checked(members[j], others[j], rule)
        sizes.add((len(first[0]), len(second[0])))
        if not reason and _one_score(first, second, rule):
            reason = "all people whom the measure counts score the same."
        if reason:
            excluded[j] = f"Excluded: {reason}"
        else:
            comparable[j] = (first, second)
    if len(sizes) > 1:
        raise InputError(f"All attacks of a family must be on the same people. Got {len(sizes)} different group sizes.")
    return comparable, excluded


def _one_score(members: Group, others: Group, rule: Statistic) -> bool:
    """Return whether no choice of members could have another excess: every counted person scores the same."""
    first, second = (np.concatenate([members[k], others[k]]) for k in (0, 1))
    if isinstance(rule, Ratio):
        counted = second > 0
        scores = first[counted] / second[counted]
    else:
        scores = second[first >= 0]
        if getattr(rule, "empty", "") == "zero" and scores.max(initial=0.0) > 0:
            return False  # which classes have people differs from choice to choice
    return bool(np.ptp(scores) < 1e-12)


def standardised(excesses: Floats) -> Floats:
    centred = excesses - excesses.mean(axis=0)
    spread = centred.std(axis=0)
    scaled: Floats = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-12)
    return scaled


def _shares(given: Sequence[float | None], attacks: int, comparable: Sequence[int]) -> Floats:
    """Return the share of each attack that can be compared: those given, and of the rest an equal part for each other."""
    known = [share for share in given if share is not None]
    if len(given) != attacks or any(not 0.0 < share < 1.0 for share in known) or sum(known) >= 1.0 + 1e-9:
        raise InputError("level_shares must be one share for each attack, above 0 and together below 1, or None. Some are not.")
    here = [given[j] for j in comparable]
    rest = max(1.0 - sum(share or 0.0 for share in here), 1e-6) / max(here.count(None), 1)
    return np.array([rest if share is None else share for share in here])


def _evidence(z: Floats, shares: Floats) -> Floats:
    """Return how far out standardised excesses are for the shares of the level: minus the log of their normal tail over the share."""
    from scipy.special import log_ndtr

    out: Floats = np.log(shares) - log_ndtr(-z)
    return out


def reach_of(drawn: Floats, level: float) -> float:
    """Return how many standard errors below its value a bound must lie for all bounds to hold together."""
    from scipy.special import ndtri

    short = -standardised(drawn)  # percentiles: a draw far below its mean is a value that far above the truth's bound
    return max(float(np.quantile(short.max(axis=1), level, method="weibull")), float(ndtri(level)))
