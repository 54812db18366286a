"""Budgets: charges add up in their own currency, and what does not fit is refused before anything is touched."""

from __future__ import annotations

import math
from math import exp, log

import pytest
from scipy.stats import norm

from chaffinch._base.errors import BudgetError, ChaffinchError, InputError
from chaffinch.privacy.ledger import Budget, Charge


def charge(**options):
    return Charge("table of a", "measure", mechanism="discrete Laplace", noise="scale 1", **options)


def test_pure_epsilons_add_and_zcdp_adds_rhos():
    charges = [charge(epsilon=0.25), charge(epsilon=0.5, delta=1e-9)]
    assert Budget(1.0).amounts(charges) == (0.75, 1e-9)
    rho, delta = Budget(1.0, 1e-6, "zcdp").amounts(charges)
    assert rho == pytest.approx((0.25**2 + 0.5**2) / 2)  # epsilon^2 / 2 each: Bun and Steinke 2016
    assert delta == 1e-9
    rho, delta = Budget(1.0, 1e-6).amounts(charges)
    # mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)) each: Dong, Roth and Su 2022, the corner of randomised response.
    mus = [2 * norm.ppf(exp(epsilon) / (1 + exp(epsilon))) for epsilon in (0.25, 0.5)]
    assert rho == pytest.approx(sum(mu**2 for mu in mus) / 2)
    assert delta == 1e-9


def test_how_charges_add_up_is_settled_by_public_numbers():
    assert [Budget(e, d).kind for e, d in ((1, None), (1, 1e-6), (10, 1e-6), (30, 1e-6))] == [
        "pure",
        "gaussian",
        "gaussian",
        "zcdp",
    ]
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-9), (8.0, 1e-5)):
        exact, fallback = Budget(epsilon, delta), Budget(epsilon, delta, "zcdp")
        assert (
            1.05 < exact.total / fallback.total < 1.25
        )  # so much more rho, and 2 to 12 % less noise
        share = 0.01
        assert (
            exact.noise(share * exact.total, l1=1, l2=1.0)[1]
            < 0.99 * fallback.noise(share * fallback.total, l1=1, l2=1.0)[1]
        )


def test_what_a_choice_may_be_for_an_amount():
    amount = 0.01
    assert Budget(1.0).choice_epsilon(amount, "permute-and-flip") == amount
    assert Budget(1.0, 1e-6, "zcdp").choice_epsilon(amount) == pytest.approx((8 * amount) ** 0.5)
    assert Budget(1.0, 1e-6, "zcdp").choice_epsilon(amount, "permute-and-flip") == pytest.approx(
        (2 * amount) ** 0.5
    )
    exact = Budget(1.0, 1e-6)
    assert exact.choice_epsilon(amount) == pytest.approx(
        2 * log(norm.cdf(0.02**0.5 / 2) / norm.sf(0.02**0.5 / 2))
    )
    assert exact.choice_epsilon(amount, "permute-and-flip") == exact.choice_epsilon(amount) / 2


def test_the_total_in_rho_comes_back_within_epsilon():
    budget = Budget(1.0, 1e-6, reserved_delta=1e-7)
    epsilon, delta = budget.promise(budget.total, budget.delta_total)
    assert epsilon <= 1.0
    assert epsilon == pytest.approx(1.0, rel=1e-6)
    assert delta == pytest.approx(1e-6)
    # Not more than the closed bound of the same paper: rho + 2 sqrt(rho ln(1/delta)).
    assert epsilon <= budget.total + 2 * math.sqrt(budget.total * math.log(1 / 9e-7))


def test_what_does_not_fit_is_refused():
    budget = Budget(1.0)
    budget.admit((0.6, 0.0), spent=(0.4, 0.0))
    with pytest.raises(BudgetError, match=r"0\.7 asked, 0\.6 left of 1\.0.*nothing was touched"):
        budget.admit((0.7, 0.0), spent=(0.4, 0.0))
    with pytest.raises(BudgetError, match="deltas"):
        budget.admit((0.1, 1e-9))


@pytest.mark.parametrize(
    "options",
    [
        {"accounting": "zcdp"},
        {"accounting": "renyi"},
        {"delta": 1e-6, "reserved_delta": 1e-6},
        {"reserved_delta": 1e-9},
    ],
)
def test_budgets_that_promise_nothing_sound_are_refused(options):
    with pytest.raises(ChaffinchError):
        Budget(1.0, **options)


def test_no_touch_is_free_and_names_cannot_steer_a_terminal():
    with pytest.raises(InputError, match="no touch of the data is free"):
        charge()
    with pytest.raises(InputError, match="Gaussian noise has no pure epsilon"):
        charge(rho=0.1).cost("pure")
    assert Charge("a\x1b[2J", "w", epsilon=1.0, mechanism="m", noise="n").what == "a\ufffd[2J"
