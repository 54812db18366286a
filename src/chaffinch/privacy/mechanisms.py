"""Mechanisms: the laws of their noise, seeded draws for tests and audits, exact draws for a release, and the proof of what each promises.

Noise is whole-numbered: it is added to counts as integers, so no low bit of a float can tell the count beneath
(Mironov 2012). The seeded draws (`draw_laplace` ...) follow their laws up to the rounding of double arithmetic, from a numpy generator: anyone
who knows the seed can take the noise off again. They promise nothing; `OpenDPNoise` does.

The discrete Laplace law has P(z) proportional to exp(-|z|/scale), the discrete Gaussian exp(-z^2 / (2 sigma^2))
(Canonne, Kamath and Steinke 2020). The exponential mechanism (McSherry and Talwar 2007) picks candidate i with probability
proportional to exp(score_i/scale). Permute-and-flip (McKenna and Sheldon 2020) goes through the candidates in random
order and takes the first whose coin falls right, with probability exp((score_i - best)/scale): never worse on average.

**Sources of noise.** A source of noise takes whole numbers and returns whole numbers, with the noise added inside the mechanism: no float ever
holds a count plus noise. What a mechanism promises depends on how far neighbours can move its input: `PrivacyUnit.l1` and
`PrivacyUnit.l2_squared` for counts, the sensitivity D for scores. The promise is then about the neighbour relation of that `PrivacyUnit`.

    noise = noise_of()                       # operating-system entropy, exact arithmetic: for a release
    noisy = noise.laplace(counts, unit.l1 / epsilon)
    noise = noise_of(7)                      # fast and repeatable: promises nothing, and says so (`test_only`)

The shape of what goes in comes out, so shapes and the number of candidates must not depend on the data.

**Inversion**: exact draws for tables of many cells, from random words of the operating system. A uniform number U of endless bits gives |z| as the number of k >= 1 with U < P(|z| >= k), and one more bit its sign. The first 63 bits of U
nearly always tell; where they do not, more are drawn until they do. The tails P(|z| >= k) are not computed but enclosed, between whole
numbers over a power of two, as narrowly as the bits at hand ask for: no rounding is anywhere, and the law is exact.

Discrete Laplace, q = exp(-1/scale): P(|z| >= k) = 2 q^k / (1 + q). Discrete Gaussian: the sum of exp(-j^2 / (2 sigma^2)) over |j| >= k, over
the sum of all. Noise does not see the values that it is added to, nor does the time it takes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.errors import InputError, MissingExtraError, PrivacyError
from .._base.seeds import Seed, generator

Shape = int | tuple[int, ...]
Law = Literal["laplace", "gaussian"]

SMALLEST, LARGEST = (
    1e-150,
    1e300,
)  # beyond: the loss 1/(2 sigma^2), or a draw, would overflow a double
TABLE_SIGMA = 128.0
"""Up to here the Gaussian is drawn from a table of about 10 sigma entries."""
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
    both = rng.standard_exponential((2, *_lengths(shape)))
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
    lengths = _lengths(shape)
    if sigma <= TABLE_SIGMA:
        both = rng.standard_exponential((2, *lengths))
        size = np.searchsorted(
            _tail(sigma), both[0]
        )  # E > -log P(|z| >= k) has just that probability
        return np.asarray(np.where(both[1] < math.log(2), size, -size), dtype=np.int64)
    wanted = math.prod(lengths)
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
    return _to_int(flat.reshape(lengths), sigma)


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
    integers = np.asarray(scores)
    if integers.dtype.kind != "i" or integers.ndim != 1 or integers.size == 0:
        raise InputError(
            f"scores must be a list of at least one whole number. Got dtype {integers.dtype}, shape {integers.shape}."
        )
    integers = integers.astype(np.int64, copy=False)
    # Differences wrap around modulo 2^64, and read without a sign they are right even from one end to the other.
    return (integers.max() - integers).view(np.uint64) / scale


def _lengths(shape: Shape) -> tuple[int, ...]:
    return shape if isinstance(shape, tuple) else (int(shape),)


def _to_int(draws: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    """Return whole floats as int64, clipped; 2^63 - 1024 is the largest double that fits."""
    if scale > 1e16:  # a draw is below 50 scales
        draws = np.clip(draws, float(INT64.min), float(INT64.max - 1023))
    return np.asarray(draws, dtype=np.int64)


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


CHUNK = 1 << 16
"""Values handed over at once: as Python lists they take some 60 bytes each."""
FEW = 16
"""Cells up to which a table gets its noise from OpenDP whatever the scale."""
CELLS_PER_SCALE: dict[Law, float] = {"gaussian": 1.5, "laplace": 6.0}
"""Tables of more than so many cells for each unit of the scale get their noise by inversion (`draw_exactly`), whose list of the law's tails is as
long as the scale says: to make it takes about as long as OpenDP takes for so many cells."""


class Noise(Protocol):
    """A source of noise. Results that would leave 64 bits stop at the ends, which is post-processing."""

    @property
    def test_only(self) -> bool:
        """Whether the noise is for tests alone: someone who knows the seed can take it off."""
        ...

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return the values with discrete Laplace noise, P(z) proportional to exp(-|z|/scale).

        Neighbours whose values differ by at most L1 in sum: epsilon-DP with epsilon = L1/scale. For one output the ratio
        of the probabilities is the product of exp((|z_i - x'_i| - |z_i - x_i|)/scale), each at most exp(|x_i - x'_i|/scale)
        by the triangle inequality (Ghosh, Roughgarden and Sundararajan 2009).
        """
        ...

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        """Return the values with discrete Gaussian noise, P(z) proportional to exp(-z^2 / (2 sigma^2)).

        Neighbours whose values differ by at most L2 in Euclidean length: rho-zCDP with rho = L2^2 / (2 sigma^2) (Canonne,
        Kamath and Steinke 2020, proposition 5). Completing the square, the Renyi divergence of order a of two cells d apart
        is a d^2 / (2 sigma^2) plus 1/(a-1) times the logarithm of a shifted over an unshifted sum of
        exp(-z^2 / (2 sigma^2)); by Poisson summation no shift makes that sum larger. Independent cells add up.
        """
        ...

    def exponential(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return the position of a high score, P(i) proportional to exp(score_i/scale).

        Neighbours whose scores differ by at most D each: epsilon-DP with epsilon = 2D/scale, since exp(score_i/scale) and
        the sum of them each move by a factor of at most exp(D/scale) (McSherry and Talwar 2007). Also epsilon^2/8-zCDP: the
        losses L_i = log P(i)/P'(i) are (score_i - score'_i)/scale plus a constant, so they span at most epsilon ("bounded
        range", Durfee and Rogers 2019). K(t) = log E' exp(tL) is 0 at t = 0 and 1, and its second derivative, a variance, is
        at most epsilon^2/4; hence K(a) <= a(a-1) epsilon^2/8, and K(a)/(a-1) is the divergence (Cesar and Rogers 2020).
        """
        ...

    def permute_and_flip(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return the position of a high score, by permute-and-flip: on average never worse than `exponential`.

        Neighbours whose scores differ by at most D each: epsilon-DP with epsilon = 2D/scale (McKenna and Sheldon 2020), and
        so epsilon^2/2-zCDP; *not* epsilon^2/8. The law is that of the largest score/scale plus exponential noise. Fix the
        noise of the others: i wins if its own passes c, which neighbours move by at most 2D/scale, and
        P(E > c + 2D/scale) >= exp(-2D/scale) P(E > c), as the exponential law has no memory.
        """
        ...


@dataclass(frozen=True)
class OpenDPNoise:
    """The noise of a release: exact samplers fed by the operating system. OpenDP's; for tables of many cells, by inversion.

    Both draw the same law; which of them does is a matter of the declared number of cells and of the scale alone. Before noise is
    drawn, the loss that OpenDP itself states must be the one that `Noise` claims (for inversion, at a scale nearby). That compares two
    statements; the tests compare the draws with the law.

    Raises
    ------
    MissingExtraError
        If OpenDP is not installed.
    """

    test_only: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _opendp()

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return _exact("laplace", _laplace, checked_scale(scale), _integers("values", values))

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        return _exact(
            "gaussian", _gaussian, checked_scale(sigma, "sigma"), _integers("values", values)
        )

    def exponential(self, scores: NDArray[np.int64], scale: float) -> int:
        candidates = _candidates(scores).tolist()
        return int(_noisy_max(checked_scale(scale), "exponential mechanism")(candidates))

    def permute_and_flip(self, scores: NDArray[np.int64], scale: float) -> int:
        candidates = _candidates(scores).tolist()
        return int(_noisy_max(checked_scale(scale), "permute-and-flip")(candidates))


@dataclass(frozen=True, eq=False)
class SeededNoise:
    """Noise of the same laws from a numpy generator, for tests, audits and demonstrations: it promises nothing.

    Examples
    --------
    >>> SeededNoise(np.random.default_rng(1)).gaussian(np.array([[10, 20]]), 0.01)
    array([[10, 20]])
    """

    rng: np.random.Generator
    test_only: ClassVar[bool] = True

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        integers = _integers("values", values)
        return _saturating_sum(integers, draw_laplace(self.rng, scale, integers.shape))

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        integers = _integers("values", values)
        return _saturating_sum(integers, draw_gaussian(self.rng, sigma, integers.shape))

    def exponential(self, scores: NDArray[np.int64], scale: float) -> int:
        return draw_exponential(self.rng, _candidates(scores), scale)

    def permute_and_flip(self, scores: NDArray[np.int64], scale: float) -> int:
        return draw_permute_and_flip(self.rng, _candidates(scores), scale)


def noise_of(seed: Seed = None) -> Noise:
    """Return the source of noise: OpenDP's without a seed, for a release; a seeded one for tests and demonstrations.

    Examples
    --------
    >>> noise_of(7).test_only
    True
    """
    observer = _OBSERVER.get()
    if observer is None:
        return OpenDPNoise() if seed is None else SeededNoise(generator(seed))
    if seed is None:
        raise PrivacyError(
            "The noise of a release is never observed. An audit fits with a seed: pass one."
        )
    return observer(SeededNoise(generator(seed)))


_OBSERVER: ContextVar[Callable[[Noise], Noise] | None] = ContextVar(
    "observer of noise", default=None
)


@contextmanager
def observing(observer: Callable[[Noise], Noise]) -> Iterator[None]:
    """Let an observer stand between the fits made inside and their noise: it is given the source and returns one to use instead.

    For audits on made-up neighbours. Only fits of this thread and with a seed are observed: noise without one refuses, so that nothing
    of a release can be seen this way.
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def _integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return the values as int64. Unsigned ones beyond its end stop there: clipping moves no two further apart."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{name} must be whole numbers of an integer dtype: noise is not added to floats, whose low bits would tell. "
            f"Got dtype {array.dtype}. Scale to whole numbers first, and the sensitivity with them."
        )
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(INT64.max))
    return array.astype(np.int64, copy=False)


def _candidates(scores: ArrayLike) -> NDArray[np.int64]:
    integers = _integers("scores", scores)
    if integers.ndim != 1 or integers.size == 0:
        raise InputError(
            f"scores must be a list with at least one candidate. Got shape {integers.shape}."
        )
    return integers


def _saturating_sum(values: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.asarray(
        values + noise
    )  # wraps around; then its sign differs from that of both parts
    wrapped = ((values ^ total) & (noise ^ total)) < 0
    if wrapped.any():
        total = np.where(wrapped, np.where(values < 0, INT64.min, INT64.max), total)
    return total


def _exact(
    law: Law, make: Callable[[float], Any], scale: float, values: NDArray[np.int64]
) -> NDArray[np.int64]:
    if values.size <= max(FEW, CELLS_PER_SCALE[law] * scale) or scale > LARGEST_SCALE:
        return _in_chunks(make(scale), values)
    make(
        2.0 ** math.ceil(math.log2(scale))
    )  # not used, but the loss that it states must be ours: at a scale nearby
    return _saturating_sum(values, draw_exactly(law, scale, values.size).reshape(values.shape))


def _in_chunks(
    mechanism: Callable[[list[int]], list[int]], values: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the mechanism's answers, a bounded number at a time.

    Noise is independent between cells, so this is the mechanism on the whole array: the distances of chunks add up to its.
    """
    flat = values.ravel()
    out = np.empty(flat.size, dtype=np.int64)
    for start in range(0, flat.size, CHUNK):
        out[start : start + CHUNK] = mechanism(flat[start : start + CHUNK].tolist())
    return out.reshape(values.shape)


# What we rely on in OpenDP. From 0.13: `make_laplace` and `make_gaussian` on vectors of i64 add discrete noise, exactly,
# and saturate. From 0.14: `make_noisy_max` is permute-and-flip under `max_divergence` and the exponential mechanism under
# `zero_concentrated_divergence`. Its forerunner `make_report_noisy_max_gumbel` changed its law in 0.14 and returned the
# lowest score until 0.15.1, so it is not a fallback.


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingExtraError("A private fit", "private") from error
    dp.enable_features("contrib")  # a global switch of theirs; turning it on twice does no harm
    return dp


@lru_cache(maxsize=256)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    mechanism = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale
    )
    _agree("discrete Laplace", mechanism.map(1), 1 / scale)
    return mechanism


