"""The violation that would have been found: against closed forms of two normal laws, and against audits of drawn runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.risk.auditing.claims import POWER, Claim, power
from chaffinch.risk.auditing.mechanism import couple
from chaffinch.risk.auditing.pairs import made_pair
from chaffinch.risk.auditing.power import (
    exact_power,
    guessed_power,
    normal_scores,
    recorded_scores,
    separation,
    times_too_small,
)
from chaffinch.risk.auditing.ratios import choose_ratio_test
from chaffinch.synth.privbayes import PrivBayes

SEED = np.random.SeedSequence(1)


def test_the_factor_of_two_normal_laws():
    # Scores so far apart as claimed: the factor f has a power of 0.8 by the closed form, right guesses Phi(f mu / 2).
    claim, runs = Claim("mu", 0.3, 1.0, 1e-6), 7500
    times = times_too_small(normal_scores(0.3, SEED), guessed_power(claim, runs, level=0.999))
    grid = np.linspace(1, 3, 2001)
    exact = next(
        f
        for f in grid
        if power(claim, runs, guesses=1.0, right=float(norm.cdf(f * 0.15)), level=0.999) >= POWER
    )
    assert times == pytest.approx(
        exact, rel=0.06
    )  # of 3,000 draws a share has an error of 0.009, which is 0.02 in mu


def test_scores_that_tell_nothing_would_find_nothing():
    assert (
        times_too_small(
            normal_scores(0.0, SEED), guessed_power(Claim("epsilon", 1.0, 1.0), 1000, level=0.999)
        )
        is None
    )


def test_separation_of_normal_scores():
    rng = np.random.default_rng(2)
    member = rng.random(20_000) < 0.5
    assert separation(rng.normal(size=20_000) + 0.8 * member, member) == pytest.approx(
        0.8, abs=0.06
    )  # four standard errors
    assert separation(np.arange(4.0), np.array([False, False, True, True])) > 1
    assert separation(np.arange(4.0), np.ones(4, dtype=bool)) == 0


def test_drawn_ratios_are_those_of_fits_and_the_named_violation_is_found():
    settings = PrivBayes(1.0)
    pair = made_pair("crowded", PrivacyUnit("replace-one"))
    tables = tuple(pair.base.take(rows) for rows in pair.draws)
    examples = [
        couple(settings, tables, member=bool(i % 2), seed=np.random.SeedSequence([3, i]))
        for i in range(60)
    ]
    draw = recorded_scores(examples, SEED)
    ratios, member = draw(1.0)
    fitted = np.array([run.log_ratio for run in examples])
    # Where questions are few and answers whole, ratios take few values, and the fits' are among them, and within epsilon.
    assert np.abs(fitted).max() <= 1 + 1e-9
    assert set(fitted.round(6)) <= set(ratios.round(6))
    # 30 fits of each table: their mean is within four standard errors of the drawn ones.
    assert fitted[1::2].mean() == pytest.approx(
        ratios[member].mean(), abs=4 * ratios.std() / 30**0.5
    )
    claim = Claim("epsilon", 1.0, 1.0)
    times = times_too_small(draw, exact_power(claim, 1500, level=0.999))
    # Audits of runs with noise so many times smaller: 8 of 10 refute. At least 50 of 80 do, but for 3 in 10^4 seeds.
    rng, refuted = np.random.default_rng(7), 0
    # Drawn anew: what the factor was worked out on has an error of its own.
    parts = [recorded_scores(examples, np.random.SeedSequence([2, i]))(times) for i in range(6)]
    scores, member = (np.concatenate(part) for part in zip(*parts, strict=True))
    for _ in range(80):
        pick = rng.choice(len(scores), 2000)
        test = choose_ratio_test(scores[pick[:500]], claim, 1500, level=0.999)
        refuted += test.proves(scores[pick[500:]], member[pick[500:]], claim, level=0.999).bound > 1
    assert 50 <= refuted <= 79
