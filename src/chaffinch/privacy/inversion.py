"""Exact draws of the discrete laws for tables of many cells, by inversion of random words from the operating system.

A uniform number U of endless bits gives |z| as the number of k >= 1 with U < P(|z| >= k), and one more bit its sign. The first 63 bits of U
nearly always tell; where they do not, more are drawn until they do. The tails P(|z| >= k) are not computed but enclosed, between whole
numbers over a power of two, as narrowly as the bits at hand ask for: no rounding is anywhere, and the law is exact.

Discrete Laplace, q = exp(-1/scale): P(|z| >= k) = 2 q^k / (1 + q). Discrete Gaussian: the sum of exp(-j^2 / (2 sigma^2)) over |j| >= k, over
the sum of all. Noise does not see the values that it is added to, nor does the time it takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Law = Literal["laplace", "gaussian"]

LARGEST_SCALE = 1024.0
"""The largest scale, or sigma, whose tails are enclosed: they are a list of some 44 scales, or 10 sigmas, of whole numbers."""

WORD, MORE = 63, 64
"""Bits of U that are looked at first, and how many are added where these do not tell; the 64th of the first word is the sign."""

GUARD = 64
"""Bits to which tails are enclosed beyond those that they are compared with."""

CHUNK = 1 << 20


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
    law: Law, scale: float, size: int, *, words: Callable[[int], NDArray[np.uint64]] | None = None
) -> NDArray[np.int64]:
    """Return independent draws of a law; `words` gives random words of 64 bits, by default those of the operating system.

    Examples
    --------
    >>> bool((draw_exactly("laplace", 0.001, 1000) == 0).all())  # any other has a chance of exp(-1000)
    True
    """
    source = _from_system if words is None else words
    least, most = _first_words(law, scale)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        drawn = source(min(CHUNK, size - start))
        seen = drawn & np.uint64((1 << WORD) - 1)
        # `least` falls: U is surely below as many tails as have a larger one, and perhaps below the next.
        sizes = len(least) - np.searchsorted(least[::-1], seen, side="right")
        for i in np.flatnonzero(seen < most[sizes]).tolist():
            sizes[i] = _continued(law, scale, int(seen[i]), source)
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


def _continued(
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
    least = np.array([low >> GUARD for low in tails.lows], dtype=np.uint64)
    most = np.array(
        [*(-(-high >> GUARD) for high in tails.highs), 1], dtype=np.uint64
    )  # 0 may be below any
    return least, most


def enclosed_tails(law: Law, scale: float, compared: int) -> Tails:
    """Return bounds of the tails of a law, all those that a number of `compared` bits can be below."""
    bits = compared + GUARD
    lows, highs = (_laplace if law == "laplace" else _gaussian)(Fraction(scale), bits)
    far = next((k for k, high in enumerate(highs) if high < 1 << GUARD), len(highs))
    return Tails(tuple(lows[:far]), tuple(highs[:far]), compared)


def _laplace(scale: Fraction, bits: int) -> tuple[list[int], list[int]]:
    one = 1 << bits
    q_low, q_high = _exp_minus(1 / scale, bits)
    low, high = (
        (2 * q_low << bits) // (one + q_low),
        (2 * q_high << bits) // (one + q_high) + 1,
    )  # both rise with q
    lows, highs = [low], [high]
    while high >= 1 << GUARD:
        low, high = low * q_low >> bits, (high * q_high >> bits) + 1
        lows.append(low)
        highs.append(high)
    return lows, highs


def _gaussian(sigma: Fraction, bits: int) -> tuple[list[int], list[int]]:
    one = 1 << bits
    # w_j = exp(-j^2 a / 2) for a = 1 / sigma^2: each is the one before times r_j = exp(-(2j - 1) a / 2), and r falls by exp(-a).
    fall_low, fall_high = _exp_minus(1 / sigma**2, bits)
    ratio_low, ratio_high = _exp_minus(1 / (2 * sigma**2), bits)
    weights = [(one, one)]
    # Until a weight is small beside the 2^GUARD units of the smallest tail that is listed; what follows is a part of the rest.
    while (high := weights[-1][1]) >= 1 << GUARD // 4:
        weights.append((weights[-1][0] * ratio_low >> bits, (high * ratio_high >> bits) + 1))
        ratio_low, ratio_high = ratio_low * fall_low >> bits, (ratio_high * fall_high >> bits) + 1
    # The weights after the last fall at least as quickly as by the next ratio.
    rest = weights[-1][1] * ratio_high // (one - ratio_high) + 1
    sums_low, sums_high, lows, highs = 0, rest, [], []
    for low, high in reversed(weights[1:]):
        sums_low, sums_high = sums_low + low, sums_high + high
        lows.append(sums_low)
        highs.append(sums_high)
    # A tail is 2s / (1 + 2S) for its own sum s and the sum S of all; what is not in s is at most, or least, the others' bounds.
    tails = [
        ((2 * low << bits) // (one + 2 * sums_high), (2 * high << bits) // (one + 2 * sums_low) + 1)
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
