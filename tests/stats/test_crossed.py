"""Means over people and datasets at once: the two-way formula by loops, and what cancels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chaffinch.stats.intervals import (
    NOTHING,
    CrossedPart,
    Estimate,
    _largest_of,
    crossed_difference,
    crossed_mean,
    crossed_means,
)


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
