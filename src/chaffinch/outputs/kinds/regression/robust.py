"""Standard errors that are not those of the information: robust ones, and those of weighted least squares.

With residuals r, weights w and leverages h of records, A = sum of w x x' and V = A^-1 M A^-1 (White 1980; MacKinnon and White 1985):

    HC0      M = sum of w^2 r^2 x x'
    HC1      the same times n / (n - p)
    HC2, 3   each record divided by 1 - h, or by its square
    cluster  M = sum over clusters of s s', s = sum of w r x, times G / (G - 1) times (n - 1) / (n - p), as statsmodels and Stata have it

HC0 and HC1 are functions of sums over records and have equations; leverages and clusters do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...._base.errors import InputError
from ...columns import Floats
from ...crossing import Frame
from ...equations import SumSystem
from ...families import multipliers
from ...formula import Formula
from ...statistics import Observed
from ..likelihood import JointLevels, inverse, joint_columns, symmetric, upper

if TYPE_CHECKING:
    from .spec import RegressionSpec


CANONICAL = ("logit", "poisson")
"""Families beside the linear one whose robust standard errors all programs agree on: those without corrections."""


def check_covariance(output: RegressionSpec) -> None:
    """Raise InputError for standard errors of a kind that programs differ in, or that need a column."""
    linear, robust = output.family_name == "gaussian", output.covariance
    if (robust == "cluster") != (output.cluster is not None):
        raise output.fault(
            ': covariance = "cluster" and cluster = ..., the column of clusters, belong together.'
        )
    if output.weights is not None and output.family_name == "multinomial":
        raise output.fault(": weights of a multinomial regression are not supported.")
    if output.weights is not None and (
        output.loglik is not None or output.dispersion is not None or output.publishes("loglik")
    ):
        raise output.fault(
            ": a log-likelihood or dispersion with weights is not supported. Leave it out."
        )
    if not output.publishes("standard_errors"):
        return
    if (
        not linear
        and robust is not None
        and (robust != "HC0" or output.family_name not in CANONICAL)
    ):
        raise output.fault(
            f": programs differ in {robust} standard errors of this kind of regression. Leave them out; HC0 of logit and poisson is supported."
        )
    if not linear and output.weights is not None:
        raise output.fault(
            ": programs differ in standard errors of weighted regressions that are not linear. Leave them out."
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
    if output.family_name == "gaussian":
        residual = data.y - x @ coefficients - data.offset[:, 0]
        inner = np.linalg.inv(x.T @ (w[:, None] * x))
    else:
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
        _, of = np.unique(clusters, return_inverse=True)
        groups = int(of.max(initial=0)) + 1
        if groups < 2:
            raise InputError("there is one cluster only, so that there are no standard errors")
        sums = np.zeros((groups, p))
        np.add.at(sums, of.ravel(), score)
        score, factor = sums, groups / (groups - 1) * (n - 1) / max(n - p, 1)
    return np.asarray(np.sqrt(factor * np.maximum(np.diag(inner @ (score.T @ score) @ inner), 0.0)))


def sandwich_system(
    output: RegressionSpec, frame: Frame, formula: Formula, at: Floats
) -> SumSystem:
    """Return HC0 or HC1 standard errors of a linear regression as a function of sums over records."""
    columns = joint_columns(formula, *formula.label.columns)
    p = formula.size
    if JointLevels.too_many(frame.fields, columns, p * (p + 1) + 1):
        raise output.fault(
            ": its columns have too many combinations of levels for robust standard errors. Leave them out."
        )
    joint = JointLevels.of(formula, frame, columns)
    label = output.label(frame, formula).of(joint.codes)[:, 0]
    products = upper(joint.x[:, :, None] * joint.x[:, None, :])
    squares = (label - joint.x @ at - joint.offset)[:, None] ** 2
    numbers = np.hstack([products, squares * products, np.ones((len(label), 1))])
    keys, bounds = output.error_keys(formula)
    reading = Sandwich(p, keys, corrected=output.covariance == "HC1")
    keep = output.filter(frame).keep()
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
        for place, key in enumerate(self.keys):
            v = inner[key]
            u = inner @ meat @ v
            variance = max(float(v @ meat @ v), 1e-300)
            error = float(np.sqrt(factor * variance))
            values.append(error)
            half = factor / (2.0 * error)
            slopes[place, :m] = -half * twice * (v[rows] * u[columns] + v[columns] * u[rows])
            slopes[place, m : 2 * m] = half * twice * v[rows] * v[columns]
            slopes[place, -1] = -0.5 * error * p / (n * (n - p)) if self.corrected else 0.0
        return np.array(values), slopes
