"""Means over people and datasets at once: each person is asked about by each dataset, so the two are crossed.

Two things are uncertain. Another ensemble of datasets would answer differently: the variance over datasets. And other people could have
been asked about: the delete-one jackknife over people, whose influences are added up with their signs over parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._base.results import Number, finite
from .intervals import student_quantile

Floats = NDArray[np.float64]
LEVEL = 0.95
DRAWS = 1 << 16
"""Draws from which the quantile of the largest of several t statistics is read: it is then off by about half a per cent of itself."""


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, its interval and the degrees of freedom of the error; all nan where nothing was measured."""

    value: Number
    error: Number = math.nan
    low: Number = math.nan
    high: Number = math.nan
    freedom: Number = math.inf

    @property
    def quantile(self) -> float:
        """The half width of the interval in standard errors; nan where there is none."""
        return (self.high - self.low) / (2.0 * self.error) if self.error > 0.0 else math.nan

    def within(self, least: float, most: float) -> Estimate:
        """Return the same with an interval that ends where the number must: at 0 and 1 for a rate.

        Examples
        --------
        >>> Estimate(0.9, 0.1, 0.7, 1.1).within(0.0, 1.0).high
        1.0
        """
        return replace(
            self, low=_clipped(self.low, least, most), high=_clipped(self.high, least, most)
        )

    def to_dict(self) -> dict[str, float | None]:
        """Return value, low and high as JSON can hold them."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}


NOTHING = Estimate(math.nan)


@dataclass(frozen=True, eq=False, repr=False)
class CrossedPart:
    """What one fold says about a number: its `values` by dataset; the `influence` of each person of the whole data on their mean, 0 for
    people who are not asked about; and for each dataset the `squares` of influences on its own number, summed over people."""

    values: Floats
    influence: Floats
    squares: Floats

    def less(self, other: CrossedPart) -> CrossedPart:
        """Return this number less another one of the same datasets, about other people."""
        return CrossedPart(
            self.values - other.values,
            self.influence - other.influence,
            self.squares + other.squares,
        )


def crossed_mean(parts: Sequence[CrossedPart], *, level: float = LEVEL) -> Estimate:
    """Return the mean of several parts.

    The variance over people holds what is special about pairs of a person and a dataset, and so does that over datasets: it is
    subtracted once (Cameron, Gelbach and Miller 2011, two-way clustering). What is left of the variance over datasets is at least 0; where it
    is 0, the variance is known from all people, however few datasets there are.

    Examples
    --------
    Two datasets that give 0.1 and 0.3, and people without influence: a mean of 0.2 with an error of 0.1.

    >>> estimate = crossed_mean([CrossedPart(np.array([0.1, 0.3]), np.zeros(4), np.zeros(2))])
    >>> round(estimate.value, 3), round(estimate.error, 3)
    (0.2, 0.1)
    """
    return _combined([(1.0 / len(parts), part) for part in parts], level)


def crossed_means(
    numbers: Sequence[Sequence[CrossedPart]], *, level: float = LEVEL
) -> tuple[Estimate, ...]:
    """Return the means of several numbers of the same datasets and people, with intervals that hold together with the probability `level`.

    Intervals are as many standard errors wide as the largest of so many t statistics is with that probability (single-step maximum; Hothorn,
    Bretz and Westfall 2008): hardly wider than one where numbers go together, and never wider than Bonferroni's. How they go together is the
    correlation of the sum of the two variances, over people and over datasets.

    Examples
    --------
    The same number twice has the interval of one; two that have nothing in common are a little narrower than by Bonferroni (2.24):

    >>> people, none = np.random.default_rng(1).normal(size=(2, 1000)), np.zeros(2)
    >>> first, second = ([CrossedPart(none, influence, none)] for influence in people)
    >>> [round(crossed_means(some)[0].quantile, 2) for some in ([first, first], [first, second])]
    [1.96, 2.23]
    """
    alone = [crossed_mean(parts, level=level) for parts in numbers]
    known = [k for k, one in enumerate(alone) if one.error > 0.0]
    if len(known) < 2:
        return tuple(alone)
    quantile = _largest_of(
        _correlation([numbers[k] for k in known]),
        min(max(alone[k].freedom, 1.0) for k in known),
        level,
    )
    return tuple(
        replace(one, low=one.value - half, high=one.value + half)
        for one in alone
        for half in (max(quantile, one.quantile) * one.error if one.error > 0.0 else one.error,)
    )


def _correlation(numbers: Sequence[Sequence[CrossedPart]]) -> Floats:
    """How numbers of the same datasets and people vary together."""
    k = len(numbers[0])
    people = np.array([np.sum([part.influence for part in parts], axis=0) / k for parts in numbers])
    people -= people.mean(axis=1, keepdims=True)
    together = people @ people.T
    for fold in zip(*numbers, strict=True):
        values = np.array([part.values for part in fold])
        finite = np.isfinite(values)
        n = finite.sum(axis=1)
        apart = (
            np.where(finite, values, 0.0)
            - np.where(finite, values, 0.0).sum(axis=1, keepdims=True) / n[:, None]
        )
        apart = np.where(finite, apart, 0.0) / np.sqrt(np.maximum(n - 1, 1) * n)[:, None] / k
        together = together + apart @ apart.T
    scale = np.sqrt(np.diag(together))
    return np.asarray(together / np.outer(scale, scale))


def _largest_of(correlation: Floats, freedom: float, level: float) -> float:
    """The quantile of the largest absolute one of correlated t statistics, between that of one and Bonferroni's."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(
        DRAWS
    )  # the same draws each time: the quantile is a number, not a result of chance
    largest = np.abs(rng.standard_normal((DRAWS, len(root))) @ root.T).max(axis=1)
    if math.isfinite(freedom):
        largest = largest / np.sqrt(rng.chisquare(freedom, DRAWS) / freedom)
    one, every = (
        student_quantile(1.0 - (1.0 - level) / 2.0 / tests, freedom)
        for tests in (1, len(correlation))
    )
    return min(max(float(np.quantile(largest, level)), one), every)


