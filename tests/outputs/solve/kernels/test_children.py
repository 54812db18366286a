"""How children are made: rates with their odds, whole records exchanged, and no change that goes unnoticed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.domain import CodeColumn, Columns
from chaffinch.outputs.solve.population import BreedingRates, Population, next_place

from ..problems import COLUMNS

WIDE = Columns(
    (
        CodeColumn("x", 10),
        CodeColumn("fixed", 5, fixed=True),
        CodeColumn("w", 4, weights=np.array([0.0, 1, 2, 1])),
    )
)


def bred(columns, n_rows, size, rates, *, seed=1, parents=None):
    """A population before, its children, and the records that were written down as touched."""
    population = Population(
        columns, columns.start(n_rows, seed=seed), size, np.random.default_rng(seed + 1)
    )
    parents = np.arange(size) if parents is None else np.asarray(parents)
    before = np.stack([population.dataset(k) for k in parents])
    population.breed(parents, rates)
    after = np.stack([population.dataset(size + k) for k in range(size)])
    touched = [population._touched[k, : population._n_touched[k]] for k in range(size)]
    return before, after, touched


@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 7),
    n_rows=st.integers(1, 60),
    rates=st.tuples(*[st.sampled_from([0.0, 0.05, 0.5, 1.0])] * 3),
    data=st.data(),
)
@settings(max_examples=80)
def test_every_record_that_differs_was_touched_once(seed, size, n_rows, rates, data):
    parents = data.draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
    before, after, touched = bred(
        COLUMNS, n_rows, size, BreedingRates(*rates), seed=seed, parents=parents
    )
    assert ((after >= 0) & (after < np.array(COLUMNS.sizes))).all()
    for k in range(size):
        assert len(set(touched[k])) == len(touched[k])
        assert set(np.flatnonzero((before[k] != after[k]).any(axis=1))) <= set(touched[k])


def test_without_crossover_and_mutation_children_are_their_parents():
    for rates in (BreedingRates(0.0, 0.5, 0.0), BreedingRates(1.0, 0.0, 0.0)):
        before, after, touched = bred(COLUMNS, 50, 4, rates)
        np.testing.assert_array_equal(before, after)
        assert all(len(some) == 0 for some in touched)


def test_mutation_has_its_rate_and_its_levels():
    """Each cell with chance 0.1, of which 1 in 10 draws the old level again; 5 sd of the binomial either way: once in 1.7 million, each of four."""
    before, after, _ = bred(WIDE, 20_000, 4, BreedingRates(0.0, 0.1, 0.1))
    n = 80_000
    changed = (before != after).sum(axis=(0, 1))
    assert abs(changed[0] - 0.09 * n) < 5 * np.sqrt(n * 0.09 * 0.91)
    assert changed[1] == 0  # fixed
    # Levels by their weights, 1 : 2 : 1: the old and the new one differ with the chance 2 (1/4 3/4) / 2 + 1/2 1/2 = 5/8.
    assert abs(changed[2] - 0.0625 * n) < 5 * np.sqrt(n * 0.0625 * 0.9375)
    new = after[:, :, 2][before[:, :, 2] != after[:, :, 2]]
    assert (new > 0).all()
    assert abs((new == 2).mean() - 0.4) < 5 * np.sqrt(0.24 / len(new))


def test_mutations_of_cells_do_not_depend_on_each_other():
    """Columns of one record, and neighbouring records: both cells change with the product of the chances; 5 sd, once in 1.7 million each."""
    columns = Columns((CodeColumn("x", 200), CodeColumn("z", 200)))
    before, after, _ = bred(columns, 50_000, 2, BreedingRates(0.0, 0.1, 0.2))
    hit = before != after
    chance, n = 0.2 * 199 / 200, 100_000
    for both in (hit[:, :, 0] & hit[:, :, 1], hit[:, 1:, 0] & hit[:, :-1, 0]):
        assert abs(both.sum() - n * chance**2) < 5 * np.sqrt(n * chance**2) + 5


def test_crossover_exchanges_whole_records_between_neighbours():
    """One record in ten, 5 sd of the binomial: once in 1.7 million for each pair; the odd one out has no mate."""
    before, after, _ = bred(WIDE, 20_000, 5, BreedingRates(1.0, 0.1, 0.0))
    np.testing.assert_array_equal(before[4], after[4])
    for k in (0, 2):
        swapped = (before[k] != after[k]).any(axis=1)
        differing = (before[k] != before[k + 1]).any(axis=1)
        np.testing.assert_array_equal(
            after[k], np.where(swapped[:, None], before[k + 1], before[k])
        )
        np.testing.assert_array_equal(
            after[k + 1], np.where(swapped[:, None], before[k], before[k + 1])
        )
        n = differing.sum()
        assert abs(swapped.sum() - 0.1 * n) < 5 * np.sqrt(n * 0.09)


def test_pairs_are_crossed_with_their_chance():
    """400 pairs at 0.8, each of which exchanges all records or none; 5 sd: once in 1.7 million."""
    columns = Columns((CodeColumn("x", 2_000_000_000),))
    before, after, _ = bred(columns, 3, 800, BreedingRates(0.8, 1.0, 0.0))
    pairs = (before[::2] != after[::2]).any(axis=(1, 2)).sum()
    assert abs(pairs - 320) < 5 * np.sqrt(400 * 0.16)
    assert after.max() > 2**24  # codes of any width


@pytest.mark.parametrize("rate", [0.001, 0.3, 1.0])
def test_gaps_are_geometric(rate):
    """The mean gap is 1 / rate with the variance (1 - rate) / rate^2; 5 sd: once in 1.7 million."""
    bits = np.array([11, 12], dtype=np.uint64)
    stay = np.log1p(-rate) if rate < 1.0 else -np.inf
    gaps = np.array([next_place(bits, -1, stay) + 1 for _ in range(4_000)])
    assert gaps.min() >= 1
    assert abs(gaps.mean() - 1 / rate) <= 5 * np.sqrt((1 - rate) / rate**2 / len(gaps))
    first = (gaps == 1).mean()
    assert abs(first - rate) <= 5 * np.sqrt(rate * (1 - rate) / len(gaps))
