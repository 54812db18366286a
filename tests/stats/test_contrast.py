"""Contrasts of excesses against arithmetic by hand, enumeration, and their own odds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.stats.familywise import ScoreComparison, contrasts
from chaffinch.stats.rates import ClassStatistic


def test_the_value_is_the_first_excess_less_the_mean_of_the_rest() -> None:
    ones = [1] * 4
    members = [([1, 1, 1, 0], ones), ([1, 0, 0, 0], ones), ([1, 1, 0, 0], ones)]
    others = [([1, 0, 0, 0], ones), ([0, 0, 0, 0], ones), ([1, 0, 0, 0], ones)]
    (added,) = contrasts([ScoreComparison(members, others)], seed=1)
    assert added.value == pytest.approx((3 / 4 - 1 / 4) - ((1 / 4 - 0) + (2 / 4 - 1 / 4)) / 2)


def test_the_p_value_is_that_of_all_choices_of_members() -> None:
    rng = np.random.default_rng(3)
    both, alone = rng.integers(0, 2, 8), rng.integers(0, 2, 8)
    both[:4] = 1
    ones = np.ones(4)
    (added,) = contrasts(
        [
            ScoreComparison(
                [(both[:4], ones), (alone[:4], ones)], [(both[4:], ones), (alone[4:], ones)]
            )
        ],
        resamples=20_000,
        seed=1,
    )
    part = both - alone
    every = [part[list(c)].mean() - np.delete(part, c).mean() for c in combinations(range(8), 4)]
    exact = np.mean([one >= added.value - 1e-9 for one in every])  # type: ignore[operator]
    assert added.p_value == pytest.approx(exact, abs=0.02)  # 5.6 standard errors at least


def test_what_attacks_have_in_common_cancels() -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 2, 400)
    more = scores.copy()
    more[:3] = 1
    ones = np.ones(200)
    (added,) = contrasts(
        [
            ScoreComparison(
                [(more[:200], ones), (scores[:200], ones)],
                [(more[200:], ones), (scores[200:], ones)],
            )
        ],
        seed=1,
    )
    assert added.standard_error is not None
    assert added.standard_error < 0.01  # an excess of 200 and 200 votes has 0.05


def test_attacks_that_are_the_same_differ_by_nothing_with_an_interval_about_it() -> None:
    group = ([1, 0] * 50, [1] * 100)
    (added,) = contrasts([ScoreComparison([group, group], [group, group])], seed=1)
    assert added.value == 0.0
    assert added.p_value == 1.0
    assert added.interval is not None
    assert added.interval[0] < -0.01 < 0.01 < added.interval[1]


def test_the_interval_covers_and_the_p_value_is_uniform_enough() -> None:
    """400 draws, true contrast 0.1 in one comparison, 0 in the other: each rate strays 0.035 once in a thousand."""
    rng = np.random.default_rng(5)
    covered, rejected, any_of_two = 0, 0, 0
    for _ in range(400):
        base, extra = rng.random((2, 300)) < [[0.2], [0.1]]
        base_out = rng.random(300) < 0.2
        third, fourth = rng.random((2, 600)) < 0.3
        ones = np.ones(300)
        real = ScoreComparison(
            [(base | extra, ones), (base, ones)], [(base_out, ones), (base_out, ones)]
        )
        null = ScoreComparison(
            [(third[:300], ones), (fourth[:300], ones)], [(third[300:], ones), (fourth[300:], ones)]
        )
        added, none = contrasts([real, null], resamples=200, seed=rng.integers(1 << 31))
        assert added.interval is not None and none.p_value is not None and none.p_family is not None  # noqa: PT018
        covered += added.interval[0] <= 0.8 * 0.1 <= added.interval[1]
        rejected += none.p_value <= 0.05
        any_of_two += none.p_family <= 0.05
    assert 0.915 <= covered / 400 <= 0.985
    assert 0.015 <= rejected / 400 <= 0.085
    assert any_of_two <= rejected


def test_means_over_classes_can_be_compared() -> None:
    rule = ClassStatistic(np.ones(30))
    rng = np.random.default_rng(6)
    classes = rng.integers(0, 30, 400)
    right, wrong = np.ones(200), np.zeros(200)
    (added,) = contrasts(
        [
            ScoreComparison(
                [(classes[:200], right), (classes[:200], wrong)],
                [(classes[200:], wrong)] * 2,
                [rule, rule],
            )
        ],
        seed=1,
    )
    assert added.value == pytest.approx(1.0)
    assert added.p_value == pytest.approx(1 / 1001)


def test_groups_without_people_who_count_give_a_reason() -> None:
    ones, none = ([1, 0], [1, 1]), ([0, 0], [0, 0])
    (added,) = contrasts([ScoreComparison([ones, none], [ones, ones])], seed=1)
    assert added.value is None
    assert "counts no person of the original" in added.reason


def test_one_attack_is_no_comparison() -> None:
    with pytest.raises(InputError, match="at least two attacks"):
        ScoreComparison([([1], [1])], [([1], [1])])


def test_comparisons_are_on_the_same_people() -> None:
    two, three = ([1, 0], [1, 1]), ([1, 0, 1], [1, 1, 1])
    with pytest.raises(InputError, match="same people"):
        contrasts(
            [ScoreComparison([two, two], [two, two]), ScoreComparison([three, three], [two, two])],
            seed=1,
        )
