"""Numbers beside a regression's coefficients: standard errors, log-likelihoods and dispersions, read off sums of products of a design's columns, with derivatives.

Standard errors need not be those of the information: there are robust ones, and those of weighted least squares.
With residuals r, weights w and leverages h of records, A = sum of w x x' and V = A^-1 M A^-1 (White 1980; MacKinnon and White 1985):

    HC0      M = sum of w^2 r^2 x x'
    HC1      the same times n / (n - p)
    HC2, 3   each record divided by 1 - h, or by its square
    cluster  M = sum over clusters of s s', s = sum of w r x, times G / (G - 1) times (n - 1) / (n - p), as statsmodels and Stata have it

HC0 and HC1 are functions of sums over records and have equations; leverages and clusters do not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...._base.arrays import Floats, Ints
from ...._base.errors import InputError
from ...domain import MOST_CELLS, OutputDomain
from ...equations import Lookup, Output, RegressionModel, SumSystem, Terms
from ...families import FAMILIES, multipliers
from ...formula import Formula
from ...statistics import Observed
from ..model import JointLevels, inverse, joint_columns, symmetric, upper

if TYPE_CHECKING:
    from .spec import RegressionSpec

CANONICAL = ("logit", "poisson")
"""Families beside the linear one whose robust standard errors all programs agree on: those without corrections."""


def beside_coefficients(
    output: RegressionSpec,
    domain: OutputDomain,
    formula: Formula,
    model: RegressionModel,
    coefficients: Floats,
) -> list[Output]:
    """Return a system for each number that is published beside the coefficients; `at` are these."""
    if (
        output.family_name == "gaussian"
        and output.covariance is not None
        and output.standard_errors is not None
    ):
        rest = output.changed(standard_errors=None)
        return [
            sandwich_system(output, domain, formula, coefficients),
            *_leastsquares(rest, domain, formula, model.label, coefficients),
        ]
    if output.family_name == "gaussian":
        return _leastsquares(output, domain, formula, model.label, coefficients)
    return _others(output, domain, formula, model)


def _leastsquares(
    output: RegressionSpec,
    domain: OutputDomain,
    formula: Formula,
    label: Lookup,
    coefficients: Floats,
) -> list[Output]:
    if output.standard_errors is None and output.loglik is None and output.dispersion is None:
        return []
    if output.offset is not None or formula.offsets:
        raise output.fault(": standard errors and log-likelihood with an offset are not supported.")
    keys, bounds = (
        output.error_keys(formula) if output.standard_errors is not None else ([], np.zeros((0, 2)))
    )
    extra = [("loglik", output.loglik), ("dispersion", output.dispersion)]
    what = [name for name, number in extra if number is not None]
    bounds = np.vstack(
        [
            bounds,
            *(
                np.array([output.printed(number, name)])
                for name, number in extra
                if number is not None
            ),
        ]
    )
    terms, size = squares(formula, label, domain, what=output.name)
    reading = LeastSquares(formula.size, coefficients, keys, what)
    name = f"{output.name}: {' and '.join([*(['standard errors'] if keys else []), *what])}"
    keep = output.filter(domain).keep()
    return [SumSystem(name, size, terms, bounds[:, 0], bounds[:, 1], keep=keep, reported=reading)]


def _others(
    output: RegressionSpec, domain: OutputDomain, formula: Formula, model: RegressionModel
) -> list[Output]:
    dispersed, n = FAMILIES[output.family_name].law.is_dispersed, output.known_n(domain) or 0
    dispersion = (
        None if output.dispersion is None else output.printed(output.dispersion, "the dispersion")
    )
    has_errors, has_loglik = output.standard_errors is not None, output.loglik is not None
    lacks_dispersion = dispersed and dispersion is None
    is_observed = output.information == "observed" or (
        output.kind in ("probit", "negative-binomial") and output.information is None
    )
    output.refuse(
        (
            dispersion is not None and not dispersed,
            f' has a dispersion, which kind = "{output.kind}" does not have.',
        ),
        (
            dispersion is not None and n <= formula.size,
            f" has a dispersion: it needs n, above its {formula.size} coefficients.",
        ),
        (
            has_errors and output.family_name == "multinomial",
            ": standard errors of multinomial regressions are not supported. Leave them out.",
        ),
        (
            has_errors and is_observed,
            ": standard errors from the observed information are not supported. Leave them out; or, if "
            'they come from a GLM, say information = "expected".',
        ),
        (
            has_errors and lacks_dispersion,
            f' has standard errors: kind = "{output.kind}" then needs the dispersion.',
        ),
        (
            has_loglik and lacks_dispersion,
            f' has a log-likelihood: kind = "{output.kind}" then needs the dispersion.',
        ),
    )
    keep, systems = output.filter(domain).keep(), list[Output]()
    constant = Terms((), (), np.array([0, 1]), np.array([0]), np.array([1.0]))
    if dispersion is not None:
        lo, hi = np.array([dispersion]).T * (n - formula.size)
        pearson = replace(model, quantity="pearson")
        name = f"{output.name}: dispersion"
        systems.append(SumSystem(name, 1, (constant,), lo, hi, pearson, keep))
    if has_errors:
        keys, errors = output.error_keys(formula)
        terms, size = products(formula, domain, what=output.name)
        reading = Information(formula.size, keys, 1.0 if dispersion is None else dispersion.middle)
        weight = replace(model, quantity="weight")
        name = f"{output.name}: standard errors"
        systems.append(
            SumSystem(name, size, terms, errors[:, 0], errors[:, 1], weight, keep, reported=reading)
        )
    if has_loglik:
        parameter = model.parameter if dispersion is None else dispersion.middle
        lo, hi = np.array([output.printed(output.loglik, "the log-likelihood")]).T
        loglik = replace(model, quantity="loglik", parameter=parameter)
        systems.append(SumSystem(f"{output.name}: loglik", 1, (constant,), lo, hi, loglik, keep))
    return systems


# Sums, and what is read off them.


def _columns_of(terms: Terms) -> tuple[list[int], Floats]:
    """The design's columns that a look-up has, and its entries as a dense matrix (combinations, those columns)."""
    columns = np.unique(terms.equations)
    dense = np.zeros((len(terms.starts) - 1, len(columns)))
    rows = np.repeat(np.arange(len(dense)), np.diff(terms.starts))
    dense[rows, np.searchsorted(columns, terms.equations)] = terms.values
    return columns.tolist(), dense


