"""Many attacks on the same people."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.stats.excess import (
    excess,
)
from chaffinch.stats.familywise import family

Pair = tuple[np.ndarray, np.ndarray]
SIGMAS = 5.0  # a normal value is further out once in 1.7 million


def cut(pair: Pair, n: int) -> tuple[Pair, Pair]:
    return (pair[0][:n], pair[1][:n]), (pair[0][n:], pair[1][n:])


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
