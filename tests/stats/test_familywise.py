"""Many attacks on the same people."""

from __future__ import annotations

import json
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.stats.excess import (
    excess,
)
from chaffinch.stats.familywise import ScoreComparison, contrasts, family, largest_excess
from chaffinch.stats.rates import ClassStatistic

from .test_excess import SIGMAS, cut


def test_a_family_of_one_has_the_p_value_of_its_attack() -> None:
    rng = np.random.default_rng(3)
    pair = (np.round(rng.random(300), 1), np.ones(300))
    members, others = cut(pair, 180)
    alone, together = excess(members, others, seed=4), family([members], [others], seed=4)
    assert together.p_value == alone.p_value


def test_adjusted_p_values_are_never_below_their_own() -> None:
    rng = np.random.default_rng(8)
    pairs = [((rng.random(400) < rate).astype(float), np.ones(400)) for rate in (0.2, 0.5, 0.8)]
    sides = [cut(pair, 250) for pair in pairs]
    together = family([m for m, _ in sides], [o for _, o in sides], seed=2)
    for (members, others), adjusted in zip(sides, together.adjusted, strict=True):
        own = excess(members, others, resamples=1000, seed=2).p_value
        # Different draws: 5 standard errors of a difference of two shares of 1,000.
        assert adjusted > own - SIGMAS * sqrt(0.5 / 1000)


def test_degenerate_attacks_leave_the_rest_of_the_family_as_it_is() -> None:
    rng = np.random.default_rng(1)
    ones, zeros = np.ones(300), np.zeros(300)
    good = ((rng.random(300) < 0.4).astype(float), ones)
    poor = [(np.full(300, 0.5), ones), (zeros, zeros)]
    sides = [cut(pair, 200) for pair in (poor[0], good, poor[1])]
    found = family([m for m, _ in sides], [o for _, o in sides], seed=3)
    alone = family([sides[1][0]], [sides[1][1]], seed=3)
    assert set(found.excluded) == {0, 2}
    assert "score the same" in found.excluded[0]
    assert found.adjusted == (None, alone.adjusted[0], None)
    assert found.lower == (None, alone.lower[0], None)
    assert found.strongest == 1
    json.dumps(found.to_dict(), allow_nan=False)


def test_an_empty_family_gives_the_reason() -> None:
    assert "no attacks" in family([], []).reason


def test_shares_of_the_level_move_power_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    pairs = [
        ((rng.random(600) < rate).astype(float), np.ones(600)) for rate in (0.3, 0.5, 0.4, 0.6)
    ]
    sides = [cut(pair, 300) for pair in pairs]
    options = {"seed": 6, "resamples": 400}
    members, others = [m for m, _ in sides], [o for _, o in sides]
    plain = family(members, others, **options)
    assert family(members, others, level_shares=[None] * 4, **options).adjusted == plain.adjusted
    favoured = family(members, others, level_shares=[None, 0.9, None, None], **options)
    assert favoured.adjusted[1] < plain.adjusted[1]
    assert all(favoured.adjusted[j] >= plain.adjusted[j] for j in (0, 2, 3))
    assert favoured.lower == plain.lower
    # With next to all of the level the p-value is that of the attack by itself.
    alone = family(members[1:2], others[1:2], **options)
    nearly_all = family(members, others, level_shares=[None, 1 - 1e-12, None, None], **options)
    assert abs(nearly_all.adjusted[1] - alone.adjusted[0]) < SIGMAS * sqrt(0.5 / 400)


def test_the_level_holds_whatever_the_shares() -> None:
    # 400 null draws at 10 %: a share beyond 5 standard errors (0.075) comes once in a million.
    rng = np.random.default_rng(7)
    below = 0
    for draw in range(400):
        score = rng.random((3, 80)) < np.array([[0.2], [0.4], [0.05]])
        score[1] |= score[0]
        pairs = [((row.astype(float)), np.ones(80)) for row in score]
        sides = [cut(pair, 40) for pair in pairs]
        found = family(
            [m for m, _ in sides],
            [o for _, o in sides],
            level_shares=[0.7, None, 0.2],
            resamples=99,
            seed=draw,
        )
        below += (found.p_value or 1.0) <= 0.1
    assert abs(below / 400 - 0.1) < 0.075


@pytest.mark.parametrize("shares", [[0.5], [0.5, 0.6], [0.0, None], [1.5, None]])
def test_shares_that_are_none_are_refused(shares: list[float | None]) -> None:
    pair = (np.array([1.0, 0.0] * 20), np.ones(40))
    with pytest.raises(InputError, match="level_shares must be one share for each attack"):
        family([pair, pair], [pair, (pair[0][::-1], pair[1])], level_shares=shares, resamples=10)


def test_upper_bounds_hold_together_where_few_people_score() -> None:
    """Rates of a few in a thousand, many others: 400 families of four attacks, each of which 95 % should cover at least.

    With a coverage of 95 % fewer than 355 of 400 cover once in 100,000 (binomial). Bounds of standard errors alone cover 80 to 90 %.
    """
    rng, rates, fresh = (
        np.random.default_rng(5),
        np.array([0.005, 0.008, 0.012, 0.3]),
        np.array([0.001, 0.002, 0.01, 0.29]),
    )
    ones, many, covered = np.ones(400), np.ones(4000), 0
    for draw in range(400):
        mine, theirs = rng.random((400, 4)) < rates, rng.random((4000, 4)) < fresh
        found = family(
            [(one, ones) for one in mine.T],
            [(one, many) for one in theirs.T],
            resamples=100,
            seed=draw,
            threads=1,
        )
        covered += all(
            bound is not None and bound >= true
            for bound, true in zip(found.upper, rates - fresh, strict=True)
        )
    assert covered >= 355


