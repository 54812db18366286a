"""Attacks ready to be permuted: units, cells and exact sums."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest

from chaffinch.stats import panel
from chaffinch.stats import panel as panel_module
from chaffinch.stats.panel import permute, resample, subsets


def test_gathered_scores_keep_nearly_all_of_the_variance() -> None:
    rng = np.random.default_rng(5)
    score = np.where(rng.random(20_000) < 0.97, rng.random(20_000) / 50, rng.random(20_000))
    units = panel_module._gather_people(score, np.ones(20_000))
    assert units.max() < panel_module.CELLS
    means = np.bincount(units, weights=score) / np.bincount(units)
    assert means[units].var() > 0.999 * score.var()


def test_people_with_and_without_weight_are_not_gathered_together() -> None:
    rng = np.random.default_rng(5)
    weight = (rng.random(5000) < 0.5).astype(float)
    units = panel_module._gather_people(rng.random(5000) * weight, weight)
    of_unit = np.bincount(units, weights=weight) / np.bincount(units)
    assert set(of_unit) == {0.0, 1.0}


def test_sums_on_the_grid_are_exact_in_any_order() -> None:
    scores = panel_module._grid(np.random.default_rng(1).random(100_000), 30)
    assert np.cumsum(scores)[-1] == np.cumsum(scores[::-1])[-1] == scores.sum()
    raw = np.random.default_rng(1).random(100_000)
    assert np.cumsum(raw)[-1] != np.cumsum(raw[::-1])[-1]  # without the grid they are not


SIGMAS = 5.0  # a normal value is further out once in 1.7 million


@pytest.mark.parametrize("shuffled", [0, 1024], ids=["bytes", "shuffled"])
@pytest.mark.parametrize(("n", "size"), [(6, 3), (7, 1), (5, 5), (5, 0)])
def test_every_subset_has_the_same_chance(
    n: int, size: int, shuffled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel, "SHUFFLED", shuffled)
    rows = 10_000
    chosen = subsets(n, np.full(rows, size), np.random.default_rng(1))
    counts = np.unique(chosen @ (1 << np.arange(n)), return_counts=True)[1]
    assert chosen.sum(axis=1).tolist() == [size] * rows
    assert len(counts) == comb(n, size)
    expected = rows / comb(n, size)
    # Chi-square of up to 19 degrees: above 75 less than once in ten million.
    assert ((counts - expected) ** 2 / expected).sum() < 75


@pytest.mark.parametrize("shuffled", [0, 1024], ids=["bytes", "shuffled"])
@pytest.mark.parametrize("bulk", [0, 1, 3])
def test_permuted_counts_have_the_moments_of_the_hypergeometric(
    bulk: int, shuffled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel, "SHUFFLED", shuffled)
    pool, members, draws = np.array([90, 3, 2]), 40, 10_000
    drawn = permute(pool, members, draws, np.random.default_rng(2), bulk=bulk)
    share, total = members / pool.sum(), pool.sum()
    shares = pool / total
    covariance = (
        members * (1 - share) * total / (total - 1) * (np.diag(shares) - np.outer(shares, shares))
    )
    # 5 standard errors of means; of variances with a kurtosis below 6.
    np.testing.assert_allclose(
        drawn.mean(axis=0),
        members * shares,
        atol=SIGMAS * np.sqrt(covariance.max() / draws),
        rtol=0,
    )
    np.testing.assert_allclose(
        np.cov(drawn.T), covariance, atol=SIGMAS * covariance.max() * sqrt(5 / draws), rtol=0
    )
    assert (drawn.sum(axis=1) == members).all()
    assert (drawn >= 0).all()
    assert (drawn <= pool).all()


@pytest.mark.parametrize("bulk", [0, 1, 4])
def test_resampled_counts_have_the_moments_of_the_multinomial(bulk: int) -> None:
    counts, draws = np.array([90, 3, 0, 2]), 10_000
    drawn = resample(counts, draws, np.random.default_rng(2), bulk=bulk)
    total, shares = counts.sum(), counts / counts.sum()
    covariance = total * (np.diag(shares) - np.outer(shares, shares))
    np.testing.assert_allclose(
        drawn.mean(axis=0), counts, atol=SIGMAS * np.sqrt(covariance.max() / draws), rtol=0
    )
    np.testing.assert_allclose(
        np.cov(drawn.T), covariance, atol=SIGMAS * covariance.max() * sqrt(5 / draws), rtol=0
    )
    assert (drawn.sum(axis=1) == total).all()
    assert (drawn[:, 2] == 0).all()


def test_blocks_cover_all_draws() -> None:
    assert sum(panel.block_sizes(1000, 75_000)) == 1000
    assert max(panel.block_sizes(1000, 75_000)) * 75_000 <= panel.BLOCK_CELLS
    assert panel.block_sizes(3, 10**9) == [1, 1, 1]
