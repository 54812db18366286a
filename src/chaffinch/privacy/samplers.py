"""The laws of the noise: their standard deviations and probabilities, and fast seeded draws for tests, audits and demonstrations.

Noise is whole-numbered: it is added to counts as integers, so no low bit of a float can tell the count beneath
(Mironov 2012). The draws here follow their laws up to the rounding of double arithmetic, from a numpy generator: anyone
who knows the seed can take the noise off again. They promise nothing; `noise.OpenDPNoise` does.

The discrete Laplace law has P(z) proportional to exp(-|z|/scale), the discrete Gaussian exp(-z^2 / (2 sigma^2))
(Canonne, Kamath and Steinke 2020). The exponential mechanism (McSherry and Talwar 2007) picks candidate i with probability
proportional to exp(score_i/scale). Permute-and-flip (McKenna and Sheldon 2020) goes through the candidates in random
order and takes the first whose coin falls right, with probability exp((score_i - best)/scale): never worse on average.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.errors import InputError

Shape = int | tuple[int, ...]

SMALLEST, LARGEST = (
    1e-150,
    1e300,
)  # beyond: the loss 1/(2 sigma^2), or a draw, would overflow a double
TABLE_SIGMA = 128.0  # up to here the Gaussian is drawn from a table of about 10 sigma entries
INT64 = np.iinfo(np.int64)


def checked_scale(scale: float, name: str = "scale") -> float:
    """Return the scale as a float, or raise: it must be positive and finite.

    Examples
    --------
    >>> checked_scale(2)
    2.0
    """
    number = isinstance(scale, int | float | np.integer | np.floating) and not isinstance(
        scale, bool
    )
    if not number or not SMALLEST <= scale <= LARGEST:
        raise InputError(
            f"{name} must be a positive, finite number ({SMALLEST} to {LARGEST}). Got {scale!r}."
        )
    return float(scale)


def laplace_std(scale: float) -> float:
    """Return the standard deviation of the discrete Laplace law: about sqrt(2) scale if large, 0 if tiny.

    With q = exp(-1/scale) the variance is 2q/(1-q)^2.

    Examples
    --------
    >>> round(laplace_std(1 / np.log(2)), 6)  # q = 1/2: variance 4
    2.0
    """
    scale = checked_scale(scale)
    return math.sqrt(2) * math.exp(-0.5 / scale) / -math.expm1(-1 / scale)


def gaussian_std(sigma: float) -> float:
    """Return the standard deviation of the discrete Gaussian law: a little below sigma, and 0 if sigma is tiny.

    Examples
    --------
    >>> round(gaussian_std(0.3), 4), round(gaussian_std(3.0), 12)
    (0.0876, 3.0)
    """
    sigma = checked_scale(sigma, "sigma")
    if sigma < 1:
        k = np.arange(1.0, 11.0)
        with np.errstate(over="ignore"):
            return math.sqrt(
                float(2 * (k * k * np.exp(-0.5 * np.square(k / sigma))).sum()) / _theta(sigma)
            )
    # The variance is minus the derivative of log(theta) by 1/(2 sigma^2); here by the sum of `_theta` over frequencies,
    # whose terms after the first are below 1e-34.
    wave = math.exp(-2 * (math.pi * min(sigma, 10.0)) ** 2)  # 0 long before sigma = 10
    share = 8 * (math.pi * min(sigma, 10.0)) ** 2 * wave / (1 + 2 * wave)
    return sigma * math.sqrt(1 - share)


def draw_laplace(rng: np.random.Generator, scale: float, shape: Shape) -> NDArray[np.int64]:
    """Return independent draws from the discrete Laplace law, clipped to what 64 bits hold.

    The difference of two geometric numbers. For E standard exponential floor(scale E) is geometric:
    P(floor(scale E) >= k) = exp(-k/scale). Beyond a scale of about 2^50 the last bits are those of a double.

    Examples
    --------
    >>> draw_laplace(np.random.default_rng(1), 2.0, (2, 3)).shape
    (2, 3)
    """
    scale = checked_scale(scale)
    both = rng.standard_exponential((2, *_sides(shape)))
    both *= scale
    np.floor(both, out=both)
    return _to_int(both[0] - both[1], scale)


def draw_gaussian(rng: np.random.Generator, sigma: float, shape: Shape) -> NDArray[np.int64]:
    """Return independent draws from the discrete Gaussian law, clipped to what 64 bits hold.

    A small sigma inverts the tail P(|z| >= k) on a logarithmic scale, which keeps far tails exact; a large one rejects
    from the discrete Laplace law (Canonne, Kamath and Steinke 2020, algorithm 3), keeping 3 of 4.

    Examples
    --------
    >>> bool((draw_gaussian(np.random.default_rng(1), 0.01, 5) == 0).all())
    True
    """
    sigma = checked_scale(sigma, "sigma")
    sides = _sides(shape)
    if sigma <= TABLE_SIGMA:
        both = rng.standard_exponential((2, *sides))
        size = np.searchsorted(
            _tail(sigma), both[0]
        )  # E > -log P(|z| >= k) has just that probability
        return np.asarray(np.where(both[1] < math.log(2), size, -size), dtype=np.int64)
    wanted = math.prod(sides)
    width = math.floor(sigma) + 1.0
    accepted: list[NDArray[np.float64]] = []
    missing = wanted
    while missing > 0:
        tries = (
            int(1.4 * missing + 4 * math.sqrt(missing)) + 8
        )  # enough in one round, nearly always
        both = rng.standard_exponential((2, tries))
        both *= width
        np.floor(both, out=both)
        z = both[0] - both[1]
        cost = 0.5 * np.square((np.abs(z) - sigma * (sigma / width)) / sigma)
        accepted.append(z[rng.standard_exponential(tries) >= cost][:missing])
        missing -= accepted[-1].size
    flat = np.concatenate(accepted) if accepted else np.zeros(0)
    return _to_int(flat.reshape(sides), sigma)


def draw_exponential(rng: np.random.Generator, scores: ArrayLike, scale: float) -> int:
    """Return the candidate that the exponential mechanism picks, by position.

    A race: candidate i finishes after an exponential time of rate exp(score_i/scale), and the first wins. In logarithms and
    from the best score down, so nothing overflows.

    Examples
    --------
    >>> draw_exponential(np.random.default_rng(1), [0, 2**62, 5], 1.0)
    1
    """
    gaps = _gaps(scores, checked_scale(scale))
    return int(np.argmin(np.log(rng.standard_exponential(gaps.size)) + gaps))


def draw_permute_and_flip(rng: np.random.Generator, scores: ArrayLike, scale: float) -> int:
    """Return the candidate that permute-and-flip picks, by position.

    Drawn as the largest score after exponential noise, which is the same law (Ding and others 2021).

    Examples
    --------
    >>> draw_permute_and_flip(np.random.default_rng(1), [0, 2**62, 5], 1.0)
    1
    """
    gaps = _gaps(scores, checked_scale(scale))
    return int(np.argmax(rng.standard_exponential(gaps.size) - gaps))


def laplace_log_law(noise: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return log P(z) of the discrete Laplace law: log tanh(1 / (2 scale)) - |z| / scale.

    Examples
    --------
    >>> np.exp(laplace_log_law([0, 1, -1], 1 / np.log(2))).round(6).tolist()  # (1 - q) / (1 + q) q^|z| with q = 1/2
    [0.333333, 0.166667, 0.166667]
    """
    scale = checked_scale(scale)
    # Of large scales the hyperbolic tangent keeps its digits: log tanh(x) = log(1 - e^-2x) - log(1 + e^-2x), x = 1 / (2 scale).
    top = math.log(-math.expm1(-1 / scale)) - math.log1p(math.exp(-1 / scale))
    return np.asarray(top - np.abs(np.asarray(noise, dtype=np.float64)) / scale)


