"""Intervals against published numbers, other libraries, and how often they cover."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaffinch.stats.intervals import (
    NOTHING,
    CrossedPart,
    Estimate,
    Result,
    _largest_of,
    clopper_pearson,
    crossed_difference,
    crossed_mean,
    crossed_means,
    jackknife,
    mean_interval,
    wilson,
)

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


@pytest.mark.parametrize(("n", "groups"), [(30, 30), (200, 20)])
def test_jackknife_of_a_mean_is_students_interval_of_group_means(n, groups):
    # Leaving out groups of one size: the variance of a mean is that of the groups' means over the number of groups. Of single records it is s^2 / n.
    values = np.random.default_rng(1).exponential(size=n)
    means = [values[g::groups].mean() for g in range(groups)]
    without = [rest.mean() for rest in leave_out(values, groups)]
    expected = stats.t.interval(0.95, groups - 1, loc=values.mean(), scale=stats.sem(means))
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


def part_of(answers):
    """A part of a matrix of answers, datasets x people: each number is the mean over people, whose influence is linear."""
    n = answers.shape[1]
    own = (answers - answers.mean(axis=1, keepdims=True)) / n
    return CrossedPart(answers.mean(axis=1), own.mean(axis=0), (own**2).sum(axis=1))


def test_the_variance_by_loops():
    answers = np.random.default_rng(1).random((5, 12))
    d, n = answers.shape
    grand = answers.mean()
    rows = sum((answers[i].mean() - grand) ** 2 for i in range(d)) / (d - 1) / d
    influence = [
        sum((answers[i, j] - answers[i].mean()) / n for i in range(d)) / d for j in range(n)
    ]
    people = sum(value**2 for value in influence)
    each = sum(((answers[i, j] - answers[i].mean()) / n) ** 2 for i in range(d) for j in range(n))
    pairs = max(each - d * people, 0.0) / (d * (d - 1))
    estimate = crossed_mean([part_of(answers)])
    assert estimate.value == pytest.approx(grand)
    assert estimate.error**2 == pytest.approx(people + max(rows - pairs, 0.0))
    assert estimate.low < estimate.value < estimate.high


def test_people_cancel_where_two_ensembles_are_alike():
    answers = np.tile(np.random.default_rng(2).random(30), (4, 1))
    estimate = crossed_difference([part_of(answers)], [part_of(answers)])
    assert (estimate.value, estimate.error) == (0.0, pytest.approx(0.0, abs=1e-9))
    assert crossed_mean([part_of(answers)]).error > 0.01


def test_nothing_measured_is_nothing():
    empty = CrossedPart(np.array([math.nan]), np.zeros(3), np.zeros(1))
    assert crossed_mean([]) is NOTHING
    assert crossed_mean([empty]) is NOTHING
    assert crossed_difference([empty], [empty]) is NOTHING
    assert NOTHING.to_dict() == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("together", "freedom"), [(0.0, math.inf), (0.9, math.inf), (0.97, 12.0), (1.0, 3.0)]
)
def test_the_largest_of_two_has_its_level(together, freedom):
    """Against SciPy's integral over the box. The quantile of 65,536 draws is off by 0.005 in probability once in a million."""
    from scipy import stats

    quantile = _largest_of(np.array([[1.0, together], [together, 1.0]]), freedom, 0.95)
    one, every = (stats.t.ppf(1.0 - 0.025 / tests, freedom) for tests in (1, 2))
    assert one <= quantile <= every
    if together < 1.0:
        shape = [[1.0, together], [together, 1.0]]
        law = (
            stats.multivariate_t([0.0, 0.0], shape, df=freedom)
            if freedom < math.inf
            else stats.multivariate_normal([0.0, 0.0], shape)
        )
        low, high = [-quantile] * 2, [quantile] * 2
        inside = (
            law.cdf(high, lower_limit=low, random_state=1)
            if freedom < math.inf
            else law.cdf(high, lower_limit=low)
        )
        assert inside == pytest.approx(0.95, abs=0.005)
    else:
        assert quantile == pytest.approx(one, rel=0.03)


def test_intervals_that_hold_together():
    rng = np.random.default_rng(3)
    shared, own = rng.random((8, 40)), rng.random((8, 40))
    near = shared + 0.01 * own
    first, twin, stranger = ([part_of(some)] for some in (shared, near, own))
    alone = crossed_mean(first)
    alike, apart = crossed_means([first, twin])[0], crossed_means([first, stranger])[0]
    assert alone.high <= alike.high < apart.high
    assert (alike.value, alike.error) == (alone.value, alone.error)
    nothing = [CrossedPart(np.array([math.nan]), np.zeros(40), np.zeros(1))]
    assert crossed_means([first, nothing]) == (alone, NOTHING)
    assert crossed_means([]) == ()


def test_an_interval_ends_where_a_rate_must():
    wide = Estimate(0.9, 0.2, 0.5, 1.3, 4.0)
    assert wide.within(0.0, 1.0) == Estimate(0.9, 0.2, 0.5, 1.0, 4.0)
    assert math.isnan(NOTHING.within(0.0, 1.0).low)
    assert math.isnan(NOTHING.quantile)
    assert wide.quantile == pytest.approx(2.0)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Height(Result):
    name = "height"
    direction = "higher is better"
    identical = 1.0

    steps: int = 0

    def details(self):
        return {"steps": self.steps}


def test_a_result_has_a_value_or_a_reason():
    with pytest.raises(
        ValueError, match="height needs either a value or the reason why there is none"
    ):
        Height(value=None)
    with pytest.raises(ValueError, match="either a value or the reason"):
        Height(value=1.0, reason="there are no steps")


def test_a_result_as_plain_data():
    plain = Height(value=0.5, interval=(0.25, 0.75), steps=3, settings={"seed": 1}).to_dict()
    assert plain == {
        "value": 0.5,
        "interval": [0.25, 0.75],
        "direction": "higher is better",
        "identical": 1.0,
        "steps": 3,
        "settings": {"seed": 1},
    }
    assert json.loads(json.dumps(plain)) == plain
    assert Height(value=0.5).to_dict()["interval"] is None


def test_a_result_that_does_not_apply_as_plain_data():
    plain = Height(value=None, reason="there are no steps").to_dict()
    assert (plain["value"], plain["not_applicable"]) == (None, "there are no steps")
    assert not {"interval", "steps"} & plain.keys()


def test_a_result_in_words():
    assert repr(Height(value=0.5, interval=(0.25, 0.75))) == (
        "Height(height = 0.5 [0.25, 0.75], higher is better, identical tables 1)"
    )
    assert (
        repr(Height(value=None, reason="there are no steps"))
        == "Height(not applicable because there are no steps)"
    )
    assert "<td>0.25 to 0.75</td>" in Height(value=0.5, interval=(0.25, 0.75))._repr_html_()
    assert "&lt;b&gt;" in Height(value=None, reason="<b>")._repr_html_()
