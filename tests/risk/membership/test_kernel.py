"""Likelihood ratios by kernels: against the true ratio of normal scores, and where only the spread tells."""

import numpy as np

from chaffinch.risk.membership.kernel import Kernel
from chaffinch.risk.membership.layout import FeatureLayout


def test_the_ratio_of_normal_scores_is_found():
    """Members N(1, 1), others N(0, 1): the log ratio is x - 1/2. 2,000 shadows, ranks in between: within 0.3 where most scores are."""
    rng = np.random.default_rng(1)
    member = np.arange(2000) % 2 == 0
    x = (rng.normal(size=2000) + member).astype(np.float32)[:, None, None]
    attacker = Kernel("real").fit(x, member, seed=1)
    grid = np.linspace(-0.8, 1.8, 14, dtype=np.float32)
    np.testing.assert_allclose(attacker.log_odds(grid[:, None]), grid - 0.5, atol=0.3)


def test_a_spread_that_tells_is_seen_where_a_line_sees_nothing():
    rng = np.random.default_rng(2)
    member = np.arange(600) % 2 == 0
    x = (rng.normal(size=(600, 1, 1)) * np.where(member, 4.0, 0.7)[:, None, None]).astype(
        np.float32
    )
    assert Kernel("real").fit(x, member, seed=1).auc > 0.8


def test_nothing_is_told_by_noise():
    """The out-of-fold AUC of 400 shadows has standard error 0.029; that of ten draws' mean 0.009."""
    rng = np.random.default_rng(3)
    areas = []
    for seed in range(10):
        x = rng.normal(size=(400, 1, 3)).astype(np.float32)
        areas.append(Kernel("real").fit(x, rng.permutation(400) < 200, seed=seed).auc)
    assert abs(np.mean(areas) - 0.5) < 0.045


def test_many_counts_of_the_table_are_two_scores():
    rng = np.random.default_rng(4)
    member = np.arange(200) % 2 == 0
    counts = rng.poisson(2.0 + 1.0 * member[:, None, None], (200, 2, 40))
    x = np.concatenate([counts, rng.normal(size=(200, 2, 1))], axis=2).astype(np.float32)
    attacker = Kernel("real", layout=FeatureLayout({"table": 40, "nearest": 1})).fit(
        x, member, seed=1
    )
    assert attacker.auc > 0.95
    assert attacker.log_odds(x).shape == (200, 2)
