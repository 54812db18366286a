"""Marginal risk: what an attack finds out about the people behind the outputs beyond what it finds out about others, with an interval.

Two things are uncertain. Another ensemble from the same outputs would attack differently: the variance over datasets. And other people
could have stood on either side: the delete-one jackknife over people, whose influences are added up *with their signs* over the folds. A person counts for the ensemble of one fold and against that of the other, so where the two ensembles are alike, as they are if
outputs tell nothing of their own people, this part cancels. That is what the second fold is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.plain import Number, shown_parts
from ...stats.crossed import CrossedPart, Estimate, crossed_difference, crossed_mean
from ...stats.intervals import student_quantile
from .attribution import CONVENTIONS, EnsembleTcap

__all__ = ["HOLDOUT", "LEVEL", "ORIGINAL", "POWER", "RiskMeasure", "excess_of", "measures_of", "side_of"]

LEVEL = 0.95
POWER = 0.8

ORIGINAL, HOLDOUT = 0, 1


@dataclass(frozen=True)
class RiskMeasure:
    """One sensitive attribute under one convention, averaged over key sets, datasets and folds."""

    sensitive: str
    convention: str
    # original, holdout: TCAP against the people behind the outputs, and against people held out
    original: Estimate
    holdout: Estimate
    prior: Estimate  # TCAP of datasets made from the same start without any output, against the people behind the outputs
    # original - holdout: the risk that comes from having been in the data. Its interval is simultaneous over all attributes and conventions
    # of an assessment.
    marginal: Estimate
    beyond_prior: Estimate  # original - prior: what the outputs tell at all, about anyone
    detectable: Number  # The smallest marginal risk that would have been found with a chance of 80 %

    @property
    def excess(self) -> bool:
        """Whether the interval of the marginal risk lies above 0."""
        return self.marginal.low > 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**shown_parts(self), "excess": self.excess}


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
        marginal = crossed_mean([excess_of(one, c) for one in evolved], level=each)
        quantiles = sum(student_quantile(share, max(marginal.freedom, 1.0)) for share in (0.5 + each / 2.0, POWER))
        measures.append(
            RiskMeasure(
                sensitive,
                convention,
                original=crossed_mean(original, level=level),
                holdout=crossed_mean(holdout, level=level),
                prior=crossed_mean(before, level=level),
                marginal=marginal,
                beyond_prior=crossed_difference(original, before, level=level),
                detectable=quantiles * marginal.error,
            )
        )
    return tuple(measures)


def side_of(one: EnsembleTcap, side: int, convention: int) -> CrossedPart:
    """Return the TCAP of an ensemble against one group of people."""
    influence = np.where(one.group == side, one.influence[convention], 0.0)
    return CrossedPart(one.means[:, side, convention], influence, one.squares[:, side, convention])


def excess_of(one: EnsembleTcap, convention: int) -> CrossedPart:
    """Return the TCAP of an ensemble against the people behind the outputs less that against people held out."""
    return side_of(one, ORIGINAL, convention).less(side_of(one, HOLDOUT, convention))
