"""The search: what it keeps up to date equals what is counted afresh."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.families import FAMILIES, PARTS, FamilyName, Part
from chaffinch.outputs.solve.moves import Kind, Moves
from chaffinch.outputs.solve.state import State

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
