"""Guesses at coins: who guesses what from a score, what right guesses prove about a claim, and which violation they would have found.

Rules are chosen on other runs than those that are counted. What a share of right guesses says about a claim stands in `measures`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError
from .measures import Claim

POWER = 0.8
"""The probability with which a violation is found that an audit names."""
CUTS = 60
"""Places of a line between scores that are tried: so many quantiles of them, and 0."""
DELTA_PART = 0.1
"""The part of the odds of error that goes to runs which give their coin away, where there is a delta."""


@dataclass(frozen=True)
class Rule:
    """Guess D' where `sign` times a score is above `high`, D where it is below `low`, and nothing between.

    `bound` is that on the runs which it was chosen on: flattering, no result.
    """

    low: float
    high: float
    sign: int = 1
    bound: float = 0.0

    def guesses(self, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return for each score whether D', and whether D, is guessed. On the line itself D is, where nothing lies between.

        Examples
        --------
        >>> [guess.tolist() for guess in Rule(-1.0, 1.0).guesses([-2.0, 0.0, 3.0])]
        [[False, False, True], [True, False, False]]
        """
        numbers = self.sign * np.asarray(scores, dtype=np.float64)
        with_ = numbers > self.high
        return with_, ~with_ if self.low == self.high else numbers < self.low


@dataclass(frozen=True)
class Guessed:
    """How often an attacker guessed in test runs, how often that was right, and the bound on the claimed amount that follows."""

    runs: int
    guesses: int
    right: int
    bound: float


def least_share(
    right: ArrayLike, guesses: ArrayLike, runs: int, *, delta: float, level: float
) -> NDArray[np.float64]:
    """Return the least probability of a right guess that counts of them allow, with the confidence `level` (Clopper and Pearson, one end).

    With a delta, `runs` may each have given their coin away with that probability: the most right guesses that can have come of that are
    taken off first, at a tenth of the odds of error.

    Examples
    --------
    >>> least_share(100, 100, 100, delta=0.0, level=0.99).round(6).tolist()  # 0.01^(1/100)
    0.954993
    """
    from scipy.special import betaincinv
    from scipy.stats import binom

    odds, free = 1 - level, 0
    if delta:
        free = int(binom.isf(DELTA_PART * odds, runs, delta))
        odds *= 1 - DELTA_PART
    counts, trials = (
        np.asarray(right, dtype=np.float64) - free,
        np.asarray(guesses, dtype=np.float64),
    )
    some = np.maximum(counts, 1e-9)
    return np.where(counts > 0, betaincinv(some, np.maximum(trials - counts, 0) + 1, odds), 0.0)


def guess(
    rule: Rule, scores: ArrayLike, member: NDArray[np.bool_], claim: Claim, *, level: float
) -> Guessed:
    """Return what a rule's guesses on test runs prove about a claim. `member`: for each run whether it was on D'."""
    with_, without = rule.guesses(scores)
    right = int((with_ & member).sum() + (without & ~member).sum())
    guesses, runs = int(with_.sum() + without.sum()), len(member)
    share = float(least_share(right, guesses, runs, delta=_delta(claim), level=level))
    return Guessed(runs, guesses, right, claim.least(share))


def choose_rule(scores: ArrayLike, member: ArrayLike, claim: Claim, *, level: float) -> Rule:
    """Return the rule with the largest bound on some runs; where several have the same, the one with the most right guesses beyond half.

    Where the claim's measure allows no abstention every run is guessed. Never choose it on the runs that are counted.

    Examples
    --------
    >>> choose_rule([1.0, 2.0, 3.0, 4.0], [False, False, True, True], Claim("mu", 1.0, 1.0), level=0.5)
    Rule(low=2.5, high=2.5, sign=1, bound=1.996...)
    """
    numbers, inside = np.asarray(scores, dtype=np.float64), np.asarray(member, dtype=bool)
    if (
        numbers.ndim != 1
        or numbers.shape != inside.shape
        or not len(numbers)
        or not np.isfinite(numbers).all()
    ):
        raise InputError(
            "choose_rule needs a finite score for each run, and whether the run was with the target."
        )
    best: tuple[float, float] = (-1.0, 0.0)
    chosen = Rule(0.0, 0.0)
    for sign in (1, -1):
        values = np.sort(sign * numbers)
        cuts = _cuts(values)
        ordered = inside[np.argsort(sign * numbers, kind="stable")]
        members = np.concatenate([[0], ordered.cumsum()])
        below = np.searchsorted(
            values, cuts, side="left"
        )  # no value lies on a cut, but it may on 0
        upto = np.searchsorted(values, cuts, side="right")
        if claim.what.abstains:
            low, high = np.triu_indices(len(cuts))
        else:
            low = high = np.arange(len(cuts))
        under = np.where(low == high, upto[low], below[low])
        over = len(values) - upto[high]
        right = (under - members[under]) + (members[-1] - members[upto[high]])
        share = least_share(right, under + over, len(values), delta=_delta(claim), level=level)
        gain = right - (under + over) / 2
        place = int(np.lexsort((-gain, -share))[0]) if share.max() > 0.5 else int(np.argmax(gain))
        bound = claim.least(float(share[place]))
        if (bound, float(gain[place])) > best:
            best = bound, float(gain[place])
            chosen = Rule(float(cuts[low[place]]), float(cuts[high[place]]), sign, bound)
    return chosen


def least_right(claim: Claim, guesses: int, runs: int, *, level: float) -> int:
    """Return the fewest right guesses out of some that refute a claim; one more than all of them where none do."""
    low, high = 0, guesses + 1
    while low < high:
        middle = (low + high) // 2
        share = float(least_share(middle, guesses, runs, delta=_delta(claim), level=level))
        low, high = (low, middle) if claim.least(share) > claim.amount else (middle + 1, high)
    return low


def power(claim: Claim, runs: int, *, guesses: float, right: float, level: float) -> float:
    """Return the probability of refuting a claim with `runs` test runs.

    `guesses`, `right`: the share of runs in which a guess is made, and the probability that it is right.
    """
    from scipy.stats import binom

    many = round(runs * guesses)
    least = least_right(claim, many, runs, level=level)
    return 0.0 if least > many else float(binom.sf(least - 1, many, right))


def _delta(claim: Claim) -> float:
    """The delta that counts: an amount of mu or rho has it inside."""
    return claim.delta if claim.measure == "epsilon" else 0.0


def _cuts(values: NDArray[Any]) -> NDArray[np.float64]:
    """Lines between sorted scores: some quantiles, moved half-way to the next value below, and 0."""
    different = np.unique(values)
    if len(different) == 1:
        return different
    middles = (different[1:] + different[:-1]) / 2
    places = np.searchsorted(middles, np.quantile(values, np.linspace(0, 1, CUTS + 2)[1:-1]))
    ends = np.array([0, len(middles) - 1])
    return np.unique(
        np.concatenate(
            [
                middles[np.unique(np.clip(np.concatenate([places, ends]), 0, len(middles) - 1))],
                [0.0],
            ]
        )
    )
