"""Intervals: for rates of independent trials, for repeated runs, and for anything computed from counts of groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["clopper_pearson", "jackknife", "mean_interval", "wilson"]

Interval = tuple[float, float]


def wilson(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a rate of independent trials; (0, 1) without any trial.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(23, 100)]
    [0.1584, 0.3215]
    """
    if trials <= 0:
        return 0.0, 1.0
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return (max(0.0, centre - half) if successes else 0.0), (min(1.0, centre + half) if successes < trials else 1.0)


def clopper_pearson(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Return the exact interval of a rate of independent trials: covers at least as often as it says.

    Examples
    --------
    >>> [round(end, 6) for end in clopper_pearson(85, 100)]
    [0.764692, 0.913546]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return low, high


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> Interval | None:
    """Return Student's interval of the mean of repeated runs; None for fewer than two.

    Runs that share records are not independent, and then the interval is too narrow: say so beside it.
    """
    if len(values) < 2:
        return None
    from scipy.special import stdtrit

    middle, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    half = float(stdtrit(len(values) - 1, 0.5 + level / 2)) * sd / sqrt(len(values))
    return middle - half, middle + half


def jackknife(value: float, without: ArrayLike, *, low: float = -np.inf, high: float = np.inf) -> Interval:
    """Return a 95 % interval around a value from the values without each of g groups of records in turn.

    The delete-a-group jackknife: variance (g - 1)/g times the sum of squares about the mean. Counts add, so a value
    without a group costs a subtraction. Ends are cut at `low` and `high`, the ends of the value's range.

    Examples
    --------
    >>> x = np.arange(10.0)
    >>> [round(end, 3) for end in jackknife(x.mean(), (x.sum() - x) / 9)]  # mean +- t of 9 degrees x standard error
    [2.334, 6.666]
    """
    from scipy.special import stdtrit

    left = np.asarray(without, dtype=np.float64)
    groups = len(left)
    error = sqrt((groups - 1) / groups * float(((left - left.mean()) ** 2).sum()))
    value, half = float(value), float(stdtrit(groups - 1, 0.975)) * error
    return max(low, value - half), min(high, value + half)
