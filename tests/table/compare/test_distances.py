"""Gower's distance beside loops over cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.table.compare import distances as module
from chaffinch.table.compare.distances import gower_sums, smallest

CELLS = st.one_of(st.none(), st.sampled_from([-3.0, 0.0, 0.25, 0.5, 1.0, 7.5]))


@st.composite
def records(draw):
    """A few columns of numbers, some missing and some beyond a range of 1, and of levels; the first record is held against all."""
    n_numbers, n_levels = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    row = st.tuples(st.tuples(*[CELLS] * n_numbers), st.tuples(*[st.integers(0, 2)] * n_levels))
    return draw(st.lists(row, min_size=1, max_size=8))


def brute_force(first, second) -> float:
    total = sum(a != b for a, b in zip(first[1], second[1], strict=True))
    for x, y in zip(first[0], second[0], strict=True):
        total += (x is not y) if x is None or y is None else min(abs(x - y), 1.0)
    return float(total)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=records())
@settings(max_examples=60, deadline=None)
def test_sums_are_those_of_loops_over_cells(dtype, rows) -> None:
    n = len(rows)
    cells = [[np.nan if x is None else x for x in row[0]] for row in rows]
    numbers = np.array(cells, dtype=dtype).reshape(n, -1).T.copy()
    levels = np.array([row[1] for row in rows], dtype=np.int32).reshape(n, -1).T.copy()
    out = np.empty(n, dtype=dtype)
    gower_sums(numbers, levels, 0, numbers, levels, out)
    assert out.tolist() == [brute_force(rows[0], row) for row in rows]  # quarters: exact


def test_blocks_of_rows_change_nothing() -> None:
    n = 2 * module.ROWS + 5
    levels = np.arange(n, dtype=np.int32)[None, :] % 3
    numbers = np.arange(n, dtype=np.float64)[None, :] / n
    out = np.empty(n)
    gower_sums(numbers, levels, 4, numbers, levels, out)
    assert out == pytest.approx(np.abs(numbers[0] - numbers[0, 4]) + (levels[0] != 1))


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 6))
def test_the_smallest_in_rising_order(values: list[int], k: int) -> None:
    nearest = np.empty(k)
    smallest(np.array(values, dtype=np.float64), nearest)
    assert nearest.tolist() == [*sorted(values), *[np.inf] * k][:k]
