"""Designs: who is in which shadow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.risk.shadows import fresh_draws, neighbour_draws, shared_draws


@given(
    population=st.integers(12, 60),
    rows=st.integers(4, 11),
    n_targets=st.integers(1, 4),
    shadows=st.integers(2, 20),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_shared_draws_are_subsets_and_members_are_where_it_says(
    population, rows, n_targets, shadows, seed
):
    rng = np.random.default_rng(seed)
    targets = rng.choice(population, n_targets, replace=False)
    draws = shared_draws(population, targets, rows=rows, shadows=shadows, rng=rng)
    for row, member in zip(draws.rows, draws.member, strict=True):
        assert len(set(row.tolist())) == rows
        assert (np.diff(row) > 0).all()
        assert [target in row for target in targets] == member.tolist()
    if rows <= population - n_targets:
        assert (draws.member.sum(axis=0) == shadows // 2).all()


def test_pairs_of_neighbours_differ_in_one_record_which_is_the_target():
    targets = np.array([4, 30])
    draws = neighbour_draws(40, targets, rows=10, pairs=6, rng=np.random.default_rng(2))
    assert len(draws) == 2 * 6 * 2
    for i in range(0, len(draws), 2):
        one, other = set(draws.rows[i]), set(draws.rows[i + 1])
        target = targets[draws.owner[i]]
        assert draws.owner[i] == draws.owner[i + 1]
        assert one - other == {target}
        assert len(other - one) == 1
        assert draws.member[i, draws.owner[i]]
        assert not draws.member[i + 1, draws.owner[i]]
    assert draws.of(1).tolist() == list(range(12, 24))


def test_fresh_draws_have_each_record_equally_often():
    """Each of 20 records is in 2,000 x 5/20 subsets; off by 6 standard deviations of a binomial once in 10^8 records."""
    targets = np.array([0, 19])
    draws = fresh_draws(20, targets, rows=5, shadows=2000, rng=np.random.default_rng(3))
    often = np.bincount(draws.rows.ravel(), minlength=20)
    assert np.abs(often - 500).max() < 6 * np.sqrt(2000 * 0.25 * 0.75)
    assert (draws.member.sum(axis=0) == often[targets]).all()


def test_targets_that_crowd_a_subset_are_drawn_at_their_natural_share():
    draws = shared_draws(30, np.arange(20), rows=10, shadows=300, rng=np.random.default_rng(4))
    assert abs(draws.member.mean() - 1 / 3) < 0.06


@pytest.mark.parametrize(
    ("population", "rows", "targets", "words"),
    [
        (10, 10, 1, "smaller than the population"),
        (10, 12, 1, "10: ask for fewer rows"),
        (10, 0, 1, "at least one row"),
        (10, 5, 11, "1 to 10 targets"),
    ],
)
def test_impossible_sizes_are_refused(population, rows, targets, words):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=words):
        shared_draws(population, np.arange(targets), rows=rows, shadows=4, rng=rng)
    with pytest.raises(InputError, match=words):
        neighbour_draws(population, np.arange(targets), rows=rows, pairs=4, rng=rng)
