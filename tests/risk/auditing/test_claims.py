"""What right guesses say about epsilon, mu and rho: against brute force, and against laws whose amount is known."""

from __future__ import annotations

from itertools import product
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from chaffinch._base.errors import InputError
from chaffinch.privacy.accounting import (
    amount_to_epsilon,
    epsilon_to_amount,
    epsilon_to_rho,
    rho_to_epsilon,
)
from chaffinch.risk.auditing.claims import (
    MEASURES,
    Claim,
    Rule,
    Threshold,
    bonferroni_level,
    choose_rule,
    choose_threshold,
    claim_of,
    epsilon_lower,
    guess,
    least_right,
    least_share,
    power,
)


def test_by_hand():
    assert Claim("epsilon", 1.0, 1.0).lower_bound(0.75) == pytest.approx(log(3))
    assert Claim("mu", 1.0, 1.0).lower_bound(norm.cdf(0.7)) == pytest.approx(1.4)
    # The relative entropy of (3/4, 1/4) from (1/4, 3/4) is log(3) / 2; all other orders give less over their order.
    assert Claim("rho", 1.0, 1.0).lower_bound(0.75) == pytest.approx(log(3) / 2)


@pytest.mark.parametrize("measure", MEASURES.names)
def test_half_of_the_guesses_right_says_nothing(measure):
    assert [Claim(measure, 1.0, 1.0).lower_bound(share) for share in (0.0, 0.4, 0.5)] == [0.0] * 3


def test_rho_of_guesses_is_never_above_that_of_gaussian_noise():
    # Normal laws mu apart have rho = mu^2 / 2 and are told apart with Phi(mu / 2): a valid bound is below that, and not far.
    for mu in (0.05, 0.3, 1.0, 2.5):
        bound = Claim("rho", 1.0, 1.0).lower_bound(norm.cdf(mu / 2))
        assert 0.5 * mu**2 / 2 < bound < mu**2 / 2


def test_rho_of_guesses_is_the_least_of_all_pairs_of_rates():
    # Of all tests with the same share of right guesses, none has smaller divergences in both directions than the symmetric one.
    share, grid = 0.7, np.linspace(0.001, 0.999, 999)
    least = Claim("rho", 1.0, 1.0).lower_bound(share)
    for p in grid:
        q = p - (2 * share - 1)
        if 0 < q < 1:
            divergences = [
                a * log(a / b) + (1 - a) * log((1 - a) / (1 - b)) for a, b in ((p, q), (q, p))
            ]
            assert max(divergences) >= least - 1e-12


def test_randomised_response_reaches_epsilon():
    for epsilon in (0.1, 1.0, 4.0):
        assert Claim("epsilon", 1.0, 1.0).lower_bound(
            exp(epsilon) / (1 + exp(epsilon))
        ) == pytest.approx(epsilon)


@pytest.mark.parametrize(
    "sigmas", [(1.0,), (1.5,), (2.0, 2.0), (1.0, 3.0), (1.2, 1.9, 4.0)], ids=str
)
def test_whole_numbered_gaussian_noise_stays_within_the_mu_that_is_claimed_for_it(sigmas):
    # All outcomes of a few counts that each move by one: the best guesses are right as often as (1 + TV) / 2.
    width = np.arange(-25, 27)
    laws = []
    for sigma in sigmas:
        weight = np.exp(-0.5 * (width / sigma) ** 2)
        shifted = np.exp(-0.5 * ((width - 1) / sigma) ** 2)
        laws.append((weight / weight.sum(), shifted / shifted.sum()))
    p, q = laws[0]
    for other, shifted in laws[1:]:
        p, q = np.outer(p, other).ravel(), np.outer(q, shifted).ravel()
    right = (1 + np.abs(p - q).sum() / 2) / 2
    true = sqrt(sum(1 / sigma**2 for sigma in sigmas))
    assert 0.98 * true < 2 * norm.ppf(right) < true * (1 + 1 / (20 * min(sigmas) ** 2))


def test_a_claim_is_what_the_method_accounts_in():
    assert claim_of(2.0, 1e-6, accounting="pure", sigma=None) == Claim("epsilon", 2.0, 2.0, 1e-6)
    assert (
        claim_of(2.0, 1e-6, accounting="zcdp", sigma=0.9).measure == "rho"
    )  # whole numbers are no normal law here
    rho = epsilon_to_rho(2.0, 1e-6)
    assert claim_of(2.0, 1e-6, accounting="zcdp", sigma=None) == Claim("rho", rho, 2.0, 1e-6)
    assert claim_of(2.0, 1e-6, accounting="zcdp", sigma=100.0).amount == pytest.approx(
        sqrt(2 * rho), rel=1e-4
    )
    exact = claim_of(
        2.0, 1e-6, accounting="gaussian", sigma=None
    )  # also of choices: they are paid for in mu
    assert (exact.measure, exact.amount) == ("mu", sqrt(2 * epsilon_to_amount(2.0, 1e-6)))


