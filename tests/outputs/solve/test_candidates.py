"""Moves that could be combined: what they change is what is counted afresh, and no count leaves its interval."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from chaffinch.outputs.solve.combine import NumbersOfSums, candidates_of, excess, make_moves
from chaffinch.outputs.solve.moves import Moves
from chaffinch.outputs.solve.state import State


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
