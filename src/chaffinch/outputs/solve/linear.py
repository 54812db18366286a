"""The published numbers of a system as linear functions of its sums, with the metric that weighs their errors.

Each published number z = z(S) is made linear in the sums S around the present records, z = z0 + H (S - S0). With W the inverse of
the covariance of z and t a point that the published intervals allow, the system's error is

    Q(S) = (z - t)' W (z - t)

in chi-square units, so that errors of different outputs can be added; in the kernels' words A = H'WH and g = 2H'W(z - t). For
coefficients H is the inverse of the observed information and, at t = the coefficients, Q = S' I^-1 S: the score statistic. The plain
error of the coefficients would be badly conditioned, and a search by it stalls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..domain import Floats
from ..equations import SumSystem
from ..families import FAMILIES

AIM = 0.8
"""Share of an interval's half-width that a loose search aims inside of, and"""
REACHED = 0.98
"""the share inside of which it has arrived: a refit then prints the same digits although its error is not quite linear."""
WIDE = 0.25
"""Half-width, in standard errors, from which on an interval is aimed inside of at once, and not at its middle; and from which on the
ends that are kept away from do not grow with it: a number that is only known to be below another may lie just there."""

RIDGE = 1e-9
"""Added to covariances of unit diagonal: numbers that follow from each other have none of full rank."""

FLAT = 1e-8
"""Share of a variance, in covariances of unit diagonal, below which a direction has none."""

SWEEPS = 8

Gram = Callable[[int], tuple[Floats, float, float]]
"""`kernels.gram` of one system: from its kind to the matrix, the sum of squared multipliers and the sum of weights."""


@dataclass(frozen=True, eq=False)
class LinearForm:
    """Published numbers near the sums S0 of some records: S0, the numbers there, H (q, p), W (q, q) and the standard error of each number.

    For sums that are weighed one by one H is a vector of ones, and W a vector. For coefficients there are also H^-1 (the observed information)
    and the curvature A, since H is of no use for errors where records leave some coefficients all but undetermined, and S - H^-1 (t - z0)
    needs it not; and which of them the records do not determine: a level that no record has adds nothing to any sum, so that its coefficient
    would seem to be met.
    """

    sums: Floats
    values: Floats
    slope: Floats
    weight: Floats
    scale: Floats
    observed: Floats | None = None
    curvature: Floats | None = None
    undetermined: NDArray[np.bool_] | None = None

    def at(self, sums: Floats) -> Floats:
        """Return the published numbers at other sums, to first order; a row each at several, (k, p)."""
        change = sums - self.sums
        if self.slope.ndim == 1:
            return self.values + self.slope * change
        return self.values + (self.slope @ change if change.ndim == 1 else change @ self.slope.T)

    def quadratic(self, sums: Floats, aim: Floats, focus: Floats) -> tuple[float, Floats, Floats]:
        """Return Q at some sums, half of its gradient by the sums, and A; with some numbers weighed `focus` (1 or more) times."""
        off = self.at(sums) - aim
        if self.weight.ndim == 1:
            pull = self.weight * focus * off
            return float(off @ pull), pull, self.weight * focus
        if self.curvature is not None and self.observed is not None:
            apart = sums - self.sums + self.observed @ (self.values - aim)
            matrix, pull = self.curvature, self.curvature @ apart
            error = float(apart @ pull)
        else:
            matrix = self.slope.T @ self.weight @ self.slope
            pull = self.slope.T @ (self.weight @ off)
            error = float(off @ self.weight @ off)
        if (focus > 1.0).any():
            more = (focus - 1.0) * np.diag(self.weight)
            matrix = matrix + (self.slope.T * more) @ self.slope
            pull = pull + self.slope.T @ (more * off)
            error += float(off @ (more * off))
        return error, pull, matrix

    def focused(self, focus: Floats) -> Floats:
        """Return W with some numbers weighed `focus` times."""
        if self.weight.ndim == 1:
            return self.weight * focus
        return self.weight + np.diag((focus - 1.0) * np.diag(self.weight))

    def inner(self, half: Floats, share: float) -> Floats:
        """Return the half-widths of the inner parts of intervals: a share of narrow ones, all but a little of wide ones."""
        return half - (1.0 - share) * np.minimum(half, WIDE * self.scale)

    def aim(
        self, system: SumSystem, focus: Floats, *, loose: bool, before: Floats | None
    ) -> Floats:
        """Return where to aim: the middle of each interval; if `loose` or wide, its nearest point well inside."""
        middle, half = 0.5 * (system.lo + system.hi), 0.5 * (system.hi - system.lo)
        half = np.where(loose | (half > WIDE * self.scale), self.inner(half, AIM), 0.0)
        if self.weight.ndim == 1:
            return np.clip(self.values, middle - half, middle + half)
        weight = self.focused(focus)
        return nearest(
            self.values, weight, middle - half, middle + half, middle if before is None else before
        )


