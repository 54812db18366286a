"""Marginal risk by the size of the data behind the outputs: folds of folds, and what they suggest for the whole (Elliot, Little and Allmendinger, section on folds).

Outputs of half the data are not those of all of it. Folds of a fold say how the risk changes when the data behind the outputs are halved;
the same step in the other direction is a guess at the whole, marked as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..._base.errors import InputError
from ..._base.runtime import Progress, silent
from ..._base.seeds import seed_sequence
from ...stats.crossed import Estimate
from .assessment import CheckRun, Stage
from .folds import folds
from .marginal import DIFFERENCE, RiskMeasure


@dataclass(frozen=True)
class RiskBySize:
    """Marginal risk at several sizes."""

    sensitive: str
    convention: str
    folds_of_folds: (
        Estimate  # Marginal risk of outputs of a quarter of the data (of half of what folds have)
    )
    folds: Estimate  # Marginal risk of outputs of a fold
    whole: Estimate  # The straight line through both, over the logarithm of size, at the whole data: an extrapolation


def by_size(
    run: CheckRun, stage: Stage, names: Sequence[str], *, progress: Progress = silent
) -> tuple[RiskBySize, ...]:
    """Return the marginal risk in folds of the first split's folds, in its folds, and extrapolated to the whole.

    InputError where a fold of a fold cannot give one of the outputs.
    """
    seeds = seed_sequence(run.entropy).spawn(4)[3].spawn(2)
    inner = tuple(
        one
        for fold, seed in zip(run.folds[:2], seeds, strict=True)
        for one in folds(len(run.codes), seed=seed, within=fold)
    )
    quarters = replace(run, folds=inner)
    if missing := next(
        (quarters.uncomputable[name] for name in names if name in quarters.uncomputable), None
    ):
        raise InputError(missing)  # of fewer outputs the risk would be that of something else
    smaller = quarters.assess("folds of folds", names, progress=progress).stage
    sizes = [len(inner[0].original), len(run.folds[0].original), len(run.codes)]
    return tuple(
        RiskBySize(
            small.sensitive,
            small.convention,
            small.marginal,
            large.marginal,
            _line(small, large, sizes),
        )
        for small, large in zip(smaller.measures, stage.measures, strict=True)
    )


def _line(small: RiskMeasure, large: RiskMeasure, sizes: Sequence[int]) -> Estimate:
    """The line through two estimates, at a third size."""
    ahead = math.log(sizes[2] / sizes[1]) / math.log(sizes[1] / sizes[0])
    a, b = small.marginal, large.marginal
    value = b.value + ahead * (b.value - a.value)
    error = math.hypot((1.0 + ahead) * b.error, ahead * a.error)
    # Intervals are as wide, in errors, as those of the two.
    half = error * max(
        quantile if math.isfinite(quantile) else 0.0 for quantile in (a.quantile, b.quantile)
    )
    line = Estimate(value, error, value - half, value + half, min(a.freedom, b.freedom)).within(
        *DIFFERENCE
    )
    return (
        replace(line, value=min(max(value, DIFFERENCE[0]), DIFFERENCE[1]))
        if math.isfinite(value)
        else line
    )
