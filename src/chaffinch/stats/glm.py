"""Linear and logistic regression: coefficients, standard errors and Wald intervals, with honest
gaps.

A coefficient that the data do not determine is NaN: one that could be traded for others because
columns are linear combinations of each other, and in logistic regression one whose likelihood rises
for ever (separation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats, Mask
from .._base.errors import InputError

DEPENDENT = 1e-9
"""Share of a column's length beyond the span of the columns before it under which it counts as
their combination.
"""

LARGEST, DOMINANT = 2, 0.9
"""The share of a sum that the so many largest contributions may not reach, unless a policy says
otherwise: the n-k rule as ACRO has it.
"""

MAX_STEPS = 60
SETTLED = 1e-16
"""Newton decrement (twice the likelihood still to be gained) at which the iteration ends."""


class CannotFitError(InputError):
    """Raised for data that cannot be fitted; the message is the reason, to follow "because"."""


@dataclass(frozen=True, eq=False)
class RegressionFit:
    """A fitted regression: one entry for each column of the design, NaN where the data do not
    determine it.

    `values`, `errors`, `low`, `high`: coefficients, standard errors and the ends of the Wald
    intervals. `aliased`: columns that could be traded for other columns. `unbounded`: columns whose
    coefficient has no finite maximum of the likelihood. `df`: residual degrees of freedom.
    """

    values: Floats
    errors: Floats
    low: Floats
    high: Floats
    aliased: Mask
    unbounded: Mask
    df: int

    def among(self, columns: Mask) -> RegressionFit:
        """Return the fit with an entry for every column of a wider design; columns that were not
        fitted are aliased.
        """

        def spread(values: NDArray[Any], empty: float | bool) -> NDArray[Any]:
            out = np.full(len(columns), empty, dtype=values.dtype)
            out[columns] = values
            return out

        values, errors, low, high = (
            spread(fitted, np.nan) for fitted in (self.values, self.errors, self.low, self.high)
        )
        return RegressionFit(
            values,
            errors,
            low,
            high,
            spread(self.aliased, True),
            spread(self.unbounded, False),
            self.df,
        )


class _Basis(NamedTuple):
    """Columns that span a matrix, how they combine to orthonormal ones, and which coefficients are
    determined.
    """

    independent: NDArray[np.intp]
    to_orthonormal: Floats
    determined: Mask


def independent_columns(x: Floats) -> Mask:
    """Return which columns are no linear combination of the columns before them, as R drops them.

    Examples
    --------
    >>> independent_columns(np.array([[1.0, 2, 0], [1, 2, 1], [1, 2, 5]])).tolist()
    [True, False, True]
    """
    scale = _lengths(x)
    return _independent(_triangle(x / scale))[0]


class Influence(NamedTuple):
    """The shares of a fit that depend on a few records: 0 none of it, 1 all of it, NaN where
    undefined.

    `equations`: for each column x_j of the design, the share that the `top` largest |x_ij y_i| have
    of their sum. Coefficients are published in place of these sums: the score equations of a
    regression with a canonical link set them equal to what the coefficients predict. `residuals`:
    the share that the `top` largest squared residuals of least squares have of their sum, which
    standard errors tell. `leverage`: the largest diagonal element of the hat matrix; at 1 the
    fitted value of a record is its own response.
    """

    equations: Floats
    residuals: float
    leverage: float


def influence(x: Floats, y: Floats, *, top: int = LARGEST) -> Influence:
    """Return the share of a regression of y on the columns of x that depends on the `top` most
    influential records.

    Examples
    --------
    Nine people with 1 and one with 91, who has .91 of the sum and, as the only one with x = 1, a
    leverage of 1:

    >>> x, y = np.column_stack([np.ones(10), np.arange(10) == 9]).astype(float), np.array([1.0] * 9 + [91.0])
    >>> result = influence(x, y, top=1)
    >>> result.equations.round(2).tolist(), round(result.leverage, 6)
    ([0.91, 1.0], 1.0)
    """
    equations = np.array([_largest_share(np.abs(column * y), top) for column in x.T])
    unit = x / _lengths(x)
    q = np.linalg.qr(unit[:, _independent(_triangle(unit))[0]])[0]
    residuals = y - q @ (q.T @ y)
    # What rounding leaves of a perfect fit is no residual.
    is_fitted = float(np.linalg.norm(residuals)) <= 1e-10 * float(np.linalg.norm(y))
    residual_share = np.nan if is_fitted else _largest_share(residuals**2, top)
    return Influence(equations, residual_share, float((q**2).sum(axis=1).max(initial=0.0)))


def class_influence(
    x: Floats, label: NDArray[np.integer], *, min_records: int, top: int = LARGEST
) -> Floats:
    """Return for each column the largest share of the `top` largest |x_ij| in the sum of their
    class of the label.

    Classes of fewer than `min_records` records are left out: their number alone shows too much. A
    regression on a label of classes has sums of this kind in its score equations.

    Examples
    --------
    >>> class_influence(np.array([[1.0], [1.0], [98.0], [1.0], [1.0]]), np.array([0, 0, 0, 1, 1]), min_records=2, top=1).tolist()
    [0.98]
    """
    shares = np.zeros(x.shape[1])
    for level in np.unique(label):
        inside = label == level
        if inside.sum() >= min_records:
            shares = np.fmax(
                shares, [_largest_share(np.abs(column), top) for column in x[inside].T]
            )
    return shares


def _largest_share(parts: Floats, top: int) -> float:
    """Return the share of the `top` largest of nonnegative numbers in their sum."""
    total = float(parts.sum())
    if not total > 0:
        return np.nan
    return (
        float(np.partition(parts, max(len(parts) - top, 0))[max(len(parts) - top, 0) :].sum())
        / total
    )


def ols(x: Floats, y: Floats, *, level: float = 0.95) -> RegressionFit:
    """Return the least-squares fit of numbers, with intervals from Student's t.

    Raises
    ------
    CannotFitError
        Without residual degrees of freedom, or if the fit leaves no error, so that intervals have
        no width.
    """
    from scipy.special import stdtrit

    if not len(y) or not np.ptp(y):
        raise CannotFitError("the response does not vary")
    scale = _lengths(x)
    size = float(np.linalg.norm(y))
    triangle = _triangle(np.column_stack([x / scale, y / size]))
    basis = _basis(triangle[:, :-1])
    df = len(y) - len(basis.independent)
    if df < 1:
        raise CannotFitError("there are no more records than coefficients")
    # The triangle of the kept columns and the response holds all there is to know: R, Q'y and the residual's length.
    small = _triangle(triangle[:, [*basis.independent, -1]])
    rank = len(basis.independent)
    residual = abs(small[rank, rank])
    if residual < 1e-12:
        raise CannotFitError("the fit leaves no error, so that its intervals have no width")
    inverse = _inverse(small[:rank, :rank])
    values = inverse @ small[:rank, rank] * size / scale[basis.independent]
    errors = np.sqrt((inverse**2).sum(axis=1) / df) * residual * size / scale[basis.independent]
    nothing = np.zeros(x.shape[1], dtype=bool)
    return _fit(
        x.shape[1],
        basis,
        values,
        errors,
        float(stdtrit(df, 0.5 + level / 2)),
        ~basis.determined,
        nothing,
        df,
    )


def logit(x: Floats, y: Mask, *, level: float = 0.95) -> RegressionFit:
    """Return the logistic regression of a yes-or-no response, with intervals from the normal
    distribution.

    Where a direction exists in which the likelihood only rises (quasi-separation: a level whose
    records all answer alike), the records that it predicts without error carry no more information;
    they are set aside, the coefficients that they alone determine have no finite maximum, and the
    others get their limits.

    Raises
    ------
    CannotFitError
        If all records answer alike, if the columns predict every answer, or if the iteration does
        not settle.
    """
    from scipy.special import ndtri

    if not len(y) or y.all() or not y.any():
        raise CannotFitError("all records have the same response")
    n_columns = x.shape[1]
    scale = _lengths(x)
    x = x / scale
    basis = _basis(_triangle(x))
    aliased = ~basis.determined
    n_rows = len(y)
    while True:
        x, y = _without_certain(x, y)
        if not len(y) or y.all() or not y.any():
            raise CannotFitError(
                "the columns predict the response of every record (separation), so that the likelihood has no maximum"
            )
        if len(y) < n_rows:
            basis = _basis(_triangle(x))
        z = x[:, basis.independent] @ basis.to_orthonormal
        coefficients, certain = _newton(z, y)
        if certain is None:
            break
        x, y = x[~certain], y[~certain]
    df = len(y) - len(basis.independent)
    covariance = (
        basis.to_orthonormal @ np.linalg.inv(_curve(z, z @ coefficients)) @ basis.to_orthonormal.T
    )
    values = basis.to_orthonormal @ coefficients / scale[basis.independent]
    errors = np.sqrt(np.diag(covariance)) / scale[basis.independent]
    unbounded = ~basis.determined & ~aliased
    return _fit(
        n_columns, basis, values, errors, float(ndtri(0.5 + level / 2)), aliased, unbounded, df
    )


def _fit(
    n: int,
    basis: _Basis,
    values: Floats,
    errors: Floats,
    width: float,
    aliased: Mask,
    unbounded: Mask,
    df: int,
) -> RegressionFit:
    """Return a fit with NaN for columns that were left out or that the data do not determine."""
    spread = np.full((2, n), np.nan)
    spread[:, basis.independent] = values, errors
    spread[:, ~basis.determined] = np.nan
    centre, error = spread
    return RegressionFit(
        centre, error, centre - width * error, centre + width * error, aliased, unbounded, df
    )


# Columns and their spans.


def _lengths(x: Floats) -> Floats:
    """Return the Euclidean norm of each column, 1 for a column of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->j", x, x))
    return np.where(lengths > 0, lengths, 1.0)


