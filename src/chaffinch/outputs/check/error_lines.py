"""Attribution against the error of the outputs (Elliot, Little and Allmendinger's figure 3): searches that are stopped on the way, and a straight line through them.

The line at an error of 0 is what the outputs give away when they are met exactly; its slope says whether closer is riskier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._base.results import Number
from ..._base.runtime import Progress, silent
from ..._base.seeds import seed_sequence
from ...stats.crossed import NOTHING, Estimate
from ...stats.intervals import student_quantile
from .assessment import CheckRun
from .attribution import CONVENTIONS
from .ensembles import Evolver
from .marginal import LEVEL, RATE

STOPS = (1, 3_000, 10_000, 20_000, 40_000, 80_000, None)
"""Proposals after which searches are stopped; the last go on until the outputs are met, or as long as any other search does."""


class ErrorPoint(NamedTuple):
    """One dataset: the mean absolute error of its outputs, and its TCAP against the people behind them and people held out."""

    error: float
    original: float
    holdout: Number


@dataclass(frozen=True)
class ErrorLine:
    """TCAP = intercept + slope x error, for one sensitive attribute, convention and group of people."""

    sensitive: str
    convention: str
    # intercept, slope: With intervals, over datasets
    intercept: Estimate
    slope: Estimate
    r_squared: Number  # The share of variance that the error explains
    points: tuple[ErrorPoint, ...]


def error_lines(
    run: CheckRun,
    names: Sequence[str],
    evolver: Evolver,
    *,
    copies: int = 4,
    progress: Progress = silent,
) -> tuple[ErrorLine, ...]:
    """Return the lines for the first fold: so many datasets for each of several moments of the search."""
    fold = run.folds[0]
    spec = replace(
        run.specs[0],
        outputs=tuple(output for output in run.specs[0].outputs if output.name in names),
    )
    spec = run.begun(spec, run.codes[fold.original])
    points: dict[tuple[str, str], list[ErrorPoint]] = {}
    seeds = seed_sequence(run.entropy).spawn(3)[2].spawn(len(STOPS))
    for number, (stop, seed) in enumerate(zip(STOPS, seeds, strict=True)):
        most = evolver.proposals if stop is None else min(stop, evolver.proposals or stop)
        ensemble = replace(evolver, proposals=most)(spec, copies=copies, seed=seed)
        for attack in run.attacks:
            means = run.tcap(ensemble.datasets, fold, attack).means
            for c, convention in enumerate(CONVENTIONS):
                points.setdefault((attack.sensitive, convention), []).extend(
                    ErrorPoint(error, float(mine), float(theirs))
                    for error, (mine, theirs) in zip(ensemble.errors, means[:, :, c], strict=True)
                )
        progress("error and attribution", (number + 1) / len(STOPS))
    return tuple(_line(*which, tuple(some), run.level) for which, some in points.items())


def _line(
    sensitive: str, convention: str, points: tuple[ErrorPoint, ...], level: float
) -> ErrorLine:
    known = [point for point in points if np.isfinite(point.error) and np.isfinite(point.original)]
    intercept, slope, r_squared = line_through(
        np.array([point.error for point in known]),
        np.array([point.original for point in known]),
        level=level,
    )
    return ErrorLine(sensitive, convention, intercept.within(*RATE), slope, r_squared, tuple(known))


def line_through(
    x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], *, level: float = LEVEL
) -> tuple[Estimate, Estimate, float]:
    """Return intercept and slope of the least-squares line with intervals, and R squared.

    Examples
    --------
    >>> intercept, slope, _ = line_through(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    >>> round(intercept.value, 6), round(slope.value, 6)
    (1.0, 2.0)
    """
    from scipy import stats

    if len(x) < 3 or np.ptp(x) == 0.0:
        return NOTHING, NOTHING, float("nan")
    fit = stats.linregress(x, y)
    quantile = student_quantile(0.5 + level / 2.0, len(x) - 2)
    lines = [
        Estimate(
            float(value),
            float(error),
            float(value - quantile * error),
            float(value + quantile * error),
            len(x) - 2,
        )
        for value, error in ((fit.intercept, fit.intercept_stderr), (fit.slope, fit.stderr))
    ]
    return lines[0], lines[1], float(fit.rvalue**2)