def _multiply_terms(
    first_terms: Terms,
    right: Terms,
    domain: OutputDomain,
    pair_index: Ints,
    what: str,
) -> Terms:
    """Look-ups of the products of two look-ups' entries; `pair_index` has the equation of each pair of columns."""
    positions = tuple(sorted({*first_terms.columns, *right.columns}))
    grid, sizes = domain.grid(positions), domain.shape(positions)
    size = int(np.prod(sizes, dtype=np.int64))
    expanded = []
    for terms in (first_terms, right):
        columns, dense = _columns_of(terms)
        key = np.zeros(size, dtype=np.intp)
        for position, levels in zip(terms.columns, terms.sizes, strict=True):
            key = key * levels + grid[position]
        expanded.append((columns, dense[key]))
    (a, x), (b, y) = expanded
    if size * len(a) * len(b) > 10 * MOST_CELLS:
        raise InputError(
            f"Output '{what}': the terms of its formula have too many combinations for standard errors. Leave them out."
        )
    product = x[:, :, None] * y[:, None, :]
    if first_terms is right:
        product = np.triu(product)
    rows, i, j = np.nonzero(product)
    return Terms.sparse(positions, sizes, rows, pair_index[np.ix_(a, b)][i, j], product[rows, i, j])


def products(formula: Formula, domain: OutputDomain, *, what: str) -> tuple[tuple[Terms, ...], int]:
    """Terms of the sums of x_i x_j, i <= j, in that order."""
    size = formula.size * (formula.size + 1) // 2
    pair_index = symmetric(np.arange(size, dtype=float), formula.size).astype(np.int64)
    crossings = [
        _multiply_terms(first_terms, right, domain, pair_index, what)
        for k, first_terms in enumerate(formula.terms)
        for right in formula.terms[k:]
    ]
    return tuple(terms for terms in crossings if terms.equations.size), size


def squares(
    formula: Formula, label: Lookup, domain: OutputDomain, *, what: str
) -> tuple[tuple[Terms, ...], int]:
    """Terms of all products of the design's columns, y and 1: x_i x_j, then x_i y, then y y, then 1."""
    terms, size = products(formula, domain, what=what)
    y = Terms.dense(label.columns, label.sizes, label.values)
    p = formula.size
    with_label = size + np.arange(p)[:, None]
    crossed = [_multiply_terms(design, y, domain, with_label, what) for design in formula.terms]
    squared = Terms.dense(
        label.columns,
        label.sizes,
        np.hstack([np.zeros((len(label.values), size + p)), label.values**2]),
    )
    constant = Terms((), (), np.array([0, 1]), np.array([size + p + 1]), np.array([1.0]))
    return (*terms, *(t for t in crossed if t.equations.size), squared, constant), size + p + 2


