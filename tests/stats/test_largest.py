"""The largest excess: an estimate that choosing the largest does not flatter, against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.stats.familywise import family, largest_excess


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