@lru_cache(maxsize=256)
def _gaussian(sigma: float) -> Any:
    dp = _opendp()
    mechanism = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=sigma
    )
    _agree("discrete Gaussian", mechanism.map(1.0), 0.5 / sigma / sigma)
    return mechanism


@lru_cache(maxsize=256)
def _noisy_max(scale: float, name: str) -> Any:
    dp = _opendp()
    if not hasattr(dp.m, "make_noisy_max"):
        raise PrivacyError(
            "A private choice needs OpenDP 0.14 or newer. Next: pip install --upgrade 'chaffinch[private]'."
        )
    pure = name == "permute-and-flip"
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    mechanism = dp.m.make_noisy_max(*space, measure, scale=scale)
    _agree(name, mechanism.map(1), 2 / scale if pure else 0.5 / scale / scale)
    return mechanism


def _agree(name: str, stated: float, claimed: float) -> None:
    """Raise unless OpenDP's loss at distance 1 is ours, up to its rounding upwards."""
    if not math.isclose(stated, claimed, rel_tol=1e-9, abs_tol=1e-300):
        raise PrivacyError(
            f"The {name} of this OpenDP states a loss of {stated!r} at distance 1; the promise here rests on {claimed!r}. "
            "Nothing was drawn. Next: install a version of OpenDP that these tests pass with."
        )


