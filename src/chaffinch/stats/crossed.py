"""Means over people and datasets at once: each person is asked about by each dataset, so the two are crossed.

Two things are uncertain. Another ensemble of datasets would answer differently: the variance over datasets. And other people could have
been asked about: the delete-one jackknife over people, whose influences are added up with their signs over parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.plain import Number, finite
from .intervals import student_quantile

__all__ = ["NOTHING", "CrossedPart", "Estimate", "crossed_difference", "crossed_mean"]

Floats = NDArray[np.float64]
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, its interval and the degrees of freedom of the error; all nan where nothing was measured."""

    value: Number
    error: Number = math.nan
    low: Number = math.nan
    high: Number = math.nan
    freedom: Number = math.inf

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
        return CrossedPart(self.values - other.values, self.influence - other.influence, self.squares + other.squares)


def crossed_mean(parts: Sequence[CrossedPart], *, level: float = LEVEL) -> Estimate:
    """Return the mean of several parts.

    The variance over people holds what is special about pairs of a person and a dataset, and so does that over datasets: it is
    subtracted once (Cameron, Gelbach and Miller 2011, two-way clustering).

    Examples
    --------
    Two datasets that give 0.1 and 0.3, and people without influence: a mean of 0.2 with an error of 0.1.

    >>> estimate = crossed_mean([CrossedPart(np.array([0.1, 0.3]), np.zeros(4), np.zeros(2))])
    >>> round(estimate.value, 3), round(estimate.error, 3)
    (0.2, 0.1)
    """
    k = len(parts)
    finite = [np.isfinite(part.values) for part in parts]
    if not k or any(not some.any() for some in finite):
        return NOTHING
    value = float(np.mean([part.values[some].mean() for part, some in zip(parts, finite, strict=True)]))
    of_datasets, of_pairs = [], 0.0
    for part, some in zip(parts, finite, strict=True):
        n = int(some.sum())
        if n > 1:
            of_datasets.append((float(part.values[some].var(ddof=1)) / n / k**2, n - 1.0))
            apart = float(part.squares[some].sum()) - n * float((part.influence**2).sum())
            of_pairs += max(apart, 0.0) / (n * (n - 1)) / k**2
    people = np.sum([part.influence for part in parts], axis=0) / k
    of_people = float(((people - people.mean()) ** 2).sum())
    datasets = sum(variance for variance, _ in of_datasets)
    variance = max(of_people + datasets - of_pairs, of_people, datasets)
    # Datasets' variances come from few of them; that of people from all.
    spread = sum(part**2 / freedom for part, freedom in of_datasets if part > 0.0)
    return _estimate(value, math.sqrt(variance), variance**2 / spread if spread > 0.0 else math.inf, level)


def crossed_difference(these: Sequence[CrossedPart], those: Sequence[CrossedPart], *, level: float = LEVEL) -> Estimate:
    """Return the mean of these parts less that of those: two ensembles about the same people.

    Their datasets are independent, their people the same: variances of datasets are added, influences subtracted.
    """
    nobody = [CrossedPart(part.values, np.zeros_like(part.influence), np.zeros_like(part.squares)) for part in (*these, *those)]
    first, second = (crossed_mean(side, level=level) for side in (nobody[: len(these)], nobody[len(these) :]))
    people = sum((part.influence for part in these), np.zeros(1)) / max(len(these), 1)
    people = people - sum((part.influence for part in those), np.zeros(1)) / max(len(those), 1)
    if not math.isfinite(first.value) or not math.isfinite(second.value):
        return NOTHING
    error = math.sqrt(first.error**2 + second.error**2 + float(((people - people.mean()) ** 2).sum()))
    return _estimate(first.value - second.value, error, min(first.freedom, second.freedom), level)


def _estimate(value: float, error: float, freedom: float, level: float) -> Estimate:
    half = student_quantile(0.5 + level / 2.0, max(freedom, 1.0)) * error
    return Estimate(value, error, value - half, value + half, freedom)
