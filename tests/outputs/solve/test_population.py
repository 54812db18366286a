"""A population in slots: who lives where after many generations, and sums that follow changes against sums from scratch."""

import numpy as np
import pytest

from chaffinch.outputs.domain import CodeColumn, Columns
from chaffinch.outputs.equations import CountTable, SumSystem
from chaffinch.outputs.solve.population import BreedingRates, Population, blocks_of

from .problems import COLUMNS, random_problem


def test_sums_that_follow_changes_are_those_from_scratch():
    """Sixty generations of children, with survivors taken at random; numpy adds up every candidate's records."""
    problem = random_problem(
        3, [("logit", "score"), ("multinomial", "score"), ("poisson", "loglik")]
    )
    rng = np.random.default_rng(1)
    population = Population(COLUMNS, COLUMNS.start(80, seed=1), 6, rng)
    population.add_up(blocks_of(problem), 2)
    for _ in range(60):
        population.breed(rng.integers(0, 6, 6), BreedingRates(0.8, 0.2, 0.03))
        population.survive(rng.permutation(12)[:6])
    population.breed(rng.integers(0, 6, 6), BreedingRates(0.8, 0.2, 0.03))
    assert population.sums.shape[0] == 12
    for k in range(12):
        codes = population.dataset(k)
        tables = [
            output.counts(codes) for output in problem.outputs if isinstance(output, CountTable)
        ]
        systems = [
            output.contributions(codes).sum(axis=0)
            for output in problem.outputs
            if isinstance(output, SumSystem)
        ]
        np.testing.assert_array_equal(population.counts[k], np.concatenate(tables))
        np.testing.assert_allclose(
            population.sums[k], np.concatenate(systems), rtol=1e-8, atol=1e-8
        )


def test_survivors_are_numbered_anew_in_their_order_and_nothing_is_lost():
    rng = np.random.default_rng(2)
    population = Population(COLUMNS, COLUMNS.start(30, seed=1), 5, rng)
    for _ in range(20):
        population.breed(rng.integers(0, 5, 5), BreedingRates(0.5, 0.3, 0.2))
        everyone = [population.dataset(k) for k in range(10)]
        kept = rng.permutation(10)[:5]
        population.survive(kept)
        assert len(population) == 5
        for k in range(5):
            np.testing.assert_array_equal(population.dataset(k), everyone[kept[k]])


@pytest.mark.parametrize(
    ("size", "dtype"), [(256, np.uint8), (257, np.uint16), (70_000, np.uint32)]
)
def test_cells_take_as_few_bytes_as_levels_need(size, dtype):
    columns = Columns((CodeColumn("x", size), CodeColumn("y", 2)))
    first = np.array([[size - 1, 1], [0, 0]], dtype=np.int32)
    population = Population(columns, first, 2, np.random.default_rng(1))
    assert population._codes.dtype == dtype
    np.testing.assert_array_equal(population.dataset(0), first)
    assert population.dataset(0).dtype == np.int32


def test_others_start_anew_but_for_fixed_columns():
    columns = Columns((CodeColumn("x", 50), CodeColumn("fixed", 9, fixed=True)))
    first = columns.start(200, seed=1)
    population = Population(columns, first, 4, np.random.default_rng(3))
    datasets = [population.dataset(k) for k in range(4)]
    np.testing.assert_array_equal(datasets[0], first)
    for k in range(1, 4):
        np.testing.assert_array_equal(datasets[k][:, 1], first[:, 1])
        # Each cell agrees with a chance of 1 in 50, so 4 of 200; 30 or more once in 10^15.
        assert all((datasets[k][:, 0] == other[:, 0]).sum() < 30 for other in datasets[:k])
