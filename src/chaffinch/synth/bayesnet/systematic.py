"""Drawing rows with less chance than one by one: systematic sampling inside the rows that share a distribution.

Rows of a batch with the same combination of parents draw a column from the same conditional distribution. Drawn one by one, their counts
scatter around what is expected; drawn from points that are evenly spaced on it, each count is less than one away. The j-th of n such
rows draws at

    u_j = v + j a / n   modulo 1,     v uniform on [0, 1), its own in each column and combination

with a step a that has no common divisor with n, so that the points are n evenly spaced ones, in an order that jumps about: rows that
stand near each other get points that lie apart. Therefore rows stand sorted by the columns drawn last, and shuffled where these are the
same: counts of combinations with these columns scatter less, too. Whatever was drawn before, v is uniform, and so is every u_j: each row
alone has exactly the distribution of the network. What changes is how rows hang together.

Systematic sampling: Madow and Madow, 1944. The points are a lattice of rank one (Korobov, 1959); a / n is near the golden ratio's fraction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["TIES", "rows_by_group", "shuffled", "sorted_by", "step_of", "systematic_codes", "systematic_uniforms"]

TIES = 4
"""How many of the columns drawn last rows with the same parents are sorted by."""

GOLDEN = 0.6180339887498949

Order = NDArray[np.int32]


def rows_by_group(
    groups: NDArray[np.int64], n_groups: int, ties: Sequence[tuple[NDArray[np.uint32], int]], rng: np.random.Generator
) -> tuple[Order, NDArray[np.int64], NDArray[np.int64]]:
    """Return rows sorted by group, where each group begins (one more at the end), and the number of each group.

    `ties` are columns and their numbers of codes, by which rows of a group are sorted, the last first; the rest is shuffled. Only groups
    that occur are listed where there are many more than rows.
    """
    order = shuffled(len(groups), rng.integers(0, 1 << 63, dtype=np.uint64))
    for codes, size in ties:
        if 1 < size <= MOST_SIZE:
            order = sorted_by(order, codes, size)[0]
    numbers = np.arange(n_groups)
    if n_groups > 4 * len(groups) + 1024:
        numbers, groups = np.unique(groups, return_inverse=True)
    order, starts = sorted_by(order, groups, len(numbers))
    return order, starts, numbers


MOST_SIZE = 1 << 16


@numba.njit(nogil=True, cache=True)
def shuffled(n, seed):  # type: ignore[no-untyped-def]
    """Return the rows in a random order: Fisher and Yates with the numbers of SplitMix64 (Steele, Lea and Flood, 2014)."""
    order = np.arange(n).astype(np.int32)
    state = np.uint64(seed)
    for i in range(n - 1, 0, -1):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = int((z >> np.uint64(11)) * (1.0 / 9007199254740992.0) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


@numba.njit(nogil=True, cache=True)
def sorted_by(order, values, size):  # type: ignore[no-untyped-def]
    """Return rows sorted by a value from 0 to size - 1, as they stood where it is the same, and where each value begins."""
    starts = np.zeros(size + 1, dtype=np.int64)
    for i in range(values.size):
        starts[values[i] + 1] += 1
    for g in range(size):
        starts[g + 1] += starts[g]
    at = starts[:-1].copy()
    out = np.empty_like(order)
    for j in range(order.size):
        value = values[order[j]]
        out[at[value]] = order[j]
        at[value] += 1
    return out, starts


@numba.njit(nogil=True, cache=True)
def step_of(n):  # type: ignore[no-untyped-def]
    """Return the whole number nearest to n times the golden ratio's fraction that has no common divisor with n.

    Examples
    --------
    >>> [step_of(n) for n in (1, 2, 5, 12, 1000)]
    [1, 1, 3, 7, 619]
    """
    middle = int(n * GOLDEN + 0.5)
    for away in range(n):
        for step in (middle + away, middle - away):
            a, b = n, step
            while b > 0:
                a, b = b, a % b
            if step > 0 and a == 1:
                return step
    return 1


@numba.njit(nogil=True, cache=True)
def systematic_uniforms(order, starts, offsets):  # type: ignore[no-untyped-def]
    """Return the point of each row: evenly spaced in each group, an offset for each group."""
    out = np.empty(order.size)
    for g in range(starts.size - 1):
        n = starts[g + 1] - starts[g]
        if n == 0:
            continue
        step = step_of(n)
        first = int(offsets[g] * n)
        rest = offsets[g] * n - first
        for j in range(n):
            out[order[starts[g] + j]] = min(((first + j * step) % n + rest) / n, 1.0 - 1e-16)
    return out


@numba.njit(nogil=True, cache=True)
def systematic_codes(order, starts, numbers, offsets, arrays):  # type: ignore[no-untyped-def]
    """Return the code of each row at these points, where a group has the one distribution of its row of `arrays` (see `Sampler`).

    The points of a group are gone through once from left to right, beside the running sums of its weights: no search for each row.
    """
    entries, codes, cumulated, totals = arrays
    out = np.empty(order.size, dtype=np.uint32)
    slots = np.empty(order.size, dtype=np.uint32)
    for g in range(starts.size - 1):
        start, n = starts[g], starts[g + 1] - starts[g]
        if n == 0:
            continue
        row = numbers[g]
        at, last = entries[row], entries[row + 1] - 1
        first = int(offsets[g] * n)
        rest = offsets[g] * n - first
        scale = totals[row] / n
        for k in range(n):
            x = (k + rest) * scale
            while at < last and cumulated[at] <= x:
                at += 1
            slots[k] = codes[at]
        step = step_of(n)
        k = first
        for j in range(n):
            out[order[start + j]] = slots[k]
            k += step
            if k >= n:
                k -= n
    return out
