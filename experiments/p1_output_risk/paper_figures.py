"""Figures of Elliot, Little and Allmendinger beside the verdict of a check: risk by the size of the data, of outputs of all the data, and by the error of the outputs.

- `by_size` (section on folds): outputs of half the data are not those of all of it. Folds of a fold say how the risk changes when the data behind
  the outputs are halved; the same step in the other direction is a guess at the whole, marked as such.
- `whole_data` (first experiment): outputs of all the data, a few datasets evolved from them, and how well they attack everyone.
- `error_lines` (figure 3): searches that are stopped on the way, and a straight line through their errors and attributions. The line at an error
  of 0 is what the outputs give away when they are met exactly; its slope says whether closer is riskier.

`prepared` gives the folds, attacks and searches of a check with the same seed, which all of them take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chaffinch._base.masking import THRESHOLD
from chaffinch._base.results import Number
from chaffinch._base.seeds import seed_sequence
from chaffinch._base.svg import Axis, cut
from chaffinch._base.text import count_noun, is_number, number
from chaffinch.outputs.check import CheckSettings
from chaffinch.outputs.check.assessment import (
    CheckRun,
    EnsembleMaker,
    Evolver,
    Fold,
    Stage,
    folds,
)
from chaffinch.outputs.check.attribution import (
    CONVENTIONS,
    DIFFERENCE,
    RATE,
    RiskMeasure,
    ensemble_tcap,
)
from chaffinch.outputs.check.measurement import OutputSet, evolver_of, run_of
from chaffinch.outputs.check.settings import LEVEL
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.domain import Codes
from chaffinch.outputs.kinds import KINDS
from chaffinch.report.charts import Curve, Point, curves, frame
from chaffinch.report.check_figures import CONVENTIONS as CONVENTION_NAMES
from chaffinch.stats.intervals import NOTHING, Estimate, student_quantile

STOPS = (1, 3_000, 10_000, 20_000, 40_000, 80_000, None)
"""Proposals after which searches are stopped; the last go on until the outputs are met, or as long as any other search does."""


def prepared(
    recipes: Outputs,
    codes: Codes,
    settings: CheckSettings,
    *,
    seed: int,
    workers: int | None = None,
    maker: EnsembleMaker | None = None,
) -> CheckRun:
    """Return the folds and attacks of a check of codes, over the columns of its outputs, with what makes its datasets."""
    outputs = OutputSet.over_columns(recipes, None, settings, THRESHOLD).recipes
    columns = [recipes.fields.position(name) for name in outputs.fields.names]
    run = run_of(outputs, codes[:, columns], settings, seed=seed, workers=workers)
    return replace(run, maker=maker or evolver_of(run, settings, workers))


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


def by_size(run: CheckRun, stage: Stage) -> tuple[RiskBySize, ...]:
    """Return the marginal risk in folds of the first split's folds, in its folds, and extrapolated to the whole; `stage` is of all outputs.

    ValueError where a fold of a fold cannot give one of the outputs: of fewer outputs the risk would be that of something else.
    """
    seeds = seed_sequence(run.entropy).spawn(4)[3].spawn(2)
    inner = tuple(
        inner_fold
        for fold, seed in zip(run.folds[:2], seeds, strict=True)
        for inner_fold in folds_of(fold, seed=seed)
    )
    quarters = replace(run, folds=inner)
    if missing := [quarters.uncomputable[n] for n in stage.outputs if n in quarters.uncomputable]:
        raise ValueError(missing[0])
    smaller = quarters.assess("folds of folds", stage.outputs).stage
    sizes = [len(inner[0].original), len(run.folds[0].original), len(run.codes)]
    return tuple(
        RiskBySize(
            small.sensitive,
            small.convention,
            small.marginal,
            large.marginal,
            _extrapolated(small, large, sizes),
        )
        for small, large in zip(smaller.measures, stage.measures, strict=True)
    )


def folds_of(fold: Fold, *, seed: Any) -> list[Fold]:
    """Return the two folds of the people of a fold."""
    rows = fold.original
    return [
        replace(
            inner,
            name=f"{inner.name} of the {fold.name}",
            original=rows[inner.original],
            holdout=rows[inner.holdout],
            compared=rows[inner.compared],
        )
        for inner in folds(len(rows), seed=seed)
    ]


def _extrapolated(small: RiskMeasure, large: RiskMeasure, sizes: Sequence[int]) -> Estimate:
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


@dataclass(frozen=True)
class WholeDataRisk:
    """TCAP against all the data, of datasets made from outputs of all the data."""

    sensitive: str
    convention: str
    runs: int
    # mean, sd: TCAP averaged over key sets: mean and standard deviation over datasets
    mean: Number
    sd: Number
    # full_mean, full_sd: The same for the largest key set alone
    full_mean: Number
    full_sd: Number
    error: Number  # The mean absolute error of the outputs, over datasets


def whole_data(run: CheckRun, *, runs: int = 10) -> tuple[WholeDataRisk, ...]:
    """Return what datasets made from the outputs of all the data give away (the paper has ten runs): of those that every fold gives.

    InputError where all the data cannot give one of them.
    """
    codes, seed = run.codes, seed_sequence(run.entropy).spawn(5)[4]
    spec = run.with_known_margins(run.recipes.computed(codes, only=run.specs[0].names), codes)
    ensemble = run.maker(spec, copies=runs, seed=seed)
    risks = []
    for attack in run.attacks:
        everyone = np.zeros(len(codes), dtype=np.int8)
        values = ensemble_tcap(ensemble.datasets, codes, everyone, attack, threads=run.threads)
        for c, convention in enumerate(CONVENTIONS):
            means, full = values.means[:, 0, c], values.values[:, 0, c, -1]
            error = mean_error(ensemble.fits)
            risks.append(
                WholeDataRisk(
                    attack.sensitive, convention, runs, *_mean_sd(means), *_mean_sd(full), error
                )
            )
    return tuple(risks)


def mean_error(outputs: Sequence[Any]) -> float:
    """Return the mean absolute error over the numbers of regressions if there are any, else over those of all outputs."""
    chosen = [output for output in outputs if KINDS[output.kind].regression] or list(outputs)
    sizes = [output.size if hasattr(output, "size") else output.numbers for output in chosen]
    if not sum(sizes):
        return float("nan")
    return sum(output.mean * size for output, size in zip(chosen, sizes, strict=True)) / sum(sizes)


def _mean_sd(numbers: np.ndarray[Any, Any]) -> tuple[float, float]:
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return float("nan"), float("nan")
    return float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else float("nan")


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
    evolver: Evolver,
    *,
    copies: int = 4,
) -> tuple[ErrorLine, ...]:
    """Return the lines for the first fold: so many datasets for each of several moments of the search."""
    fold = run.folds[0]
    spec = run.with_known_margins(run.specs[0], run.codes[fold.original])
    points: dict[tuple[str, str], list[ErrorPoint]] = {}
    seeds = seed_sequence(run.entropy).spawn(3)[2].spawn(len(STOPS))
    for stop, seed in zip(STOPS, seeds, strict=True):
        limit = evolver.search.proposals or 0
        search = replace(
            evolver.search, proposals=limit if stop is None else min(stop, limit or stop)
        )
        evolved = replace(evolver, search=search).evolve(spec, copies=copies, seed=seed).copies
        errors = [mean_error(copy.compared) for copy in evolved]
        for attack in run.attacks:
            means = run.tcap([copy.codes for copy in evolved], fold, attack).means
            for c, convention in enumerate(CONVENTIONS):
                points.setdefault((attack.sensitive, convention), []).extend(
                    ErrorPoint(error, float(mine), float(theirs))
                    for error, (mine, theirs) in zip(errors, means[:, :, c], strict=True)
                )
    return tuple(_error_line(*which, tuple(dots), run.level) for which, dots in points.items())


def _error_line(
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


def error_picture(line: ErrorLine, key: str) -> Any:
    """Return the drawing of attribution against the error of the outputs, with the straight line through it (figure 3)."""
    points = [p for p in line.points if is_number(p.error) and is_number(p.original)]
    intercept, slope = line.intercept.value, line.slope.value
    (left, right), (bottom, top) = frame()
    most = max(p.error for p in points) or 1.0
    lines = [
        Curve(
            "people in the data",
            tuple(Point(p.error, p.original) for p in points),
            joined=False,
            look=0,
        )
    ]
    others = tuple(Point(p.error, p.holdout) for p in points if is_number(p.holdout))
    lines += [Curve("people held out", others, joined=False, look=1)] if others else []
    if is_number(intercept) and is_number(slope):
        ends = tuple(Point(x, intercept + slope * x) for x in (0.0, most))
        lines.append(Curve("straight line, people in the data", ends, marks=False, look=0))
    heights = [p.y for curve in lines for p in curve.points]
    which = f"{line.sensitive}, {CONVENTION_NAMES[line.convention]}"
    return curves(
        key,
        f"TCAP against error: {which}",
        f"{count_noun(len(points), 'dataset')}; the line is {number(intercept)} at no error, its slope {number(slope)}.",
        lines,
        across=Axis(0.0, most, left, right),
        up=Axis(min([0.0, *heights]), max(heights) or 1.0, bottom, top),
        labels=("mean absolute error of the outputs", cut(f"TCAP, {which}", 270.0, 11.0)),
    )
