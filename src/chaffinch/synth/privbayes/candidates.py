"""Which parents a column may have: decided from declared sizes and a public number of rows, never from data.

Zhang et al., PrivBayes (TODS 2017), sections 3.3 and 5.3 (theta-usefulness).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from ...counts.families import Family

Columns = tuple[int, ...]

MOST_CELLS = 1 << 22
"""Cells of all measured tables together, where usefulness alone would allow more."""


def useful_cells(rows: int, epsilon: float, *, tables: int, l1: int, theta: float) -> float:
    """Return the most cells a table may have to be theta-useful.

    The mean count of a cell, rows / cells, must be at least theta times the scale of its noise, l1 tables / epsilon. For
    replace-one (l1 = 2) and d tables this is the published bound n epsilon / (2 d theta). It grows with epsilon without end;
    all tables are held together, so they have at most `MOST_CELLS` cells in all, which no usual budget comes near.

    Examples
    --------
    >>> useful_cells(1000, 0.7, tables=11, l1=2, theta=4)
    7.954545454545454
    """
    return min(rows * epsilon / (l1 * tables * theta), MOST_CELLS / tables)


def degree(rows: int, epsilon: float, d: int, *, l1: int, theta: float) -> int:
    """Return k for columns of two levels: the most parents such that d - k tables of 2^(k+1) cells are theta-useful; 0 if none.

    Examples
    --------
    >>> degree(21_574, 0.7, 16, l1=2, theta=4), degree(100, 0.1, 16, l1=2, theta=4)
    (6, 0)
    """
    useful = [
        k
        for k in range(1, min(d - 1, 30) + 1)
        if useful_cells(rows, epsilon, tables=d - k, l1=l1, theta=theta) >= 2 ** (k + 1)
    ]
    return max(useful, default=0)


def exact_candidates(
    placed: Sequence[int], left: Sequence[int], k: int, *, most: int, rng: np.random.Generator
) -> list[Family]:
    """Return every family of a column that is left and exactly min(k, placed) placed parents.

    Where they are more than `most`, as many are drawn at random: blindly, so nothing is spent on it.
    """
    width = min(k, len(placed))
    every = comb(len(placed), width)
    if every * len(left) <= most:
        return [
            (child, tuple(sorted(chosen)))
            for child in left
            for chosen in combinations(placed, width)
        ]
    each = max(1, most // len(left))
    return [
        (child, chosen)
        for child in left
        for chosen in dict.fromkeys(_drawn(placed, width, each, rng))
    ]


def maximal_candidates(
    placed: Sequence[int],
    left: Sequence[int],
    sizes: Sequence[int],
    cells: float,
    *,
    most: int,
    rng: np.random.Generator,
) -> list[Family]:
    """Return the families whose table has at most `cells` cells and whose parents could not be more.

    A column for which not even one parent fits has the family without parents.
    """
    each = max(1, most // len(left))
    known: dict[int, list[Columns]] = {}
    for child in left:
        room = sizes[child]
        if room not in known:
            known[room] = maximal_sets(placed, sizes, cells / room, most=each, rng=rng)
    return [(child, chosen) for child in left for chosen in known[sizes[child]]]


def maximal_sets(
    columns: Sequence[int],
    sizes: Sequence[int],
    cells: float,
    *,
    most: int,
    rng: np.random.Generator,
) -> list[Columns]:
    """Return the sets of columns with at most `cells` combinations to which no further column could be added.

    Where they are more than `most`, as many are drawn at random by adding columns in random order while they fit, which always
    ends in a maximal set.

    Examples
    --------
    >>> maximal_sets([0, 1, 2], [2, 3, 4], 8, most=100, rng=np.random.default_rng(0))
    [(0, 1), (0, 2)]
    """
    order = sorted(columns, key=lambda c: (sizes[c], c))
    maximal = _enumerate(order, sizes, cells, most)
    if maximal is not None:
        return sorted(maximal)
    drawn: dict[Columns, None] = {}
    for _ in range(most):
        room, chosen = cells, []
        for column in rng.permutation(order).tolist():
            if sizes[column] <= room:
                chosen.append(column)
                room /= sizes[column]
        drawn[tuple(sorted(chosen))] = None
    return sorted(drawn)


def _enumerate(
    order: Sequence[int], sizes: Sequence[int], cells: float, most: int
) -> list[Columns] | None:
    """Every maximal set, or None if they are more than `most` (or the search for them takes too long).

    Columns are weighed from the smallest to the largest. A set that left out a column of size s is maximal only if s no longer
    fits at the end; of all left out only the smallest matters.
    """
    maximal: list[Columns] = []
    steps = 0
    # (position in the order, room left, chosen, smallest size left out)
    stack: list[tuple[int, float, Columns, float]] = [(0, cells, (), float("inf"))]
    while stack:
        at, room, chosen, skipped = stack.pop()
        steps += 1
        if len(maximal) > most or steps > 50 * most + 10_000:
            return None
        if at == len(order) or sizes[order[at]] > room:  # nor does any later, larger one fit
            if skipped > room:
                maximal.append(tuple(sorted(chosen)))
            continue
        column = order[at]
        size = sizes[column]
        if size > 1:
            stack.append((at + 1, room, chosen, min(skipped, size)))
        stack.append((at + 1, room / size, (*chosen, column), skipped))
    return maximal


def _drawn(
    columns: Sequence[int], width: int, many: int, rng: np.random.Generator
) -> list[Columns]:
    """Sets of columns drawn at random: where the smallest of as many uniform numbers as there are columns stand."""
    out: list[Columns] = []
    some = max(1, (1 << 20) // len(columns))  # rows of numbers held at a time
    for start in range(0, many, some):
        numbers = rng.random((min(some, many - start), len(columns)))
        places = np.argpartition(numbers, width - 1, axis=1)[:, :width]
        out += map(tuple, np.sort(np.asarray(columns)[places], axis=1).tolist())
    return out
