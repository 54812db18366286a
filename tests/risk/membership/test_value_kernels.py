"""Loops over targets and rows: hand-worked tables, and missing values."""

import numpy as np

from chaffinch.risk.membership.values import NEAREST, count_beyond, look_at_rows, outermost


def test_a_table_worked_by_hand():
    """One number of span 10 and one word; the target (2, word 1) among three rows."""
    numbers, words = np.array([[2.0, 7.0, np.nan]]), np.array([[1, 1, 0]], dtype=np.int32)
    ranks = np.array([[0.2, 0.7, np.nan]])
    per_column, near, rows, by_rank, kernels = look_at_rows(
        numbers,
        ranks,
        words,
        np.array([[2.0]]),
        np.array([[0.2]]),
        np.array([[1]], dtype=np.int32),
        np.array([[True, False]]),
        np.array([10.0]),
        np.array([0.5]),
    )
    assert per_column.tolist() == [[1, 2]]
    np.testing.assert_allclose(near, [[0.0, 0.25]])  # (0 + 0) / 2, (0.5 + 0) / 2, (1 + 1) / 2
    assert rows.tolist() == [
        [1, 1, 0, 2, 1]
    ]  # equal in all, with a rare value, with two, most columns equal, most rare ones
    np.testing.assert_allclose(by_rank[0], [0.0, 0.25, 1.0, *[1.0] * (NEAREST - 3)])
    distances = np.array([0.0, 0.25, 1.0])
    np.testing.assert_allclose(
        kernels[0], [np.exp(-distances / 0.5).sum(), np.exp(-distances / 0.25).sum()]
    )


def test_a_missing_number_equals_a_missing_number():
    empty = np.zeros((0, 2), dtype=np.int32)
    per_column, near, *_ = look_at_rows(
        np.array([[np.nan, 3.0]]),
        np.array([[np.nan, 0.5]]),
        empty,
        np.array([[np.nan]]),
        np.array([[np.nan]]),
        np.zeros((0, 1), dtype=np.int32),
        np.array([[True]]),
        np.array([1.0]),
        np.array([1.0]),
    )
    assert per_column.tolist() == [[1]]
    assert near.tolist() == [[0.0, 1.0]]


def test_ends_and_what_lies_beyond():
    numbers = np.array([[5.0, np.nan, 1.0, 9.0], [np.nan] * 4])
    ends = outermost(numbers)
    assert ends[0].tolist() == [9.0, 5.0, 1.0, 5.0, 5.0]
    assert np.isnan(ends[1]).all()
    own = np.array([[5.0, 5.0, np.nan], [1.0, 1.0, 1.0]])
    upper = np.array([[True, False, True], [True, True, True]])
    beyond, gaps = count_beyond(numbers, own, upper)
    assert beyond[:, 0].tolist() == [2, 2, 1]  # 5 and 9; 5 and 1; one missing
    assert gaps[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert (gaps[:, 1] == 1e300).all()  # no number to be near to
