"""Marginal risk: what an attack finds out about the people behind the outputs beyond what it finds out about others, with an interval.

Two things are uncertain. Another ensemble from the same outputs would attack differently: the variance over datasets. And other people
could have stood on either side: the delete-one jackknife over people, whose influences are added up *with their signs* over the folds. A person counts for the ensemble of one fold and against that of the other, so where the two ensembles are alike, as they are if
outputs tell nothing of their own people, this part cancels. That is what the second fold is for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.results import Number, shown_parts
from ...stats.crossed import (
    NOTHING,
    CrossedPart,
    Estimate,
    crossed_difference,
    crossed_mean,
    crossed_means,
)
from ...stats.intervals import student_quantile
from .attribution import CONVENTIONS, EnsembleTcap

LEVEL = 0.95
POWER = 0.8
RATE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
"""What a rate can be, and a difference of two."""

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
    # The smallest marginal risk that would have been found with a chance of 80 %; infinite where even the largest, 1, would have been missed
    # more often
    detectable: Number
    # The marginal risk of datasets from the start alone: what margins of a fold tell of its people without any output
    prior_marginal: Estimate = NOTHING

    @property
    def excess(self) -> bool:
        """Whether the interval of the marginal risk lies above 0."""
        return self.marginal.low > 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**shown_parts(self), "excess": self.excess}


def measures_of(
    evolved: Mapping[str, Sequence[EnsembleTcap]],
    prior: Mapping[str, Sequence[EnsembleTcap]],
    *,
    level: float = LEVEL,
) -> tuple[RiskMeasure, ...]:
    """Return the measures of each sensitive attribute under each convention, from what the ensembles of the folds give away by attribute.

    Intervals of marginal risks hold together with the probability `level`; `prior` is of datasets from the same start without outputs.
    """
    which = [(sensitive, c) for sensitive in evolved for c in range(len(CONVENTIONS))]
    marginals = crossed_means(
        [[excess_of(one, c) for one in evolved[name]] for name, c in which], level=level
    )
    measures = []
    for (sensitive, c), marginal in zip(which, marginals, strict=True):
        original, holdout, before = (
            [side_of(one, side, c) for one in ensembles[sensitive]]
            for ensembles, side in ((evolved, ORIGINAL), (evolved, HOLDOUT), (prior, ORIGINAL))
        )
        measures.append(
            RiskMeasure(
                sensitive,
                CONVENTIONS[c],
                original=crossed_mean(original, level=level).within(*RATE),
                holdout=crossed_mean(holdout, level=level).within(*RATE),
                prior=crossed_mean(before, level=level).within(*RATE),
                prior_marginal=_of_start([excess_of(one, c) for one in prior[sensitive]], level),
                marginal=marginal.within(*DIFFERENCE),
                beyond_prior=crossed_difference(original, before, level=level).within(*DIFFERENCE),
                detectable=_detectable(marginal),
            )
        )
    return tuple(measures)


def _of_start(parts: Sequence[CrossedPart], level: float) -> Estimate:
    """What a start tells of its own people: exactly nothing where both folds have the same, whose people change sides."""
    estimate = crossed_mean(parts, level=level).within(*DIFFERENCE)
    return Estimate(0.0, 0.0, 0.0, 0.0) if estimate.value == 0.0 else estimate


def _detectable(marginal: Estimate) -> float:
    """The smallest difference of rates that would have been found; infinite where that is more than any can be."""
    if not marginal.error > 0.0:
        return 0.0 if marginal.error == 0.0 else math.nan
    found = (
        marginal.quantile + student_quantile(POWER, max(marginal.freedom, 1.0))
    ) * marginal.error
    return found if found <= DIFFERENCE[1] else math.inf


def side_of(one: EnsembleTcap, side: int, convention: int) -> CrossedPart:
    """Return the TCAP of an ensemble against one group of people."""
    influence = np.where(one.group == side, one.influence[convention], 0.0)
    return CrossedPart(one.means[:, side, convention], influence, one.squares[:, side, convention])


def excess_of(one: EnsembleTcap, convention: int) -> CrossedPart:
    """Return the TCAP of an ensemble against the people behind the outputs less that against people held out."""
    return side_of(one, ORIGINAL, convention).less(side_of(one, HOLDOUT, convention))