LARGEST_SCALE = 1024.0
"""The largest scale, or sigma, whose tails are enclosed: they are a list of some 44 scales, or 10 sigmas, of whole numbers."""

WORD, MORE = 63, 64
"""Bits of U that are looked at first, and how many are added where these do not tell; the 64th of the first word is the sign."""

GUARD = 64
"""Bits to which tails are enclosed beyond those that they are compared with."""

INVERSION_CHUNK = 1 << 20
"""Words that are asked of the operating system at once."""


@dataclass(frozen=True)
class Tails:
    """Bounds of P(|z| >= k) for k = 1, 2, ... in units of 2^-bits, for comparison with `compared` bits; later tails are below 2^-compared."""

    lows: tuple[int, ...]
    highs: tuple[int, ...]
    compared: int

    @property
    def bits(self) -> int:
        """The bits of the bounds."""
        return self.compared + GUARD


def draw_exactly(
    law: Law,
    scale: float,
    size: int,
    *,
    random_words: Callable[[int], NDArray[np.uint64]] | None = None,
) -> NDArray[np.int64]:
    """Return independent draws of a law; `random_words` gives random words of 64 bits, by default those of the operating system.

    Examples
    --------
    >>> bool((draw_exactly("laplace", 0.001, 1000) == 0).all())  # any other has a chance of exp(-1000)
    True
    """
    source = _from_system if random_words is None else random_words
    lower, upper = _first_words(law, scale)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, INVERSION_CHUNK):
        drawn = source(min(INVERSION_CHUNK, size - start))
        seen = drawn & np.uint64((1 << WORD) - 1)
        # `lower` falls: U is surely below as many tails as have a larger one, and perhaps below the next.
        sizes = len(lower) - np.searchsorted(lower[::-1], seen, side="right")
        for i in np.flatnonzero(seen < upper[sizes]).tolist():
            sizes[i] = _continue_draw(law, scale, int(seen[i]), source)
        out[start : start + len(drawn)] = np.where(drawn >> np.uint64(WORD), -sizes, sizes)
    return out


