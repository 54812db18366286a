"""What runs prove about a claim: epsilon, mu or rho, each as the share of guesses that can be right, and back.

Every run is on D or on D' by the toss of a coin, and an attacker guesses which. A claim limits how often that can be right, so an exact
bound on that share is a bound on the claimed number. One count, of right guesses, stands for both rates: a claim is tested once.

- epsilon (pure): whatever a run showed, the coin is guessed with a probability of at most e^epsilon / (1 + e^epsilon), also if one guesses
  only in the runs that tell most (Bayes' rule; Steinke, Nasr and Jagielski 2023, Theorem 5.2). With a delta, each run in addition gives its
  coin away with probability delta (Kairouz, Oh and Viswanath 2015, Theorem 2.1): as many right guesses are taken off.
- mu (Gaussian privacy): no test tells better than a draw from N(0, 1) from one from N(mu, 1); guessing in every run, Phi(mu / 2) are right
  (Dong, Roth and Su 2022). A composition of Gaussian mechanisms with a rho in all has mu = sqrt(2 rho).
- rho (zCDP): the Renyi divergence of order a is at most a rho in both directions. If a share s of all guesses is right, tossing a coin for
  what D and D' are called leaves a test that is right with s either way, and no processing makes a divergence larger, nor does
  the mixture with its mirror image exceed both: the divergence of Bernoulli(s) from Bernoulli(1 - s) is at most a rho for every a.

Rules and thresholds are chosen on other runs than those that are counted.

Two rates prove something about epsilon too (`epsilon_lower`). Two neighbouring tables, D without the target and D' with it, are each given to a synthesiser many times. An attacker, settled beforehand,
says for each run which of the two it was. If the synthesiser is (epsilon, delta)-private, then for the event "says D'" and for its
opposite, whatever the attacker does,

    P(says D' | D') <= exp(epsilon) P(says D' | D) + delta    and    P(says D | D) <= exp(epsilon) P(says D | D') + delta

(Kairouz, Oh and Viswanath 2015, Theorem 2.1), so each of the two rates that are not what the claim allows refutes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError
from ..._base.registry import Registry
from ...privacy.accounting import (
    amount_to_epsilon,
    epsilon_to_amount,
    epsilon_to_rho,
    rho_to_epsilon,
)
from ...privacy.ledger import Accounting
from ...stats.intervals import clopper_pearson, exact_lower

ORDERS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Orders of the Renyi divergence that are tried; each is a valid bound, and the first, the relative entropy, is the best in most cases."""


POWER = 0.8
"""The probability with which a violation is found that an audit names."""


CUTS = 60
"""Places of a line between scores that are tried: so many quantiles of them, and 0."""


