"""Conversions of epsilon, rho, delta and amounts of Gaussian privacy: against grids, closed forms and laws worked out cell by cell."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.privacy import accounting as acc
from chaffinch.privacy.counter import PrivateCounter
from chaffinch.privacy.ledger import ROUNDING, Budget, Ledger
from chaffinch.privacy.mechanisms import (
    exponential_log_law,
    gaussian_log_law,
    permute_and_flip_log_law,
)
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.table import Column, Schema

EPSILONS = [1e-3, 0.01, 0.1, 1.0, 3.0, 10.0, 1e3, 1e6]
DELTAS = [1e-15, 1e-9, 1e-5, 1e-3, 0.1]
# Orders of the Renyi divergence: a - 1 from 1e-9 to 1e9, so fine that the least value is hit to eight digits or so.
ORDERS = np.logspace(-9, 9, 400_001)


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the exact delta at epsilon of continuous Gaussian noise that is rho-zCDP (Balle and Wang 2018, Theorem 8).

    For a composition of Gaussians alone, and of real-valued noise: a note beside a result, and a check on `rho_to_epsilon`, which
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
    assert acc.rho_to_epsilon(0, 1e-9) == 0.0
    assert acc.rho_to_epsilon(1e-3, 0.1) == 0.0  # so little that delta alone covers it
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


def test_a_choice_by_the_exponential_mechanism_has_that_rho_and_it_is_nearly_reached():
    rng = np.random.default_rng(3)
    epsilon, worst = 1.0, 0.0
    for trial in range(400):
        size = int(rng.integers(2, 6))
        scores = rng.integers(0, 6, size).astype(float)
        jump = rng.choice([-1.0, 1.0], size) if trial % 2 else rng.uniform(-1, 1, size)
        p, q = (s * epsilon / 2 - logsumexp(s * epsilon / 2) for s in (scores, scores + jump))
        for order in (1.01, 2.0, 8.0):
            worst = max(worst, renyi(p, q, order) / order)
    rho = acc.pure_to_rho(epsilon) / 4
    assert 0.95 * rho < worst <= rho
    # What a budget buys with that rho is no wider a choice.
    assert Budget(1.0, 1e-9, "zcdp").choice_epsilon(rho) <= epsilon


GAUSSIAN_EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)


def hockey_stick(p, q, epsilon):
    """The exact delta at epsilon of two laws on the same outcomes."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("mu", [1e-7, 9e-4, 1.1e-3, 0.1, 0.7, 3.0])
@pytest.mark.parametrize("z", [0.3, 2.0, 5.0, 8.0])
def test_delta_is_the_integral(mu, z):
    """delta = E max(0, 1 - exp(epsilon - L)) for the loss L ~ N(mu^2 / 2, mu^2), with epsilon at z standard deviations above its mean."""
    epsilon = mu * z + mu * mu / 2
    start, _ = integrate.quad(
        lambda x: norm.pdf(z + x) / norm.pdf(z) * -math.expm1(-mu * x),
        0,
        12,
        epsabs=0,
        epsrel=1e-12,
        limit=500,
    )
    exact = start * norm.pdf(z)
    assert exact * (1 - 1e-10) <= acc.gaussian_delta(mu, epsilon) <= exact * (1 + 3e-7)


def test_delta_where_it_is_large():
    assert acc.gaussian_delta(2.0, 0.0) == pytest.approx(2 * norm.cdf(1.0) - 1)  # total variation
    assert acc.gaussian_delta(100.0, 1.0) == 1.0
    assert acc.gaussian_delta(1e-5, 0.0) == pytest.approx(2 * norm.cdf(5e-6) - 1, rel=1e-6)


@given(epsilon=st.floats(1e-4, 20.0), log_delta=st.floats(-30.0, -0.7), more=st.floats(1.01, 3.0))
@settings(max_examples=60, deadline=None)
def test_amounts_and_epsilons_are_inverse_and_rounded_to_the_safe_side(epsilon, log_delta, more):
    delta = math.exp(log_delta)
    amount = acc.epsilon_to_amount(epsilon, delta)
    assert acc.amount_to_epsilon(amount, delta) <= epsilon  # without a tolerance
    assert acc.gaussian_delta(math.sqrt(2 * amount), epsilon) <= delta * (1 + 1e-12)
    assert acc.gaussian_delta(math.sqrt(2 * amount * (1 + 1e-5)), epsilon) > delta * (
        1 - 1e-9
    )  # nothing left lying
    assert amount >= acc.epsilon_to_rho(epsilon, delta) * (
        1 - 1e-9
    )  # exact is never worse than zCDP
    assert amount <= acc.epsilon_to_amount(epsilon * more, delta)
    assert acc.amount_to_epsilon(0, delta) == 0.0