def gaussian_log_law(noise: ArrayLike, sigma: float) -> NDArray[np.float64]:
    """Return log P(z) of the discrete Gaussian law.

    Examples
    --------
    >>> np.exp(gaussian_log_law([0, 1], 0.5)).round(6).tolist()  # 1 / (1 + 2 e^-2 + 2 e^-8 + ...), and e^-2 times that
    [0.786571, 0.106451]
    """
    sigma = checked_scale(sigma, "sigma")
    return np.asarray(
        -0.5 * np.square(np.asarray(noise, dtype=np.float64) / sigma) - math.log(_theta(sigma))
    )


def exponential_log_law(scores: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return the logarithm of the probability with which the exponential mechanism picks each candidate.

    Examples
    --------
    >>> np.exp(exponential_log_law([0, 1], 1 / np.log(3))).round(6).tolist()
    [0.25, 0.75]
    """
    gaps = _gaps(scores, checked_scale(scale))
    return np.asarray(-gaps - np.log(np.exp(-gaps).sum()))


def permute_and_flip_log_law(scores: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return the logarithm of the probability with which permute-and-flip picks each candidate.

    With gaps g_j below the best score over the scale, P(i) = exp(-g_i) times the integral from 0 to 1 of the product of
    1 - u exp(-g_j) over the others, a polynomial in u, which Gauss's rule with enough nodes integrates exactly.

    Examples
    --------
    >>> np.exp(permute_and_flip_log_law([0, 1], 1 / np.log(4))).round(6).tolist()  # half the time the worse goes first, and takes 1/4
    [0.125, 0.875]
    """
    gaps = _gaps(scores, checked_scale(scale))
    nodes, weights = np.polynomial.legendre.leggauss(min(gaps.size // 2 + 1, 200))
    tails = np.log1p(-np.outer((nodes + 1) / 2, np.exp(-gaps)))  # (nodes, candidates)
    others = tails.sum(axis=1, keepdims=True) - tails
    return np.asarray(np.log(weights / 2 @ np.exp(others)) - gaps)


def _gaps(scores: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return how far each score lies below the best, over the scale."""
    whole = np.asarray(scores)
    if whole.dtype.kind != "i" or whole.ndim != 1 or whole.size == 0:
        raise InputError(
            f"scores must be a list of at least one whole number. Got dtype {whole.dtype}, shape {whole.shape}."
        )
    whole = whole.astype(np.int64, copy=False)
    # Differences wrap around modulo 2^64, and read without a sign they are right even from one end to the other.
    return (whole.max() - whole).view(np.uint64) / scale


def _sides(shape: Shape) -> tuple[int, ...]:
    return shape if isinstance(shape, tuple) else (int(shape),)


def _to_int(whole: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    """Return whole floats as int64, clipped; 2^63 - 1024 is the largest double that fits."""
    if scale > 1e16:  # a draw is below 50 scales
        whole = np.clip(whole, float(INT64.min), float(INT64.max - 1023))
    return np.asarray(whole, dtype=np.int64)


def _theta(sigma: float) -> float:
    """Return the sum of exp(-z^2 / (2 sigma^2)) over all whole z.

    Directly for small sigma; else by Poisson summation, sqrt(2 pi) sigma times the sum of exp(-2 pi^2 sigma^2 m^2) over m.
    """
    if sigma < 1:
        k = np.arange(1.0, 11.0)
        with np.errstate(over="ignore"):
            return 1 + 2 * float(np.exp(-0.5 * np.square(k / sigma)).sum())
    return (
        math.sqrt(2 * math.pi) * sigma * (1 + 2 * math.exp(-2 * (math.pi * min(sigma, 10.0)) ** 2))
    )


@lru_cache(maxsize=256)
def _tail(sigma: float) -> NDArray[np.float64]:
    """Return -log P(|z| >= k) for k = 1, 2, ... up to 11 sigma, beyond what a double exponential reaches (45)."""
    k = np.arange(1.0, 11 * sigma + 3)
    with np.errstate(over="ignore", divide="ignore"):
        weights = np.exp(-0.5 * np.square(k / sigma))
        tail: NDArray[np.float64] = -np.log(2 * np.cumsum(weights[::-1])[::-1] / _theta(sigma))
    tail.flags.writeable = False
    return tail
