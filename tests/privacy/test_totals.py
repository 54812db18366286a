"""What releases add up to: sums by hand and by brute force, the rules, and what they print."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from chaffinch.privacy import accounting as acc
from chaffinch.privacy.accounting import amount_to_epsilon, gaussian_delta
from chaffinch.privacy.ledger import ROUNDING, Budget
from chaffinch.privacy.project import Release, add_up
from chaffinch.privacy.relation import Unit

ADD, SWAP = Unit("add-remove"), Unit("replace-one")


def release(epsilon, delta=None, unit=ADD, *, test_only=False, **options) -> Release:
    return Release("r", "2025-01-01", Budget(epsilon, delta, **options), unit, test_only)


def test_sums_by_hand():
    nothing = add_up([])
    assert (nothing.epsilon, nothing.delta, nothing.zcdp) == (0.0, 0.0, None)
    two = add_up([release(0.5), release(0.25)])
    assert (two.epsilon, two.delta, two.unit) == (0.75, 0.0, ADD)
    # Mixed relations: the add-remove half doubles, the other does not.
    mixed = add_up([release(0.5), release(0.25, unit=SWAP)])
    assert (mixed.epsilon, mixed.unit) == (1.25, SWAP)
    assert (
        add_up(
            [release(1.0, unit=Unit("add-remove", 5)), release(1.0, unit=Unit("add-remove", 2))]
        ).unit.rows_per_person
        == 2
    )
    seeded = add_up([release(0.5), release(9.0, test_only=True)])
    assert (seeded.epsilon, seeded.test_only) == (0.5, 1)
    assert "TEST ONLY" in seeded.sentence


def test_rhos_add_and_beat_epsilons_for_many_releases():
    many = add_up([release(0.1, 1e-9, accounting="zcdp")] * 20, delta=1e-6, rule="zcdp")
    rho = 20 * acc.epsilon_to_rho(0.1, 1e-9)
    assert many.zcdp is not None
    assert many.zcdp[0] == pytest.approx(rho, rel=1e-8)
    assert many.epsilon == many.zcdp[1] == pytest.approx(acc.rho_to_epsilon(rho, 1e-6), rel=1e-7)
    assert many.epsilon < many.basic[0] == pytest.approx(2.0)
    # One pure release among them has a rho too; one that is pure with a delta has none.
    assert add_up([release(0.1, 1e-9), release(0.1)], delta=1e-6).zcdp is not None
    assert (
        add_up([release(0.1, 1e-9), release(0.1, 1e-9, accounting="pure")], delta=1e-6).zcdp is None
    )
    # Deltas kept for approximate touches come off the delta that converts.
    kept = add_up([release(0.1, 1e-9, accounting="zcdp", reserved_delta=5e-10)] * 20, delta=1e-6)
    rho = 20 * acc.epsilon_to_rho(0.1, 5e-10)
    assert kept.zcdp is not None
    assert kept.zcdp[1] == pytest.approx(acc.rho_to_epsilon(rho, 1e-6 - 1e-8), rel=1e-6)


def test_mixed_relations_in_rho_and_delta():
    both = [release(0.1, 1e-9, accounting="zcdp"), release(0.1, 1e-9, unit=SWAP, accounting="zcdp")]
    mixed = add_up(both, delta=1e-6)
    assert mixed.zcdp is not None
    assert mixed.zcdp[0] == pytest.approx(
        5 * acc.epsilon_to_rho(0.1, 1e-9), rel=1e-8
    )  # four times and once
    assert mixed.basic == (pytest.approx(0.3), pytest.approx((1 + math.exp(0.1)) * 1e-9 + 1e-9))
    kept = add_up(
        [release(0.1, 1e-9, reserved_delta=1e-10), release(0.1, 1e-9, unit=SWAP)], delta=1e-6
    )
    assert kept.zcdp is None  # group privacy of approximate zCDP is not claimed
    assert kept.gaussian is None
    exact = add_up([release(0.1, 1e-9), release(0.1, 1e-9, unit=SWAP)], delta=1e-6)
    assert exact.gaussian is not None
    assert exact.gaussian[0] == pytest.approx(
        5 * Budget(0.1, 1e-9).total, rel=1e-8
    )  # mu doubles, so four times and once
    wide = add_up([release(1e6, 1e-9), release(0.1, unit=SWAP)], rule="smaller")
    assert wide.basic[1] == 1.0
    assert wide.epsilon > 1e6


def test_doubling_against_every_law_on_a_small_domain():
    # Brute force: laws on two outcomes, P ~ M ~ Q neighbours in pairs; the claim for P against Q, to the last law.
    epsilon, delta = 0.4, 0.05
    grid = np.linspace(0, 1, 101)

    def private(p, q, e, d):
        return all(
            a <= math.exp(e) * b + d + 1e-12
            for a, b in ((p, q), (1 - p, 1 - q), (q, p), (1 - q, 1 - p))
        )

    worst = 0.0
    near = {p: [m for m in grid if private(p, m, epsilon, delta)] for p in grid}
    for p in grid:
        for q in {q for m in near[p] for q in near[m]}:
            assert private(p, q, 2 * epsilon, (1 + math.exp(epsilon)) * delta)
            worst = max(worst, p - math.exp(2 * epsilon) * q)
    assert worst > 0.8 * (1 + math.exp(epsilon)) * delta  # two deltas alone would not do
    assert worst > 2 * delta


def test_amounts_of_gaussian_privacy_add_up():
    many = add_up([release(0.1, 1e-9)] * 20, delta=1e-6)
    amount = 20 * Budget(0.1, 1e-9).total
    assert many.gaussian is not None
    assert many.gaussian[0] == pytest.approx(amount, rel=1e-8)
    assert many.epsilon == many.gaussian[1]
    assert many.epsilon == pytest.approx(
        amount_to_epsilon(amount, 1e-6) + 20 * ROUNDING * 0.1, rel=1e-4
    )
    # Each Gaussian release has a rho too, the same number: zCDP turns it into a larger epsilon.
    assert many.zcdp is not None
    assert many.zcdp[0] == pytest.approx(amount, rel=1e-8)
    assert many.epsilon < 0.96 * many.zcdp[1]
    # Others are taken by their epsilon, as randomised response, and their delta comes off.
    mixed = add_up(
        [release(0.1, 1e-9), release(0.1), release(0.2, 1e-8, accounting="zcdp")], delta=1e-6
    )
    assert mixed.gaussian is not None
    mus = [2 * norm.ppf(1 / (1 + math.exp(-epsilon))) for epsilon in (0.1, 0.2)]
    amount = Budget(0.1, 1e-9).total + sum(mu**2 for mu in mus) / 2
    assert mixed.gaussian[:2] == (
        pytest.approx(amount, rel=1e-6),
        pytest.approx(amount_to_epsilon(amount, 1e-6 - 1e-8), rel=1e-4),
    )


def test_a_rule_says_beforehand_which_sum_counts():
    pure, exact = [release(0.5)], [release(1.0, 1e-6)]
    for rule in ("gaussian", "zcdp"):
        # Pure releases alone add up by epsilon, at a delta of 0; with another one they do not.
        assert (
            add_up(pure * 2, delta=1e-6, rule=rule).epsilon,
            add_up(pure * 2, delta=1e-6, rule=rule).delta,
        ) == (1.0, 0.0)
        assert (
            add_up(pure + exact, delta=1e-5, rule=rule).epsilon
            > 1.5
            == add_up(pure + exact, delta=1e-5).basic[0]
        )
        # One release fits into a limit that is its own promise.
        assert add_up(exact, delta=1e-6, rule=rule).epsilon <= 1.0 + (
            0.1 if rule == "zcdp" else 0.0
        )
    assert add_up(exact * 2, delta=1e-6, rule="basic").epsilon == math.inf
    assert add_up(exact * 2, delta=2e-6, rule="basic").epsilon == 2.0
    smaller = add_up(pure + exact, delta=1e-5, rule="smaller")
    assert smaller.epsilon == 1.5
    assert (
        "if budgets were chosen after seeing earlier releases, the delta that holds is 2e-06"
        in smaller.sentence
    )
    settled = add_up(pure + exact, delta=1e-5)
    assert (
        "amounts of Gaussian privacy, or epsilons while all releases are pure" in settled.sentence
    )
    assert "chosen after" not in settled.sentence
    assert "settled beforehand" in add_up(pure, limited=False, rule="smaller").sentence


def test_a_chooser_who_sees_releases_keeps_to_delta_under_a_settled_rule():
    """By enumeration. One pure release, randomised response, or else one of normal noise (as fine steps): chosen by a first, pure, answer.

    By a settled rule epsilons count at a delta of 0 only, so a chooser has one of two ways; both together keep to delta.
    """
    limit, first, delta = 1.0, 0.1, 1e-3
    answer = np.array([math.exp(first), 1.0]) / (1 + math.exp(first))
    one = 2 * norm.ppf(answer[0])
    rest = (
        Budget(limit, delta, "gaussian").total - one**2 / 2
    )  # what Gaussian releases may still spend after it
    steps = np.linspace(-9, 9, 20_001)

    def excess(p, q, epsilon):
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())

    pure = np.array([math.exp(limit - first), 1.0]) / (1 + math.exp(limit - first))
    mu = math.sqrt(2 * rest)
    normal = tuple(np.diff(norm.cdf(steps, centre)) for centre in (mu / 2, -mu / 2))
    ways = [(pure, pure[::-1]), normal]
    worst = 0.0
    for choice in product(range(2), repeat=2):
        worst = max(
            worst,
            sum(
                excess(answer[i] * ways[way][0], answer[1 - i] * ways[way][1], limit)
                for i, way in enumerate(choice)
            ),
        )
    assert 0.5 * delta < worst <= delta
    assert gaussian_delta(math.sqrt(2 * Budget(limit, delta, "gaussian").total), limit) <= delta