def _slopes(inverse: Floats, k: int) -> Floats:
    """Derivatives of the k-th diagonal entry of an inverse by the upper triangle of what is inverted."""
    outer = np.outer(inverse[k], inverse[k])
    upper = np.triu_indices(len(inverse))
    return -(outer * (2.0 - np.eye(len(inverse))))[upper]


class Information:
    """Standard errors out of the information's upper triangle, with derivatives."""

    def __init__(self, size: int, keys: list[int], dispersion: float) -> None:
        self.size, self.keys, self.dispersion = size, keys, dispersion

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published standard errors, and their derivatives by the sums."""
        covariance = inverse(symmetric(sums, self.size))
        errors = np.sqrt(self.dispersion * np.maximum(np.diag(covariance)[self.keys], 1e-300))
        slope = np.array([_slopes(covariance, k) for k in self.keys]).reshape(len(self.keys), -1)
        return errors, self.dispersion * slope / (2.0 * errors[:, None])


class LeastSquares:
    """Standard errors, log-likelihood and dispersion of linear regression, with derivatives.

    Sums: x_i x_j (i <= j), x_i y, y y, n. RSS = yy - 2 b'xy + b'xx b at the fitted b, so that b's own change adds nothing to the
    derivative; at the published b where the sums determine none.
    """

    def __init__(self, size: int, coefficients: Floats, keys: list[int], what: list[str]) -> None:
        self.size, self.coefficients, self.keys, self.what = size, coefficients, keys, what

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by the sums."""
        p, b = self.size, self.coefficients
        m = p * (p + 1) // 2
        xx, xy, yy, n = (
            symmetric(sums[:m], p),
            sums[m : m + p],
            float(sums[-2]),
            max(float(sums[-1]), p + 1.0),
        )
        if np.linalg.cond(xx) < 1e12:
            b = np.asarray(np.linalg.solve(xx, xy), dtype=np.float64)
        rss = max(float(yy - 2.0 * b @ xy + b @ xx @ b), 1e-12 * max(yy, 1e-12))
        by = np.zeros(len(sums))
        by[:m] = (np.outer(b, b) * (2.0 - np.eye(p)))[np.triu_indices(p)]
        by[m : m + p], by[-2] = -2.0 * b, 1.0
        count = np.zeros(len(sums))
        count[-1] = 1.0
        scale, scale_by = rss / (n - p), by / (n - p) - rss / (n - p) ** 2 * count
        values, slopes = [], []
        covariance = inverse(xx) if self.keys else xx
        for k in self.keys:
            error = math.sqrt(max(scale * covariance[k, k], 1e-300))
            inner = scale_by * covariance[k, k]
            inner[:m] += scale * _slopes(covariance, k)
            values.append(error)
            slopes.append(inner / (2.0 * error))
        if "loglik" in self.what:
            values.append(-0.5 * n * (math.log(2.0 * math.pi * rss / n) + 1.0))
            slopes.append(-0.5 * n / rss * by - 0.5 * math.log(2.0 * math.pi * rss / n) * count)
        if "dispersion" in self.what:
            values.append(scale)
            slopes.append(scale_by)
        return np.array(values), np.array(slopes)


def check_covariance(output: RegressionSpec) -> None:
    """Raise InputError for standard errors of a kind that programs differ in, or that need a column."""
    is_linear, robust = output.family_name == "gaussian", output.covariance
    is_weighted, has_errors = output.weights is not None, output.publishes("standard_errors")
    output.refuse(
        (
            (robust == "cluster") != (output.cluster is not None),
            ': covariance = "cluster" and cluster = ..., the column of clusters, belong together.',
        ),
        (
            is_weighted and output.family_name == "multinomial",
            ": weights of a multinomial regression are not supported.",
        ),
        (
            is_weighted and (output.dispersion is not None or output.publishes("loglik")),
            ": a log-likelihood or dispersion with weights is not supported. Leave it out.",
        ),
        (
            has_errors
            and not is_linear
            and robust is not None
            and (robust != "HC0" or output.family_name not in CANONICAL),
            f": programs differ in {robust} standard errors of this kind of regression. Leave them out; HC0 of logit and poisson is supported.",
        ),
        (
            has_errors and not is_linear and is_weighted,
            ": programs differ in standard errors of weighted regressions that are not linear. Leave them out.",
        ),
    )


def without_equations(output: RegressionSpec) -> str:
    """Return why standard errors have no equations; nothing where they have, or are not published."""
    if not output.publishes("standard_errors"):
        return ""
    if output.covariance in ("HC2", "HC3", "cluster"):
        return f"standard errors of type {output.covariance} have no equations; without them its coefficients can be measured"
    if output.weights is not None or (
        output.covariance is not None and output.family_name != "gaussian"
    ):
        return (
            "these standard errors have no equations; without them its coefficients can be measured"
        )
    return ""