@pytest.mark.parametrize("sigma", [4.0, 10.0, 60.0])
def test_epsilon_is_below_what_opendp_says(sigma):
    """OpenDP turns the rho of its discrete Gaussian into epsilon by zCDP, as `rho_to_epsilon` does; the exact one is 5 to 10 % less."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    mechanism = dp.m.make_gaussian(*space, scale=sigma)
    rho = mechanism.map(1.0)
    assert rho == pytest.approx(0.5 / sigma**2)
    for delta in (1e-5, 1e-6, 1e-9):
        theirs = dp.c.make_zCDP_to_approxDP(mechanism).map(1.0).epsilon(delta)
        assert acc.rho_to_epsilon(rho, delta) == pytest.approx(theirs, rel=1e-4)
        assert 0.85 * theirs < acc.amount_to_epsilon(rho, delta) < 0.97 * theirs


# Whole-numbered noise


@pytest.mark.parametrize("variance", [0.5, 4.0, 90.0])
@pytest.mark.parametrize("loss", [1e-2, 1e-4, 1e-7])
def test_discrete_noise_is_rounded_normal_noise_up_to_the_factor(variance, loss):
    """By numerical integral: the law of a normal number that is rounded at random, around 0 and around 3."""
    square = acc.rounding_variance(variance, loss)
    width, sigma = math.sqrt(variance), math.sqrt(variance + square)
    k = np.arange(-int(9 * sigma) - 4, int(9 * sigma) + 8)
    for centre in (0, 3):
        y, step = np.linspace(centre - 12 * width, centre + 12 * width, 24_001, retstep=True)
        rounding = np.exp(-((k[:, None] - y[None, :]) ** 2) / (2 * square))
        rounding /= np.exp(-((np.arange(-300, 301)[:, None] - y[None, :]) ** 2) / (2 * square)).sum(
            axis=0
        )
        rounded = rounding @ norm.pdf(y, centre, width) * step
        ratio = np.log(rounded) - gaussian_log_law(k - centre, sigma)
        middle = np.abs(k - centre) < 6 * sigma
        assert np.abs(ratio[middle]).max() <= loss + 2e-10  # of the integral
    assert (
        square == 0.1 or acc.rounding_variance(variance, loss * 0.99) > square
    )  # the least that its bound allows


def whole_delta(shifts, sigma, epsilon):
    """The exact delta of discrete Gaussian noise in as many cells as there are shifts, by enumeration."""
    most = math.ceil(10 * sigma) + 5
    z = np.arange(-most, most + 1)
    p, q = np.ones(1), np.ones(1)
    for shift in shifts:
        p = np.multiply.outer(p, np.exp(gaussian_log_law(z, sigma))).ravel()
        q = np.multiply.outer(q, np.exp(gaussian_log_law(z + shift, sigma))).ravel()
    return hockey_stick(p, q, epsilon)


@pytest.mark.parametrize("shifts", [(1,), (2,), (1, -1), (3,), (1, 1, -2)])
@pytest.mark.parametrize("width", [0.6, 1.0, 2.5])
def test_noise_that_a_budget_buys_keeps_to_the_exact_curve(shifts, width):
    """All of an amount in one answer: at every epsilon its exact delta is at most that of normal noise. Without rounding it is not."""
    length, cells = math.sqrt(sum(shift**2 for shift in shifts)), sum(map(abs, shifts))
    mu = length / width / 2 if len(shifts) == 3 else length / width
    sigma = length / mu
    square = acc.rounding_variance(sigma**2, (loss := 1e-4) / cells)
    bare = []
    for epsilon in np.linspace(0.01, 4 * mu + mu * mu / 2, 40 if len(shifts) < 3 else 8):
        claim = acc.gaussian_delta(mu, max(0.0, epsilon - 2 * loss)) * math.exp(loss)
        assert (
            whole_delta(shifts, math.sqrt(sigma**2 + square), epsilon) <= claim * (1 + 1e-9) + 1e-15
        )
        bare.append(whole_delta(shifts, sigma, epsilon) > claim * (1 + 1e-9))
    if len(shifts) == 1:
        assert any(bare)


def test_a_budget_adds_what_rounding_needs():
    budget = Budget(1.0, 1e-6)
    assert budget.kind == "gaussian"
    for part, cells in ((0.5, 1), (0.01, 2), (1e-3, 4000)):
        amount = part * budget.total
        sigma, _ = budget.noise(amount, l1=cells, l2=math.sqrt(cells))
        extra = sigma**2 - cells / (2 * amount)
        loss = ROUNDING * 1.0 / 2 * part / cells
        assert extra == pytest.approx(acc.rounding_variance(cells / (2 * amount), loss), rel=1e-6)
        assert 0.3 < extra < 0.8  # a fraction of a record, squared
    # All that rounding loses, over answers that use the budget up, is the part of epsilon that was set aside for it.
    assert acc.amount_to_epsilon(budget.total, 1e-6 * math.exp(-ROUNDING / 2)) <= 1.0 - ROUNDING


# Choices


def test_a_window_of_odds_is_widest_in_the_middle():
    for width in (0.01, 0.5, 2.0, 8.0):
        low = np.linspace(-30, 30, 4001)
        p, q = 1 / (1 + np.exp(-(low + width))), 1 / (1 + np.exp(-low))
        apart = norm.ppf(p) - norm.ppf(q)
        mu = math.sqrt(2 * acc.width_to_amount(width))
        ends = np.isfinite(apart)
        assert apart[ends].max() <= mu * (1 + 1e-8)
        assert apart[ends].max() == pytest.approx(mu, rel=1e-4)
        assert acc.amount_to_width(acc.width_to_amount(width)) == pytest.approx(width, rel=1e-8)
    slopes = [acc.width_to_amount(w) / (w * w / 8) for w in (1e-9, 1e-3, 0.1, 1.0, 5.0)]
    assert slopes[0] == pytest.approx(math.pi / 2)
    assert all(a >= b * (1 - 1e-9) for a, b in pairwise(slopes))
    for amount in (1e-12, 1e-5, 0.3, 4.0):
        assert acc.width_to_amount(acc.amount_to_width(amount)) <= amount


@pytest.mark.parametrize("seed", range(4))
def test_choices_keep_to_the_curve_of_their_amount(seed):
    """Exact laws of both mechanisms on scores that move by one at most; two candidates that move apart touch the curve."""
    rng = np.random.default_rng(seed)
    budget = Budget(5.0, 1e-6)
    assert budget.kind == "gaussian"
    amount = (0.02, 0.3)[seed % 2]
    mu, tightest = math.sqrt(2 * amount), 0.0
    for mechanism, log_law in (
        ("exponential", exponential_log_law),
        ("permute-and-flip", permute_and_flip_log_law),
    ):
        scale = 2 / budget.choice_epsilon(amount, mechanism)
        for trial in range(60):
            size = 2 if trial < 20 else int(rng.integers(2, 9))
            scores = rng.integers(0, 12, size)
            moved = scores + (np.array([1, -1]) if trial < 20 else rng.integers(-1, 2, size))
            p, q = np.exp(log_law(scores, scale)), np.exp(log_law(moved, scale))
            for epsilon in GAUSSIAN_EPSILONS:
                delta, most = hockey_stick(p, q, epsilon), acc.gaussian_delta(mu, epsilon)
                assert delta <= most + 1e-12
                if mechanism == "exponential":
                    tightest = max(tightest, delta / most)
    assert tightest > 0.95


@pytest.mark.parametrize("part", [0.01, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("total", [0.02, 0.5, 3.0])
def test_a_choice_with_something_left_costs_little_more_than_its_rho(total, part):
    """For all pairs of two outcomes at the ends of the interval, and at all epsilons: with the normal draw that is left, on the curve of both."""
    amount, after = part * total, (1 - part) * total
    width = acc.amount_to_width(amount, after=after)
    assert width >= acc.amount_to_width(amount)
    assert width == pytest.approx(
        max(math.sqrt(8 * amount * (1 - part)), acc.amount_to_width(amount))
    )
    mu, both = math.sqrt(2 * after), math.sqrt(2 * total)
    tightest = 0.0
    for low in np.linspace(-12, 12, 49):
        q, p = 1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-low - width))
        up, down = math.log(p / q), math.log((1 - p) / (1 - q))
        for epsilon in np.linspace(-6 * both, 6 * both, 61) + both**2 / 2:

            def curve(
                m, e
            ):  # of both signs: delta(-e) = 1 - exp(-e) (1 - delta(e)), the curve of a symmetric pair
                return (
                    acc.gaussian_delta(m, e)
                    if e >= 0
                    else 1 - math.exp(e) * (1 - acc.gaussian_delta(m, -e))
                )

            found = p * curve(mu, epsilon - up) + (1 - p) * curve(mu, epsilon - down)
            most = curve(both, epsilon)
            assert found <= most * (1 + 1e-8) + 1e-13
            tightest = max(tightest, found / most if 1e-6 < most < 0.5 else 0.0)
    assert tightest > 0.75
    assert acc.amount_to_width(amount, after=1e9) == pytest.approx(math.sqrt(8 * amount))


def test_selections_are_asked_for_at_the_price_that_what_is_left_allows():
    """Through the counter: the scale of a choice is that of its amount and of what the ledger then has left."""
    budget = Budget(1.0, 1e-6)
    ledger = Ledger(budget, PrivacyUnit("add-remove"))
    table = prepare(
        pa.table({"a": ["0", "1"] * 20, "b": ["0", "1"] * 20}),
        Schema(
            tuple(Column(name, "categorical", levels=("0", "1")) for name in "ab"),
            public=True,
            rows=40,
        ),
    )

    class Recorder:
        test_only = True
        scales: ClassVar[list[float]] = []

        def exponential(self, scores, scale):
            self.scales.append(scale)
            return 0

    counter = PrivateCounter(MemoryCounter(table), ledger, Recorder())
    amounts = [0.1 * budget.total, 0.5 * budget.total, 0.4 * budget.total]
    for amount in amounts:
        counter.select([(0, (1,)), (1, (0,))], "R", amount, rows=40, why="test")
    lefts = [0.9 * budget.total, 0.4 * budget.total, 0.0]
    widths = [
        max(acc.amount_to_width(a), math.sqrt(8 * a * r / (a + r)))
        for a, r in zip(amounts, lefts, strict=True)
    ]
    products = [scale * width for scale, width in zip(Recorder.scales, widths, strict=True)]
    assert products == pytest.approx([products[0]] * 3, rel=1e-5)  # twice the sensitivity, in steps
    assert widths[0] == pytest.approx(math.sqrt(8 * amounts[0] * 0.9))
    assert widths[2] == pytest.approx(acc.amount_to_width(amounts[2]))


# Sums of steps that are chosen on the way


def test_answers_that_are_chosen_on_the_way_stay_on_the_curve():
    """By enumeration: a noisy number, then, by what it was, the rest in noise, in a choice, or in two answers of other sizes.

    The chooser is the worst there is, one who sees the loss so far. Whatever is chosen, costs add up to the total.
    """
    total, loss = 0.5, 1e-3
    mu = math.sqrt(2 * total)

    def noise_law(amount, shift):
        square = 1 / (2 * amount)
        sigma = math.sqrt(square + acc.rounding_variance(square, loss / 8))
        z = np.arange(-40, 41)
        return np.exp(gaussian_log_law(z, sigma)), np.exp(gaussian_log_law(z + shift, sigma))

    def choice_law(amount, after=0.0):
        width = acc.amount_to_width(amount, after=after)
        p = 1 / (1 + math.exp(-width / 2))
        return np.array([p, 1 - p]), np.array([1 - p, p])

    def product(one, two):
        return tuple(np.multiply.outer(a, b).ravel() for a, b in zip(one, two, strict=True))

    first = noise_law(0.2, 1)
    rests = [
        noise_law(0.3, 1),
        choice_law(0.3),
        product(choice_law(0.1, after=0.2), noise_law(0.2, 1)),
        product(noise_law(0.05, 1), noise_law(0.25, 1)),
        product(choice_law(0.15, after=0.15), choice_law(0.15)),
        (np.ones(1), np.ones(1)),
    ]
    for epsilon in GAUSSIAN_EPSILONS:
        worst = sum(
            max(hockey_stick(p * rest[0], q * rest[1], epsilon) for rest in rests)
            for p, q in zip(*first, strict=True)
        )
        claim = acc.gaussian_delta(mu, max(0.0, epsilon - 2 * loss)) * math.exp(loss)
        assert worst <= claim
        assert worst > 0.6 * claim or epsilon > 2  # and the bound is not idle
    # A choice at the price of zCDP would break it, if it comes last and at the right moment.
    width = math.sqrt(8 * 0.3)
    p = 1 / (1 + math.exp(-width / 2))
    cheap = np.array([p, 1 - p]), np.array([1 - p, p])
    assert any(
        sum(
            max(hockey_stick(a * rest[0], b * rest[1], epsilon) for rest in (*rests, cheap))
            for a, b in zip(*first, strict=True)
        )
        > acc.gaussian_delta(mu, max(0.0, epsilon - 2 * loss)) * math.exp(loss)
        for epsilon in GAUSSIAN_EPSILONS
    )
