"""Rules and what their guesses prove: against scipy, against sound laws at a stated rate of error, and the power against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from chaffinch.errors import InputError
from chaffinch.risk.auditing.claims import (
    Claim,
    Rule,
    choose_rule,
    guess,
    least_right,
    least_share,
    power,
)

EPSILON = Claim("epsilon", 1.0, 1.0)
MU = Claim("mu", 0.5, 2.0, 1e-6)


@pytest.mark.parametrize(("right", "guesses"), [(0, 10), (7, 10), (10, 10), (0, 0), (812, 1000)])
def test_the_share_against_scipy(right, guesses):
    expected = (
        binomtest(right, guesses, alternative="greater").proportion_ci(0.999, method="exact").low
        if guesses
        else 0.0
    )
    assert float(least_share(right, guesses, 5000, delta=0.0, level=0.999)) == pytest.approx(
        expected, abs=1e-12
    )


def test_runs_that_give_their_coin_away_are_taken_off():
    # 2,000 runs at delta 1e-6: one such run has odds of 0.002, above a tenth of 0.001; two have 2e-6.
    with_delta = float(least_share(900, 1000, 2000, delta=1e-6, level=0.999))
    assert with_delta == pytest.approx(
        float(least_share(899, 1001, 2000, delta=0.0, level=1 - 0.0009)), abs=1e-3
    )
    assert with_delta < float(least_share(900, 1000, 2000, delta=0.0, level=0.999))


def test_a_rule_guesses_where_scores_tell_and_turns_where_they_are_turned():
    rng = np.random.default_rng(1)
    member = rng.random(4000) < 0.5
    # Nine runs of ten tell nothing; one tells all.
    telling = rng.random(4000) < 0.1
    scores = np.where(telling, np.where(member, 5.0, -5.0), rng.normal(size=4000))
    for sign in (1, -1):
        rule = choose_rule(sign * scores, member, EPSILON, level=0.999)
        seen = guess(rule, sign * scores, member, EPSILON, level=0.999)
        assert rule.sign == sign
        assert seen.guesses < 1500
        assert seen.bound > 2
    every = choose_rule(scores, member, MU, level=0.999)
    assert every.low == every.high
    assert guess(every, scores, member, MU, level=0.999).guesses == 4000


def test_scores_that_are_all_the_same():
    member = np.arange(100) % 2 == 1
    assert (
        guess(
            choose_rule(np.zeros(100), member, EPSILON, level=0.99),
            np.zeros(100),
            member,
            EPSILON,
            level=0.99,
        ).bound
        == 0
    )
    with pytest.raises(InputError, match="a finite score for each run"):
        choose_rule([np.nan], [True], EPSILON, level=0.9)


@pytest.mark.parametrize(
    "claim", [EPSILON, MU, Claim("rho", 0.125, 2.0, 1e-6)], ids=lambda claim: claim.measure
)
def test_sound_laws_are_refuted_no_more_often_than_it_says(claim):
    # The law with exactly the claimed amount, the rule chosen on a first part. At a level of 0.8 of 300 audits more than 110 err less than
    # once in 10^9, if the level holds.
    rng, level, times, runs = np.random.default_rng(4), 0.8, 300, 400
    wrong = 0
    for _ in range(times):
        member = rng.random(runs) < 0.5
        if (
            claim.measure == "epsilon"
        ):  # Laplace noise: its ratio reaches epsilon in half of the runs
            noise = rng.laplace(size=runs) / claim.amount + member
            scores = claim.amount * (np.abs(noise) - np.abs(noise - 1))
        else:  # normal noise, mu = 0.5: rho = 0.125
            scores = rng.normal(size=runs) + 0.5 * member
        rule = choose_rule(scores[:100], member[:100], claim, level=level)
        wrong += guess(rule, scores[100:], member[100:], claim, level=level).bound > claim.amount
    assert wrong <= binom.isf(1e-9, times, 1 - level)


def test_the_power_against_simulation():
    claim, runs, right = MU, 3000, float(norm.cdf(0.32))
    rng = np.random.default_rng(5)
    counts = rng.binomial(runs, right, 4000)
    bounds = np.array(
        [claim.least(float(x)) for x in least_share(counts, runs, runs, delta=0.0, level=0.999)]
    )
    expected = float((bounds > claim.amount).mean())
    assert 0.1 < expected < 0.9
    # Four standard errors of 4,000 draws: 0.03.
    assert power(claim, runs, guesses=1.0, right=right, level=0.999) == pytest.approx(
        expected, abs=0.03
    )
    least = least_right(claim, runs, runs, level=0.999)
    shares = [float(least_share(n, runs, runs, delta=0.0, level=0.999)) for n in (least - 1, least)]
    assert claim.least(shares[0]) <= claim.amount < claim.least(shares[1])
    assert power(claim, 10, guesses=0.0, right=1.0, level=0.999) == 0


def test_rules_that_meet_in_the_middle_guess_always():
    with_, without = Rule(0.0, 0.0).guesses([-1.0, 0.0, 1.0])
    assert (with_ ^ without).all()
