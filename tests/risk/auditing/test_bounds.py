"""Bounds on epsilon against hand-worked numbers, SciPy's exact intervals, brute force, and mechanisms whose epsilon is known."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from chaffinch._base.errors import InputError
from chaffinch.risk.auditing.claims import Threshold, choose_threshold, divided, epsilon_lower


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
    assert divided(0.99, 10) == pytest.approx(0.999)
    assert divided(0.99, 1) == pytest.approx(0.99)


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