def _triangle(x: Floats) -> Floats:
    """Return R of QR: a small matrix with the same inner products of columns, padded to at least as
    many rows.
    """
    r = np.asarray(np.linalg.qr(x, mode="r"))
    short = x.shape[1] - len(r)
    return np.pad(r, ((0, short), (0, 0))) if short > 0 else r


def _inverse(triangle: Floats) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(triangle, np.eye(len(triangle))))


def _independent(r: Floats) -> tuple[Mask, Floats]:
    """Return which columns of a matrix are independent of those before them, and an orthonormal
    basis of them.
    """
    independent = np.zeros(r.shape[1], dtype=bool)
    basis = np.zeros(r.shape, order="F")
    rank = 0
    for j in range(r.shape[1]):
        rest = r[:, j].copy()
        for _ in range(2):  # once more removes what rounding left
            rest -= basis[:, :rank] @ (basis[:, :rank].T @ rest)
        length = float(np.linalg.norm(rest))
        if length > DEPENDENT * float(np.linalg.norm(r[:, j])):
            independent[j] = True
            basis[:, rank] = rest / length
            rank += 1
    return independent, basis[:, :rank]


def _basis(r: Floats) -> _Basis:
    """Return the independent columns of a triangle; a coefficient is determined if no dropped
    column depends on it.
    """
    mask, orthonormal = _independent(r)
    independent = np.flatnonzero(mask)
    to_orthonormal = _inverse(orthonormal.T @ r[:, independent])
    dropped = np.flatnonzero(~mask)
    traded = to_orthonormal @ (orthonormal.T @ r[:, dropped])
    share = np.abs(traded) * _lengths(r[:, independent])[:, None] / _lengths(r[:, dropped])
    determined = mask.copy()
    determined[independent] = ~(share > 1e-7).any(axis=1)
    return _Basis(independent, to_orthonormal, determined)