def of_coefficients(system: SumSystem, sums: Floats, n_rows: int, gram: Gram) -> LinearForm:
    """Return the coefficients of a model near the present records."""
    assert system.model is not None
    assert system.at is not None
    family = FAMILIES[system.model.family]
    expected, squares, total = gram(1)
    observed = expected if family.canonical else gram(2)[0]
    dispersion = max(squares / max(total, 1e-300), 1e-12) if family.dispersed else 1.0
    # No column of the design may count for less than one record: a level that none has could never be taken up.
    least = _largest(system) ** 2 * (total / n_rows if total > 0.0 else 1.0)
    slope, inverse = _inverse(observed, least), _inverse(expected, least)
    weight = observed @ inverse @ observed / dispersion
    scale = np.sqrt(dispersion * np.maximum(np.diag(inverse), 0.0))
    undetermined = _undetermined(expected, least)
    return LinearForm(
        sums,
        system.at + slope @ sums,
        slope,
        weight,
        scale,
        observed,
        inverse / dispersion,
        undetermined,
    )


def _undetermined(information: Floats, least: Floats) -> NDArray[np.bool_]:
    """Which coefficients no record tells anything about, or only together with others."""
    diagonal = np.diag(information)
    empty = diagonal < 1e-6 * least
    root = np.sqrt(np.where(empty, 1.0, diagonal))
    unit = np.where(empty[:, None] | empty, np.eye(len(root)), information / np.outer(root, root))
    sizes, vectors = np.linalg.eigh(unit)
    result: NDArray[np.bool_] = empty | (np.abs(vectors[:, sizes < 1e-8]) > 1e-3).any(axis=1)
    return result


def of_sums(system: SumSystem, sums: Floats, n_rows: int, squares: Floats) -> LinearForm:
    """Return sums, or what is read off them, near the present records.

    `squares` is the sum of the records' contributions times themselves, (p, p), or (p,) for sums weighed one by one.
    """
    raw = squares if system.diagonal else np.diag(squares)
    # A sum that all records add the same to has no variance, and one that none adds to neither; they count as one record does.
    spread = np.maximum(raw - sums**2 / n_rows, np.maximum(1e-6 * raw, _largest(system) ** 2))
    if system.diagonal:
        return LinearForm(sums, sums, np.ones(system.size), 1.0 / spread, np.sqrt(spread))
    covariance = squares - np.outer(sums, sums) / n_rows
    np.fill_diagonal(covariance, spread)
    values, slope = (
        system.reported(sums) if callable(system.reported) else (sums, np.eye(system.size))
    )
    covariance = slope @ covariance @ slope.T
    least = 1e-12 * np.full(len(values), max(float(np.diag(covariance).max()), 1e-300))
    return LinearForm(
        sums,
        values,
        slope,
        _weight(covariance, least),
        np.sqrt(np.maximum(np.diag(covariance), least)),
    )


def _largest(system: SumSystem) -> Floats:
    """The largest size of the terms of each equation, the multiplier apart; 1 where an equation has none."""
    width = system.model.width if system.model else 1
    largest = np.zeros(system.size // width)
    for terms in system.terms:
        np.maximum.at(largest, terms.equations, np.abs(terms.values))
    return np.tile(np.where(largest > 0.0, largest, 1.0), width)


def _inverse(matrix: Floats, least: Floats) -> Floats:
    """Return the inverse of a covariance or information whose diagonal is raised to `least`; of a near-singular one with a ridge."""
    matrix = matrix.copy()
    np.fill_diagonal(matrix, np.maximum(np.diag(matrix), least))
    root = np.sqrt(np.diag(matrix))
    outer = np.outer(root, root)
    inverse: Floats = np.linalg.inv(matrix / outer + RIDGE * np.eye(len(root))) / outer
    return 0.5 * (inverse + inverse.T)


def _weight(covariance: Floats, least: Floats) -> Floats:
    """Return the inverse of a covariance; of one that leaves directions out, such as shares that add up to 1, without these.

    No records can differ there, so that nothing can be gained; but printed numbers do not quite add up, and a ridge would make of that
    the largest part of the error.
    """
    root = np.sqrt(np.maximum(np.diag(covariance), least))
    outer = np.outer(root, root)
    unit = covariance / outer
    np.fill_diagonal(unit, 1.0)
    try:
        pivots = np.diag(np.linalg.cholesky(unit))
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    if pivots.min() > np.sqrt(FLAT):
        return _inverse(covariance, least)
    sizes, axes = np.linalg.eigh(unit)
    weight: Floats = (
        (axes * np.where(sizes > FLAT, 1.0 / np.maximum(sizes, FLAT), 0.0)) @ axes.T / outer
    )
    return 0.5 * (weight + weight.T)


def nearest(point: Floats, weight: Floats, lo: Floats, hi: Floats, start: Floats) -> Floats:
    """Return nearly the point of a box that is nearest to another in a metric: a few sweeps of coordinate descent.

    Examples
    --------
    >>> nearest(np.array([3.0, 0.5]), np.eye(2), np.zeros(2), np.ones(2), np.zeros(2))
    array([1. , 0.5])
    """
    at = np.clip(start, lo, hi)
    if (lo == hi).all():
        return at
    diagonal = np.diag(weight)
    pull = weight @ (at - point)
    for _ in range(SWEEPS):
        for j in np.flatnonzero(lo < hi):
            new = (
                min(max(at[j] - pull[j] / diagonal[j], lo[j]), hi[j])
                if diagonal[j] > 0.0
                else at[j]
            )
            if new != at[j]:
                pull += weight[:, j] * (new - at[j])
                at[j] = new
    return at
