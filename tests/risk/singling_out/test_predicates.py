"""The lightest predicates about a target, against trying every set of attributes."""

from itertools import combinations

import numpy as np
import pytest

from chaffinch.risk.singling_out import isolates, lightest


def matches(codes, target, columns):
    return int((codes[:, columns] == target[columns]).all(axis=1).sum())


@pytest.mark.parametrize("seed", range(4))
def test_the_lightest_of_each_size_is_the_least_of_all_sets(seed):
    codes = np.random.default_rng(seed).integers(0, 3, size=(40, 5)).astype(np.uint8)
    found = lightest(codes, codes[7])
    for a in range(1, 6):
        least = min(matches(codes, codes[7], list(s)) for s in combinations(range(5), a))
        assert found.matches[a - 1] == least
        assert found.columns[a - 1].sum() == a
        assert matches(codes, codes[7], np.flatnonzero(found.columns[a - 1])) == least
    assert found.shortest == (
        np.flatnonzero(found.matches == 1)[0] + 1 if 1 in found.matches else 5
    )


def test_many_columns_are_added_one_at_a_time():
    codes = np.random.default_rng(3).integers(0, 2, size=(200, 20)).astype(np.uint8)
    found = lightest(codes, codes[0])
    assert (np.diff(found.matches) <= 0).all()
    assert found.matches[-1] == matches(codes, codes[0], list(range(20)))
    for a, row in enumerate(found.columns):
        assert matches(codes, codes[0], np.flatnonzero(row)) == found.matches[a]


def test_isolation_is_exactly_one_record():
    data = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=np.uint8)
    sets = np.array([[True, False, False], [True, True, False], [False, False, True]])
    assert isolates(data, np.array([0, 1, 1], dtype=np.uint8), sets).tolist() == [
        False,
        True,
        False,
    ]
    assert isolates(data, np.array([2, 1, 1], dtype=np.uint8), sets).tolist() == [
        False,
        False,
        False,
    ]
