"""Which moves are tried: more of those that gain, and alike records beside each other."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.equations import Problem
from chaffinch.outputs.families import FAMILIES, PARTS, FamilyName, Part
from chaffinch.outputs.solve.moves import FLOOR, Kind, Moves, draw_below, draw_level
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


MODELS = [(f, p) for f in FAMILIES for p in PARTS if f != "multinomial" or p in ("score", "loglik")]
EVERY_KIND = ["change", "step", "swap", "near_swap", "copy", "copy_two", "repair"]


@pytest.mark.parametrize("kind", EVERY_KIND)
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    models=st.lists(st.sampled_from(MODELS), max_size=2),
    n_rows=st.integers(1, 25),
)
def test_what_a_move_changes_is_what_is_counted_afresh(
    problems: ModuleType, kind: Kind, seed: int, models: list[tuple[FamilyName, Part]], n_rows: int
) -> None:
    problem = problems.random_problem(seed, models)
    state = State(problem, problems.COLUMNS.start(n_rows, seed=seed))
    before, error, gradient, matrix = (
        state.codes.copy(),
        state.system_error,
        state.gradient.copy(),
        problems.matrix_of(state),
    )
    sums = problems.sums_of(state)
    moves = Moves(state, np.random.default_rng(seed), kinds=[kind])
    moves.sort(state.codes)
    kept = problems.proposed(state, moves, 30)
    assert kept > 0 or (before == state.codes).all()
    assert (
        np.concatenate([t.counts(state.codes) for t in state.tables]).tolist()
        == state.counts.tolist()
    )
    assert state.table_error == pytest.approx(problems.table_error_of(state), rel=1e-9, abs=1e-9)
    size = 1.0 + np.concatenate(
        [np.abs(s.contributions(state.codes)).sum(axis=0) for s in state.systems]
    )
    np.testing.assert_allclose(state.sums / size, problems.sums_of(state) / size, atol=1e-9)
    # By the definition of the quadratic, from the numpy sums before and after.
    change = problems.sums_of(state) - sums
    size = (
        1.0
        + error
        + np.abs(gradient).max()
        + np.abs(matrix).max() * (1.0 + np.abs(change).max()) ** 2
    )
    assert state.system_error == pytest.approx(
        error + change @ gradient + change @ matrix @ change, abs=1e-9 * size
    )
    np.testing.assert_allclose(state.gradient, gradient + 2.0 * matrix @ change, atol=1e-9 * size)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), models=st.lists(st.sampled_from(MODELS), max_size=1))
def test_a_greedy_search_never_gets_worse(
    problems: ModuleType, seed: int, models: list[tuple[FamilyName, Part]]
) -> None:
    state = State(problems.random_problem(seed, models), problems.COLUMNS.start(25, seed=seed))
    before, error, gradient, matrix, sums = (
        state.error,
        state.system_error,
        state.gradient.copy(),
        problems.matrix_of(state),
        problems.sums_of(state),
    )
    problems.proposed(state, Moves(state, np.random.default_rng(seed)), 300, 0.0)
    change = problems.sums_of(state) - sums
    after = problems.table_error_of(state) + error + change @ gradient + change @ matrix @ change
    size = 1.0 + before + np.abs(matrix).max() * (1.0 + np.abs(change).max()) ** 2
    assert after <= before + 1e-9 * size


@pytest.mark.parametrize("kind", ["change", "step", "copy", "near_swap"])
def test_every_kind_of_move_is_made(problems: ModuleType, kind: Kind) -> None:
    state = State(
        problems.random_problem(1, [("logit", "score")]), problems.COLUMNS.start(30, seed=1)
    )
    before = state.codes.copy()
    moves = Moves(state, np.random.default_rng(1), kinds=[kind])
    assert problems.proposed(state, moves, 200) > 20
    changed = (state.codes != before).any(axis=0)
    assert changed.tolist() == [kind != "step", True, kind != "step", kind != "step"]
    if kind == "near_swap":
        np.testing.assert_array_equal(np.sort(state.codes, axis=0), np.sort(before, axis=0))


def test_levels_have_the_chances_of_their_column() -> None:
    """60,000 draws, five standard errors each way: fails once in two hundred thousand if right."""
    bits = np.random.default_rng(1).integers(1, 2**63, 2).astype(np.uint64)
    shares = np.array([1 / 2, 1 / 3, 1 / 6])
    for first, expected in ((0, shares), (-1, np.full(3, 1 / 3))):
        draws = [draw_level(bits, 3, np.cumsum(shares), first) for _ in range(60_000)]
        counts = np.bincount(draws, minlength=3)
        assert (
            np.abs(counts - 60_000 * expected) < 5 * np.sqrt(60_000 * expected * (1 - expected))
        ).all()
    assert {draw_below(bits, 4) for _ in range(400)} == {0, 1, 2, 3}
