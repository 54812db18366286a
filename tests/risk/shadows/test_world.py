"""The population that subsets are drawn from."""

import numpy as np
import pandas as pd
import pytest

from chaffinch import read
from chaffinch.errors import InputError
from chaffinch.risk.shadows import world_of


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(list("abcd"), 80) for name in "uvwx"})
    frame.loc[5] = ["z", "z", "z", "z"]  # differs from everyone everywhere
    frame.loc[[6, 7]] = [["y", "y", "y", "y"]] * 2
    return read(frame, rare="keep")


def test_each_combination_is_there_once_and_the_odd_one_out_is_first(table):
    world = world_of(table, targets=3)
    assert len(np.unique(world.codes, axis=0)) == world.n_population
    assert world.duplicates == 80 - world.n_population > 0
    assert world.table.to_pandas().iloc[world.targets[0]].tolist() == ["z"] * 4
    assert world.rows == 16
    assert world.share == 16 / world.n_population


def test_keeping_duplicates_leaves_out_only_copies_of_targets(table):
    world = world_of(table, targets=np.array([6]), duplicates="keep")
    assert world.duplicates == 1
    assert world.n_population == 79
    assert world.table.to_pandas().iloc[world.targets[0]].tolist() == ["y"] * 4
    chosen = world_of(table, targets=4, duplicates="keep")
    matches = (chosen.codes[:, None, :] == chosen.target_codes[None]).all(axis=2).sum(axis=0)
    assert matches.tolist() == [1] * 4


def test_a_population_joins_the_table_and_targets_are_the_tables_own(table):
    frame = table.to_pandas()
    own = read(frame.iloc[:30], schema=table.schema)
    others = read(frame.iloc[30:], schema=table.schema)
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
def test_impossible_worlds_are_refused(table, options, words):
    with pytest.raises(InputError, match=words):
        world_of(table, **options)


def test_a_population_on_another_grid_is_refused(table):
    other = read(pd.DataFrame({name: ["q", "r"] * 20 for name in "uvwx"}))
    with pytest.raises(InputError, match="Column 'u' of the population has other levels"):
        world_of(table, other)


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


def test_targets_that_were_named_come_from_no_ranking(table):
    assert world_of(table, targets=np.array([5])).ranked == {}
    assert world_of(table, targets=2, ranking="rarity", duplicates="keep").ranked == {"rarity": 2}
