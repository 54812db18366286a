"""Ridge logistic regression against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from chaffinch.risk.membership import linear
from chaffinch.risk.membership.attacker import learner


def test_ridge_logistic_is_that_of_sklearn(shadows):
    """Many steps come to the minimum of the penalised loss, for the fit to all rows and for those without a fold."""
    x, member = shadows(1, 120, 2, 12, effect=1)
    flat = np.sqrt(np.sqrt(x)).reshape(-1, 12)
    flat -= flat.mean(axis=0)
    label, fold = np.repeat(member, 2), np.repeat(np.arange(120) % 3, 2)
    half = np.full(12, 0.5)
    unseen, (weights, constant) = linear._ridge_logistic(
        flat, label, fold, [(np.ones(12), 0.3), (half, 2.0)], steps=60, threads=1
    )
    for k, (scale, variance) in enumerate([(1.0, 0.3), (0.5, 2.0)]):
        theirs = LogisticRegression(C=variance, tol=1e-10, max_iter=10_000).fit(scale * flat, label)
        np.testing.assert_allclose(weights[:, k], scale * theirs.coef_[0], atol=2e-3)
        assert constant[k] == pytest.approx(theirs.intercept_[0], abs=2e-3)
        for number in range(3):
            out = fold == number
            part = LogisticRegression(C=variance, tol=1e-10, max_iter=10_000).fit(
                scale * flat[~out], label[~out]
            )
            np.testing.assert_allclose(
                unseen[k, out], part.decision_function(scale * flat[out]), atol=5e-3
            )


def test_a_narrowed_learner_chooses_among_what_was_chosen(shadows):
    features, member = shadows(3, effect=2.0)
    learning = learner()
    first = learning.fit(features, member, seed=1)
    again = learning.narrowed([first])
    assert len(again.ridges) == 1
    second = again.fit(features, member, seed=1)
    assert second.settings == first.settings
    np.testing.assert_allclose(
        second.checked, first.checked, rtol=0.01, atol=0.01
    )  # single precision
    assert learner("extra-trees").narrowed([first]) == learner("extra-trees")


def test_equal_features_are_worked_once_and_fitted_as_if_each_were(shadows):
    """scikit-learn is given all copies; here one column stands for five, and each copy has a fifth of its weight."""
    x, member = shadows(4, 200, 1, 6, effect=2.0)
    copied = x[..., [0, 1, 2, 2, 3, 2, 4, 2, 5, 2]]
    learning = linear.Linear(steps=80, ridges=((False, 0.3),))
    ours = learning.fit(copied, member, seed=1, threads=1)
    roots = np.sqrt(np.sqrt(copied[:, 0]))
    theirs = LogisticRegression(C=0.3, tol=1e-10, max_iter=10_000).fit(roots, member)
    line = ours.calibration
    np.testing.assert_allclose(
        ours.log_odds(copied[:, 0]),
        line.log_odds(theirs.decision_function(roots)),
        atol=5e-3 * max(1.0, line.slope),
    )
    # New tables in which copies differ: every copy has its own weight.
    other = copied[:, 0] + np.random.default_rng(1).integers(0, 3, copied[:, 0].shape)
    expected = line.log_odds(theirs.decision_function(np.sqrt(np.sqrt(other))))
    np.testing.assert_allclose(ours.log_odds(other), expected, atol=5e-3 * max(1.0, line.slope))


def test_distinct_columns_are_those_a_set_of_bytes_tells_apart():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (6, 300)).astype(np.float32)  # 64 possible columns: most have copies
    columns = np.sort(rng.permutation(300)[:250])
    first, copy_of, copies = linear._distinct(x, columns)
    kinds = {x[:, j].tobytes(): j for j in columns[::-1]}
    assert first.tolist() == sorted(kinds.values())
    np.testing.assert_array_equal(x[:, first[copy_of]], x[:, columns])
    assert copies.sum() == 250
    assert copies.tolist() == [np.bincount(copy_of)[i] for i in range(len(first))]


def test_softplus_is_the_log_of_one_plus_exp():
    z = np.concatenate([np.linspace(-90, 90, 4001), [-0.0, 1e-30]])
    np.testing.assert_allclose(
        linear._softplus(z.astype(np.float32)),
        np.logaddexp(0, z.astype(np.float32).astype(float)),
        rtol=1e-6,
        atol=2e-7,
    )
