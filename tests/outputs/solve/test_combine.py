"""Several moves at once: few are found that nearly cancel, and none of them share a record."""

from __future__ import annotations

from itertools import product
from types import ModuleType

import numpy as np
import pytest

from chaffinch.outputs.equations import CountTable, Problem, regression
from chaffinch.outputs.solve.combine import (
    NumbersOfSums,
    candidates_of,
    excess,
    few_that_cancel,
    few_to_make,
    make_moves,
    relax,
)
from chaffinch.outputs.solve.combine import _first_of_each_record as apart_of
from chaffinch.outputs.solve.combine import _masks as masks_of
from chaffinch.outputs.solve.moves import Moves
from chaffinch.outputs.solve.state import State


def test_the_few_that_cancel_are_nearly_the_best_there_are() -> None:
    rng = np.random.default_rng(1)
    changes, rest = rng.normal(size=(300, 3)), np.array([0.3, -0.2, 0.1])
    found = few_that_cancel(changes, rest, rng=rng, levels=1, size=300)
    pairs = changes[:, None, :] + changes[None, :, :] + rest
    mine = ((changes[found[0]].sum(axis=0) + rest) ** 2).sum()
    assert mine == pytest.approx((pairs**2).sum(axis=2).min())
    four = few_that_cancel(changes, rest, rng=rng, levels=2, size=3_000)[0]
    assert len(four) == 4
    # Of 3,000 lists of four that were paired to cancel, the best beats the best of 45,000 pairs.
    assert ((changes[four].sum(axis=0) + rest) ** 2).sum() < mine


def test_no_two_moves_of_a_combination_share_a_record() -> None:
    """Forty records of five moves each, half of them swaps with another: sixteen moves would nearly always have one in common."""
    rng = np.random.default_rng(1)
    record = np.repeat(np.arange(40), 5)
    other = np.where(rng.random(200) < 0.5, (record + rng.integers(1, 40, 200)) % 40, -1)
    moved = np.stack([record, other], axis=1)
    changes, rest = rng.normal(size=(200, 2)), np.array([0.3, -0.2])
    rows = few_that_cancel(changes, rest, rng=rng, levels=3, size=2_000, records=masks_of(moved))
    assert len(rows) > 10
    for members in rows:
        touched = [one for move in moved[members] for one in move if one >= 0]
        assert len(touched) == len(set(touched))
    any_rows = few_that_cancel(changes, rest, rng=rng, levels=3, size=2_000)
    assert any(len({int(k) for k in moved[members, 0]}) < 8 for members in any_rows)


def test_moves_that_are_combined_change_the_sums_as_foretold(problems: ModuleType) -> None:
    problem = problems.random_problem(4, [("logit", "score")])
    state = State(problem, problems.COLUMNS.start(60, seed=4))
    moves = Moves(state, np.random.default_rng(4))
    moves.sort(state.codes)
    moved, changes = candidates_of(state, moves, 4_096)
    assert len(moved) > 100
    sums, counts = state.sums.copy(), state.counts.copy()
    within = (state.cell_lo <= counts) & (counts <= state.cell_hi)
    for (record, other, column, level), change in zip(moved[:100], changes[:100], strict=True):
        codes = state.codes.copy()
        if other >= 0:
            codes[other, column] = codes[record, column]
        codes[record, column] = level
        expected = np.concatenate([s.contributions(codes).sum(axis=0) for s in state.systems])
        np.testing.assert_allclose(sums + change, expected, atol=1e-9)
        now = np.concatenate([t.counts(codes) for t in state.tables])
        assert ((state.cell_lo <= now) & (now <= state.cell_hi))[within].all()
    assert state.counts.tolist() == counts.tolist()


def test_moves_are_made_and_numbers_change_as_foretold(problems: ModuleType) -> None:
    """Sums of a system are its numbers: two moves of different records change them by what both add, in half-widths."""
    problem = problems.random_problem(4, [("logit", "score")])
    state = State(problem, problems.COLUMNS.start(60, seed=4))
    moves = Moves(state, np.random.default_rng(4))
    moves.sort(state.codes)
    moved, changes = candidates_of(state, moves, 500)
    second = next(
        k for k in range(1, len(moved)) if not set(moved[0, :2]) & set(moved[k, :2]) - {-1}
    )
    numbers = NumbersOfSums(state, state.drifts())
    off, linear = numbers.off(state.sums), numbers.of_changes(changes[[0, second]])
    expected = off + linear.sum(axis=0)
    sums = state.sums + changes[[0, second]].sum(axis=0)
    np.testing.assert_allclose(numbers.off(sums), expected, atol=1e-6 * np.abs(expected).max())
    make_moves(state, moved[[0, second]])
    state.refresh()
    np.testing.assert_allclose(state.sums, sums, atol=1e-9)


def test_only_what_lies_outside_is_in_excess() -> None:
    assert excess(np.array([0.5, -0.98])) == 0.0
    np.testing.assert_allclose(excess(np.array([[1.98, 0.0], [0.0, -2.98]])), [1.0, 4.0])


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
