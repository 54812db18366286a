"""Attacks ready to be permuted: units, cells and exact sums."""

from __future__ import annotations

import numpy as np

from chaffinch.stats import panel as panel_module


def test_gathered_scores_keep_nearly_all_of_the_variance() -> None:
    rng = np.random.default_rng(5)
    score = np.where(rng.random(20_000) < 0.97, rng.random(20_000) / 50, rng.random(20_000))
    units = panel_module._gathered(score, np.ones(20_000))
    assert units.max() < panel_module.CELLS
    means = np.bincount(units, weights=score) / np.bincount(units)
    assert means[units].var() > 0.999 * score.var()


def test_people_with_and_without_weight_are_not_gathered_together() -> None:
    rng = np.random.default_rng(5)
    weight = (rng.random(5000) < 0.5).astype(float)
    units = panel_module._gathered(rng.random(5000) * weight, weight)
    of_unit = np.bincount(units, weights=weight) / np.bincount(units)
    assert set(of_unit) == {0.0, 1.0}


def test_sums_on_the_grid_are_exact_in_any_order() -> None:
    scores = panel_module._grid(np.random.default_rng(1).random(100_000), 30)
    assert np.cumsum(scores)[-1] == np.cumsum(scores[::-1])[-1] == scores.sum()
    raw = np.random.default_rng(1).random(100_000)
    assert np.cumsum(raw)[-1] != np.cumsum(raw[::-1])[-1]  # without the grid they are not
