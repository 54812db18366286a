"""Intervals against published numbers, other libraries, and how often they cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaffinch.stats.intervals import clopper_pearson, jackknife, mean_interval, wilson

# Wilson 95 % intervals as Anonymeter's tests have them: successes, trials, centre, half width.
ANONYMETER = [
    (100, 100, 0.9815032508965071, 0.01849674910349284),
    (23, 100, 0.23998824451588613, 0.08155558571285167),
    (11, 100, 0.1244274643007244, 0.06188550073007873),
]


@pytest.mark.parametrize(("successes", "trials", "centre", "half"), ANONYMETER)
def test_wilson_is_anonymeters(successes, trials, centre, half):
    assert wilson(successes, trials) == pytest.approx((centre - half, centre + half), abs=1e-12)


def test_wilson_rounded():
    low, high = wilson(850, 1000)  # .849 +- .022
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((0.849, 0.022), abs=5e-4)


def test_clopper_pearson_published():
    assert clopper_pearson(85, 100) == pytest.approx((0.764692, 0.913546), abs=5e-7)


counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@given(counts, levels)
def test_both_are_scipys(count, level):
    successes, trials = count
    theirs = stats.binomtest(successes, trials)
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        interval = theirs.proportion_ci(level, method=method)
        assert ours(successes, trials, level=level) == pytest.approx(
            (interval.low, interval.high), abs=1e-9
        )


@given(counts)
def test_the_rate_lies_inside_and_ends_are_rates(count):
    successes, trials = count
    for interval in (wilson(successes, trials), clopper_pearson(successes, trials)):
        low, high = interval
        assert 0 <= low <= successes / trials + 1e-12
        assert successes / trials - 1e-12 <= high <= 1


def test_without_a_trial_nothing_is_known():
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("trials", [20, 100, 1000])
def test_exact_coverage(rate, trials):
    # No draws: the chance of every outcome is known. Clopper-Pearson covers at least 95 %; Wilson 95 % on average and, for
    # these rates and sizes, never below 83 % (Agresti and Coull 1998: its dips lie near 0 and 1).
    outcomes = np.arange(trials + 1)
    chance = stats.binom.pmf(outcomes, trials, rate)

    def covered(interval) -> float:
        return float(
            sum(
                p
                for k, p in zip(outcomes, chance, strict=True)
                if interval(k)[0] <= rate <= interval(k)[1]
            )
        )

    assert covered(lambda k: clopper_pearson(int(k), trials)) >= 0.95
    assert covered(lambda k: wilson(int(k), trials)) >= 0.83


def test_wilson_covers_95_in_100_over_rates():
    rates = np.linspace(0.05, 0.95, 181)
    intervals = np.array([wilson(k, 100) for k in range(101)])
    inside = (intervals[:, :1] <= rates) & (rates <= intervals[:, 1:])
    chance = stats.binom.pmf(np.arange(101)[:, None], 100, rates)
    assert (chance * inside).sum(axis=0).mean() == pytest.approx(0.95, abs=0.005)


def test_mean_interval_is_students():
    values = [0.31, 0.28, 0.35, 0.30, 0.29]
    expected = stats.t.interval(0.9, 4, loc=np.mean(values), scale=stats.sem(values))
    assert mean_interval(values, level=0.9) == pytest.approx(expected)
    assert mean_interval([0.5]) is None
    assert mean_interval([]) is None
    assert mean_interval([0.5, 0.5]) == (0.5, 0.5)


def leave_out(values: np.ndarray, groups: int) -> list[np.ndarray]:
    return [np.delete(values, np.arange(g, len(values), groups)) for g in range(groups)]


def test_jackknife_of_a_mean_is_students_interval():
    # Leaving out one record in turn: the jackknife variance of a mean is s^2 / n exactly.
    values = np.random.default_rng(1).exponential(size=30)
    without = [rest.mean() for rest in leave_out(values, 30)]
    expected = stats.t.interval(0.95, 29, loc=values.mean(), scale=stats.sem(values))
    assert jackknife(values.mean(), without) == pytest.approx(expected)


def test_jackknife_of_groups_is_that_of_group_means():
    # Leaving out groups of one size: the variance of a mean is that of the groups' means over the number of groups.
    values = np.random.default_rng(2).normal(size=200)
    means = [values[g::20].mean() for g in range(20)]
    without = [rest.mean() for rest in leave_out(values, 20)]
    expected = stats.t.interval(0.95, 19, loc=values.mean(), scale=stats.sem(means))
    assert jackknife(values.mean(), without) == pytest.approx(expected)


def test_jackknife_of_a_ratio_has_the_known_variance():
    # Variance of the log of a mean of 1,000 exponentials: about 1/n (delta method). The half width is t sqrt(variance);
    # over 400 draws its mean square is that to within 4 standard errors (relative sd of one: sqrt(2/19); under one in
    # 10,000, and the seed is fixed).
    rng = np.random.default_rng(3)
    squares = []
    for _ in range(400):
        values = rng.exponential(size=1000)
        low, high = jackknife(
            np.log(values.mean()), [np.log(rest.mean()) for rest in leave_out(values, 20)]
        )
        squares.append(((high - low) / 2 / stats.t.ppf(0.975, 19)) ** 2)
    assert np.mean(squares) == pytest.approx(1 / 1000, rel=4 * np.sqrt(2 / 19 / 400))


def test_jackknife_covers_95_in_100():
    # 1,000 draws of a right 95 % interval cover 924 to 973 times but for one in 10,000 (binomial).
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(1000):
        values = rng.exponential(size=400)
        low, high = jackknife(
            np.sqrt(values.mean()), [np.sqrt(rest.mean()) for rest in leave_out(values, 20)]
        )
        hits += low <= 1.0 <= high
    least, most = stats.binom.ppf([5e-5, 1 - 5e-5], 1000, 0.95)
    assert least <= hits <= most


def test_jackknife_is_cut_at_the_ends_of_the_range():
    assert jackknife(0.9, [0.5, 1.3], low=0.0, high=1.0) == (0.0, 1.0)
    assert jackknife(0.4, [0.4] * 5, low=0.0, high=1.0) == (0.4, 0.4)