DELTA_PART = 0.1
"""The part of the odds of error that goes to runs which give their coin away, where there is a delta."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """What is claimed: `name`, how to say it, and what it says about guesses.

    `lower_bound` returns from a share of right guesses, above one half, the least amount of it that allows that; 0 up to one half. `abstains`:
    whether an attacker may guess in some of the runs only. `of_information` returns the least amount that allows a relative entropy (the mean of
    both directions); None where it says less than guesses do, and `information` is its inverse.
    """

    name: str
    definition: str
    lower_bound: Callable[[float], float]
    abstains: bool = False
    of_information: Callable[[float], float] | None = None
    information: Callable[[float], float] = float


MEASURES: Registry[Measure] = Registry("measure of privacy")


@dataclass(frozen=True)
class Claim:
    """An amount of a measure. `delta` counts where the measure is epsilon.

    `epsilon` is what the whole claim states: an amount of mu or rho is what the method's own accounting makes of it and its delta.

    Examples
    --------
    >>> round(Claim("epsilon", 1.0, 1.0).lower_bound(0.75), 6), round(Claim("mu", 1.0, 4.0).lower_bound(0.75), 6)
    (1.098612, 1.34898)
    """

    measure: str
    amount: float
    epsilon: float
    delta: float = 0.0
    accounting: Accounting = "zcdp"

    @property
    def what(self) -> Measure:
        """The measure itself."""
        return MEASURES[self.measure]

    def lower_bound(self, share: float) -> float:
        """Return the least amount that allows a share of right guesses."""
        return self.what.lower_bound(share)

    @property
    def information(self) -> float:
        """The largest relative entropy that is claimed, where the measure bounds it."""
        return self.what.information(self.amount)

    def epsilon_at(self, times: float) -> float:
        """Return the epsilon, at the delta of the claim, where noise is so many times smaller than the claim needs."""
        if self.measure == "epsilon":
            return times * self.epsilon
        if self.accounting == "gaussian":
            return amount_to_epsilon(
                times**2 * epsilon_to_amount(self.epsilon, self.delta), self.delta
            )
        return rho_to_epsilon(times**2 * epsilon_to_rho(self.epsilon, self.delta), self.delta)


def claim_of(epsilon: float, delta: float, *, accounting: Accounting, sigma: float | None) -> Claim:
    """Return what a claim of (epsilon, delta) is for a method that adds up what it spends by an accounting.

    Under Gaussian accounting it is a mu, also of choices, and whole-numbered noise is paid for.

    `sigma`, for zCDP: the least standard deviation of its noise in units of counts, if all of it is Gaussian; None if some is not.
    Whole-numbered Gaussian noise is a little easier to tell from its neighbour than a normal law, by about 1 / (24 sigma^2) in mu: one
    twentieth is allowed for, and below a sigma of 1 the claim is taken as rho, which holds for whole-numbered noise as it stands.

    Examples
    --------
    >>> claim_of(1.0, 0.0, accounting="pure", sigma=None).measure, claim_of(1.0, 1e-6, accounting="zcdp", sigma=None).measure
    ('epsilon', 'rho')
    >>> [round(claim_of(1.0, 1e-6, accounting=kind, sigma=8.0).amount, 4) for kind in ("zcdp", "gaussian")]
    [0.2209, 0.2367]
    """
    if accounting == "pure" or not delta:
        return Claim("epsilon", epsilon, epsilon, delta)
    if accounting == "gaussian":
        return Claim("mu", sqrt(2 * epsilon_to_amount(epsilon, delta)), epsilon, delta, accounting)
    rho = epsilon_to_rho(epsilon, delta)
    if sigma is None or sigma < 1:
        return Claim("rho", rho, epsilon, delta)
    return Claim("mu", sqrt(2 * rho) * (1 + 1 / (20 * sigma**2)), epsilon, delta)


def _mu(share: float) -> float:
    from scipy.special import ndtri

    return 2 * float(ndtri(share)) if 0.5 < share < 1 else 0.0


def _rho(share: float) -> float:
    if not 0.5 < share < 1:
        return 0.0
    odds = log(share / (1 - share))
    best = (2 * share - 1) * odds  # order 1: the relative entropy
    for order in ORDERS[1:]:
        # log(s^a (1-s)^(1-a) + (1-s)^a s^(1-a)) = log(s e^((a-1) odds) + (1-s) e^(-(a-1) odds)), from the larger term down.
        step = (order - 1) * odds
        best = max(best, (step + log(share + (1 - share) * exp(-2 * step))) / (order - 1) / order)
    return best


MEASURES.register(
    Measure(
        name="epsilon",
        definition="Pure privacy: no probability changes by more than a factor of exp(epsilon).",
        lower_bound=lambda share: log(share / (1 - share)) if 0.5 < share < 1 else 0.0,
        abstains=True,
    )
)


MEASURES.register(
    Measure(
        name="mu",
        definition="Gaussian privacy: as hard to tell apart as two normal laws mu standard deviations apart.",
        lower_bound=_mu,
        of_information=lambda entropy: sqrt(2 * entropy),
        information=lambda mu: mu**2 / 2,
    )
)


MEASURES.register(
    Measure(
        name="rho",
        definition="Zero-concentrated privacy: the Renyi divergence of order a is at most a rho.",
        lower_bound=_rho,
        of_information=float,
    )
)


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
    positive_counts = np.maximum(counts, 1e-9)
    return np.where(
        counts > 0, betaincinv(positive_counts, np.maximum(trials - counts, 0) + 1, odds), 0.0
    )


def guess(
    rule: Rule, scores: ArrayLike, member: NDArray[np.bool_], claim: Claim, *, level: float
) -> Guessed:
    """Return what a rule's guesses on test runs prove about a claim. `member`: for each run whether it was on D'."""
    with_, without = rule.guesses(scores)
    right = int((with_ & member).sum() + (without & ~member).sum())
    guesses, runs = int(with_.sum() + without.sum()), len(member)
    share = float(least_share(right, guesses, runs, delta=_delta(claim), level=level))
    return Guessed(runs, guesses, right, claim.lower_bound(share))


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
        best_index = (
            int(np.lexsort((-gain, -share))[0]) if share.max() > 0.5 else int(np.argmax(gain))
        )
        bound = claim.lower_bound(float(share[best_index]))
        if (bound, float(gain[best_index])) > best:
            best = bound, float(gain[best_index])
            chosen = Rule(float(cuts[low[best_index]]), float(cuts[high[best_index]]), sign, bound)
    return chosen


def least_right(claim: Claim, guesses: int, runs: int, *, level: float) -> int:
    """Return the fewest right guesses out of some that refute a claim; one more than all of them where none do."""
    low, high = 0, guesses + 1
    while low < high:
        middle = (low + high) // 2
        share = float(least_share(middle, guesses, runs, delta=_delta(claim), level=level))
        low, high = (low, middle) if claim.lower_bound(share) > claim.amount else (middle + 1, high)
    return low


def power(claim: Claim, runs: int, *, guesses: float, right: float, level: float) -> float:
    """Return the probability of refuting a claim with `runs` test runs.

    `guesses`, `right`: the share of runs in which a guess is made, and the probability that it is right.
    """
    from scipy.stats import binom

    many = round(runs * guesses)
    min_right = least_right(claim, many, runs, level=level)
    return 0.0 if min_right > many else float(binom.sf(min_right - 1, many, right))


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


def epsilon_lower(
    true_positives: int,
    positives: int,
    false_positives: int,
    negatives: int,
    *,
    delta: float = 0.0,
    level: float = 0.99,
) -> float:
    """Return a lower bound on epsilon from test runs, at least 0; it holds with a confidence of at least `level`.

    The rate of true positives is at least its exact (Clopper-Pearson) bound from below, the rate of false positives at most its own
    from above, each but for half of 1 - level, so both hold together with `level`. Both directions follow from these two:
    log((TPR - delta) / FPR) for "says D'", log((1 - FPR - delta) / (1 - TPR)) for "says D"; the larger is taken, at no further cost.

    `true_positives`, `positives`: how often the attacker said D' in runs on D', and how many there were. `false_positives`,
    `negatives`: how often it said D' in runs on D, and how many there were. `delta`: the delta of the claim.

    Examples
    --------
    With 100 runs each and no mistake both rates are within 1 - 0.005^(1/100) = 0.0516 of perfect: log(0.9484 / 0.0516).

    >>> round(epsilon_lower(100, 100, 0, 100), 3)
    2.911
    >>> epsilon_lower(50, 100, 50, 100)
    0.0
    """
    _check_counts(true_positives, positives)
    _check_counts(false_positives, negatives)
    _check_odds(delta, level)
    low = clopper_pearson(true_positives, positives, level=level)[0]
    high = clopper_pearson(false_positives, negatives, level=level)[1]
    return float(_epsilon_of_rates(np.array(low), np.array(high), delta))


def bonferroni_level(level: float, tests: int) -> float:
    """Return the level of each of several tests so that all hold together with `level` (Bonferroni).

    Examples
    --------
    >>> round(bonferroni_level(0.99, 4), 6)
    0.9975
    """
    _check_odds(0.0, level)
    return 1 - (1 - level) / max(tests, 1)


@dataclass(frozen=True)
class Threshold:
    """From which score on an attacker says D'.

    `value`: where the line is drawn; infinite where the attacker always says the same. `above`: whether scores above it (and not below
    it) mean D'. No score lies on it that was seen when it was chosen. `bound`: the bound on epsilon on the runs that it was chosen on:
    flattering, not a result.
    """

    value: float
    above: bool = True
    bound: float = 0.0

    def says_with(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Return for each score whether the attacker says D'.

        Examples
        --------
        >>> Threshold(0.5, above=False).says_with([0.2, 0.7]).tolist()
        [True, False]
        """
        numbers = np.asarray(scores, dtype=np.float64)
        return numbers > self.value if self.above else numbers < self.value


