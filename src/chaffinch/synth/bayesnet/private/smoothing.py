"""Noise held back in a measured table: a Gaussian process whose smoothness and strength are those that explain the table best.

What a table differs by from its model is taken as normal with covariance t K1 x K2 x ... (a Kronecker product, one factor for each
column), and is seen under noise of a known variance. A factor is D^1/2 C D^1/2, where D holds the model's shares of the levels, so
that differences go with what is expected, and C says how alike neighbouring levels are: exp(-|i - j| / length), or not at all
(length 0). In the eigenvectors of the factors noise stays white and everything is diagonal: the expected difference is the
measured one, times v / (v + noise) for a variance v. t and the lengths maximise the likelihood of the table (empirical Bayes).

Released numbers and public settings only: post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...._base.compiled import compiled

Array = NDArray[np.float64]

LENGTHS = (1.0, 3.0, 10.0)
"""How many levels a likeness may reach, beside none."""
FEW_LEVELS = 3
"""Columns of at most so many levels have no neighbours to speak of."""
MOST_LEVELS = 256
"""Columns of more levels are taken as they are: the eigenvectors of their factors would take too long."""
STRENGTHS = np.geomspace(1e-6, 1.0, 13)
"""Variances t that are tried, in squared records, for a table of one record."""
EVIDENCE = 1.0
"""By how much the logarithm of the likelihood must rise for a difference to be believed at all."""


@dataclass(frozen=True, eq=False)
class LevelFactor:
    """The factor of one column: eigenvalues, and eigenvectors as columns (None: the levels themselves)."""

    values: Array
    vectors: Array | None


@lru_cache(maxsize=256)
def even_factors(size: int, *, ordered: bool) -> tuple[LevelFactor, ...]:
    """Return the factors to choose from for a column whose levels are expected alike."""
    return factors_of(np.full(size, 1 / size), ordered=ordered)


def factors_of(shares: Array, *, ordered: bool) -> tuple[LevelFactor, ...]:
    """Return the factors to choose from for a column with these shares of its levels: independent levels first."""
    shares = np.maximum(shares, 0.0) / max(float(shares.sum()), 1e-300)
    out = [LevelFactor(shares, None)]
    if ordered and FEW_LEVELS < len(shares) <= MOST_LEVELS:
        roots, steps = (
            np.sqrt(shares),
            np.abs(np.subtract.outer(np.arange(len(shares)), np.arange(len(shares)))),
        )
        stack = np.stack([roots[:, None] * np.exp(-steps / length) * roots for length in LENGTHS])
        values, vectors = np.linalg.eigh(stack)
        out += [LevelFactor(np.maximum(v, 0.0), w) for v, w in zip(values, vectors, strict=True)]
    return tuple(out)


def centred(table: Array) -> Array:
    """Return what is left of a table when the means along each axis are taken out: no sum over any axis tells anything.

    Examples
    --------
    >>> centred(np.array([[3.0, 1.0], [2.0, 4.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def smoothed(
    gap: Array, factors: Sequence[Sequence[LevelFactor]], variance: float, total: float
) -> Array:
    """Return what is to be expected of a difference from a model that was seen under noise of a variance.

    `factors` are the factors to choose from, for each axis; they are chosen one axis after the other.
    """
    if variance <= 0:
        return gap
    chosen = [choices[0] for choices in factors]
    strengths = STRENGTHS * max(total, 1.0) ** 2
    best, strength = _likelihood(gap, chosen, variance, strengths)
    for axis, choices in enumerate(factors):
        for factor in choices[1:]:
            trial = [*chosen[:axis], factor, *chosen[axis + 1 :]]
            likelihood, t = _likelihood(gap, trial, variance, strengths)
            if likelihood > best:
                best, strength, chosen = likelihood, t, trial
    if best < EVIDENCE:
        return np.zeros_like(gap)
    spread = strength * _product([factor.values for factor in chosen])
    return _turned(
        _turned(gap, chosen, back=False) * (spread / (spread + variance)), chosen, back=True
    )


def _likelihood(
    gap: Array, factors: Sequence[LevelFactor], variance: float, strengths: Array
) -> tuple[float, float]:
    """The largest logarithm of the likelihood, over that of noise alone, and the strength that has it."""
    squares = _turned(gap, factors, back=False).ravel() ** 2 / variance
    spread = _product([factor.values for factor in factors]).ravel() / variance
    values = _log_likelihoods(squares, spread, strengths)
    at = int(np.argmax(values))
    return float(values[at]), float(strengths[at])


@compiled
def _log_likelihoods(squares, spread, strengths):  # type: ignore[no-untyped-def]
    """The logarithm of the likelihood at each strength, less that of noise alone; everything in units of the noise."""
    out = np.zeros(strengths.size)
    for i in range(strengths.size):
        total = 0.0
        for j in range(squares.size):
            v = strengths[i] * spread[j]
            total += squares[j] * v / (1.0 + v) - np.log1p(v)
        out[i] = total / 2
    return out


def _product(values: Sequence[Array]) -> Array:
    out = values[0]
    for more in values[1:]:
        out = out[..., None] * more
    return out


def _turned(table: Array, factors: Sequence[LevelFactor], *, back: bool) -> Array:
    """The table in the eigenvectors of its axes, or back."""
    for axis, factor in enumerate(factors):
        if factor.vectors is not None:
            matrix = factor.vectors if back else factor.vectors.T
            table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table
