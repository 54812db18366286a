"""Intervals: for rates of independent trials and of trials in clusters, for AUCs, for repeated runs, and for anything computed from counts.

Risk, membership, audits and outputs take theirs from here; `crossed` has those of means over people and datasets at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Interval = tuple[float, float]


class LimitState(StrEnum):
    """What confidence bounds say of a limit: it is exceeded, it is shown to be kept, or neither."""

    EXCEEDS = "exceeds"
    SHOWN = "shown to keep"
    UNDECIDED = "undecided"


def limit_state(lower: float | None, upper: float | None, limit: float) -> LimitState:
    """Return what bounds of a quantity say of a limit on it; a bound that is not known decides nothing.

    Examples
    --------
    >>> [str(limit_state(*bounds, 0.05)) for bounds in ((0.06, 0.2), (-0.01, 0.049), (-0.01, 0.2), (-0.01, None), (None, 0.01))]
    ['exceeds', 'shown to keep', 'undecided', 'undecided', 'shown to keep']
    """
    if lower is not None and lower > limit:
        return LimitState.EXCEEDS
    return LimitState.SHOWN if upper is not None and upper <= limit else LimitState.UNDECIDED


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
    half = (
        z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    )
    return (max(0.0, centre - half) if successes else 0.0), (
        min(1.0, centre + half) if successes < trials else 1.0
    )


def clopper_pearson(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """Return the exact interval of a rate of independent trials: covers at least as often as it says. Counts need not be whole.

    Examples
    --------
    >>> [round(end, 6) for end in clopper_pearson(85, 100)]
    [0.764692, 0.913546]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = (
        float(betaincinv(successes + 1, trials - successes, 1 - tail))
        if successes < trials
        else 1.0
    )
    return low, high


def exact_lower(
    successes: NDArray[np.int64], trials: int, *, level: float = 0.95
) -> NDArray[np.float64]:
    """Return the lower ends of Clopper and Pearson's intervals for many counts at once; the upper end is 1 less that of the misses."""
    from scipy.special import betaincinv

    some = np.maximum(successes, 1)
    return np.where(successes > 0, betaincinv(some, trials - some + 1, (1 - level) / 2), 0.0)


def clustered_rate(hits: NDArray[Any], cluster: NDArray[Any], *, level: float = 0.95) -> Interval:
    """Return Korn and Graubard's (1998) interval of the share of trials that hit, trials of one cluster not independent.

    It is Clopper and Pearson's exact interval with the trials divided by the design effect, the variance between clusters over that of
    independent trials, at least 1. With one trial a cluster it is the exact one. Where all trials agree (a rate of 0 or 1) no design
    effect can be found, and clusters are counted in place of trials: wide, but safe.

    Examples
    --------
    >>> [round(end, 6) for end in clustered_rate(np.arange(100) < 85, np.arange(100))]  # Clopper and Pearson
    [0.764692, 0.913546]
    """
    n, rate = len(hits), float(np.mean(hits))
    _, number = np.unique(cluster, return_inverse=True)
    clusters = int(number.max()) + 1
    trials = float(n)
    if clusters < n:
        if rate in (0.0, 1.0) or clusters < 2:
            trials = float(clusters)
        else:
            off = np.bincount(number, weights=hits - rate)
            variance = clusters / (clusters - 1) * float(off @ off) / n**2
            effect = max(1.0, variance / (rate * (1 - rate) / n))
            tail = 0.5 + level / 2
            # Few clusters: the variance itself is uncertain.
            trials = (
                n
                / effect
                * min(
                    1.0, (student_quantile(tail, n - 1) / student_quantile(tail, clusters - 1)) ** 2
                )
            )
    return clopper_pearson(rate * trials, trials, level=level)


