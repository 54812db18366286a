"""What right guesses say about epsilon, mu and rho: against brute force, and against laws whose amount is known."""

from __future__ import annotations

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from chaffinch.privacy.accounting import (
    amount_to_epsilon,
    epsilon_to_amount,
    epsilon_to_rho,
    rho_to_epsilon,
)
from chaffinch.risk.auditing.claims import MEASURES, Claim, claim_of


def test_by_hand():
    assert Claim("epsilon", 1.0, 1.0).least(0.75) == pytest.approx(log(3))
    assert Claim("mu", 1.0, 1.0).least(norm.cdf(0.7)) == pytest.approx(1.4)
    # The relative entropy of (3/4, 1/4) from (1/4, 3/4) is log(3) / 2; all other orders give less over their order.
    assert Claim("rho", 1.0, 1.0).least(0.75) == pytest.approx(log(3) / 2)


@pytest.mark.parametrize("measure", MEASURES.names)
def test_half_of_the_guesses_right_says_nothing(measure):
    assert [Claim(measure, 1.0, 1.0).least(share) for share in (0.0, 0.4, 0.5)] == [0.0] * 3


def test_rho_of_guesses_is_never_above_that_of_gaussian_noise():
    # Normal laws mu apart have rho = mu^2 / 2 and are told apart with Phi(mu / 2): a valid bound is below that, and not far.
    for mu in (0.05, 0.3, 1.0, 2.5):
        bound = Claim("rho", 1.0, 1.0).least(norm.cdf(mu / 2))
        assert 0.5 * mu**2 / 2 < bound < mu**2 / 2


def test_rho_of_guesses_is_the_least_of_all_pairs_of_rates():
    # Of all tests with the same share of right guesses, none has smaller divergences in both directions than the symmetric one.
    share, grid = 0.7, np.linspace(0.001, 0.999, 999)
    least = Claim("rho", 1.0, 1.0).least(share)
    for p in grid:
        q = p - (2 * share - 1)
        if 0 < q < 1:
            divergences = [
                a * log(a / b) + (1 - a) * log((1 - a) / (1 - b)) for a, b in ((p, q), (q, p))
            ]
            assert max(divergences) >= least - 1e-12


def test_randomised_response_reaches_epsilon():
    for epsilon in (0.1, 1.0, 4.0):
        assert Claim("epsilon", 1.0, 1.0).least(exp(epsilon) / (1 + exp(epsilon))) == pytest.approx(
            epsilon
        )


@pytest.mark.parametrize(
    "sigmas", [(1.0,), (1.5,), (2.0, 2.0), (1.0, 3.0), (1.2, 1.9, 4.0)], ids=str
)
def test_whole_numbered_gaussian_noise_stays_within_the_mu_that_is_claimed_for_it(sigmas):
    # All outcomes of a few counts that each move by one: the best guesses are right as often as (1 + TV) / 2.
    width = np.arange(-25, 27)
    laws = []
    for sigma in sigmas:
        weight = np.exp(-0.5 * (width / sigma) ** 2)
        shifted = np.exp(-0.5 * ((width - 1) / sigma) ** 2)
        laws.append((weight / weight.sum(), shifted / shifted.sum()))
    p, q = laws[0]
    for other, shifted in laws[1:]:
        p, q = np.outer(p, other).ravel(), np.outer(q, shifted).ravel()
    right = (1 + np.abs(p - q).sum() / 2) / 2
    true = sqrt(sum(1 / sigma**2 for sigma in sigmas))
    assert 0.98 * true < 2 * norm.ppf(right) < true * (1 + 1 / (20 * min(sigmas) ** 2))


def test_a_claim_is_what_the_method_accounts_in():
    assert claim_of(2.0, 1e-6, accounting="pure", sigma=None) == Claim("epsilon", 2.0, 2.0, 1e-6)
    assert (
        claim_of(2.0, 1e-6, accounting="zcdp", sigma=0.9).measure == "rho"
    )  # whole numbers are no normal law here
    rho = epsilon_to_rho(2.0, 1e-6)
    assert claim_of(2.0, 1e-6, accounting="zcdp", sigma=None) == Claim("rho", rho, 2.0, 1e-6)
    assert claim_of(2.0, 1e-6, accounting="zcdp", sigma=100.0).amount == pytest.approx(
        sqrt(2 * rho), rel=1e-4
    )
    exact = claim_of(
        2.0, 1e-6, accounting="gaussian", sigma=None
    )  # also of choices: they are paid for in mu
    assert (exact.measure, exact.amount) == ("mu", sqrt(2 * epsilon_to_amount(2.0, 1e-6)))


@pytest.mark.parametrize(
    ("accounting", "times"), [*product(("pure", "zcdp", "gaussian"), (1.0, 2.0))]
)
def test_smaller_noise_as_epsilon(accounting, times):
    claim = claim_of(1.0, 1e-6, accounting=accounting, sigma=None)
    expected = {
        "pure": times,
        "zcdp": rho_to_epsilon(times**2 * epsilon_to_rho(1.0, 1e-6), 1e-6),
        "gaussian": amount_to_epsilon(times**2 * epsilon_to_amount(1.0, 1e-6), 1e-6),
    }[accounting]
    assert claim.epsilon_at(times) == pytest.approx(expected)
    assert claim.epsilon_at(1.0) == pytest.approx(1.0, rel=1e-9)
