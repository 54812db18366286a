"""Which moves are tried: more of those that gain, and alike records beside each other."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from chaffinch.outputs.equations import Problem
from chaffinch.outputs.solve.moves import FLOOR, Moves
from chaffinch.outputs.solve.state import State


def test_arms_that_gain_are_tried_more_often_and_none_is_given_up(problems: ModuleType) -> None:
    state = State(problems.random_problem(1, []), problems.COLUMNS.start(20, seed=1))
    moves = Moves(state, np.random.default_rng(1))
    assert np.allclose(moves.shares, 1 / len(moves.arms))
    moves.kernel.tries[:] = 10.0
    moves.kernel.gains[0] = 1.0
    moves.learn()
    assert moves.shares.argmax() == 0
    assert moves.shares.sum() == pytest.approx(1.0)
    assert (moves.shares >= FLOOR / len(moves.arms)).all()
    assert not moves.kernel.tries.any()


def test_records_that_agree_on_a_tables_other_columns_are_neighbours(problems: ModuleType) -> None:
    codes = problems.COLUMNS.start(200, seed=2)
    table = problems.table_of(codes, (0, 2, 3), "t")
    state = State(Problem(problems.COLUMNS, (table,)), codes)
    moves = Moves(state, np.random.default_rng(1))
    moves.sort(codes)
    for column, others in ((0, [2, 3]), (2, [0, 3]), (3, [0, 2])):
        ordered = codes[moves.kernel.order[column]][:, others]
        runs = 1 + (ordered[1:] != ordered[:-1]).any(axis=1).sum()
        assert runs == len(np.unique(ordered, axis=0))
        assert (moves.kernel.order[column][moves.kernel.places[column]] == np.arange(200)).all()
