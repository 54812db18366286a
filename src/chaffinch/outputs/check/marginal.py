"""Marginal risk: what an attack finds out about the people behind the outputs beyond what it finds out about others, with an interval.

Two things are uncertain. Another ensemble from the same outputs would attack differently: the variance over datasets. And other people
could have stood on either side: the delete-one jackknife over people, whose influences are added up *with their signs* over the folds. A person counts for the ensemble of one fold and against that of the other, so where the two ensembles are alike, as they are if
outputs tell nothing of their own people, this part cancels. That is what the second fold is for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.plain import Number, finite
from ...stats.intervals import student_quantile
from ..columns import Floats
from .attribution import CONVENTIONS, EnsembleTcap

__all__ = [
    "LEVEL",
    "NOTHING",
    "POWER",
    "Estimate",
    "FoldFigure",
    "RiskMeasure",
    "combined",
    "difference",
    "excess_of",
    "measures_of",
    "side_of",
]

LEVEL = 0.95
POWER = 0.8

ORIGINAL, HOLDOUT = 0, 1


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and interval; all nan where nothing could be measured.

    Parameters
    ----------
    value, error
        The number, and its standard error.
    low, high
        The interval.
    freedom
        Degrees of freedom of the error (Satterthwaite's).
    """

    value: Number
    error: Number = math.nan
    low: Number = math.nan
    high: Number = math.nan
    freedom: Number = math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return value, low and high as JSON can hold them."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}


NOTHING = Estimate(math.nan)


@dataclass(frozen=True)
class RiskMeasure:
    """One sensitive attribute under one convention, averaged over key sets, datasets and folds.

    Parameters
    ----------
    sensitive, convention
        Which.
    original, holdout
        TCAP against the people behind the outputs, and against people held out.
    prior
        TCAP of datasets made from the same start without any output, against the people behind the outputs.
    marginal
        original - holdout: the risk that comes from having been in the data. Its interval is simultaneous over all attributes and
        conventions of an assessment.
    beyond_prior
        original - prior: what the outputs tell at all, about anyone.
    detectable
        The smallest marginal risk that would have been found with a chance of 80 %.
    """

    sensitive: str
    convention: str
    original: Estimate
    holdout: Estimate
    prior: Estimate
    marginal: Estimate
    beyond_prior: Estimate
    detectable: Number

    @property
    def excess(self) -> bool:
        """Whether the interval of the marginal risk lies above 0."""
        return self.marginal.low > 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        parts = ("original", "holdout", "prior", "marginal", "beyond_prior")
        return {
            "sensitive": self.sensitive,
            "convention": self.convention,
            **{name: getattr(self, name).to_dict() for name in parts},
            "detectable": finite(self.detectable),
            "excess": self.excess,
        }


@dataclass(frozen=True, eq=False, repr=False)
class FoldFigure:
    """What one fold says about a number.

    Parameters
    ----------
    values
        The number by each dataset.
    influence
        What each person of the whole data adds to their mean; 0 for people who are not asked.
    squares
        For each dataset the squared influences on its own number, summed over people.
    """

    values: Floats
    influence: Floats
    squares: Floats

    def less(self, other: FoldFigure) -> FoldFigure:
        """Return this number less another one of the same datasets, about other people."""
        return FoldFigure(self.values - other.values, self.influence - other.influence, self.squares + other.squares)