# Newton's method and separation.


def _chance(eta: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(eta))


def _curve(z: Floats, eta: Floats) -> Floats:
    return (z * (_chance(eta) * _chance(-eta))[:, None]).T @ z


def _without_certain(x: Floats, y: Mask) -> tuple[Floats, Mask]:
    """Return the records without those with a value in a one-signed column that occurs with one
    response only.

    A level whose records all answer alike, and the like: the commonest separation, found by adding
    up.
    """
    while len(y):
        signed = ~((x < 0).any(axis=0) & (x > 0).any(axis=0))
        yes, no = np.abs(x[y]).sum(axis=0), np.abs(x[~y]).sum(axis=0)
        certain = signed & ((yes == 0) != (no == 0))
        if not certain.any():
            break
        rows = ~(x[:, certain] != 0).any(axis=1)
        x, y = x[rows], y[rows]
    return x, y


def _newton(z: Floats, y: Mask) -> tuple[Floats, Mask | None]:
    """Return the maximum likelihood coefficients or, under separation, the records that some
    direction predicts perfectly.

    `z` has orthonormal columns. Steps are halved until the likelihood does not fall. In separated
    data each step adds about 1 to the margins of the records that can be predicted and ever less to
    the others: the step itself becomes the direction that proves it.
    """
    sign = np.where(y, 1.0, -1.0)
    coefficients = np.zeros(z.shape[1])
    margins = np.zeros(len(y))
    loss = _loss(margins)
    for _ in range(MAX_STEPS):
        slope = z.T @ (sign * _chance(-margins))
        try:
            step = np.linalg.solve(_curve(z, margins), slope)
        except np.linalg.LinAlgError:
            break
        gain = float(slope @ step)
        along = sign * (z @ step)
        if gain < SETTLED * len(y) and float(np.abs(along).max()) < 1e-6:
            return coefficients + step, None
        if along.max() > 0 and along.min() > -1e-7 * along.max():
            return coefficients, along > 1e-6 * along.max()
        size = 1.0
        while _loss(margins + size * along) > loss * (1 + 1e-12) and size > 1e-6:
            size /= 2
        coefficients, margins = coefficients + size * step, margins + size * along
        if margins.min() > 0:
            return coefficients, np.ones(len(y), dtype=bool)
        loss = _loss(margins)
    raise CannotFitError(f"the iteration did not settle in {MAX_STEPS} steps")


def _loss(margins: Floats) -> float:
    return float(np.logaddexp(0.0, -margins).sum())
