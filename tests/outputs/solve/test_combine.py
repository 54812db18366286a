"""Several moves at once: what they change is what is counted afresh, and few are found that nearly cancel."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from chaffinch.outputs.solve.combine import _candidates as candidates_of
from chaffinch.outputs.solve.combine import few_that_cancel
from chaffinch.outputs.solve.moves import Moves
from chaffinch.outputs.solve.state import State


def test_moves_that_are_combined_change_the_sums_as_foretold(problems: ModuleType) -> None:
    problem = problems.random_problem(4, [("logit", "score")])
    state = State(problem, problems.COLUMNS.start(60, seed=4))
    moves = Moves(state, np.random.default_rng(4))
    moves.sort(state.codes)
    moved, changes = candidates_of(state, moves)
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
