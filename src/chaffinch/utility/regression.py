"""A regression fitted on both tables: do its coefficients agree within their confidence intervals?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_share
from .._base.errors import InputError
from .._base.masking import THRESHOLD, masked_count
from .._base.results import to_plain
from ..stats.glm import (
    DOMINANT,
    LARGEST,
    CannotFitError,
    RegressionFit,
    class_influence,
    independent_columns,
    influence,
    logit,
    ols,
)
from ..stats.intervals import Direction, Result
from ..table import Table
from ..table.align import align
from ..table.compare.classes import class_ids
from ..table.formula import Coded, ColumnFactor, Design, RegressionFormula, design, formula_of
from .metric import METRICS, Metric, UtilityRun

Interval = tuple[float, float]
Family = Literal["ols", "logit"]


@dataclass(frozen=True)
class CoefficientRow:
    """One coefficient in both tables; None where a table does not determine it, and then `note` says why."""

    term: str
    original: float | None = None
    original_interval: Interval | None = None
    synthetic: float | None = None
    synthetic_interval: Interval | None = None
    overlap: float | None = None
    difference_in_se: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class Regression(Result):
    """The mean overlap of confidence intervals: 1 the same intervals, 0 they touch, negative they lie apart.

    `rows` are the coefficients, the intercept among them. Those of levels and cells of fewer original records than
    the threshold are listed without their level and without numbers, and are no part of the mean.
    """

    name: ClassVar[str] = "regression"
    direction: ClassVar[Direction] = "higher is better"
    identical: ClassVar[float] = 1.0
    decisive: ClassVar[tuple[str, ...]] = ("formula", "family")

    formula: str = ""
    family: Family = "ols"
    rows: tuple[CoefficientRow, ...] = ()

    def details(self) -> dict[str, Any]:
        """Return the formula, the family and the coefficients."""
        return {"formula": self.formula, "family": self.family, "rows": to_plain(self.rows)}


def interval_overlap(first: Interval, second: Interval) -> float:
    """Return how far two intervals overlap: 1 the same, 0 they touch, negative as they lie apart.

    The length of what they share, relative to each and averaged (Karr, Kohnen, Oganian, Reiter and Sanil 2006,
    section 3). What they share has a negative length when they do not meet; it is kept, as synthpop keeps it.

    Examples
    --------
    >>> interval_overlap((0.0, 4.0), (2.0, 10.0))  # share 2: a half of the one, a quarter of the other
    0.375
    >>> interval_overlap((0.0, 1.0), (2.0, 3.0))
    -1.0
    """
    shared = min(first[1], second[1]) - max(first[0], second[0])
    return (shared / (first[1] - first[0]) + shared / (second[1] - second[0])) / 2


def regression(
    original: Table,
    synthetic: Any,
    formula: str | RegressionFormula,
    *,
    level: float = 0.95,
    threshold: int = THRESHOLD,
) -> Regression:
    """Return the mean overlap of the confidence intervals of a formula's coefficients: 1 for a copy, higher is better.

    A numeric response is fitted by least squares, one of two levels by logistic regression of the second level; see
    `chaffinch.table.formula` for what a formula may hold. Categorical columns are compared with their first level of
    ten or more original records. Records with a missing value in a column of the formula are left out.

    Columns that are combinations of others in the original table are dropped from both fits. A coefficient that the
    synthetic table does not determine (a level was lost) or that has no finite maximum (separation) is listed, without
    a number, and is no part of the mean: look at the rows, not at the mean alone.

    Parameters
    ----------
    synthetic
        A table, a path or a frame.
    formula
        As `income ~ age + sex + age:sex`.
    level
        Coverage of the confidence intervals.
    threshold
        Original records that must stand behind a coefficient before it may show.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> x = [i // 2 for i in range(80)]
    >>> table = chaffinch.read(pa.table({"y": [i + k % 3 for k, i in enumerate(x)], "x": x, "a": ["u", "v"] * 40}))
    >>> result = regression(table, table, "y ~ x + a")
    >>> result.value, [(row.term, round(row.original, 2)) for row in result.rows]
    (1.0, [('Intercept', 0.96), ('x', 1.0), ('a[v]', 0.02)])
    """
    check_share("level", level)
    wanted = (
        formula if isinstance(formula, RegressionFormula) else formula_of(formula, original.schema)
    )
    settings: dict[str, Any] = {"formula": str(wanted), "level": level}
    mine, theirs = align(original, synthetic)
    references = _references(design(wanted, mine), threshold)
    first = design(wanted, mine, references=references)
    try:
        second = design(wanted, theirs, references=references)
    except InputError as error:  # a logarithm of what is not above 0
        return Regression(value=None, reason=f"in the synthetic table {error}", settings=settings)
    from .._base.runtime import one_blas_thread

    try:
        # One thread: more save little here, change the last digits, and on a busy machine wait for each other for long.
        with one_blas_thread():
            return _compare_fits(first, second, level, threshold, settings)
    except CannotFitError as error:
        return Regression(value=None, reason=str(error), settings=settings)


def _compare_fits(
    first: Design, second: Design, level: float, threshold: int, settings: dict[str, Any]
) -> Regression:
    family, how = _family(first, threshold)
    settings |= how
    hidden = _hidden_coefficients(first, threshold)
    used, shared, fits = [], np.empty(0, dtype=bool), []
    for name, plan in (("original", first), ("synthetic", second)):
        x, y = _numbers(plan, family, first)
        used.append(len(y))
        if name == "original":
            independent = independent_columns(x)
            # A level that only the synthetic table has keeps its column there, or its records would pass for the reference.
            shared, columns = independent | ~x.any(axis=0), independent
        else:
            columns = shared
        try:
            fits.append(_fit_regression(x[:, columns], y, family, level, threshold).among(columns))
        except CannotFitError as error:
            raise CannotFitError(f"in the {name} table {error}") from None
        if name == "original":
            _check_dominance(
                x, y, first, [j for j in range(x.shape[1]) if j not in hidden], family, threshold
            )
    rows = tuple(
        CoefficientRow(hidden[j], note=f"fewer than {threshold} original records")
        if j in hidden
        else _row(first.name(coefficient), j, fits[0], fits[1])
        for j, coefficient in enumerate(first.coefficients)
    )
    overlaps = [row.overlap for row in rows if row.overlap is not None]
    settings |= _account(first, second, used, fits, rows, len(hidden), threshold)
    if not overlaps:
        raise CannotFitError(
            f"there is no coefficient that both tables determine and that {_at_least(threshold)} original records share"
        )
    return Regression(
        value=float(np.mean(overlaps)),
        settings=settings,
        formula=str(first.formula),
        family=family,
        rows=rows,
    )


# What is fitted.


def _at_least(threshold: int) -> str:
    return "ten or more" if threshold == 10 else f"{threshold} or more"


def _references(plan: Design, threshold: int) -> dict[ColumnFactor, int]:
    """Return for each categorical factor its first level of as many records as the threshold, else its first."""
    groups = _groups(plan)
    return {
        factor: int(_often(coded, groups, threshold).argmax())
        for factor, coded in plan.factors.items()
        if coded.levels
    }


def _often(coded: Coded, groups: Sequence[NDArray[np.bool_]], threshold: int) -> NDArray[np.bool_]:
    """Return which levels as many records of each group as the threshold have."""
    counts = [np.bincount(coded.codes[group], minlength=len(coded.levels)) for group in groups]
    return np.asarray(np.min(counts, axis=0) >= threshold)


def _family(first: Design, threshold: int) -> tuple[Family, dict[str, Any]]:
    """Return how a response is fitted, and what is to be said of it."""
    response = first.response
    if not response.levels:
        return "ols", {"family": "ols", "intervals": "Student's t"}
    counts = np.bincount(response.codes, minlength=len(response.levels))
    levels = np.flatnonzero(counts)
    if len(levels) < 2:
        raise CannotFitError(
            "the response has fewer than two levels in the complete records of the original table"
        )
    if len(levels) > 2:
        raise CannotFitError(
            f"a response of {len(levels)} levels; name a two-level or numeric one (the schema says which columns are numeric)"
        )
    if counts[levels].min() < threshold:
        raise CannotFitError(f"a level of the response has fewer than {threshold} original records")
    return "logit", {
        "family": "logit",
        "intervals": "Wald, normal",
        "modelled_level": response.levels[levels[1]],
    }


def _numbers(
    plan: Design, family: Family, first: Design
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the design matrix and the response; records with a response that the original never has are left out."""
    if family == "ols":
        return plan.matrix(), plan.response.numbers()
    no, yes = np.unique(first.response.codes)
    rows = (plan.response.codes == no) | (plan.response.codes == yes)
    x = plan.matrix()
    return (x if rows.all() else x[rows]), plan.response.codes[rows] == yes


def _fit_regression(
    x: NDArray[np.float64], y: NDArray[Any], family: Family, level: float, threshold: int
) -> RegressionFit:
    few = f"there are fewer than {threshold} residual degrees of freedom"
    if len(y) - x.shape[1] < threshold and len(y) - independent_columns(x).sum() < threshold:
        raise CannotFitError(few)
    fit = ols(x, y, level=level) if family == "ols" else logit(x, y, level=level)
    if fit.df < threshold:  # logit sets records aside that are predicted surely
        raise CannotFitError(few)
    return fit


# What may be shown.


def _check_dominance(
    x: NDArray[np.float64],
    y: NDArray[Any],
    first: Design,
    shown: list[int],
    family: Family,
    threshold: int,
) -> None:
    """Raise CannotFitError where the original's coefficients are those of a few records: a large response, or a record far from the others, could be worked out from them."""
    if family == "ols":
        result = influence(x[:, shown], y)
        shares = [*result.equations, result.residuals, result.leverage]
    else:
        numeric = [j for j in shown if any(level is None for _, level in first.coefficients[j])]
        shares = [*class_influence(x[:, numeric], y.astype(np.int64), min_records=threshold)]
    if any(share >= DOMINANT for share in shares):
        raise CannotFitError(
            f"{LARGEST} original records or fewer make up at least {DOMINANT:.0%} of a score equation, of the squared residuals or of a fitted value, so that the "
            "coefficients would disclose them; use the logarithm of a skewed column in the formula, or leave it out"
        )


def _hidden_coefficients(first: Design, threshold: int) -> dict[int, str]:
    """Return by number the coefficients that fewer original records decide than the threshold, and what to call them.

    With interactions, a coefficient speaks of the cell of its own levels and the references of the rest: in a*b the
    intercept is the cell of both references. Every such cell must have so many records, of each response where the fit
    tells as much as a table of responses by cells would; and so must whatever differs from the commonest number of a
    numeric column.
    """
    cells = {tuple(f for f in term if first.factors[f].levels) for term in first.formula.terms}
    groups = _groups(first)
    counted = {
        factors: _cells(first, factors, groups)
        for factors in sorted(cells, key=lambda f: (len(f), f))
    }
    matrix, out = first.matrix(), dict[int, str]()
    for j, coefficient in enumerate(first.coefficients):
        levels = {factor: level for factor, level in coefficient if level is not None}
        for factors, count in counted.items():
            if set(levels) <= set(factors) and count(levels) < threshold:
                columns = ":".join(factor.label for factor in factors)
                out[j] = f"(level of fewer than {threshold} records of {columns})"
                break
        else:
            if len(levels) < len(coefficient) and _off_commonest(matrix[:, j]) < threshold:
                columns = ":".join(factor.label for factor, _ in coefficient)
                out[j] = f"(numbers of fewer than {threshold} records of {columns})"
    return out


def _groups(plan: Design) -> list[NDArray[np.bool_]]:
    """Return the groups of records of which as many as the threshold must be in a cell: all, or those of each response.

    With a coefficient for every cell that records have, a logistic regression gives away the table of responses by
    cells, and then the counts of that table are what must not be small.
    """
    codes = plan.response.codes
    factors = [coded.codes for coded in plan.factors.values()]
    (cell,) = class_ids(np.array(factors, dtype=np.int64).reshape(-1, plan.n_rows).T)
    if plan.response.levels and int(cell.max(initial=-1)) < len(plan.coefficients):
        return [codes == response for response in np.unique(codes)]
    return [np.ones(plan.n_rows, dtype=bool)]


def _cells(
    first: Design, factors: tuple[ColumnFactor, ...], groups: Sequence[NDArray[np.bool_]]
) -> Callable[[Mapping[ColumnFactor, int]], int]:
    """Return a function from levels of some factors, else their references, to the records of the smallest group there."""
    coded = [first.factors[factor] for factor in factors]
    tallies = [
        Counter(zip(*(c.codes[group].tolist() for c in coded), strict=True)) for group in groups
    ]

    def count(levels: Mapping[ColumnFactor, int]) -> int:
        cell = tuple(levels.get(c.factor, c.reference) for c in coded)
        return min(tally[cell] for tally in tallies) if coded else first.n_rows

    return count


def _off_commonest(column: NDArray[np.float64]) -> int:
    """Return how many records have another number than the commonest in a column of the design."""
    return len(column) - int(np.unique(column, return_counts=True)[1].max(initial=0))


# What is said.


def _row(term: str, j: int, first: RegressionFit, second: RegressionFit) -> CoefficientRow:
    b, b_interval = _shown_coefficient(first, j)
    s, s_interval = _shown_coefficient(second, j)
    # One phrase for both reasons: "no finite maximum" would tell that all records of a level answer alike.
    notes = [
        f"not determined in the {name} table"
        for name, fit in (("original", first), ("synthetic", second))
        if fit.aliased[j] or fit.unbounded[j]
    ]
    row = CoefficientRow(term, b, b_interval, s, s_interval, note="; ".join(notes))
    if b is None or s is None or b_interval is None or s_interval is None:
        return row
    difference = abs(s - b) / float(first.errors[j])
    return replace(
        row, overlap=interval_overlap(b_interval, s_interval), difference_in_se=difference
    )


def _shown_coefficient(fit: RegressionFit, j: int) -> tuple[float | None, Interval | None]:
    if np.isnan(fit.values[j]):
        return None, None
    return float(fit.values[j]), (float(fit.low[j]), float(fit.high[j]))


def _account(
    first: Design,
    second: Design,
    used: list[int],
    fits: list[RegressionFit],
    rows: tuple[CoefficientRow, ...],
    hidden: int,
    threshold: int,
) -> dict[str, Any]:
    """Return what a reader must know besides the numbers: records used, references, and coefficients without a number."""
    names = ("original", "synthetic")
    totals = [d.n_rows + d.n_left_out for d in (first, second)]
    left_out = [total - n for total, n in zip(totals, used, strict=True)]

    def masked(count: int) -> int | str:
        return masked_count(count, threshold)

    shares = [_share(masked(k), masked(total)) for k, total in zip(left_out, totals, strict=True)]
    levelled = [coded for coded in first.factors.values() if coded.levels]
    everyone = [np.ones(first.n_rows, dtype=bool)]
    return {
        "overlap": "mean over the coefficients that both tables have, the intercept too; negative where intervals lie apart",
        "interval": "none",
        "references": {
            c.factor.label: c.levels[c.reference]
            for c in levelled
            if _often(c, everyone, threshold)[c.reference]
        },
        "records": dict(zip(names, map(masked, used), strict=True)),
        "left_out": dict(zip(names, map(masked, left_out), strict=True)),
        "left_out_share": dict(zip(names, shares, strict=True)),
        "coefficients": len(rows),
        "compared": sum(row.overlap is not None for row in rows),
        "hidden": hidden,
        "not_determined": {
            name: _coefficient_names(rows, fit.aliased)
            for name, fit in zip(names, fits, strict=True)
        },
        "no_finite_maximum": {
            name: _coefficient_names(rows, fit.unbounded)
            for name, fit in zip(names, fits, strict=True)
        },
    }


def _share(count: int | str, total: int | str) -> float | None:
    """Return a share of rounded counts; None where one of them may not show."""
    return (
        round(count / total, 3)
        if isinstance(count, int) and isinstance(total, int) and total
        else None
    )


def _coefficient_names(rows: tuple[CoefficientRow, ...], chosen: NDArray[np.bool_]) -> list[str]:
    return [row.term for row, so in zip(rows, chosen, strict=True) if so]


def _measure(run: UtilityRun, side: str) -> Regression:
    return regression(
        run.original, run.tables[side], run.settings.formula or "", threshold=run.settings.threshold
    )


METRICS.register(
    Metric(
        name="regression",
        kind=Regression,
        measure=_measure,
        doing="fitting the regression",
        needs=("formula",),
        group="uses",
        position=1,
        title="A regression's results",
        question="Would the regression lead to the same conclusions?",
        definition="Mean over coefficients of how far the two 95 % confidence intervals overlap.",
        source="Karr, Kohnen, Oganian, Reiter and Sanil 2006, The American Statistician 60(3)",
        phrases=(
            "The regression says almost the same",
            "The regression says roughly the same",
            "The regression says partly something else",
            "The regression says something else",
        ),
        detail="the overlap of confidence intervals is {value} on average, where 1 is full and 0 or less none",
        limits=(0.1, 0.4, 0.8),
        scaled=False,
    )
)
