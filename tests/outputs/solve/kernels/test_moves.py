"""Moves that are drawn: each kind is made, and random numbers have their distributions."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from chaffinch.outputs.solve.moves import Kind, Moves, draw_below, draw_level
from chaffinch.outputs.solve.state import State


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