def robust_errors(
    output: RegressionSpec,
    data: Observed,
    coefficients: Floats,
    clusters: NDArray[np.integer] | None,
) -> Floats:
    """Return the standard errors of a fit: robust ones, or those of weighted least squares."""
    x, w = data.x, data.weight
    n, p = x.shape
    eta = (x @ coefficients)[:, None] + data.offset
    residual = multipliers(output.family_name, "score", eta, data.y)[:, 0]
    inner = np.linalg.inv(
        x.T @ (multipliers(output.family_name, "weight", eta, data.y) * w[:, None] * x)
    )
    if output.covariance is None:
        return np.asarray(np.sqrt(float(w @ residual**2) / max(n - p, 1) * np.diag(inner)))
    score = (w * residual)[:, None] * x
    factor = 1.0
    if output.covariance in ("HC2", "HC3"):
        leverage = w * np.einsum("ij,jk,ik->i", x, inner, x)
        power = 0.5 if output.covariance == "HC2" else 1.0
        score = score / np.maximum(1.0 - leverage, 1e-12)[:, None] ** power
    elif output.covariance == "HC1":
        factor = n / max(n - p, 1)
    elif output.covariance == "cluster":
        assert clusters is not None
        _, cluster_index = np.unique(clusters, return_inverse=True)
        groups = int(cluster_index.max(initial=0)) + 1
        if groups < 2:
            raise InputError("there is one cluster only, so that there are no standard errors")
        sums = np.zeros((groups, p))
        np.add.at(sums, cluster_index.ravel(), score)
        score, factor = sums, groups / (groups - 1) * (n - 1) / max(n - p, 1)
    return np.asarray(np.sqrt(factor * np.maximum(np.diag(inner @ (score.T @ score) @ inner), 0.0)))


def sandwich_system(
    output: RegressionSpec, domain: OutputDomain, formula: Formula, coefficients: Floats
) -> SumSystem:
    """Return HC0 or HC1 standard errors of a linear regression as a function of sums over records."""
    columns = joint_columns(formula, *formula.label.columns)
    p = formula.size
    if JointLevels.too_many(domain, columns, p * (p + 1) + 1):
        raise output.fault(
            ": its columns have too many combinations of levels for robust standard errors. Leave them out."
        )
    joint = JointLevels.from_formula(formula, domain, columns)
    label = output.label(domain, formula).evaluate(joint.codes)[:, 0]
    products = upper(joint.x[:, :, None] * joint.x[:, None, :])
    squares = (label - joint.x @ coefficients - joint.offset)[:, None] ** 2
    numbers = np.hstack([products, squares * products, np.ones((len(label), 1))])
    keys, bounds = output.error_keys(formula)
    reading = Sandwich(p, keys, corrected=output.covariance == "HC1")
    keep = output.filter(domain).keep()
    name = f"{output.name}: standard errors"
    return SumSystem(
        name,
        numbers.shape[1],
        (joint.terms(numbers),),
        bounds[:, 0],
        bounds[:, 1],
        keep=keep,
        reported=reading,
    )


class Sandwich:
    """HC0 or HC1 (`corrected`) standard errors out of the upper triangles of sums of x x' and of r^2 x x', and n, with derivatives."""

    def __init__(self, size: int, keys: list[int], *, corrected: bool) -> None:
        self.size, self.keys, self.corrected = size, keys, corrected

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published standard errors, and their derivatives by the sums."""
        p = self.size
        m = p * (p + 1) // 2
        inner, meat, n = (
            inverse(symmetric(sums[:m], p)),
            symmetric(sums[m : 2 * m], p),
            max(float(sums[-1]), p + 1.0),
        )
        rows, columns = np.triu_indices(p)
        twice = np.where(rows == columns, 1.0, 2.0)
        factor = n / (n - p) if self.corrected else 1.0
        values, slopes = [], np.zeros((len(self.keys), len(sums)))
        for row, key in enumerate(self.keys):
            v = inner[key]
            u = inner @ meat @ v
            variance = max(float(v @ meat @ v), 1e-300)
            error = float(np.sqrt(factor * variance))
            values.append(error)
            half = factor / (2.0 * error)
            slopes[row, :m] = -half * twice * (v[rows] * u[columns] + v[columns] * u[rows])
            slopes[row, m : 2 * m] = half * twice * v[rows] * v[columns]
            slopes[row, -1] = -0.5 * error * p / (n * (n - p)) if self.corrected else 0.0
        return np.array(values), slopes
