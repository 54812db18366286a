"""Problems laid out by blocks: counts and sums of whole records against plain numpy, for every family and part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.domain import CodeColumn, Columns
from chaffinch.outputs.equations import (
    CountTable,
    Lookup,
    Problem,
    RegressionModel,
    SumSystem,
    Terms,
)
from chaffinch.outputs.families import FAMILIES
from chaffinch.outputs.solve.population import add_up, blocks_of

from .problems import COLUMNS, random_problem

MODELS = [(family, "score") for family in FAMILIES] + [
    ("logit", "weight"),
    ("poisson", "loglik"),
    ("multinomial", "loglik"),
]


def added_up(problem, *datasets):
    blocks, slots = blocks_of(problem), np.arange(len(datasets))
    counts, sums = (
        np.full((len(slots), blocks.tables.n_cells), 7),
        np.full((len(slots), blocks.n_sums), 7.0),
    )
    add_up(blocks, np.stack(datasets).astype(np.uint8), slots, counts, sums)
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
    columns = Columns((CodeColumn("a", 2),))
    terms = tuple(Terms.dense((0,), (2,), np.array([[0.0], [value]])) for value in (1.0, 2.0))
    eta = tuple(Lookup((0,), (2,), np.array([[0.5], [value]])) for value in (1.0, 3.0))
    keep = tuple(Lookup((0,), (2,), np.array([[1.0], [value]])) for value in (0.5, 4.0))
    model = RegressionModel("gaussian", eta, Lookup((0,), (2,), np.array([[0.0], [10.0]])))
    problem = Problem(columns, (SumSystem("s", 1, terms, np.zeros(1), np.zeros(1), model, keep),))
    blocks = blocks_of(problem)
    assert len(blocks.blocks) == 1
    _, sums = added_up(problem, np.array([[0], [1], [1]]))
    assert sums[0, 0] == pytest.approx(2 * (0.5 * 4.0) * (10.0 - (1.0 + 3.0)) * (1.0 + 2.0))


def test_a_problem_of_tables_alone_has_no_blocks():
    table = CountTable("t", ((0, np.arange(3)),), np.zeros(3, int), np.ones(3, int))
    problem = Problem(COLUMNS, (table,))
    blocks = blocks_of(problem)
    assert (len(blocks.blocks), blocks.n_sums) == (0, 0)
    codes = COLUMNS.start(30, seed=1)
    np.testing.assert_array_equal(
        added_up(problem, codes)[0][0], np.bincount(codes[:, 0], minlength=3)
    )
