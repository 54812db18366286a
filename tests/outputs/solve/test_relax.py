"""Many moves at once by a linear programme: as few as brute force finds, and tables stay as they are."""

from __future__ import annotations

from itertools import product
from types import ModuleType

import numpy as np
import pytest

from chaffinch.outputs.equations import CountTable, Problem, regression
from chaffinch.outputs.solve.combine import _first_of_each_record as apart_of
from chaffinch.outputs.solve.combine import few_to_make, relax
from chaffinch.outputs.solve.moves import Moves
from chaffinch.outputs.solve.state import State


@pytest.mark.parametrize("seed", range(5))
def test_no_rounding_of_the_programme_lies_beyond_what_brute_force_finds(seed: int) -> None:
    """Whole moves are among the fractions that are allowed: no set of them costs less and comes as near, by all 2^8 of them."""
    rng = np.random.default_rng(seed)
    changes, wanted = rng.normal(size=(8, 2)), rng.random(8) < 0.5
    off = -changes[wanted].sum(axis=0)
    costs = np.random.default_rng(seed).uniform(0.5, 1.5, 8)  # those that are drawn inside
    shares = few_to_make(changes, off, np.full(2, 1e-6), rng=np.random.default_rng(seed))
    np.testing.assert_allclose(off + shares @ changes, 0.0, atol=1e-5)
    every = np.array(list(product([0.0, 1.0], repeat=8)))
    near = np.abs(off + every @ changes).max(axis=1) <= 1e-6
    assert shares @ costs <= (every[near] @ costs).min() + 1e-5
    assert (
        (shares > 1e-9) & (shares < 1 - 1e-9)
    ).sum() <= 2  # a basic solution: no more fractions than numbers


def test_what_is_out_of_reach_is_brought_as_near_as_can_be() -> None:
    shares = few_to_make(
        np.array([[1.0], [2.0]]), np.array([-10.0]), np.array([0.1]), rng=np.random.default_rng(1)
    )
    assert shares.tolist() == [1.0, 1.0]


def test_moves_that_are_kept_share_no_record() -> None:
    moved = np.array([[0, 1], [1, -1], [2, 3], [4, 0], [5, -1], [5, 6]])
    assert apart_of(moved, 7).tolist() == [0, 2, 4]


def test_numbers_come_nearer_and_tables_stay(problems: ModuleType) -> None:
    codes, terms = problems.simulated(3)
    table = problems.table_of(codes, (0, 2), "t")
    fit = problems.estimated("logit", codes, terms)
    logit = regression(
        "r",
        family="logit",
        terms=terms,
        label=problems.labels("logit"),
        coefficients=fit,
        half_widths=5e-4,
    )
    shuffled = codes.copy()
    shuffled[:150, 3] = np.random.default_rng(1).permutation(shuffled[:150, 3])
    state = State(Problem(problems.COLUMNS, (logit, table)), shuffled)
    rng = np.random.default_rng(2)
    moves = Moves(state, rng)
    moves.sort(state.codes)
    before = state.system_error
    relaxed = relax(state, moves, rng=rng)
    assert relaxed.helped
    assert relaxed.proposals > 0
    assert state.system_error < 0.5 * before
    np.testing.assert_array_equal(table.counts(state.codes), table.counts(codes))


def test_there_is_no_use_in_it_while_a_table_is_wrong(problems: ModuleType) -> None:
    codes, _ = problems.simulated(3)
    wrong = CountTable("t", ((0, np.arange(3)),), np.array([5, 5, 5]), np.array([5, 5, 5]))
    state = State(Problem(problems.COLUMNS, (wrong,)), codes)
    rng = np.random.default_rng(2)
    assert relax(state, Moves(state, rng), rng=rng).helped is None
