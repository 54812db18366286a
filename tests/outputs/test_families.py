"""Families: slopes against differences of means, and scores against differences of log-likelihoods."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.outputs.families import FAMILIES, FamilyName, moments, multipliers

STEP = 1e-6
SINGLE = [name for name in FAMILIES if name != "multinomial"]
ETA = np.array([0.3, 0.8, 1.4])
LABELS = {"logit": [0.0, 1.0, 1.0], "probit": [0.0, 1.0, 1.0], "cloglog": [0.0, 1.0, 1.0]}


@pytest.mark.parametrize("family", SINGLE)
def test_slopes_are_derivatives_of_the_mean(family: FamilyName) -> None:
    _, slope, variance = moments(family, ETA, 0.7)
    above, below = (moments(family, ETA + step, 0.7)[0] for step in (STEP, -STEP))
    np.testing.assert_allclose(slope, (above - below) / (2 * STEP), rtol=1e-6)
    assert (variance > 0).all()


@pytest.mark.parametrize("family", SINGLE)
def test_scores_are_derivatives_of_the_log_likelihood(family: FamilyName) -> None:
    """At dispersion 1; alpha of the negative binomial is the parameter of both."""
    y = np.array(LABELS.get(family, [1.0, 2.0, 4.0]))
    score = multipliers(family, "score", ETA[:, None], y)
    above, below = (
        multipliers(family, "loglik", (ETA + step)[:, None], y) for step in (STEP, -STEP)
    )
    np.testing.assert_allclose(score, (above - below) / (2 * STEP), rtol=1e-5)


@pytest.mark.parametrize("family", SINGLE)
def test_weights_and_pearson_residuals(family: FamilyName) -> None:
    y = np.array(LABELS.get(family, [1.0, 2.0, 4.0]))
    mean, slope, variance = moments(family, ETA, 1.0)
    np.testing.assert_allclose(
        multipliers(family, "weight", ETA[:, None], y)[:, 0], slope**2 / variance
    )
    np.testing.assert_allclose(
        multipliers(family, "pearson", ETA[:, None], y)[:, 0], (y - mean) ** 2 / variance
    )


def test_a_multinomial_of_two_classes_is_a_logit() -> None:
    y = np.array([0.0, 1.0, 1.0])
    for part in ("score", "loglik"):
        np.testing.assert_allclose(
            multipliers("multinomial", part, ETA[:, None], y),
            multipliers("logit", part, ETA[:, None], y),
        )


def test_codes_of_families_are_distinct() -> None:
    assert len({family.code for family in FAMILIES.values()}) == len(FAMILIES)
