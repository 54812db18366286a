"""Ridge logistic regression against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from chaffinch.risk.membership import linear
from chaffinch.risk.membership.classifiers import learner


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
            part = LogisticRegression(C=variance, tol=1e-10, max_iter=10_000).fit(scale * flat[~out], label[~out])
            np.testing.assert_allclose(unseen[k, out], part.decision_function(scale * flat[out]), atol=5e-3)


def test_a_narrowed_learner_chooses_among_what_was_chosen(shadows):
    features, member = shadows(3, effect=2.0)
    learning = learner()
    first = learning.fit(features, member, seed=1)
    again = learning.narrowed([first])
    assert len(again.ridges) == 1
    second = again.fit(features, member, seed=1)
    assert second.settings == first.settings
    np.testing.assert_allclose(second.checked, first.checked, rtol=0.01, atol=0.01)  # single precision
    assert learner("extra-trees").narrowed([first]) == learner("extra-trees")