def choose_threshold(
    scores: ArrayLike, member: ArrayLike, *, delta: float = 0.0, level: float = 0.99
) -> Threshold:
    """Return the threshold and the direction with the largest bound on validation runs; never choose it on the test runs.

    Where several have the same bound (such as none), the one with the largest difference of the two rates is taken.

    `scores`, `member`: for each validation run the attacker's score, larger for D', and whether it was on D'.

    Examples
    --------
    >>> choose_threshold([1.0, 2.0, 3.0, 4.0], [False, False, True, True])
    Threshold(value=2.5, above=True, bound=0.0)
    """
    numbers, inside = np.asarray(scores, dtype=np.float64), np.asarray(member, dtype=bool)
    if numbers.ndim != 1 or numbers.shape != inside.shape or not np.isfinite(numbers).all():
        raise InputError(
            "choose_threshold needs a finite score for each run, and whether the run was with the target."
        )
    _check_odds(delta, level)
    positives, negatives = int(inside.sum()), int((~inside).sum())
    if not positives or not negatives:
        raise InputError("choose_threshold needs runs on both tables.")
    values, value_index = np.unique(numbers, return_inverse=True)
    hits = np.bincount(value_index[inside], minlength=len(values))
    alarms = np.bincount(value_index[~inside], minlength=len(values))
    # Cut number i keeps values i and after it above the line; one cut is below all values: "always says D'".
    over, false_over = hits[::-1].cumsum()[::-1], alarms[::-1].cumsum()[::-1]
    hit = np.concatenate([over, positives - over])
    alarm = np.concatenate([false_over, negatives - false_over])
    lowest, highest = (
        exact_lower(hit, positives, level=level),
        1 - exact_lower(negatives - alarm, negatives, level=level),
    )
    bounds = _epsilon_of_rates(lowest, highest, delta)
    gap = hit / positives - alarm / negatives
    best = int(np.lexsort((-gap, -bounds))[0])
    cut = best % len(values)
    line = float("-inf") if cut == 0 else _between(values[cut - 1], values[cut])
    return Threshold(line, best < len(values), float(bounds[best]))


def _between(low: float, high: float) -> float:
    """A number above `low` and at most `high`, half-way where doubles allow it; `says_with` compares strictly."""
    middle = low + (high - low) / 2
    return float(middle if low < middle < high else low)


def _epsilon_of_rates(
    low: NDArray[np.float64], high: NDArray[np.float64], delta: float
) -> NDArray[np.float64]:
    """The bound on epsilon from bounds on the two rates: true positives from below, false positives from above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        with_ = np.log(np.maximum(low - delta, 0.0) / high)
        without = np.log(np.maximum(1 - high - delta, 0.0) / (1 - low))
    return np.maximum(0.0, np.nan_to_num(np.maximum(with_, without), nan=0.0, neginf=0.0))


def _check_counts(successes: Any, trials: Any) -> None:
    all_integers = all(
        isinstance(n, int | np.integer) and not isinstance(n, bool) for n in (successes, trials)
    )
    if not all_integers or not 0 <= successes <= trials:
        raise InputError(
            f"Counts of runs must be whole numbers, 0 to the number of runs. Got {successes} of {trials}."
        )


def _check_odds(delta: float, level: float) -> None:
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1. Got {delta}.")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, such as 0.99. Got {level}.")
