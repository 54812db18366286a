"""The walk keeps its books: counts, combinations and levels say the same at its end as at its beginning."""

from __future__ import annotations

import numpy as np

from chaffinch.outputs.rules.witnesses import WalkTables, walk


def test_counts_and_combinations_are_those_of_the_levels():
    """Two columns of three levels and two tallies: by the first, where the last level is in no cell, and by both."""
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 3, (2, 40))
    cells = np.concatenate([[0, 1, -1], 2 + np.arange(9)])
    tables = WalkTables(
        cells, np.array([0, 3]), np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([1, 3, 1])
    )

    def counted(levels):
        at = np.stack([levels[0], 3 * levels[0] + levels[1]])
        inside = np.concatenate([cells[at[0]], cells[3 + at[1]]])
        return at, np.bincount(inside[inside >= 0], minlength=11)

    at, counts = counted(levels)
    lo, hi = counts.copy(), counts.copy()
    lo[2:], hi[2:] = 0, 40
    lo[2] = counts[2] + 2
    steps = walk(
        tables,
        levels,
        at,
        counts,
        np.stack([lo, hi]),
        np.ones(11, dtype=np.int64),
        np.array([0.5, 0.1]),
        100_000,
        1,
    )
    assert 0 < steps < 100_000
    again = counted(levels)
    assert np.array_equal(again[0], at)
    assert np.array_equal(again[1], counts)
    assert ((counts >= lo) & (counts <= hi)).all()


def test_what_cannot_be_reached_says_so():
    levels = np.array([[0, 1, 0, 1]])
    tables = WalkTables(
        np.array([0, 1]), np.array([0]), np.array([0, 1]), np.array([0]), np.array([1])
    )
    ends = np.array([[3, 2], [3, 2]])
    assert (
        walk(
            tables,
            levels,
            levels.copy(),
            np.array([2, 2]),
            ends,
            np.ones(2, dtype=np.int64),
            np.array([0.5, 0.1]),
            1_000,
            1,
        )
        == -1
    )
