"""Drawing rows with less chance than one by one: systematic sampling inside the rows that share a distribution.

Drawn one by one, counts scatter around what is expected. Here a column is drawn for all rows of a batch together, by halves: its codes are
split in two, then each half again, down to single codes. At a split row i goes left with the probability p_i that its distribution
gives the left half, given what is left of it:

    row i goes left if   v + p_1 + ... + p_i   passes a whole number,     v uniform on [0, 1), new for every split

So each row goes left with probability p_i, whatever was drawn before, and each row alone has exactly the distribution of the network.
Of any rows that stand beside each other, the number that goes left is less than one from its expectation. Rows stand sorted by
their combination of parents, then by the columns drawn last, and are shuffled below that: counts with parents, counts with these columns
and the counts of the column itself all scatter less than those of rows drawn one by one. What changes is how rows hang together.

Distributions that are mixed over fewer parents (smoothing) draw at evenly spaced points instead: the j-th of n rows with the same
combination of parents at v + j a / n modulo 1, where a has no common divisor with n and a / n is near the golden ratio's fraction.

Systematic sampling with unequal probabilities: Madow, 1949. The points are a lattice of rank one (Korobov, 1959).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled

TIES = 2
"""How many of the columns drawn last rows with the same parents are sorted by."""

GOLDEN = 0.6180339887498949

Order = NDArray[np.int32]


def rows_by_group(
    groups: NDArray[np.int64],
    n_groups: int,
    ties: Sequence[tuple[NDArray[np.uint32], int]],
    rng: np.random.Generator,
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


@compiled
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


@compiled
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


@compiled
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


@compiled
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


@compiled
def systematic_codes(order, starts, numbers, uniforms, arrays):  # type: ignore[no-untyped-def]
    """Return the code of each row by halves; `uniforms` has one number for each split, so one less than there are codes.

    `arrays`: the entries of all distributions (see `Sampler`); group g has the distribution `numbers[g]`.
    """
    entries, codes, cumulated = arrays
    n, size = order.size, uniforms.size + 1
    out = np.empty(n, dtype=np.uint32)
    rows, which = (
        order.copy(),
        np.empty(n, dtype=np.int32),
    )  # at each place, a row and its distribution
    for g in range(starts.size - 1):
        which[starts[g] : starts[g + 1]] = numbers[g]
    other_rows, other_which = np.empty_like(rows), np.empty_like(which)
    nodes = np.empty(
        (66, 4), dtype=np.int64
    )  # halves of halves: never more than one for each bit of a number of codes
    nodes[0] = (0, size, 0, n)
    waiting, used = 1, 0
    while waiting > 0:
        waiting -= 1
        first, last, start, end = nodes[waiting]
        if start == end:
            continue
        if last - first == 1:
            for t in range(start, end):
                out[rows[t]] = first
            continue
        middle = (first + last) // 2
        total = uniforms[used]
        used += 1
        left, right = start, 0
        seen, share = -1, 0.0
        for t in range(start, end):
            if which[t] != seen:
                seen = which[t]
                begin, stop = entries[seen], entries[seen + 1]
                low = begin + np.searchsorted(codes[begin:stop], first)
                high = low + np.searchsorted(codes[low:stop], last)
                cut = low + np.searchsorted(codes[low:high], middle)
                before = cumulated[low - 1] if low > begin else 0.0
                # Exactly 0 and 1 where one side has nothing: the sum then moves by a whole number, or not at all.
                width = cumulated[high - 1] - before if high > low else 0.0
                if cut == high:
                    share = 1.0
                elif (
                    cut == low or width <= 0.0
                ):  # weights so small that the sum of those before hides them
                    share = 0.0
                else:
                    share = (cumulated[cut - 1] - before) / width
            total += share
            if total >= 1.0:
                total -= 1.0
                rows[left], which[left] = rows[t], seen
                left += 1
            else:
                other_rows[right], other_which[right] = rows[t], seen
                right += 1
        rows[left:end], which[left:end] = other_rows[:right], other_which[:right]
        nodes[waiting] = (middle, last, left, end)
        nodes[waiting + 1] = (first, middle, start, left)
        waiting += 2
    return out
