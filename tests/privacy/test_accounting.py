"""Conversions of epsilon, rho and delta: against grids, closed forms and laws worked out cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm

import chaffinch
from chaffinch.privacy import accounting as acc

EPSILONS = [1e-3, 0.01, 0.1, 1.0, 3.0, 10.0, 1e3, 1e6]
DELTAS = [1e-15, 1e-9, 1e-5, 1e-3, 0.1]
# Orders of the Renyi divergence: a - 1 from 1e-9 to 1e9, so fine that the least value is hit to eight digits or so.
ORDERS = np.logspace(-9, 9, 400_001)


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the exact delta at epsilon of continuous Gaussian noise that is rho-zCDP (Balle and Wang 2018, Theorem 8).

    For a composition of Gaussians alone, and of real-valued noise: a note beside a result, and a check on `rho_to_delta`, which
    holds for every zCDP mechanism and is never smaller. With mu = math.sqrt(2 rho): Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
    """
    mu, epsilon = math.sqrt(2 * acc.check_epsilon(rho, "rho")), acc.check_epsilon(epsilon)
    first, second = (
        float(log_ndtr(mu / 2 - epsilon / mu)),
        epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)),
    )
    # In logarithms: both terms may be far below the smallest double, and e^eps above the largest.
    return max(0.0, -math.exp(first) * math.expm1(min(0.0, second - first)))


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Return the exact epsilon at delta of continuous Gaussian noise that is rho-zCDP: at most `rho_to_epsilon`. A note, no promise."""
    tiny = 1e-12
    high = max(acc.rho_to_epsilon(rho, delta), tiny)
    if rho == 0 or gaussian_delta(rho, tiny) <= delta:
        return 0.0
    return min(
        high, acc._last(lambda epsilon: gaussian_delta(rho, epsilon) > delta, tiny, high) * acc.UP
    )


def grid_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon of the published bound over a grid of orders, written as in the paper, not as in the code."""
    b = ORDERS
    a = 1 + b
    return float(
        np.min(a * rho + (math.log(1 / delta) + a * (np.log(b) - np.log1p(b)) - np.log(b)) / b)
    )


@pytest.mark.parametrize(
    "bad", [0, -1, -0.0, math.nan, math.inf, -math.inf, True, False, "1", None, [1.0], 10**400, 1j]
)
def test_what_is_no_epsilon(bad):
    with pytest.raises(
        chaffinch.errors.InputError,
        match=r"epsilon must be a finite number above 0\. Got .*leave it out",
    ):
        acc.check_epsilon(bad)


@pytest.mark.parametrize("bad", [0, 1, -1e-9, 2, math.nan, math.inf, True, "1e-9", None])
def test_what_is_no_delta(bad):
    with pytest.raises(chaffinch.errors.InputError, match=r"delta must be above 0 and below 1"):
        acc.check_delta(bad)


def test_numbers_of_any_kind_are_taken():
    assert acc.check_epsilon(np.float32(0.5)) == 0.5
    assert acc.check_epsilon(np.int64(2), "rho") == 2.0
    assert type(acc.check_delta(np.float64(1e-9))) is float


def test_reference_value():
    # Published with several releases of private synthetic data: epsilon 1 at delta 1e-9.
    assert acc.epsilon_to_rho(1.0, 1e-9) == pytest.approx(0.014973, abs=5e-7)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_conversions_agree_with_a_grid_and_with_each_other(epsilon, delta):
    rho = acc.epsilon_to_rho(epsilon, delta)
    assert acc.rho_to_epsilon(rho, delta) <= epsilon  # never overspent, without a tolerance
    assert acc.rho_to_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-9)
    assert acc.rho_to_epsilon(rho * (1 + 1e-6), delta) > epsilon  # and nothing left lying
    # The grid is never better than the true optimum; near it, it is nearly as good.
    assert grid_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-7, abs=1e-8)
    assert acc.rho_to_delta(rho, epsilon) == pytest.approx(delta, rel=1e-6)
    # The older, looser bound (Bun and Steinke 2016, Proposition 1.3) is never better.
    assert epsilon <= (rho + 2 * math.sqrt(rho * math.log(1 / delta))) * (1 + 1e-9)