def test_an_upper_bound_is_at_least_the_exact_one_of_a_handful() -> None:
    """Clopper and Pearson's upper end for k of 800 against so many others that their rate is known: beta quantiles, worked out apart."""
    from scipy.stats import beta

    ones, many = np.ones(800), np.ones(200_000)
    for k in (0, 1, 3):
        mine, theirs = (np.arange(800) < k).astype(float), (np.arange(200_000) < 2).astype(float)
        (bound,) = family([(mine, ones)], [(theirs, many)], resamples=200, seed=1).upper
        assert bound >= beta.ppf(0.95, k + 1, 800 - k) - 2 / 200_000 - 1e-9
        assert bound < 1.35 * beta.ppf(0.95, k + 1, 800 - k) + 1e-9


def test_attacks_under_which_all_score_the_same_have_an_upper_bound_and_those_about_nobody() -> (
    None
):
    ones, none = np.ones(300), np.zeros(300)
    half = (np.arange(300) % 2).astype(float)
    found = family(
        [(half, ones), (none, ones), (none, none), (none, none)],
        [(half, ones), (none, ones), (none, none), (none, none)],
        about_nobody=[3],
        seed=1,
    )
    assert found.lower[1:] == (None, None, None)
    exact = 1 - (0.05 / 2) ** (1 / 300)  # the rule of three at 2.5 %: two attacks have a bound
    assert exact <= found.upper[1] < 1.6 * exact
    assert found.upper[2:] == (None, 0.0)
    assert found.unbounded == (2,)
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert (again.upper, again.upper_bound) == (found.upper, found.upper_bound)
    alone = family([(none, ones)], [(none, ones)], seed=1)
    assert (alone.p_value, alone.lower_bound) == (None, None)
    assert 0.005 < alone.upper_bound < 0.02


def test_upper_bounds_of_few_people_do_not_tell_how_many() -> None:
    ones, told = np.ones(1000), set()
    for k in range(1, 10):
        found = family(
            [((np.arange(1000) < k).astype(float), ones)],
            [(np.zeros(1000), ones)],
            resamples=100,
            seed=1,
        )
        masked = found.without([0], 10)
        assert masked.excesses == (None,)
        assert masked.upper[0] >= found.upper[0]
        told.add(round(masked.upper[0], 6))
    assert told <= {0.01, 0.02}


def attacks(rng: np.random.Generator, rates: list[float], n: int) -> tuple[list, list]:
    """Members scored right at a half plus each rate, others at a half."""
    ones = np.ones(n)
    members = [((rng.random(n) < 0.5 + rate).astype(float), ones) for rate in rates]
    return members, [((rng.random(n) < 0.5).astype(float), ones) for _ in rates]


def test_one_attack_is_its_own_excess() -> None:
    """With one attack nothing is chosen: the estimate is the plain difference."""
    members, others = attacks(np.random.default_rng(1), [0.1], 400)
    found = largest_excess(members, others, seed=1)
    plain = members[0][0].mean() - others[0][0].mean()
    assert found.excess == pytest.approx(plain)
    assert found.estimate == pytest.approx(plain)
    assert found.lower < plain < found.upper


def test_one_that_stands_out_has_nothing_taken_off() -> None:
    members, others = attacks(np.random.default_rng(2), [0.4, *[0.0] * 9], 500)
    found = largest_excess(members, others, seed=1)
    assert found.strongest == 0
    assert found.estimate == pytest.approx(found.excess)


def test_the_lower_bound_is_that_of_the_family() -> None:
    members, others = attacks(np.random.default_rng(3), [0.1, 0.05, 0.0], 300)
    assert largest_excess(members, others, seed=4).lower == pytest.approx(
        family(members, others, seed=4).lower_bound
    )


def test_twenty_attacks_that_tell_nothing() -> None:
    """The largest of twenty plain differences is far above zero in nearly all tables; the estimate is above in about half or fewer.

    Of 60 tables the share above zero has standard error 0.065: 0.5 + 4 x 0.065 is passed once in 30,000 where the median is right.
    """
    rng = np.random.default_rng(5)
    above = flattered = 0
    for _ in range(60):
        members, others = attacks(rng, [0.0] * 20, 200)
        found = largest_excess(members, others, resamples=200, seed=1)
        above += found.estimate > 0
        flattered += (
            max(m[0].mean() - o[0].mean() for m, o in zip(members, others, strict=True)) > 0.03
        )
    assert above / 60 <= 0.76
    assert flattered / 60 >= 0.9  # what would have been said without it


def test_bounds_hold_about_as_often_as_they_say() -> None:
    """Each one-sided 95 % bound fails in 5 % of tables at most: of 60, more than 9 failures come once in 1,000."""
    rng = np.random.default_rng(6)
    over = under = 0
    for _ in range(60):
        members, others = attacks(rng, [0.1, 0.1, 0.0, -0.1], 200)
        found = largest_excess(members, others, resamples=200, seed=1)
        over += found.lower > 0.1
        under += found.upper < 0.1
    assert over <= 9
    assert under <= 9


def test_without_attacks_there_is_a_reason() -> None:
    assert largest_excess([], [], seed=1).reason == "there are no attacks."
    found = largest_excess([([0.0] * 5, [0.0] * 5)], [([0.0] * 5, [0.0] * 5)], seed=1)
    assert found.estimate is None
    assert "compared" in found.reason


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
