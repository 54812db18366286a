"""The checks of `audits.py` as a fixture, loaded by its path, and exact probabilities of the laws that `samplers` draws from."""

from __future__ import annotations

import importlib.util
import math
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from chaffinch._base.errors import InputError
from chaffinch.privacy.mechanisms import _gaps, _theta, checked_scale

MOST_CANDIDATES = 2_000
"""Of permute-and-flip's exact probabilities: the work grows as the square."""


@pytest.fixture(scope="session")
def audits() -> ModuleType:
    """The checks that any private fit must pass."""
    name = f"{__package__}.audits"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("audits.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def laplace_pmf(z: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return the probability of each whole number under the discrete Laplace law: tanh(1/(2 scale)) exp(-|z|/scale).

    Examples
    --------
    >>> laplace_pmf([0, 1], 1 / np.log(2)).round(6).tolist()  # a third, then half of it at each side
    [0.333333, 0.166667]
    """
    scale = checked_scale(scale)
    return math.tanh(0.5 / scale) * np.exp(-np.abs(np.asarray(z, dtype=np.float64)) / scale)


def gaussian_pmf(z: ArrayLike, sigma: float) -> NDArray[np.float64]:
    """Return the probability of each whole number under the discrete Gaussian law.

    Examples
    --------
    >>> p = gaussian_pmf(np.arange(-9, 10), 1.0)
    >>> round(float(p.sum()), 12), round(float(p[9]), 6)
    (1.0, 0.398942)
    """
    sigma = checked_scale(sigma, "sigma")
    with np.errstate(over="ignore"):  # far from 0 at a tiny sigma: exp(-inf) = 0 is right
        return np.exp(-0.5 * np.square(np.asarray(z, dtype=np.float64) / sigma)) / _theta(sigma)


def exponential_probabilities(scores: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return the chance of each candidate under the exponential mechanism: exp(score/scale), made to sum to 1.

    Examples
    --------
    >>> exponential_probabilities([0, 1], 1 / np.log(3)).round(6).tolist()
    [0.25, 0.75]
    """
    weights = np.exp(-_gaps(scores, checked_scale(scale)))
    return weights / weights.sum()


def permute_and_flip_probabilities(scores: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return the chance of each candidate under permute-and-flip, for at most 2,000 candidates.

    Give each candidate j a uniform time and a coin of chance p_j = exp((score_j - best)/scale). Candidate i is taken at time t
    if its coin falls right and each other one is either later or failed, of chance 1 - t p_j. So
    P(i) = p_i * integral over 0 < t < 1 of the product of (1 - t p_j), j other than i: a polynomial, which Gauss-Legendre
    quadrature integrates exactly.

    Examples
    --------
    >>> permute_and_flip_probabilities([0, 1], 1 / np.log(3)).round(6).tolist()  # p = (1/3, 1): 1/3 x 1/2
    [0.166667, 0.833333]
    """
    chances = np.exp(-_gaps(scores, checked_scale(scale)))
    if chances.size > MOST_CANDIDATES:
        raise InputError(
            f"Exact probabilities of permute-and-flip are for at most {MOST_CANDIDATES} candidates. Got {chances.size}."
        )
    times, weights = _quadrature(chances.size // 2 + 1)
    others = 1 - np.outer(times, chances)  # above 0: no node lies at the ends
    every = np.prod(others, axis=1) * weights
    return chances * (every[:, None] / others).sum(axis=0)


@lru_cache(maxsize=64)
def _quadrature(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Gauss-Legendre nodes and weights on (0, 1): exact for polynomials of degree up to 2 nodes - 1."""
    from scipy.special import roots_legendre

    points, weights = roots_legendre(nodes)
    return (points + 1) / 2, weights / 2


PROBABILITIES = {
    "exponential": exponential_probabilities,
    "permute_and_flip": permute_and_flip_probabilities,
}
