"""What ratios prove: tails against enumeration, terms against entropies, levels that hold on laws at the edge of the claim, powers."""

from __future__ import annotations

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from chaffinch.risk.auditing.claims import Claim, least_share
from chaffinch.risk.auditing.mechanism import settling_runs
from chaffinch.risk.auditing.ratios import (
    STEPS,
    Bets,
    EveryGuess,
    Weights,
    _tail,
    choose_ratio_test,
    information_terms,
    ratio_power,
    weighted_share,
)

EPSILON = Claim("epsilon", 1.0, 1.0)
MU, RHO = Claim("mu", 0.5, 2.0, 1e-6), Claim("rho", 0.125, 2.0, 1e-6)


def answers(losses, runs, rng):
    """Ratios of whole-numbered Laplace noise on counts that move by one: each answer is for or against by its loss."""
    member = rng.random(runs) < 0.5
    losses = np.asarray(losses)
    right = rng.random((runs, len(losses))) < 1 / (1 + np.exp(-losses))
    return np.where(member, 1, -1) * ((2 * right - 1) @ losses), member


def normal(mu, runs, rng):
    member = rng.random(runs) < 0.5
    return mu * (rng.normal(size=runs) + mu * (member - 0.5)), member


def audited(ratios, member, claim, level):
    first = settling_runs(len(ratios))
    test = choose_ratio_test(ratios[:first], claim, len(ratios) - first, level=level)
    return test.proves(ratios[first:], member[first:], claim, level=level).bound


@pytest.mark.parametrize("share", [0.1, 0.5, 0.73])
def test_tails_against_all_outcomes(share):
    counts = np.array([4, 3, 0, 2, 1])
    weights = [w for w, n in enumerate(counts) for _ in range(n) if w]
    outcomes = list(product((0, 1), repeat=len(weights)))
    for score in range(sum(weights) + 2):
        expected = sum(
            share ** sum(rights) * (1 - share) ** (len(rights) - sum(rights))
            for rights in outcomes
            if sum(w * r for w, r in zip(weights, rights, strict=True)) >= score
        )
        assert _tail(score, counts)(share) == pytest.approx(expected, abs=2e-12)


@pytest.mark.parametrize("weight", [1, 5])
@pytest.mark.parametrize(
    ("right", "guesses"), [(180, 200), (1000, 1300), (200, 200), (90, 200), (0, 10)]
)
def test_one_weight_is_clopper_and_pearson(right, guesses, weight):
    hits, counts = np.zeros(6, dtype=int), np.zeros(6, dtype=int)
    hits[weight], counts[weight], counts[0] = right, guesses, 70
    expected = float(least_share(right, guesses, guesses + 70, delta=0.0, level=0.999))
    assert weighted_share(hits, counts, delta=0.0, level=0.999) == pytest.approx(
        expected if expected > 0.5 else 0.0, abs=1e-6
    )


def test_runs_that_give_their_coin_away_are_the_heaviest():
    hits, counts = np.array([0, 80, 90]), np.array([0, 100, 100])
    off = binom.isf(0.1 * 0.001, 200, 1e-3)
    assert off == 3
    expected = weighted_share(np.array([0, 80, 87]), counts, delta=0.0, level=1 - 0.9 * 0.001)
    assert weighted_share(hits, counts, delta=1e-3, level=0.999) == pytest.approx(
        expected, abs=1e-9
    )


def test_terms_bound_the_relative_entropy_and_reach_it():
    rng = np.random.default_rng(1)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        entropy = ((q * np.log(q / p)).sum() + (p * np.log(p / q)).sum()) / 2

        def mean(t, p=p, q=q):
            return float((q * information_terms(t) + p * information_terms(-t)).sum() / 2)

        assert mean(np.log(q / p)) == pytest.approx(entropy)
        assert mean(rng.normal(size=6)) <= entropy
        assert mean(np.clip(0.7 * np.log(q / p), -1, 1)) <= entropy


def leaks(runs, rng):
    """A law within the claims RHO and MU in which few runs tell much: the mean of the entropies is 0.125."""
    member, loss = rng.random(runs) < 0.5, 4.0
    chance = 0.125 / (loss * np.tanh(loss / 2))
    tells = rng.random(runs) < chance
    right = rng.random(runs) < 1 / (1 + exp(-loss))
    return np.where(tells, np.where(member == right, loss, -loss), 0.0), member