def crossed_difference(
    these: Sequence[CrossedPart], those: Sequence[CrossedPart], *, level: float = LEVEL
) -> Estimate:
    """Return the mean of these parts less that of those: two ensembles about the same people.

    Their datasets are independent, their people the same: variances of datasets are added, influences subtracted, as in `crossed_mean`.
    """
    if not these or not those:
        return NOTHING
    weighted = [
        *((1.0 / len(these), part) for part in these),
        *((-1.0 / len(those), part) for part in those),
    ]
    return _combined(weighted, level)


def _combined(weighted: Sequence[tuple[float, CrossedPart]], level: float) -> Estimate:
    """The weighted sum of parts whose datasets are independent of each other, and whose people may be the same."""
    if not weighted:
        return NOTHING
    value, of_datasets, of_pairs, spread = 0.0, 0.0, 0.0, 0.0
    for weight, part in weighted:
        some = np.isfinite(part.values)
        n = int(some.sum())
        if not n:
            return NOTHING
        value += weight * float(part.values[some].mean())
        if n > 1:
            variance = weight**2 * float(part.values[some].var(ddof=1)) / n
            of_datasets += variance
            spread += variance**2 / (n - 1.0)
            apart = float(part.squares[some].sum()) - n * float((part.influence**2).sum())
            of_pairs += weight**2 * max(apart, 0.0) / (n * (n - 1))
    people = np.sum([weight * part.influence for weight, part in weighted], axis=0)
    of_people = float(((people - people.mean()) ** 2).sum())
    beyond = max(of_datasets - of_pairs, 0.0)
    variance = of_people + beyond
    # The variance over datasets comes from few of them, and makes the whole uncertain where it counts; that over people comes from all.
    freedom = variance**2 / spread if beyond > 0.0 and spread > 0.0 else math.inf
    return _estimate(value, math.sqrt(variance), freedom, level)


def _estimate(value: float, error: float, freedom: float, level: float) -> Estimate:
    half = student_quantile(0.5 + level / 2.0, max(freedom, 1.0)) * error
    return Estimate(value, error, value - half, value + half, freedom)


def _clipped(number: float, least: float, most: float) -> float:
    return number if math.isnan(number) else min(max(number, least), most)
