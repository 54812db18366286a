"""Confidence intervals for rates, clustered trials, AUCs, repeated runs, jackknife estimates and
crossed means over people and datasets; and the result of a measure with its direction and interval.

**Crossed means.** Each person is asked about by each dataset, so the two are crossed. Two things
are uncertain. Another ensemble of datasets would answer differently: the variance over datasets.
And other people could have been asked about: the delete-one jackknife over people, whose influences
are added up with their signs over parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.arrays import Floats
from .._base.results import Number, finite, from_plain, html_table

Interval = tuple[float, float]


class LimitState(StrEnum):
    """The verdict of confidence bounds on a limit: exceeded, shown to be kept, or undecided."""

    EXCEEDS = "exceeds"
    SHOWN = "shown to keep"
    UNDECIDED = "undecided"


def limit_state(lower: float | None, upper: float | None, limit: float) -> LimitState:
    """Return the verdict of confidence bounds on a limit; an unknown bound decides nothing.

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
    """Return the exact interval of a rate of independent trials: coverage at least as stated.
    Counts need not be integers.

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
    """Return the lower ends of Clopper and Pearson's intervals for many counts; an upper end is 1
    minus that of the misses.
    """
    from scipy.special import betaincinv

    positive = np.maximum(successes, 1)
    return np.where(
        successes > 0, betaincinv(positive, trials - positive + 1, (1 - level) / 2), 0.0
    )


def clustered_rate(hits: NDArray[Any], cluster: NDArray[Any], *, level: float = 0.95) -> Interval:
    """Return Korn and Graubard's (1998) interval of a hit rate, for dependent trials within
    clusters.

    It is Clopper and Pearson's exact interval with the trials divided by the design effect, the
    variance between clusters over that of independent trials, at least 1. With one trial a cluster
    it is the exact one. Where all trials agree (a rate of 0 or 1) no design effect can be found,
    and clusters are counted in place of trials: wide, but safe.

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
    """Return the AUC, the probability that a member scores above another (ties half), and its
    interval, for dependent trials within clusters.

    A score interval with the shape of Newcombe's (2006, method 5), which also holds near 1, scaled
    so that its variance at the value is that of DeLong's components summed by cluster (Obuchowski,
    1997). Components count ties as they are: scores with few values vary less than a model without
    ties says. Components vary about the mean of members, or others, of their own stratum: where a
    design fixes how many members each stratum (a target) has, what strata differ by is no noise.
    Student's quantile takes its degrees of freedom from how evenly clusters share the variance
    (Satterthwaite): near 1 a few clusters have all of it. Where nothing varies (all scores tied, or
    members apart from others) the model's own variance stands in, with clusters for trials.
    Clusters and strata are numbered from 0, without gaps.

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
    ranks = rankdata(scores)
    below = (ranks[inside] - rankdata(scores[inside])) / n
    above = 1 - (ranks[~inside] - rankdata(scores[~inside])) / m
    value = float(below.mean())
    components = np.empty(len(inside))
    components[inside], components[~inside] = (below - value) / m, (above - value) / n
    sums = _cluster_sums(components, 2 * (0 if stratum is None else stratum) + inside, cluster)
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
    components: NDArray[np.float64], cell: NDArray[np.int64], cluster: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sum of each cluster's components about the means of their cells, corrected for the
    estimated mean of each cell.
    """
    clusters, cells = int(cluster.max()) + 1, int(cell.max()) + 1
    trials = np.bincount(cell, minlength=cells)
    mean = np.bincount(cell, weights=components, minlength=cells) / np.maximum(trials, 1)
    groups = np.bincount(np.unique(cell * clusters + cluster) // clusters, minlength=cells)
    correction = np.where(groups > 1, groups / np.maximum(groups - 1, 1), 2.0)
    about_means = (components - mean[cell]) * np.sqrt(correction)[cell]
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

    Runs that share records are not independent, and then the interval is too narrow: say so beside
    it.
    """
    if len(values) < 2:
        return None
    middle, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    half = student_quantile(0.5 + level / 2, len(values) - 1) * sd / sqrt(len(values))
    return middle - half, middle + half


def jackknife(
    value: float, without: ArrayLike, *, low: float = -np.inf, high: float = np.inf
) -> Interval:
    """Return a 95 % interval around a value from the values without each of g groups of records in
    turn.

    The delete-a-group jackknife: variance (g - 1)/g times the sum of squares about the mean. Counts
    add, so a value without a group costs a subtraction. Ends are cut at `low` and `high`, the ends
    of the value's range.

    Examples
    --------
    >>> x = np.arange(10.0)
    >>> [round(end, 3) for end in jackknife(x.mean(), (x.sum() - x) / 9)]  # mean +- t of 9 degrees x standard error
    [2.334, 6.666]
    """
    values_without = np.asarray(without, dtype=np.float64)
    groups = len(values_without)
    error = sqrt(
        (groups - 1) / groups * float(((values_without - values_without.mean()) ** 2).sum())
    )
    value, half = float(value), student_quantile(0.975, groups - 1) * error
    return max(low, value - half), min(high, value + half)


LEVEL = 0.95
DRAWS = 1 << 16
"""Draws from which the quantile of the largest of several t statistics is read: it is then off by
about half a per cent of itself.
"""


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, its interval and the degrees of freedom of the error; all
    NaN where nothing was measured.
    """

    value: Number
    error: Number = math.nan
    low: Number = math.nan
    high: Number = math.nan
    freedom: Number = math.inf

    @property
    def quantile(self) -> float:
        """The half width of the interval in standard errors; NaN without an interval."""
        return (self.high - self.low) / (2.0 * self.error) if self.error > 0.0 else math.nan

    def within(self, lowest: float, highest: float) -> Estimate:
        """Return the estimate with its interval clipped to a range: 0 to 1 for a rate.

        Examples
        --------
        >>> Estimate(0.9, 0.1, 0.7, 1.1).within(0.0, 1.0).high
        1.0
        """
        return replace(
            self, low=_clip(self.low, lowest, highest), high=_clip(self.high, lowest, highest)
        )

    def to_dict(self) -> dict[str, float | None]:
        """Return value, low and high as JSON can hold them."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}


NOTHING = Estimate(math.nan)


@dataclass(frozen=True, eq=False, repr=False)
class CrossedPart:
    """The estimates of one fold: `values` by dataset; the `influence` of each person of the whole
    data on their mean, 0 for people outside the fold; and for each dataset the sum over people of
    the `squares` of influences on its own number.
    """

    values: Floats
    influence: Floats
    squares: Floats

    def less(self, other: CrossedPart) -> CrossedPart:
        """Return the difference from another number of the same datasets, about other people."""
        return CrossedPart(
            self.values - other.values,
            self.influence - other.influence,
            self.squares + other.squares,
        )


def crossed_mean(parts: Sequence[CrossedPart], *, level: float = LEVEL) -> Estimate:
    """Return the mean of several parts.

    The variance over people holds what is special about pairs of a person and a dataset, and so
    does that over datasets: it is subtracted once (Cameron, Gelbach and Miller 2011, two-way
    clustering). What is left of the variance over datasets is at least 0; where it is 0, the
    variance is known from all people, however few datasets there are.

    Examples
    --------
    Two datasets that give 0.1 and 0.3, and people without influence: a mean of 0.2 with an error of
    0.1.

    >>> estimate = crossed_mean([CrossedPart(np.array([0.1, 0.3]), np.zeros(4), np.zeros(2))])
    >>> round(estimate.value, 3), round(estimate.error, 3)
    (0.2, 0.1)
    """
    return _combine_parts([(1.0 / len(parts), crossed) for crossed in parts], level)


def crossed_means(
    numbers: Sequence[Sequence[CrossedPart]], *, level: float = LEVEL
) -> tuple[Estimate, ...]:
    """Return the means of several numbers of the same datasets and people, with simultaneous
    intervals at the confidence `level`.

    Intervals are as many standard errors wide as the largest of so many t statistics is with that
    probability (single-step maximum; Hothorn, Bretz and Westfall 2008): hardly wider than one where
    numbers go together, and never wider than Bonferroni's. How they go together is the correlation
    of the sum of the two variances, over people and over datasets.

    Examples
    --------
    The same number twice has the interval of one; two that have nothing in common are a little
    narrower than by Bonferroni (2.24):

    >>> people, none = np.random.default_rng(1).normal(size=(2, 1000)), np.zeros(2)
    >>> first, second = ([CrossedPart(none, influence, none)] for influence in people)
    >>> [round(crossed_means(some)[0].quantile, 2) for some in ([first, first], [first, second])]
    [1.96, 2.23]
    """
    alone = [crossed_mean(parts, level=level) for parts in numbers]
    known = [k for k, estimate in enumerate(alone) if estimate.error > 0.0]
    if len(known) < 2:
        return tuple(alone)
    quantile = _largest_of(
        _correlation([numbers[k] for k in known]),
        min(max(alone[k].freedom, 1.0) for k in known),
        level,
    )
    return tuple(
        replace(estimate, low=estimate.value - half, high=estimate.value + half)
        for estimate in alone
        for half in (
            max(quantile, estimate.quantile) * estimate.error
            if estimate.error > 0.0
            else estimate.error,
        )
    )


def _correlation(numbers: Sequence[Sequence[CrossedPart]]) -> Floats:
    """Return the correlation matrix of numbers of the same datasets and people."""
    k = len(numbers[0])
    people = np.array(
        [np.sum([crossed.influence for crossed in parts], axis=0) / k for parts in numbers]
    )
    people -= people.mean(axis=1, keepdims=True)
    together = people @ people.T
    for fold in zip(*numbers, strict=True):
        values = np.array([crossed.values for crossed in fold])
        finite = np.isfinite(values)
        n = finite.sum(axis=1)
        deviations = (
            np.where(finite, values, 0.0)
            - np.where(finite, values, 0.0).sum(axis=1, keepdims=True) / n[:, None]
        )
        deviations = (
            np.where(finite, deviations, 0.0) / np.sqrt(np.maximum(n - 1, 1) * n)[:, None] / k
        )
        together = together + deviations @ deviations.T
    scale = np.sqrt(np.diag(together))
    return np.asarray(together / np.outer(scale, scale))


def _largest_of(correlation: Floats, freedom: float, level: float) -> float:
    """Return the quantile of the largest absolute value of correlated t statistics, between that of
    a single one and Bonferroni's.
    """
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(
        DRAWS
    )  # the same draws each time: the quantile is a number, not a result of chance
    largest = np.abs(rng.standard_normal((DRAWS, len(root))) @ root.T).max(axis=1)
    if math.isfinite(freedom):
        largest = largest / np.sqrt(rng.chisquare(freedom, DRAWS) / freedom)
    single_quantile, bonferroni = (
        student_quantile(1.0 - (1.0 - level) / 2.0 / tests, freedom)
        for tests in (1, len(correlation))
    )
    return min(max(float(np.quantile(largest, level)), single_quantile), bonferroni)


def crossed_difference(
    these: Sequence[CrossedPart], those: Sequence[CrossedPart], *, level: float = LEVEL
) -> Estimate:
    """Return the difference of the means of two ensembles about the same people.

    Their datasets are independent, their people the same: variances of datasets are added,
    influences subtracted, as in `crossed_mean`.
    """
    if not these or not those:
        return NOTHING
    weighted = [
        *((1.0 / len(these), crossed) for crossed in these),
        *((-1.0 / len(those), crossed) for crossed in those),
    ]
    return _combine_parts(weighted, level)


def _combine_parts(weighted: Sequence[tuple[float, CrossedPart]], level: float) -> Estimate:
    """Return the weighted sum of parts whose datasets are independent of each other, and whose
    people may be the same.
    """
    if not weighted:
        return NOTHING
    value, of_datasets, of_pairs, spread = 0.0, 0.0, 0.0, 0.0
    for weight, crossed in weighted:
        is_finite = np.isfinite(crossed.values)
        n = int(is_finite.sum())
        if not n:
            return NOTHING
        value += weight * float(crossed.values[is_finite].mean())
        if n > 1:
            variance = weight**2 * float(crossed.values[is_finite].var(ddof=1)) / n
            of_datasets += variance
            spread += variance**2 / (n - 1.0)
            pair_sum = float(crossed.squares[is_finite].sum()) - n * float(
                (crossed.influence**2).sum()
            )
            of_pairs += weight**2 * max(pair_sum, 0.0) / (n * (n - 1))
    people = np.sum([weight * crossed.influence for weight, crossed in weighted], axis=0)
    of_people = float(((people - people.mean()) ** 2).sum())
    beyond = max(of_datasets - of_pairs, 0.0)
    variance = of_people + beyond
    # The variance over datasets comes from few of them, and makes the whole uncertain where it counts; that over people comes from all.
    freedom = variance**2 / spread if beyond > 0.0 and spread > 0.0 else math.inf
    return _estimate(value, math.sqrt(variance), freedom, level)


def _estimate(value: float, error: float, freedom: float, level: float) -> Estimate:
    half = student_quantile(0.5 + level / 2.0, max(freedom, 1.0)) * error
    return Estimate(value, error, value - half, value + half, freedom)


def _clip(number: float, lowest: float, highest: float) -> float:
    return number if math.isnan(number) else min(max(number, lowest), highest)


Direction = Literal["lower is better", "higher is better"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """A measured number. Subclasses say what it is and add what it is made of.

    Parameters
    ----------
    value
        The number; None where the measure does not apply, and then `reason` says why.
    interval
        95 % interval, None where there is none; `settings["interval"]` says what it covers.
    settings
        All that was chosen to get the number, defaults too, as plain data.
    """

    name: ClassVar[str]
    direction: ClassVar[Direction]
    identical: ClassVar[float]
    """What identical tables score."""
    decisive: ClassVar[tuple[str, ...]] = ()
    """Fields that decide what the number is a number of, as `settings` do."""

    value: float | None
    interval: tuple[float, float] | None = None
    reason: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError(f"{self.name} needs either a value or the reason why there is none.")

    def details(self) -> dict[str, Any]:
        """Return the components of the number as plain data without records or small counts."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        head: dict[str, Any] = {"value": self.value}
        if self.reason:
            head["not_applicable"] = self.reason
        else:
            head["interval"] = None if self.interval is None else list(self.interval)
        return {
            **head,
            "direction": self.direction,
            "identical": self.identical,
            **({} if self.reason else self.details()),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the result of plain data: the inverse of `to_dict`, up to rounding."""
        return from_plain(cls, cls._fields_of(data), what=f"'{cls.name}'")

    @classmethod
    def _fields_of(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return plain data under the names of fields."""
        missing = data.get("value") is None
        reason = str(data.get("not_applicable") or "no value was given") if missing else ""
        names = {entry.metadata.get("key"): entry.name for entry in fields(cls)}
        renamed = {names.get(key, key): entry for key, entry in data.items()}
        return {**renamed, "value": data.get("value"), "reason": reason}

    def __repr__(self) -> str:
        if self.value is None:
            return f"{type(self).__name__}(not applicable because {self.reason})"
        between = (
            "" if self.interval is None else f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"
        )
        return f"{type(self).__name__}({self.name} = {self.value:.4g}{between}, {self.direction}, identical tables {self.identical:g})"

    def _repr_html_(self) -> str:
        shown = "not applicable: " + self.reason if self.value is None else f"{self.value:.4g}"
        between = (
            "" if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        )
        head = ["measure", "value", "95 % interval", "direction", "identical tables"]
        return html_table(
            head, [[self.name, shown, between, self.direction, f"{self.identical:g}"]]
        )