@pytest.mark.parametrize(
    ("claim", "law"),
    [
        (EPSILON, lambda runs, rng: answers([1.0], runs, rng)),
        (EPSILON, lambda runs, rng: answers([0.5, 0.3, 0.2], runs, rng)),
        (MU, lambda runs, rng: normal(0.5, runs, rng)),
        (RHO, lambda runs, rng: normal(0.5, runs, rng)),
        (RHO, leaks),
    ],
    ids=["epsilon, one answer", "epsilon, three", "mu", "rho", "rho, in few runs"],
)
def test_laws_at_the_edge_of_a_claim_are_refuted_no_more_often_than_it_says(claim, law):
    # Laws with exactly the claimed amount. At a level of 0.8 of 200 audits more than 83 err less than once in 10^9, if the level holds.
    rng, level, times = np.random.default_rng(4), 0.8, 200
    wrong = sum(audited(*law(400, rng), claim, level) > claim.amount for _ in range(times))
    assert wrong <= binom.isf(1e-9, times, 1 - level)


def test_ratios_that_are_wrong_refute_nothing():
    # Twice the true ratios: they claim a loss of 2, coins follow one of 1.
    rng = np.random.default_rng(5)
    for claim, law in (
        (EPSILON, answers([0.5, 0.3, 0.2], 4000, rng)),
        (RHO, normal(0.5, 4000, rng)),
    ):
        assert audited(2 * law[0], law[1], claim, 0.999) <= claim.amount


@pytest.mark.parametrize(
    ("claim", "law", "runs"),
    [
        (EPSILON, lambda runs, rng: answers([0.5, 0.3, 0.2] * 2, runs, rng), 1200),
        (MU, lambda runs, rng: normal(0.5 * sqrt(2), runs, rng), 1800),
        (RHO, lambda runs, rng: normal(0.5 * sqrt(2), runs, rng), 1800),
    ],
    ids=["epsilon", "mu", "rho"],
)
def test_the_power_is_that_of_drawn_audits(claim, law, runs):
    rng, times = np.random.default_rng(6), 150
    expected = ratio_power(law(20_000, rng)[0], claim, runs - settling_runs(runs), level=0.999)
    refuted = np.mean([audited(*law(runs, rng), claim, 0.999) > claim.amount for _ in range(times)])
    assert 0.2 < expected < 0.97
    # Four standard errors of 150 audits, and 0.05 for rules chosen on few runs.
    assert refuted == pytest.approx(
        expected, abs=4 * sqrt(expected * (1 - expected) / times) + 0.05
    )


def test_a_charge_forgotten_is_found_where_guesses_of_one_weight_find_less():
    # Six answers, each given twice: 2 is lost in one run of 25.
    rng = np.random.default_rng(7)
    ratios, _ = answers([0.02, *[0.2613] * 3, *[0.098] * 2] * 2, 20_000, rng)
    assert ratio_power(ratios, EPSILON, 9500, level=0.999) > 0.95
    best = max(
        Weights(line, 1e-9).outlook(np.abs(ratios), EPSILON, 9500, level=0.999).power
        for line in (1.0, 1.2, 1.4, 1.6)
    )
    assert best < ratio_power(ratios, EPSILON, 9500, level=0.999)


def test_the_power_of_bets_is_half_the_difference_in_mu():
    # Near laws: (mu' - mu) / 2 for each run in standard errors, and sqrt(2 log 1000) = 3.72 of them are needed.
    rng, runs, true = np.random.default_rng(8), 9500, 0.2208 * sqrt(2)
    ratios, _ = normal(true, 40_000, rng)
    from scipy.stats import norm

    limit = norm.cdf((true - 0.2208) / 2 * sqrt(runs) - sqrt(2 * log(1000)))
    assert ratio_power(ratios, Claim("mu", 0.2208, 1.0, 1e-6), runs, level=0.999) == pytest.approx(
        limit, abs=0.05
    )


def test_which_test_is_chosen():
    rng = np.random.default_rng(9)
    assert isinstance(
        choose_ratio_test(
            normal(0.3, 500, rng)[0], Claim("mu", 0.22, 1.0, 1e-6), 9500, level=0.999
        ),
        Bets,
    )
    assert isinstance(
        choose_ratio_test(normal(2.0, 500, rng)[0], Claim("mu", 1.0, 4.0, 1e-6), 2000, level=0.999),
        EveryGuess,
    )
    weights = choose_ratio_test(answers([0.5] * 4, 500, rng)[0], EPSILON, 3000, level=0.999)
    assert isinstance(weights, Weights)
    assert weights.whole_weights([0.0, 9.0]).tolist() == [0, STEPS]


@pytest.mark.parametrize("claim", [EPSILON, MU, RHO, Claim("rho", 60.0, 99.0, 1e-6)], ids=str)
def test_ratios_that_tell_nothing_and_ratios_that_tell_all(claim):
    member = np.arange(400) % 2 == 0
    for ratios in (np.zeros(400), np.where(member, 1e6, -1e6)):
        bound = audited(ratios, member, claim, 0.999)
        assert np.isfinite(bound)
        assert (bound == 0) is (not ratios.any())
    assert ratio_power(np.zeros(400), claim, 400, level=0.999) < 0.01
