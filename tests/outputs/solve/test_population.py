"""A population in slots: who lives where after many generations, and sums that follow changes against sums from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import (
    CountTable,
    Lookup,
    Problem,
    RegressionModel,
    SumSystem,
    Terms,
)
from chaffinch.outputs.families import FAMILIES
from chaffinch.outputs.solve.population import (
    BreedingRates,
    Population,
    add_up,
    next_index,
)
from chaffinch.outputs.solve.program import compile_problem
from chaffinch.outputs.solve.state import State

from .problems import COLUMNS, random_problem


def test_sums_that_follow_changes_are_those_from_scratch():
    """Sixty generations of children, with survivors taken at random; numpy adds up every candidate's records."""
    problem = random_problem(
        3, [("logit", "score"), ("multinomial", "score"), ("poisson", "loglik")]
    )
    rng = np.random.default_rng(1)
    population = Population(COLUMNS, COLUMNS.start(80, seed=1), 6, rng)
    population.add_up(compile_problem(problem), 2)
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
    columns = OutputDomain(
        (OutputColumn("x", tuple(map(str, range(size)))), OutputColumn("y", tuple("01")))
    )
    first = np.array([[size - 1, 1], [0, 0]], dtype=np.int32)
    population = Population(columns, first, 2, np.random.default_rng(1))
    assert population._codes.dtype == dtype
    np.testing.assert_array_equal(population.dataset(0), first)
    assert population.dataset(0).dtype == np.int32


def test_others_start_anew_but_for_fixed_columns():
    columns = OutputDomain(
        (
            OutputColumn("x", tuple(map(str, range(50)))),
            OutputColumn("fixed", tuple("012345678"), fixed=True),
        )
    )
    first = columns.start(200, seed=1)
    population = Population(columns, first, 4, np.random.default_rng(3))
    datasets = [population.dataset(k) for k in range(4)]
    np.testing.assert_array_equal(datasets[0], first)
    for k in range(1, 4):
        np.testing.assert_array_equal(datasets[k][:, 1], first[:, 1])
        # Each cell agrees with a chance of 1 in 50, so 4 of 200; 30 or more once in 10^15.
        assert all((datasets[k][:, 0] == other[:, 0]).sum() < 30 for other in datasets[:k])


