"""Estimates from noisy tables, each against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.synth.bayesnet.private.estimate import (
    SIGMAS,
    cells_of,
    conditional_target,
    error_at,
    error_curve,
    margins_of,
    raked,
    shrunk,
)


@pytest.mark.parametrize("seed", range(5))
def test_raking_gives_the_sums_asked_for_and_keeps_the_odds_ratio(seed):
    rng = np.random.default_rng(seed)
    start, wanted = rng.random((2, 2)) + 0.1, rng.random((2, 2)) + 0.1
    out = raked(start, [((0,), wanted.sum(axis=1)), ((1,), wanted.sum(axis=0))], rounds=200)
    np.testing.assert_allclose(out.sum(axis=1), wanted.sum(axis=1))
    np.testing.assert_allclose(out.sum(axis=0), wanted.sum(axis=0))

    def ratio(t):
        return t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0])

    assert ratio(out) == pytest.approx(ratio(start)), (
        "iterative proportional fitting keeps interactions"
    )


def test_single_columns_agree_on_the_total_weighted_by_precision():
    # Totals 100 (two cells, variance 2) and 106 (one cell, variance 1): weights 1/2 and 1, so 104.
    margins, total = margins_of([np.array([60.0, 40.0]), np.array([106.0])], [1.0, 1.0])
    assert total == pytest.approx(104.0)
    assert [m.sum() for m in margins] == pytest.approx([104.0, 104.0])
    margins, total = margins_of([np.array([-5.0, -7.0])], [1.0])
    assert (total, margins[0].min() >= 0, margins[0].sum()) == (1.0, True, 1.0)


def test_noise_is_held_back_and_what_is_certain_is_taken():
    model = np.array([50.0, 50.0])
    assert shrunk(model + np.array([1.0, -1.0]), model, 5.0) == pytest.approx(model), (
        "less than noise: the model"
    )
    far = model + np.array([100.0, 0.0])
    assert shrunk(far, model, 5.0)[0] == pytest.approx(150.0), "twenty deviations out: as measured"
    assert (shrunk(np.array([-90.0, 5.0]), np.array([1.0, 1.0]), 1.0) >= 0).all()


def test_the_error_of_a_table_by_hand():
    # Cells of 1, 10 and 100 at sigma 10: the first cannot be wrong by more than it holds. 0.4 (1 + 10 + 10).
    curve = error_curve(np.array([100.0, 1.0, 10.0]))
    assert curve[np.searchsorted(SIGMAS, 9.99)] == pytest.approx(
        0.4 * (1 + 2 * SIGMAS[np.searchsorted(SIGMAS, 9.99)]), rel=0.1
    )
    assert error_at(curve, 1e7) == pytest.approx(0.4 * 111)
    assert (np.diff(curve) >= 0).all()


def test_conditional_targets_have_the_parents_sums():
    target = conditional_target(
        np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([8.0, 2.0]), np.array([1.0, 3.0])
    )
    assert target.tolist() == [[6.0, 2.0], [0.5, 1.5]]
    assert cells_of((3, 4, 5), (0, 2)) == 15