def combined(parts: Sequence[FoldFigure], *, level: float = LEVEL) -> Estimate:
    """Return the mean of several parts.

    People and datasets are crossed: each person is attacked by each dataset. The variance over people holds what is special about pairs
    of them, and so does that over datasets: it is subtracted once (Cameron, Gelbach and Miller 2011, two-way clustering).

    Examples
    --------
    Two datasets that give 0.1 and 0.3, and people without influence: a mean of 0.2 with an error of 0.1.

    >>> estimate = combined([FoldFigure(np.array([0.1, 0.3]), np.zeros(4), np.zeros(2))])
    >>> round(estimate.value, 3), round(estimate.error, 3)
    (0.2, 0.1)
    """
    k = len(parts)
    kept = [np.isfinite(part.values) for part in parts]
    if not k or any(not some.any() for some in kept):
        return NOTHING
    value = float(np.mean([part.values[some].mean() for part, some in zip(parts, kept, strict=True)]))
    of_datasets, of_pairs = [], 0.0
    for part, some in zip(parts, kept, strict=True):
        n = int(some.sum())
        if n > 1:
            of_datasets.append((float(part.values[some].var(ddof=1)) / n / k**2, n - 1.0))
            paired = float(part.squares[some].sum()) - n * float((part.influence**2).sum())
            of_pairs += max(paired, 0.0) / (n * (n - 1)) / k**2
    people = np.sum([part.influence for part in parts], axis=0) / k
    of_people = float(((people - people.mean()) ** 2).sum())
    datasets = sum(v for v, _ in of_datasets)
    variance = max(of_people + datasets - of_pairs, of_people, datasets)
    # Datasets' variances come from few of them; that of people from all.
    spread = sum(v**2 / df for v, df in of_datasets if v > 0.0)
    freedom = variance**2 / spread if spread > 0.0 else math.inf
    return _estimate(value, math.sqrt(variance), freedom, level)


def _estimate(value: float, error: float, freedom: float, level: float) -> Estimate:
    half = student_quantile(0.5 + level / 2.0, max(freedom, 1.0)) * error
    return Estimate(value, error, value - half, value + half, freedom)


def measures_of(
    sensitive: str,
    evolved: Sequence[EnsembleTcap],
    prior: Sequence[EnsembleTcap],
    *,
    level: float = LEVEL,
    n_tests: int = 1,
) -> tuple[RiskMeasure, ...]:
    """Return the measures of one sensitive attribute, one for each convention.

    The level of marginal risks is divided over `n_tests`, as many as there are in the assessment; `prior` is of datasets from the same start
    without outputs.
    """
    each = 1.0 - (1.0 - level) / n_tests
    measures = []
    for c, convention in enumerate(CONVENTIONS):
        original, holdout, before = (
            [side_of(one, side, c) for one in ensembles]
            for ensembles, side in ((evolved, ORIGINAL), (evolved, HOLDOUT), (prior, ORIGINAL))
        )
        marginal = combined([excess_of(one, c) for one in evolved], level=each)
        quantiles = sum(student_quantile(share, max(marginal.freedom, 1.0)) for share in (0.5 + each / 2.0, POWER))
        measures.append(
            RiskMeasure(
                sensitive,
                convention,
                original=combined(original, level=level),
                holdout=combined(holdout, level=level),
                prior=combined(before, level=level),
                marginal=marginal,
                beyond_prior=difference(original, before, level=level),
                detectable=quantiles * marginal.error,
            )
        )
    return tuple(measures)


def side_of(one: EnsembleTcap, side: int, convention: int) -> FoldFigure:
    """Return the TCAP of an ensemble against one group of people."""
    influence = np.where(one.group == side, one.influence[convention], 0.0)
    return FoldFigure(one.means[:, side, convention], influence, one.squares[:, side, convention])


def excess_of(one: EnsembleTcap, convention: int) -> FoldFigure:
    """Return the TCAP of an ensemble against the people behind the outputs less that against people held out."""
    return side_of(one, ORIGINAL, convention).less(side_of(one, HOLDOUT, convention))


def difference(these: Sequence[FoldFigure], those: Sequence[FoldFigure], *, level: float = LEVEL) -> Estimate:
    """Return the mean of these parts less that of those: two ensembles against the same people."""
    # Datasets of the two ensembles are independent, their people the same: variances of datasets are added, influences subtracted.
    nobody = [
        FoldFigure(part.values, np.zeros_like(part.influence), np.zeros_like(part.squares)) for part in (*these, *those)
    ]
    first, second = combined(nobody[: len(these)], level=level), combined(nobody[len(these) :], level=level)
    people = sum((part.influence for part in these), np.zeros(1)) / max(len(these), 1)
    people = people - sum((part.influence for part in those), np.zeros(1)) / max(len(those), 1)
    if not math.isfinite(first.value) or not math.isfinite(second.value):
        return NOTHING
    error = math.sqrt(first.error**2 + second.error**2 + float(((people - people.mean()) ** 2).sum()))
    return _estimate(first.value - second.value, error, min(first.freedom, second.freedom), level)