@pytest.mark.parametrize("rho", [1e-9, 1e-4, 0.01, 0.5, 5.0, 1e3])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_exact_gaussian_is_never_above(rho, delta):
    epsilon = acc.rho_to_epsilon(rho, delta)
    exact = gaussian_epsilon(rho, delta)
    assert exact <= epsilon
    if epsilon > 1e-9:
        assert gaussian_delta(rho, epsilon) <= delta * (1 + 1e-9)
    if exact > 1e-9:
        assert gaussian_delta(rho, exact) == pytest.approx(delta, rel=1e-3)


def test_exact_gaussian_by_numerical_integration():
    # Hockey-stick divergence of N(mu, 1) and N(0, 1), summed on a fine grid.
    for rho, epsilon in ((0.5, 1.0), (0.02, 0.1), (2.0, 3.0)):
        mu = math.sqrt(2 * rho)
        x = np.linspace(-15, 18, 2_000_001)
        excess = np.maximum(norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x), 0)
        assert gaussian_delta(rho, epsilon) == pytest.approx(
            float(np.trapezoid(excess, x)), rel=1e-6
        )


@given(st.floats(1e-3, 1e6), st.floats(1e-15, 0.1), st.floats(1.0, 10.0))
@settings(deadline=None, max_examples=60)
def test_monotone_and_conservative(epsilon, delta, more):
    rho = acc.epsilon_to_rho(epsilon, delta)
    assert 0 < rho <= acc.epsilon_to_rho(epsilon * more, delta)
    assert rho <= acc.epsilon_to_rho(epsilon, min(0.5, delta * more))
    assert acc.rho_to_epsilon(rho, delta) <= epsilon
    assert acc.rho_to_epsilon(rho, delta) <= acc.rho_to_epsilon(rho * more, delta)
    back = acc.rho_to_epsilon(rho, delta)
    assert acc.epsilon_to_rho(back, delta) <= rho * (1 + 1e-9)


def test_ends_of_the_range():
    assert acc.rho_to_epsilon(0, 1e-9) == acc.rho_to_delta(0, 1.0) == 0.0
    assert acc.rho_to_epsilon(1e-3, 0.1) == 0.0  # so little that delta alone covers it
    assert acc.rho_to_delta(1e6, 1.0) == pytest.approx(1.0)
    assert acc.rho_to_delta(1e-12, 10.0) == 0.0
    assert gaussian_epsilon(0, 1e-9) == 0.0
    for convert in (acc.rho_to_epsilon, acc.epsilon_to_rho):
        with pytest.raises(chaffinch.errors.InputError):
            convert(-1.0, 1e-9)


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Return the Renyi divergence of two laws, given by the logarithms of their masses."""
    return float(logsumexp(order * p + (1 - order) * q) / (order - 1))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 2.5])
def test_pure_privacy_has_that_rho(epsilon):
    # Randomised response is the worst pure mechanism; discrete Laplace noise on a count is the usual one.
    def response(e: float) -> np.ndarray:
        return np.array([e, 0.0]) - math.log1p(math.exp(e))

    z = np.arange(-10_000, 10_001)  # beyond, masses are below e^-100 of the whole
    laplace = -epsilon * np.abs(z) + math.log(math.tanh(epsilon / 2))
    for order in (1.01, 1.5, 2.0, 5.0, 30.0):
        most = acc.pure_to_rho(epsilon) * order * (1 + 1e-9)
        assert renyi(response(epsilon), response(epsilon)[::-1], order) <= most
        assert renyi(laplace[1:], laplace[:-1], order) <= most
    # Tight for small epsilon: no smaller constant than a half will do.
    assert renyi(response(0.01), response(0.01)[::-1], 2.0) == pytest.approx(
        2 * acc.pure_to_rho(0.01), rel=1e-3
    )


def test_selection_has_that_rho_and_it_is_nearly_reached():
    rng = np.random.default_rng(3)
    epsilon, worst = 1.0, 0.0
    for trial in range(400):
        size = int(rng.integers(2, 6))
        scores = rng.integers(0, 6, size).astype(float)
        jump = rng.choice([-1.0, 1.0], size) if trial % 2 else rng.uniform(-1, 1, size)
        p, q = (s * epsilon / 2 - logsumexp(s * epsilon / 2) for s in (scores, scores + jump))
        for order in (1.01, 2.0, 8.0):
            worst = max(worst, renyi(p, q, order) / order)
    assert 0.95 * acc.selection_to_rho(epsilon) < worst <= acc.selection_to_rho(epsilon)
    assert acc.selection_to_rho(epsilon) == acc.pure_to_rho(epsilon) / 4
