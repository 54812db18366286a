"""Where noise comes from: exact samplers for a release, a seeded generator for tests and demonstrations.

A source of noise takes whole numbers and returns whole numbers, with the noise added inside the mechanism: no float ever
holds a count plus noise. What a mechanism promises depends on how far neighbours can move its input: `Unit.l1` and
`Unit.l2_squared` for counts, the sensitivity D for scores. The promise is then about the neighbour relation of that `Unit`.

    noise = noise_of()                       # operating-system entropy, exact arithmetic: for a release
    noisy = noise.laplace(counts, unit.l1 / epsilon)
    noise = noise_of(7)                      # fast and repeatable: promises nothing, and says so (`test_only`)

The shape of what goes in comes out, so shapes and the number of candidates must not depend on the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.errors import InputError, MissingExtraError, PrivacyError
from .._base.seeds import Seed, generator
from .inversion import LARGEST_SCALE, Law, draw_exactly
from .samplers import (
    checked_scale,
    draw_exponential,
    draw_gaussian,
    draw_laplace,
    draw_permute_and_flip,
)

CHUNK = 1 << 16  # values handed over at once: as Python lists they take some 60 bytes each
FEW = 16
"""Cells up to which a table gets its noise from OpenDP whatever the scale."""
CELLS_PER_SCALE: dict[Law, float] = {"gaussian": 1.5, "laplace": 6.0}
"""Tables of more than so many cells for each unit of the scale get their noise by inversion (`inversion`), whose list of the law's tails is as
long as the scale says: to make it takes about as long as OpenDP takes for so many cells."""
INT64 = np.iinfo(np.int64)


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
        return _exact("laplace", _laplace, checked_scale(scale), _whole("values", values))

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        return _exact(
            "gaussian", _gaussian, checked_scale(sigma, "sigma"), _whole("values", values)
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
        whole = _whole("values", values)
        return _saturating_sum(whole, draw_laplace(self.rng, scale, whole.shape))

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        whole = _whole("values", values)
        return _saturating_sum(whole, draw_gaussian(self.rng, sigma, whole.shape))

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


def _whole(name: str, values: ArrayLike) -> NDArray[np.int64]:
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
    whole = _whole("scores", scores)
    if whole.ndim != 1 or whole.size == 0:
        raise InputError(
            f"scores must be a list with at least one candidate. Got shape {whole.shape}."
        )
    return whole


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
