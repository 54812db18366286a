"""The population that subsets are drawn from."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import read
from chaffinch._base.errors import InputError
from chaffinch.risk.shadows import fresh_draws, neighbour_draws, shared_draws, world_of


@pytest.fixture(scope="module")
def one_unlike_all():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(list("abcd"), 80) for name in "uvwx"})
    frame.loc[5] = ["z", "z", "z", "z"]  # differs from everyone everywhere
    frame.loc[[6, 7]] = [["y", "y", "y", "y"]] * 2
    return read(frame, rare="keep")


def test_each_combination_is_there_once_and_the_odd_one_out_is_first(one_unlike_all):
    world = world_of(one_unlike_all, targets=3)
    assert len(np.unique(world.codes, axis=0)) == world.n_population
    assert world.duplicates == 80 - world.n_population > 0
    assert world.table.to_pandas().iloc[world.targets[0]].tolist() == ["z"] * 4
    assert world.rows == 16
    assert world.share == 16 / world.n_population


def test_keeping_duplicates_leaves_out_only_copies_of_targets(one_unlike_all):
    world = world_of(one_unlike_all, targets=np.array([6]), duplicates="keep")
    assert world.duplicates == 1
    assert world.n_population == 79
    assert world.table.to_pandas().iloc[world.targets[0]].tolist() == ["y"] * 4
    chosen = world_of(one_unlike_all, targets=4, duplicates="keep")
    matches = (chosen.codes[:, None, :] == chosen.target_codes[None]).all(axis=2).sum(axis=0)
    assert matches.tolist() == [1] * 4


def test_a_population_joins_the_table_and_targets_are_the_tables_own(one_unlike_all):
    frame = one_unlike_all.to_pandas()
    own = read(frame.iloc[:30], schema=one_unlike_all.schema)
    others = read(frame.iloc[30:], schema=one_unlike_all.schema)
    world = world_of(own, others, targets=5)
    assert world.rows == 30
    assert world.n_population == len(frame.drop_duplicates())
    mine = {tuple(row) for row in frame.iloc[:30].to_numpy()}
    assert all(tuple(world.table.to_pandas().iloc[t]) in mine for t in world.targets)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": 500}, "targets"),
        ({"rows": 80}, "smaller than the population"),
        ({"targets": np.array([6, 7])}, "different records"),
        ({"targets": np.array([80])}, "numbers of rows of the table, 0 to 79"),
    ],
)
def test_impossible_worlds_are_refused(one_unlike_all, options, words):
    with pytest.raises(InputError, match=words):
        world_of(one_unlike_all, **options)


def test_a_population_on_another_grid_is_refused(one_unlike_all):
    other = read(pd.DataFrame({name: ["q", "r"] * 20 for name in "uvwx"}))
    with pytest.raises(InputError, match="Column 'u' of the population has other levels"):
        world_of(one_unlike_all, other)


def test_records_that_share_bins_are_not_the_same():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"pay": rng.normal(size=300), "sex": rng.choice(list("fm"), 300)})
    frame.loc[299] = frame.loc[0]
    table = read(frame)
    by_values, by_codes = (
        world_of(table, targets=4, rows=10),
        world_of(table, targets=4, rows=10, equal="codes"),
    )
    assert (by_values.duplicates, by_values.n_population) == (1, 299)
    assert by_codes.duplicates > 200
    assert len(np.unique(by_values.records, axis=0)) == 299
    assert sum(by_values.ranked.values()) == 4


def test_targets_that_were_named_come_from_no_ranking(one_unlike_all):
    assert world_of(one_unlike_all, targets=np.array([5])).ranked == {}
    assert world_of(one_unlike_all, targets=2, ranking="rarity", duplicates="keep").ranked == {
        "rarity": 2
    }


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
    assert draws.shadows_of(1).tolist() == list(range(12, 24))


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