WIDE = OutputDomain(
    (
        OutputColumn("x", tuple("0123456789")),
        OutputColumn("fixed", tuple("01234"), fixed=True),
        OutputColumn("w", tuple("0123"), weights=(0.0, 1, 2, 1)),
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
    """OutputDomain of one record, and neighbouring records: both cells change with the product of the chances; 5 sd, once in 1.7 million each."""
    columns = OutputDomain(
        (
            OutputColumn("x", tuple(map(str, range(200)))),
            OutputColumn("z", tuple(map(str, range(200)))),
        )
    )
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


class WideColumn(OutputColumn):
    """A column with more levels than could be listed."""

    size = 2_000_000_000

    def __post_init__(self) -> None:
        pass


def test_pairs_are_crossed_with_their_chance():
    """400 pairs at 0.8, each of which exchanges all records or none; 5 sd: once in 1.7 million."""
    columns = OutputDomain((WideColumn("x", ("0", "1")),))
    before, after, _ = bred(columns, 3, 800, BreedingRates(0.8, 1.0, 0.0))
    pairs = (before[::2] != after[::2]).any(axis=(1, 2)).sum()
    assert abs(pairs - 320) < 5 * np.sqrt(400 * 0.16)
    assert after.max() > 2**24  # codes of any width


@pytest.mark.parametrize("rate", [0.001, 0.3, 1.0])
def test_gaps_are_geometric(rate):
    """The mean gap is 1 / rate with the variance (1 - rate) / rate^2; 5 sd: once in 1.7 million."""
    bits = np.array([11, 12], dtype=np.uint64)
    stay = np.log1p(-rate) if rate < 1.0 else -np.inf
    gaps = np.array([next_index(bits, -1, stay) + 1 for _ in range(4_000)])
    assert gaps.min() >= 1
    assert abs(gaps.mean() - 1 / rate) <= 5 * np.sqrt((1 - rate) / rate**2 / len(gaps))
    first = (gaps == 1).mean()
    assert abs(first - rate) <= 5 * np.sqrt(rate * (1 - rate) / len(gaps))


MODELS = [(family, "score") for family in FAMILIES] + [
    ("logit", "weight"),
    ("poisson", "loglik"),
    ("multinomial", "loglik"),
]


def added_up(problem, *datasets):
    program, slots = compile_problem(problem), np.arange(len(datasets))
    counts, sums = (
        np.full((len(slots), program.n_cells), 7),
        np.full((len(slots), program.n_sums), 7.0),
    )
    add_up(program, np.stack(datasets).astype(np.uint8), slots, counts, sums)
    return counts, sums


def by_numpy(problem, codes):
    tables = [output.counts(codes) for output in problem.outputs if isinstance(output, CountTable)]
    systems = [
        output.contributions(codes).sum(axis=0)
        for output in problem.outputs
        if isinstance(output, SumSystem)
    ]
    return np.concatenate([np.zeros(0, int), *tables]), np.concatenate([np.zeros(0), *systems])


@given(
    seed=st.integers(0, 10_000),
    model=st.sampled_from(MODELS),
    moved=st.sampled_from([0, 3, 20, 40]),
)
@settings(max_examples=60)
def test_counts_and_sums_are_those_of_numpy(seed, model, moved):
    """The second dataset differs from the first in few records or in many, which is another way of adding up."""
    problem = random_problem(seed, [model, ("logit", "score")])
    first = COLUMNS.start(40, seed=seed)
    second = first.copy()
    second[:moved] = COLUMNS.start(max(1, moved), seed=seed + 1)[:moved]
    counts, sums = added_up(problem, first, second)
    for k, codes in enumerate((first, second)):
        wanted = by_numpy(problem, codes)
        np.testing.assert_array_equal(counts[k], wanted[0])
        np.testing.assert_allclose(sums[k], wanted[1], rtol=1e-9, atol=1e-9)


def test_several_parts_that_read_the_same_columns_are_one_block():
    """Predictors and terms add up, filters multiply: by hand, sum over records of keep * (y - eta) * x."""
    columns = OutputDomain((OutputColumn("a", tuple("01")),))
    terms = tuple(Terms.dense((0,), (2,), np.array([[0.0], [value]])) for value in (1.0, 2.0))
    eta = tuple(Lookup((0,), (2,), np.array([[0.5], [value]])) for value in (1.0, 3.0))
    keep = tuple(Lookup((0,), (2,), np.array([[1.0], [value]])) for value in (0.5, 4.0))
    model = RegressionModel("gaussian", eta, Lookup((0,), (2,), np.array([[0.0], [10.0]])))
    problem = Problem(columns, (SumSystem("s", 1, terms, np.zeros(1), np.zeros(1), model, keep),))
    assert compile_problem(problem).max_blocks == 1
    codes = np.array([[0], [1], [1]])
    by_hand = 2 * (0.5 * 4.0) * (10.0 - (1.0 + 3.0)) * (1.0 + 2.0)
    assert added_up(problem, codes)[1][0, 0] == pytest.approx(by_hand)
    assert State(problem, codes).sums[0] == pytest.approx(by_hand)


def test_a_problem_of_tables_alone_has_no_blocks():
    table = CountTable("t", ((0, np.arange(3)),), np.zeros(3, int), np.ones(3, int))
    problem = Problem(COLUMNS, (table,))
    program = compile_problem(problem)
    assert (program.n_systems, program.n_sums) == (0, 0)
    codes = COLUMNS.start(30, seed=1)
    np.testing.assert_array_equal(
        added_up(problem, codes)[0][0], np.bincount(codes[:, 0], minlength=3)
    )