@pytest.mark.parametrize(
    ("accounting", "times"), [*product(("pure", "zcdp", "gaussian"), (1.0, 2.0))]
)
def test_smaller_noise_as_epsilon(accounting, times):
    claim = claim_of(1.0, 1e-6, accounting=accounting, sigma=None)
    expected = {
        "pure": times,
        "zcdp": rho_to_epsilon(times**2 * epsilon_to_rho(1.0, 1e-6), 1e-6),
        "gaussian": amount_to_epsilon(times**2 * epsilon_to_amount(1.0, 1e-6), 1e-6),
    }[accounting]
    assert claim.epsilon_at(times) == pytest.approx(expected)
    assert claim.epsilon_at(1.0) == pytest.approx(1.0, rel=1e-9)


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
        [
            claim.lower_bound(float(x))
            for x in least_share(counts, runs, runs, delta=0.0, level=0.999)
        ]
    )
    expected = float((bounds > claim.amount).mean())
    assert 0.1 < expected < 0.9
    # Four standard errors of 4,000 draws: 0.03.
    assert power(claim, runs, guesses=1.0, right=right, level=0.999) == pytest.approx(
        expected, abs=0.03
    )
    least = least_right(claim, runs, runs, level=0.999)
    shares = [float(least_share(n, runs, runs, delta=0.0, level=0.999)) for n in (least - 1, least)]
    assert claim.lower_bound(shares[0]) <= claim.amount < claim.lower_bound(shares[1])
    assert power(claim, 10, guesses=0.0, right=1.0, level=0.999) == 0


def test_rules_that_meet_in_the_middle_guess_always():
    with_, without = Rule(0.0, 0.0).guesses([-1.0, 0.0, 1.0])
    assert (with_ ^ without).all()


def test_a_perfect_attacker_by_hand():
    # Without a mistake in n runs Clopper-Pearson is 1 - a^(1/n), with a = (1 - level) / 2.
    for n in (10, 100, 2000):
        rate = 1 - 0.005 ** (1 / n)
        assert epsilon_lower(n, n, 0, n) == pytest.approx(log((1 - rate) / rate), rel=1e-9)
    assert epsilon_lower(1000, 1000, 0, 1000, level=0.9) == pytest.approx(
        log((1 - (p := 1 - 0.05**0.001)) / p)
    )
    assert epsilon_lower(1000, 1000, 0, 1000, delta=0.1) == pytest.approx(
        log((1 - (p := 1 - 0.005**0.001) - 0.1) / p)
    )


@pytest.mark.parametrize(
    ("hits", "alarms"), [(70, 30), (200, 0), (30, 190), (150, 149), (0, 0), (199, 150)]
)
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_both_directions_against_scipy(hits, alarms, delta):
    low = binomtest(hits, 200).proportion_ci(0.99, method="exact").low
    high = binomtest(alarms, 300).proportion_ci(0.99, method="exact").high
    with_ = log((low - delta) / high) if low > delta else -inf
    without = log((1 - high - delta) / (1 - low)) if 1 - high > delta else -inf
    assert epsilon_lower(hits, 200, alarms, 300, delta=delta) == pytest.approx(
        max(0.0, with_, without), rel=1e-9
    )


def test_no_runs_prove_nothing():
    assert epsilon_lower(0, 0, 0, 0) == 0


counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts, st.sampled_from([0.0, 1e-6, 0.2]), st.sampled_from([0.9, 0.99, 0.999]))
def test_properties(inside, outside, delta, level):
    (hits, n), (alarms, m) = inside, outside
    bound = epsilon_lower(hits, n, alarms, m, delta=delta, level=level)
    assert 0 <= bound < inf
    # Saying D where one said D' and the other way round is the same attack.
    assert bound == pytest.approx(
        epsilon_lower(m - alarms, m, n - hits, n, delta=delta, level=level), abs=1e-9
    )
    assert bound <= epsilon_lower(hits, n, alarms, m, level=level) + 1e-12
    assert bound <= epsilon_lower(hits, n, alarms, m, delta=delta, level=0.8) + 1e-12
    if hits < n:
        assert bound <= epsilon_lower(hits + 1, n, alarms, m, delta=delta, level=level) + 1e-12
    assert bound <= epsilon_lower(n, n, 0, m, delta=delta, level=level) + 1e-12


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=30).filter(
        lambda rows: len({held for _, held in rows}) == 2
    ),
    st.sampled_from([0.0, 0.05]),
)
def test_threshold_against_every_cut_and_direction(rows, delta):
    scores, member = (np.array(part) for part in zip(*rows, strict=True))
    found = choose_threshold(scores, member, delta=delta, level=0.6)

    def bound(said):
        hits, alarms = int(said[member].sum()), int(said[~member].sum())
        return epsilon_lower(
            hits, int(member.sum()), alarms, int((~member).sum()), delta=delta, level=0.6
        )

    cuts = [x + 0.5 for x in range(-5, 5)]
    best = max(bound(said) for cut in cuts for said in (scores > cut, scores < cut))
    assert found.bound == pytest.approx(best, abs=1e-9)
    assert bound(found.says_with(scores)) == pytest.approx(best, abs=1e-9)


