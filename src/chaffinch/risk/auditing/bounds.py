"""What two rates of test runs prove about epsilon: exact bounds, and thresholds chosen apart from the test runs.

Two neighbouring tables, D without the target and D' with it, are each given to a synthesiser many times. An attacker, settled beforehand,
says for each run which of the two it was. If the synthesiser is (epsilon, delta)-private, then for the event "says D'" and for its
opposite, whatever the attacker does,

    P(says D' | D') <= exp(epsilon) P(says D' | D) + delta    and    P(says D | D) <= exp(epsilon) P(says D | D') + delta

(Kairouz, Oh and Viswanath 2015, Theorem 2.1), so each of the two rates that are not what the claim allows refutes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError
from ...stats.intervals import clopper_pearson, exact_lower


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
    return float(_epsilon(np.array(low), np.array(high), delta))


def divided(level: float, tests: int) -> float:
    """Return the level of each of several tests so that all hold together with `level` (Bonferroni).

    Examples
    --------
    >>> round(divided(0.99, 4), 6)
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
    values, place = np.unique(numbers, return_inverse=True)
    hits = np.bincount(place[inside], minlength=len(values))
    alarms = np.bincount(place[~inside], minlength=len(values))
    # Cut number i keeps values i and after it above the line; one cut is below all values: "always says D'".
    over, false_over = hits[::-1].cumsum()[::-1], alarms[::-1].cumsum()[::-1]
    hit = np.concatenate([over, positives - over])
    alarm = np.concatenate([false_over, negatives - false_over])
    lowest, highest = (
        exact_lower(hit, positives, level=level),
        1 - exact_lower(negatives - alarm, negatives, level=level),
    )
    bounds = _epsilon(lowest, highest, delta)
    gap = hit / positives - alarm / negatives
    best = int(np.lexsort((-gap, -bounds))[0])
    cut = best % len(values)
    line = float("-inf") if cut == 0 else _between(values[cut - 1], values[cut])
    return Threshold(line, best < len(values), float(bounds[best]))


def _between(low: float, high: float) -> float:
    """A number above `low` and at most `high`, half-way where doubles allow it; `says_with` compares strictly."""
    middle = low + (high - low) / 2
    return float(middle if low < middle < high else low)


def _epsilon(
    low: NDArray[np.float64], high: NDArray[np.float64], delta: float
) -> NDArray[np.float64]:
    """The bound on epsilon from bounds on the two rates: true positives from below, false positives from above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        with_ = np.log(np.maximum(low - delta, 0.0) / high)
        without = np.log(np.maximum(1 - high - delta, 0.0) / (1 - low))
    return np.maximum(0.0, np.nan_to_num(np.maximum(with_, without), nan=0.0, neginf=0.0))


def _check_counts(successes: Any, trials: Any) -> None:
    whole = all(
        isinstance(n, int | np.integer) and not isinstance(n, bool) for n in (successes, trials)
    )
    if not whole or not 0 <= successes <= trials:
        raise InputError(
            f"Counts of runs must be whole numbers, 0 to the number of runs. Got {successes} of {trials}."
        )


def _check_odds(delta: float, level: float) -> None:
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1. Got {delta}.")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, such as 0.99. Got {level}.")
