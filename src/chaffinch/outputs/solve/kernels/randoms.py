"""Random numbers of the search, and levels drawn from a column's distribution."""

from __future__ import annotations

import numpy as np

from .layout import njit


@njit
def next_bits(rng):  # type: ignore[no-untyped-def]
    """64 random bits: xoroshiro128+ (Blackman and Vigna 2018); its lowest bits, the weak ones, are not used."""
    one, two = rng[0], rng[1]
    result = one + two
    two ^= one
    rng[0] = ((one << np.uint64(24)) | (one >> np.uint64(40))) ^ two ^ (two << np.uint64(16))
    rng[1] = (two << np.uint64(37)) | (two >> np.uint64(27))
    return result


@njit
def draw_below(rng, n):  # type: ignore[no-untyped-def]
    """A whole number from 0 to n - 1, n < 2^31."""
    return np.int64(((next_bits(rng) >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@njit
def draw_uniform(rng):  # type: ignore[no-untyped-def]
    return np.float64(next_bits(rng) >> np.uint64(11)) * 1.1102230246251565e-16


@njit
def draw_level(rng, size, cdf, first):  # type: ignore[no-untyped-def]
    """A level of a column: uniform where `first` is -1, else by the cumulative chances from `cdf[first]` on."""
    if first < 0:
        return draw_below(rng, size)
    u = draw_uniform(rng)
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if cdf[first + middle] > u:
            high = middle
        else:
            low = middle + 1
    return low