def clustered_auc(
    scores: NDArray[Any],
    member: NDArray[np.bool_],
    cluster: NDArray[np.int64],
    *,
    stratum: NDArray[np.int64] | None = None,
    level: float = 0.95,
) -> tuple[float, Interval]:
    """Return the chance that a member scores above another, ties half, and its interval, trials of one cluster not independent.

    A score interval with the shape of Newcombe's (2006, method 5), which also holds near 1, scaled so that its variance at the value is that of
    DeLong's components summed by cluster (Obuchowski, 1997). Components count ties as they are: scores with few values vary less
    than a model without ties says. Components vary about the mean of members, or others, of their own stratum: where a design fixes how many
    members each stratum (a target) has, what strata differ by is no noise. Student's quantile takes its degrees of freedom from how evenly clusters
    share the variance (Satterthwaite): near 1 a few clusters have all of it. Where nothing varies (all scores tied, or members apart from others)
    the model's own variance stands in, with clusters for trials. Clusters and strata are numbered from 0, without gaps.

    Examples
    --------
    >>> scores, member = np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True])
    >>> value, (low, high) = clustered_auc(scores, member, np.arange(4))
    >>> value, low < 0.5 < value < high <= 1
    (0.875, True)
    """
    from scipy.optimize import brentq
    from scipy.stats import rankdata

    inside = member
    m, n = int(inside.sum()), int((~inside).sum())
    # DeLong's components: for each member the share of others below, for each other the share of members above.
    every = rankdata(scores)
    below = (every[inside] - rankdata(scores[inside])) / n
    above = 1 - (every[~inside] - rankdata(scores[~inside])) / m
    value = float(below.mean())
    part = np.empty(len(inside))
    part[inside], part[~inside] = (below - value) / m, (above - value) / n
    sums = _cluster_sums(part, 2 * (0 if stratum is None else stratum) + inside, cluster)
    squares, fourths = float((sums**2).sum()), float((sums**4).sum())
    equal = (m + n) / 2 - 1

    def model(area: float) -> float:
        return (
            area
            * (1 - area)
            * (1 + equal * ((1 - area) / (2 - area) + area / (1 + area)))
            / (m * n)
        )

    degrees = float(len(sums) - 1)
    ratio = len(inside) / len(sums)
    if 0 < value < 1 and fourths > 0:
        ratio = squares / model(value)
        # The variance of a variance is (kurtosis - 1) / clusters of its square: 2 / clusters where sums are normal.
        degrees = min(degrees, 2 * len(sums) / max(len(sums) * fourths / squares**2 - 1, 1e-9))
    z = student_quantile(0.5 + level / 2, max(degrees, 1.0))

    def off(area: float) -> float:
        return (value - area) ** 2 - z * z * ratio * model(area)

    # The difference is positive at both ends and negative at the value; at 0 and 1 themselves the variance is 0.
    low = brentq(off, 0.0, min(value, 1 - 1e-12)) if value > 0 else 0.0
    high = brentq(off, max(value, 1e-12), 1.0) if value < 1 else 1.0
    return value, (float(low), float(high))


def _cluster_sums(
    part: NDArray[np.float64], cell: NDArray[np.int64], cluster: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The sum of each cluster's parts about the means of their cells, each cell corrected for its own mean by its clusters."""
    clusters, cells = int(cluster.max()) + 1, int(cell.max()) + 1
    trials = np.bincount(cell, minlength=cells)
    mean = np.bincount(cell, weights=part, minlength=cells) / np.maximum(trials, 1)
    groups = np.bincount(np.unique(cell * clusters + cluster) // clusters, minlength=cells)
    correction = np.where(groups > 1, groups / np.maximum(groups - 1, 1), 2.0)
    about_means = (part - mean[cell]) * np.sqrt(correction)[cell]
    return np.asarray(
        np.bincount(cluster, weights=about_means, minlength=clusters), dtype=np.float64
    )


def student_quantile(share: float, degrees: float) -> float:
    """Return Student's quantile; with infinitely many degrees of freedom the normal one.

    Examples
    --------
    >>> round(student_quantile(0.975, 10.0), 3), round(student_quantile(0.975, float("inf")), 3)
    (2.228, 1.96)
    """
    from scipy.special import ndtri, stdtrit

    return float(ndtri(share)) if degrees == np.inf else float(stdtrit(degrees, share))


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> Interval | None:
    """Return Student's interval of the mean of repeated runs; None for fewer than two.

    Runs that share records are not independent, and then the interval is too narrow: say so beside it.
    """
    if len(values) < 2:
        return None
    middle, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    half = student_quantile(0.5 + level / 2, len(values) - 1) * sd / sqrt(len(values))
    return middle - half, middle + half


def jackknife(
    value: float, without: ArrayLike, *, low: float = -np.inf, high: float = np.inf
) -> Interval:
    """Return a 95 % interval around a value from the values without each of g groups of records in turn.

    The delete-a-group jackknife: variance (g - 1)/g times the sum of squares about the mean. Counts add, so a value
    without a group costs a subtraction. Ends are cut at `low` and `high`, the ends of the value's range.

    Examples
    --------
    >>> x = np.arange(10.0)
    >>> [round(end, 3) for end in jackknife(x.mean(), (x.sum() - x) / 9)]  # mean +- t of 9 degrees x standard error
    [2.334, 6.666]
    """
    left = np.asarray(without, dtype=np.float64)
    groups = len(left)
    error = sqrt((groups - 1) / groups * float(((left - left.mean()) ** 2).sum()))
    value, half = float(value), student_quantile(0.975, groups - 1) * error
    return max(low, value - half), min(high, value + half)
