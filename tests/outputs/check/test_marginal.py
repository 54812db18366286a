"""Intervals: hand-worked numbers, and the rate at which zero is covered when there is nothing to find."""

import numpy as np
import pytest
from scipy import stats

from chaffinch.outputs.check.assessment import folds
from chaffinch.outputs.check.attribution import attack_of, ensemble_tcap, measures_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.stats.crossed import CrossedPart, crossed_difference, crossed_mean

SIZES = (6, 4, 3, 2, 3)
FIELDS = Fields(tuple(Field("abcdy"[k], tuple(range(size))) for k, size in enumerate(SIZES)))


def population(rng, n):
    x = np.stack([rng.integers(0, size, n) for size in SIZES[:-1]], axis=1)
    y = np.where(rng.random(n) < 0.5, (x[:, 0] + x[:, 1]) % 3, rng.integers(0, 3, n))
    return np.c_[x, y].astype(np.int32)


def assessed(seed, *, n=300, syntheses=12, copied=0):
    """The marginal risk of ensembles drawn from the population; `copied` of the fold's own records go into each dataset."""
    rng = np.random.default_rng(seed)
    people = population(rng, n)
    attack = attack_of(FIELDS, "abcd", "y", sizes=(2, 4))
    found = []
    for fold in folds(n, seed=rng):
        group = np.full(n, -1)
        group[fold.compared], group[fold.holdout] = 0, 1
        datasets = [population(rng, n // 2) for _ in range(syntheses)]
        for one in datasets:
            one[:copied] = people[rng.choice(fold.original, copied, replace=False)]
        found.append(ensemble_tcap(datasets, people, group, attack, threads=1))
    return measures_of({"y": found}, {"y": found})


def test_two_folds_by_hand():
    # Datasets give 1, 3 in one fold and 2, 2 in the other; four people, of whom two move each fold in opposite directions.
    first = CrossedPart(
        np.array([1.0, 3.0]), np.array([0.2, -0.2, 0.0, 0.0]), np.array([0.08, 0.08])
    )
    second = CrossedPart(
        np.array([2.0, 2.0]), np.array([-0.2, 0.2, 0.0, 0.0]), np.array([0.08, 0.08])
    )
    estimate = crossed_mean([first, second], level=0.9)
    assert estimate.value == 2.0
    assert estimate.error == pytest.approx(
        np.sqrt(2.0 / 2 / 4)
    )  # influences cancel: only the first fold's datasets differ
    half = stats.t.ppf(0.95, 1) * estimate.error
    assert (estimate.low, estimate.high) == pytest.approx((2 - half, 2 + half))


def test_what_is_special_about_pairs_counts_once():
    # Two datasets, two people; each person matters to one dataset alone, by 1: over people 0.5, over datasets 1 (var 2 / 2), pairs 0.5.
    part = CrossedPart(np.array([1.0, -1.0]), np.array([0.5, -0.5]), np.array([1.0, 1.0]))
    assert crossed_mean([part]).error == pytest.approx(np.sqrt(0.5 + 1.0 - 0.5))


def test_apart_subtracts_the_same_people():
    part = CrossedPart(np.array([1.0, 3.0]), np.array([0.3, -0.3]), np.array([0.2, 0.2]))
    assert crossed_difference([part], [part]).value == 0.0
    # The datasets' variance twice, less what is special about pairs, (0.4 - 2 * 0.18) / 2 each; people cancel.
    assert crossed_difference([part], [part]).error == pytest.approx(np.sqrt(2.0 - 2 * 0.02))


def test_nothing_measured_is_nan():
    nothing = CrossedPart(np.full(3, np.nan), np.zeros(2), np.zeros(3))
    assert np.isnan(crossed_mean([nothing]).value)


def test_zero_is_covered_as_often_as_is_said():
    """Simultaneous 95 % intervals over 120 draws: 104 to 119 cover zero under both conventions, unless a chance of 0.3 % comes true.

    So they are not too narrow, and hardly much too wide. `experiments/check_intervals` has the coverage at other sizes.
    """
    covered = 0
    for seed in range(120):
        covered += all(
            measure.marginal.low <= 0.0 <= measure.marginal.high for measure in assessed(seed)
        )
    assert 104 <= covered <= 119


def test_intervals_stay_inside_what_a_rate_can_be():
    """Two datasets for each fold tell hardly anything: intervals end at what is possible, and nothing is called detectable that is not."""
    measures = [measure for seed in range(8) for measure in assessed(seed, n=60, syntheses=2)]
    for measure in measures:
        for one in (measure.original, measure.holdout, measure.prior):
            assert 0.0 <= one.low <= one.value <= one.high <= 1.0
        for one in (measure.marginal, measure.beyond_prior):
            assert -1.0 <= one.low <= one.value <= one.high <= 1.0
        assert 0.0 <= measure.detectable <= 1.0 or measure.detectable == np.inf
    assert any(measure.detectable == np.inf for measure in measures)
    assert any(measure.detectable <= 1.0 for measure in measures)


def test_copied_records_are_found():
    assert all(measure.excess for measure in assessed(1, copied=75))
