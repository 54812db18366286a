"""The combined attacker: as good as its best part where one tells, better where several do, and at a half where none does."""

import numpy as np
import pytest
from scipy.optimize import minimize

from chaffinch._base.errors import InputError
from chaffinch.risk.membership.attacker import folds
from chaffinch.risk.membership.combined import (
    CombinedAttacker,
    CombinedLearner,
    _weights,
    combined_of,
    stack,
)
from chaffinch.risk.membership.layout import FeatureLayout, learner_for
from chaffinch.stats.learners import auc

LAYOUT = FeatureLayout(
    {"table": 32, "exact": 3, "extremes": 4, "nearest": 2, "density": 1, "presence": 2}
)


def features(rng, shadows, tables=1, **effects):
    """Counts and values; membership adds an effect to a group's first feature (to the first eight counts)."""
    member = rng.permutation(shadows) < shadows // 2
    mean = (
        rng.uniform(1, 6, 32)
        * np.exp(0.3 * rng.normal(size=(shadows, 1, 32)))
        * np.ones((1, tables, 1))
    )
    mean[..., :8] += effects.get("table", 0.0) * member[:, None, None]
    x = np.concatenate([rng.poisson(mean), rng.normal(size=(shadows, tables, 12))], axis=2)
    for group, effect in effects.items():
        if group != "table":
            x[..., LAYOUT.columns([group])[0]] += effect * member[:, None]
    x[..., 32:35] = x[..., 32:35] > 1.5  # exact matches are yes or no
    return x.astype(np.float32), member


@pytest.mark.parametrize(
    "effects", [{"table": 2.0}, {"exact": 2.0}, {"extremes": 1.2}, {"density": 1.0}]
)
@pytest.mark.parametrize("shadows", [100, 600])
def test_it_is_as_strong_as_its_best_part(effects, shadows):
    """Mean of four draws on 4,000 tests each (standard error of a difference below 0.004): within 0.02 at 100 shadows, 0.01 at 600."""
    behind = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, member = features(rng, shadows, **effects)
        y, inside = features(rng, 4000, **effects)
        attacker = combined_of(learner_for("combined", LAYOUT).fit(x, member, seed=seed, threads=1))
        odds = attacker.part_odds(y[:, 0])
        best = max(auc(part, inside) for part in odds)
        behind.append(best - auc(attacker.together(odds), inside))
        np.testing.assert_array_equal(attacker.together(odds), attacker.log_odds(y[:, 0]))
    assert np.mean(behind) < (0.02 if shadows == 100 else 0.01)


def test_parts_add_up_where_several_tell():
    rng = np.random.default_rng(5)
    effects = {"table": 1.5, "exact": 1.2, "extremes": 0.8}
    (x, member), (y, inside) = features(rng, 600, **effects), features(rng, 4000, **effects)
    attacker = combined_of(learner_for("combined", LAYOUT).fit(x, member, seed=1, threads=1))
    alone = max(auc(part, inside) for part in attacker.part_odds(y[:, 0]))
    assert auc(attacker.log_odds(y[:, 0]), inside) > alone + 0.02


def test_noise_stays_noise():
    """Out of fold and on others: 200 shadows have standard error 0.041, the mean of 12 draws 0.012."""
    areas = []
    for seed in range(12):
        x, member = features(np.random.default_rng(seed), 200)
        areas.append(learner_for("combined", LAYOUT).fit(x, member, seed=seed, threads=1).auc)
    assert abs(np.mean(areas) - 0.5) < 0.06


def test_weights_minimise_the_penalised_loss():
    """Against Nelder and Mead's simplex on the same loss, two parts of which one is noise."""
    rng = np.random.default_rng(7)
    member = rng.permutation(200) < 100
    odds = np.stack([rng.normal(size=(200, 1)) + member[:, None], rng.normal(size=(200, 1))])
    odds[0] -= 0.5
    weights, unseen, variance = stack(odds, member, folds(member, rng))
    assert unseen.shape == (200, 1)
    losses = [(np.logaddexp(0, part) - member[:, None] * part)[:, 0] for part in odds]
    behind = losses[1] - losses[0]  # the first part tells, the second is noise
    error = np.sqrt(200 * np.mean((behind - behind.mean()) ** 2))
    assert error > 1
    share = np.exp(-behind.sum() / error)
    start = np.array([1.0, share]) / (1 + share)
    if variance == 0.0:
        np.testing.assert_allclose(weights, start)
        return

    def loss(w):
        total = np.einsum("p,pst->st", np.abs(w), odds)
        return (np.logaddexp(0, total) - member[:, None] * total).sum() + (
            (np.abs(w) - start) ** 2
        ).sum() / (2 * variance)

    theirs = minimize(
        loss, start + 0.1, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}
    )
    np.testing.assert_allclose(weights, np.abs(theirs.x), atol=1e-3)


def test_parts_that_chance_tells_apart_share_their_weight():
    """Two attackers who are equally good see independent noise: whoever is ahead by chance has no more than four times the other's weight."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        member = rng.permutation(600) < 300
        odds = member[None, :, None] - 0.5 + rng.normal(size=(2, 600, 1))
        weights, _, _ = stack(odds, member, folds(member, rng))
        assert 0.25 < weights[0] / weights[1] < 4


@pytest.mark.parametrize("variance", [0.003, 0.3, 30.0])
def test_weights_are_those_of_another_search_with_bounds(variance):
    """Against SciPy's L-BFGS-B: seven parts, some of them noise or copies of others, so that several weights stay at 0."""
    rng = np.random.default_rng(11)
    member = rng.permutation(150) < 60
    odds = 0.7 * rng.normal(size=(7, 150, 2))
    odds[:3] += np.array([1.0, 0.5, -0.8])[:, None, None] * (member[:, None] - 0.5)
    odds[5] = 3 * odds[0]
    start = np.array([0.6, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0])

    def loss(w):
        total = np.einsum("p,pst->st", w, odds)
        each = (np.logaddexp(0, total) - member[:, None] * total).mean(axis=1) * np.where(
            member, 0.5 / 0.4, 0.5 / 0.6
        )
        return each.sum() + ((w - start) ** 2).sum() / (2 * variance)

    theirs = minimize(
        loss,
        start,
        method="L-BFGS-B",
        bounds=[(0, None)] * 7,
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
    )
    ours = _weights(odds, member, start, variance)
    assert (ours >= 0).all()
    assert loss(ours) <= loss(theirs.x) + 1e-9
    np.testing.assert_allclose(ours, theirs.x, atol=2e-3)


def test_without_released_values_it_looks_at_the_table():
    x, member = features(np.random.default_rng(8), 100, table=2.0)
    attacker = CombinedLearner().fit(x[..., :32], member, seed=1, threads=1)
    assert isinstance(attacker, CombinedAttacker)
    assert list(attacker.parts) == ["linear", "kernel"]
    assert attacker.auc > 0.8
    narrowed = CombinedLearner().narrowed([attacker])
    assert narrowed.fit(x[..., :32], member, seed=1, threads=1).auc == pytest.approx(attacker.auc)


def test_it_is_no_part_of_itself():
    with pytest.raises(InputError, match="part of itself"):
        CombinedLearner(parts=("combined",))
