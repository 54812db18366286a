"""Ridge regression on ranks: against scikit-learn, under any rising change of units, and with ties."""

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import Ridge

from chaffinch.risk import ATTACKERS
from chaffinch.risk.membership.attacker import folds
from chaffinch.risk.membership.kernel import Kernel
from chaffinch.risk.membership.layout import FeatureLayout
from chaffinch.risk.membership.ranked import VALUE_GROUPS, Ranked, Ranks, _ridge


def values(seed, shadows=120, tables=2, width=4, effect=1.5):
    rng = np.random.default_rng(seed)
    member = rng.permutation(shadows) < shadows // 2
    x = rng.normal(size=(shadows, tables, width)) + 0.5 * rng.normal(size=(shadows, 1, width))
    x[..., 0] += effect * member[:, None]
    return x.astype(np.float32), member


def test_ranks_are_mid_ranks():
    x = np.random.default_rng(1).integers(0, 6, (50, 3)).astype(np.float32)
    theirs = 2 * (rankdata(x, axis=0) - 0.5) / 50 - 1
    np.testing.assert_allclose(Ranks.from_features(x)(x), theirs, atol=1e-6)


def test_what_is_not_finite_has_a_rank():
    x = np.array([[1.0], [np.nan], [np.inf], [-np.inf], [3.0]], dtype=np.float32)
    ranks = Ranks.from_features(x)(x).ravel()
    assert np.isfinite(ranks).all()
    assert ranks[2] == ranks.max()
    assert ranks[3] == ranks.min()


def test_weights_are_those_of_ridge_regression():
    rng = np.random.default_rng(2)
    x, side = rng.normal(size=(60, 2, 5)), np.where(np.arange(60) % 2, 1.0, -1.0)
    fold = folds(side > 0, rng)
    unseen, weights, ridge = _ridge(x, side, fold)
    flat, y = x.reshape(-1, 5), np.repeat(side, 2)
    theirs = Ridge(alpha=ridge * 120, fit_intercept=False).fit(flat, y)
    np.testing.assert_allclose(weights, theirs.coef_, atol=1e-10)
    first = np.repeat(fold, 2) == 0
    apart = Ridge(alpha=ridge * int((~first).sum()), fit_intercept=False).fit(
        flat[~first], y[~first]
    )
    np.testing.assert_allclose(unseen[fold == 0].ravel(), apart.predict(flat[first]), atol=1e-10)


def test_units_and_tails_change_nothing():
    x, member = values(3)
    one, other = (
        Ranked().fit(z, member, seed=1)
        for z in (x, np.exp(4 * x.astype(np.float64)).astype(np.float32))
    )
    np.testing.assert_allclose(one.checked, other.checked, atol=1e-5)
    assert one.auc > 0.75
    np.testing.assert_allclose(one.chance(x), 1 / (1 + np.exp(-one.log_odds(x))))


def test_nothing_is_learnt_from_what_is_always_the_same():
    x, member = values(4)
    attacker = Ranked().fit(np.zeros_like(x), member, seed=1)
    assert (attacker.log_odds(x) == 0).all()
    assert attacker.auc == 0.5


@pytest.mark.parametrize("name", VALUE_GROUPS)
def test_each_group_of_values_has_an_attacker(name):
    assert ATTACKERS[name].sees == (name,)
    assert ATTACKERS[name].evidence


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