def magnitude(tails: Tails, seen: int) -> int | None:
    """Return |z| for the first `tails.compared` bits of U; None where they do not tell.

    Examples
    --------
    >>> tails = enclosed_tails("laplace", 1.0, 8)  # P(|z| >= 1) is 0.54, or 137.7 of 256; P(|z| >= 2) is 50.6
    >>> [magnitude(tails, seen) for seen in (255, 138, 137, 136, 51, 50, 49)]
    [0, 0, None, 1, 1, None, 2]
    """
    for k, (low, high) in enumerate(zip(tails.lows, tails.highs, strict=True)):
        if seen << GUARD >= high:
            return k
        if (seen + 1) << GUARD > low:
            return None
    return (
        len(tails.lows) if seen > 0 else None
    )  # the tails after the last lie below the first word but none


def _continue_draw(
    law: Law, scale: float, seen: int, source: Callable[[int], NDArray[np.uint64]]
) -> int:
    """Return |z| where the first word does not tell."""
    compared = WORD
    while True:
        seen, compared = seen << MORE | int(source(1)[0]), compared + MORE
        if (size := magnitude(enclosed_tails(law, scale, compared), seen)) is not None:
            return size


@lru_cache(maxsize=16)
def _first_words(law: Law, scale: float) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return, for each k, up to where a first word is surely below the tail, and up to where it may be."""
    tails = enclosed_tails(law, scale, WORD)
    lower = np.array([low >> GUARD for low in tails.lows], dtype=np.uint64)
    upper = np.array(
        [*(-(-high >> GUARD) for high in tails.highs), 1], dtype=np.uint64
    )  # 0 may be below any
    return lower, upper


def enclosed_tails(law: Law, scale: float, compared: int) -> Tails:
    """Return bounds of the tails of a law, all those that a number of `compared` bits can be below."""
    bits = compared + GUARD
    lows, highs = (_laplace_tails if law == "laplace" else _gaussian_tails)(Fraction(scale), bits)
    far = next((k for k, high in enumerate(highs) if high < 1 << GUARD), len(highs))
    return Tails(tuple(lows[:far]), tuple(highs[:far]), compared)


def _laplace_tails(scale: Fraction, bits: int) -> tuple[list[int], list[int]]:
    unit = 1 << bits
    q_low, q_high = _exp_minus(1 / scale, bits)
    low, high = (
        (2 * q_low << bits) // (unit + q_low),
        (2 * q_high << bits) // (unit + q_high) + 1,
    )  # both rise with q
    lows, highs = [low], [high]
    while high >= 1 << GUARD:
        low, high = low * q_low >> bits, (high * q_high >> bits) + 1
        lows.append(low)
        highs.append(high)
    return lows, highs


def _gaussian_tails(sigma: Fraction, bits: int) -> tuple[list[int], list[int]]:
    unit = 1 << bits
    # w_j = exp(-j^2 a / 2) for a = 1 / sigma^2: each is the one before times r_j = exp(-(2j - 1) a / 2), and r falls by exp(-a).
    fall_low, fall_high = _exp_minus(1 / sigma**2, bits)
    ratio_low, ratio_high = _exp_minus(1 / (2 * sigma**2), bits)
    weights = [(unit, unit)]
    # Until a weight is small beside the 2^GUARD units of the smallest tail that is listed; what follows is a part of the rest.
    while (high := weights[-1][1]) >= 1 << GUARD // 4:
        weights.append((weights[-1][0] * ratio_low >> bits, (high * ratio_high >> bits) + 1))
        ratio_low, ratio_high = ratio_low * fall_low >> bits, (ratio_high * fall_high >> bits) + 1
    # The weights after the last fall at least as quickly as by the next ratio.
    rest = weights[-1][1] * ratio_high // (unit - ratio_high) + 1
    sums_low, sums_high, lows, highs = 0, rest, [], []
    for low, high in reversed(weights[1:]):
        sums_low, sums_high = sums_low + low, sums_high + high
        lows.append(sums_low)
        highs.append(sums_high)
    # A tail is 2s / (1 + 2S) for its own sum s and the sum S of all; what is not in s is at most, or least, the others' bounds.
    tails = [
        (
            (2 * low << bits) // (unit + 2 * sums_high),
            (2 * high << bits) // (unit + 2 * sums_low) + 1,
        )
        for low, high in zip(reversed(lows), reversed(highs), strict=True)
    ]
    return [low for low, _ in tails], [high for _, high in tails]


def _exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Return bounds of exp(-x) in units of 2^-bits: exp(x / 2^h) by its series, whose terms are all positive, squared h times."""
    if x >= bits:  # below 2^-bits
        return 0, 1
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)  # to 1/2 at most
    work = bits + 2 * halvings + 16
    low = (x.numerator << work) // (x.denominator << halvings)
    high = low + 1
    sum_low = sum_high = term_low = term_high = 1 << work
    n = 0
    while term_high > 2:
        n += 1
        term_low, term_high = term_low * low // (n << work), term_high * high // (n << work) + 1
        sum_low, sum_high = sum_low + term_low, sum_high + term_high
    sum_high += term_high  # the terms after it halve at least
    low, high = (1 << 2 * work) // sum_high, (1 << 2 * work) // sum_low + 1
    for _ in range(halvings):
        low, high = low * low >> work, (high * high >> work) + 1
    return low >> work - bits, (high >> work - bits) + 1


def _from_system(size: int) -> NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