def test_threshold_turns_round_where_small_scores_mean_the_target():
    scores = np.concatenate([np.arange(50.0), 100 + np.arange(50.0)])
    found = choose_threshold(scores, np.arange(100) < 50)
    assert (found.value, found.above) == (74.5, False)
    assert found.says_with([0.0, 74.5, 120.0]).tolist() == [True, False, False]


def test_threshold_between_doubles_that_have_nothing_between_them():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    found = choose_threshold([low] * 20 + [high] * 20, [False] * 20 + [True] * 20)
    assert found.says_with([low, high]).tolist() == [False, True]


def test_without_any_bound_the_largest_difference_of_rates_is_taken():
    found = choose_threshold([0.0, 1.0, 2.0, 3.0], [False, True, False, True])
    assert found.bound == 0
    assert found.says_with([0.0, 1.0, 2.0, 3.0]).tolist() in (
        [False, True, True, True],
        [False, False, False, True],
    )


def test_level_is_divided():
    assert bonferroni_level(0.99, 10) == pytest.approx(0.999)
    assert bonferroni_level(0.99, 1) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: epsilon_lower(5, 4, 0, 4), "whole numbers, 0 to the number of runs. Got 5 of 4"),
        (lambda: epsilon_lower(1, 4, 0, 4, delta=1.0), "delta must be at least 0 and below 1"),
        (lambda: epsilon_lower(1, 4, 0, 4, level=1.0), "level must lie between 0 and 1"),
        (lambda: choose_threshold([1.0, np.nan], [True, False]), "a finite score for each run"),
        (lambda: choose_threshold([1.0, 2.0], [True, True]), "runs on both tables"),
    ],
)
def test_errors(call, words):
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        call()


# Mechanisms whose epsilon is known. A bound at level L may exceed it once in 1 / (1 - L) audits.

TIMES, ODDS = 2000, 1e-9


def too_often(level: float, times: int = TIMES) -> int:
    """A number of audits that is exceeded less than once in 10^9 if each errs with 1 - level at most."""
    return int(binom.isf(ODDS, times, 1 - level))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_randomised_response_is_covered(epsilon, level):
    rng = np.random.default_rng(5)
    truth = exp(epsilon) / (1 + exp(epsilon))
    n = 200
    hits, alarms = rng.binomial(n, truth, TIMES), rng.binomial(n, 1 - truth, TIMES)
    wrong = sum(
        epsilon_lower(int(h), n, int(a), n, level=level) > epsilon
        for h, a in zip(hits, alarms, strict=True)
    )
    assert wrong <= too_often(level)


def test_randomised_response_with_delta_is_covered_and_needs_its_delta():
    # With probability delta the answer is told openly: (epsilon, delta)-private, and not epsilon-private.
    rng = np.random.default_rng(6)
    epsilon, delta, n = 0.5, 0.1, 2000
    truth = delta + (1 - delta) * exp(epsilon) / (1 + exp(epsilon))
    hits, alarms = rng.binomial(n, truth, TIMES), rng.binomial(n, 1 - truth, TIMES)
    pairs = [(int(h), int(a)) for h, a in zip(hits, alarms, strict=True)]
    assert sum(epsilon_lower(h, n, a, n, delta=delta) > epsilon for h, a in pairs) <= too_often(
        0.99
    )
    # Without the delta the largest loss is log(truth / (1 - truth)) = 0.7, and 2,000 runs show more than 0.5 most of the time.
    assert sum(epsilon_lower(h, n, a, n) > epsilon for h, a in pairs) > TIMES / 2


def test_laplace_noise_with_a_threshold_from_validation_is_covered():
    rng = np.random.default_rng(7)
    epsilon, n, level = 1.0, 100, 0.9
    wrong, times = 0, 400
    for _ in range(times):
        answers = rng.laplace(0, 1 / epsilon, 4 * n) + np.tile([0, 1], 2 * n)
        member = np.tile([False, True], 2 * n)
        line = choose_threshold(answers[: 2 * n], member[: 2 * n], level=level)
        said, held = line.says_with(answers[2 * n :]), member[2 * n :]
        wrong += (
            epsilon_lower(int(said[held].sum()), n, int(said[~held].sum()), n, level=level)
            > epsilon
        )
    assert wrong <= too_often(level, times)


def test_many_runs_come_close_to_the_truth():
    # 100,000 runs at epsilon 1: rates are known to 0.004, so the bound is within 0.03 of epsilon (0.1 % odds of less).
    rng = np.random.default_rng(8)
    truth, n = exp(1) / (1 + exp(1)), 100_000
    bound = epsilon_lower(int(rng.binomial(n, truth)), n, int(rng.binomial(n, 1 - truth)), n)
    assert 0.95 < bound <= 1.0


def test_threshold_is_a_plain_value():
    assert Threshold(1.0) == Threshold(1.0, True, 0.0)
