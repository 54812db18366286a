"""Random people in bulk: who is called a member (permutation) and who is drawn how often (resampling).

People who are alike in all that is measured form a unit. A unit of many people costs one hypergeometric or binomial
draw; the people of small units are labelled by random bytes, or drawn one by one. Neither shuffles rows, and both are
exact: every choice of members, and every draw of people, has the same chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Drawn = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]

BULK = 64
"""People of a unit from which one draw for the unit is cheaper than one for each of them."""

SHUFFLED = 1024
"""People up to whom shuffling labels is quicker than mending the count of random bytes."""

FEW = 1 << 16
"""People that are drawn in one go."""

DRAWN = 1 << 20
"""Row numbers drawn at once."""

WINDOW = 1 << 25
"""Rows of which it is known at a time how often they are drawn."""

BLOCK_CELLS = 1 << 20
"""Numbers of one block of draws: 8 MB."""


def alike(columns: Sequence[NDArray[Any]], *, most: int) -> Counts | None:
    """Return the number of each person's unit, people alike in all columns having the same; None for more than `most`.

    Examples
    --------
    >>> alike([np.array([1.0, 0.0, 1.0, 1.0]), np.array([1, 1, 1, 0])], most=4)
    array([2, 0, 2, 1])
    """
    units = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > most:
            return None
        distinct, units = np.unique(units * len(values) + codes, return_inverse=True)
        if len(distinct) > most:
            return None
    return units


def block_sizes(draws: int, people: int) -> list[int]:
    """Return how many draws each block makes: what fits in memory, whatever the number of threads."""
    size = int(np.clip(BLOCK_CELLS // max(people, 1), 1, draws))
    return [min(size, draws - at) for at in range(0, draws, size)]


def permute(
    pool: Counts,
    n_members: int,
    draws: int,
    rng: np.random.Generator,
    *,
    bulk: int = 0,
    dtype: DTypeLike = np.float64,
) -> Drawn:
    """Return how many of each unit's people are called members when `n_members` of all people are, one row a draw.

    The first `bulk` units are drawn whole, the people of the others one by one.

    Examples
    --------
    >>> permute(np.array([500, 1, 1]), 300, 4, np.random.default_rng(0), bulk=1).sum(axis=1)
    array([300., 300., 300., 300.])
    """
    rest = pool[bulk:]
    groups = np.append(pool[:bulk], rest.sum())
    head = rng.multivariate_hypergeometric(groups, n_members, size=draws, method="marginals")
    labels = subsets(int(rest.sum()), head[:, -1], rng)
    out: Drawn = np.empty((draws, len(pool)), dtype=dtype)
    out[:, :bulk], out[:, bulk:] = head[:, :-1], _by_unit(labels, rest)
    return out


def resample(
    counts: Counts,
    draws: int,
    rng: np.random.Generator,
    *,
    bulk: int = 0,
    dtype: DTypeLike = np.float64,
) -> Drawn:
    """Return how often each unit's people are drawn when as many people as there are are drawn with replacement.

    Examples
    --------
    >>> resample(np.array([500, 1, 0]), 3, np.random.default_rng(0), bulk=1).sum(axis=1)
    array([501., 501., 501.])
    """
    total, rest = int(counts.sum()), counts[bulk:]
    shares = np.append(counts[:bulk], rest.sum()) / max(total, 1)
    head = rng.multinomial(total, shares, size=draws)
    unit_of = np.repeat(np.arange(bulk, len(counts)), rest)
    out: Drawn = np.empty((draws, len(counts)), dtype=dtype)
    step = max(1, FEW // max(len(unit_of), 1))  # small groups: many draws in one go
    for at in range(0, draws, step):
        times = head[at : at + step, -1]
        drawn = unit_of[rng.integers(len(unit_of), size=times.sum())] if len(unit_of) else unit_of
        if len(times) > 1:
            drawn += np.repeat(np.arange(len(times)) * len(counts), times)
        out[at : at + step] = np.bincount(drawn, minlength=len(times) * len(counts)).reshape(
            -1, len(counts)
        )
    out[:, :bulk] = head[:, :-1]
    return out


def subsets(n_people: int, sizes: Counts, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return random choices of people, one row for each size, every choice of that size with the same chance.

    Few people are shuffled. Of many, each is chosen by a random byte, so all choices of the size that came out have the same chance; people chosen
    too many are dropped, or too few added, at random, which keeps it so.

    Examples
    --------
    >>> subsets(1000, np.array([10, 700]), np.random.default_rng(0)).sum(axis=1)
    array([ 10, 700])
    """
    if n_people <= SHUFFLED:
        return rng.permuted(np.arange(n_people) < sizes[:, None], axis=1)
    words = rng.integers(
        0, 2**64 - 1, size=(len(sizes), -(-n_people // 8)), dtype=np.uint64, endpoint=True
    )
    below = np.clip(np.rint(256 * sizes / max(n_people, 1)), 0, 255).astype(np.uint8)
    chosen: NDArray[np.bool_] = words.view(np.uint8)[:, :n_people] < below[:, None]
    for row, size in zip(chosen, sizes, strict=True):
        surplus = int(np.count_nonzero(row)) - int(size)
        if surplus:
            spots = np.flatnonzero(row if surplus > 0 else ~row)
            row[rng.choice(spots, abs(surplus), replace=False, shuffle=False)] = surplus < 0
    return chosen


def _by_unit(labels: NDArray[np.bool_], sizes: Counts) -> NDArray[Any]:
    """Return how many people of each unit have the label; people stand in the order of their units."""
    if len(sizes) == labels.shape[1]:
        return labels
    # Differences of running sums: several times faster than reduceat for units of a few people.
    running = np.cumsum(labels, axis=1, dtype=np.int32)
    ends = running[:, np.cumsum(sizes) - 1]
    ends[:, 1:] -= ends[:, :-1].copy()
    return ends


def times_drawn(
    of: int, n_rows: int, rng: np.random.Generator
) -> Callable[[int, int], NDArray[Any]]:
    """Return what gives how often each row between two places is drawn in `n_rows` draws of `of` rows: those that one call of `rng` would make.

    The rows of a window are held, in as few bytes as will do; for another window all draws are made again.
    """
    start_of, often = deepcopy(rng), n_rows / max(of, 1)
    dtype = np.uint8 if often < 20 else np.uint16 if often < 20_000 else np.uint32

    def window(number: int, source: np.random.Generator) -> NDArray[Any]:
        first = number * WINDOW
        times: NDArray[Any] = np.zeros(max(0, min(WINDOW, of - first)), dtype=dtype)
        for start in range(0, n_rows, DRAWN):
            drawn = source.integers(0, of, min(DRAWN, n_rows - start))
            rows, counts = np.unique(
                drawn[(drawn >= first) & (drawn < first + WINDOW)] - first, return_counts=True
            )
            times[rows] += counts.astype(dtype)
        return times

    held = {0: window(0, rng)}

    def between(start: int, stop: int) -> NDArray[Any]:
        parts = []
        for number in range(start // WINDOW, -(-stop // WINDOW)):
            if number not in held:
                held.clear()
                held[number] = window(number, deepcopy(start_of))
            parts.append(held[number][max(start - number * WINDOW, 0) : stop - number * WINDOW])
        return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)

    return between
