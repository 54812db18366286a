"""Gaussian privacy: conversions against numerical integrals and OpenDP, whole-numbered noise and choices against exact enumeration."""

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
from scipy.stats import norm

from chaffinch.counts import MemoryCounter
from chaffinch.privacy import accounting as acc
from chaffinch.privacy import accounting as gdp
from chaffinch.privacy.counter import PrivateCounter
from chaffinch.privacy.ledger import ROUNDING, Budget, Ledger
from chaffinch.privacy.mechanisms import (
    exponential_log_law,
    gaussian_log_law,
    permute_and_flip_log_law,
)
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import Unit
from chaffinch.table import Column, Schema

EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)


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
    assert exact * (1 - 1e-10) <= gdp.gaussian_delta(mu, epsilon) <= exact * (1 + 3e-7)


def test_delta_where_it_is_large():
    assert gdp.gaussian_delta(2.0, 0.0) == pytest.approx(2 * norm.cdf(1.0) - 1)  # total variation
    assert gdp.gaussian_delta(100.0, 1.0) == 1.0
    assert gdp.gaussian_delta(1e-5, 0.0) == pytest.approx(2 * norm.cdf(5e-6) - 1, rel=1e-6)


@given(epsilon=st.floats(1e-4, 20.0), log_delta=st.floats(-30.0, -0.7), more=st.floats(1.01, 3.0))
@settings(max_examples=60, deadline=None)
def test_amounts_and_epsilons_are_inverse_and_rounded_to_the_safe_side(epsilon, log_delta, more):
    delta = math.exp(log_delta)
    amount = gdp.epsilon_to_amount(epsilon, delta)
    assert gdp.amount_to_epsilon(amount, delta) <= epsilon  # without a tolerance
    assert gdp.gaussian_delta(math.sqrt(2 * amount), epsilon) <= delta * (1 + 1e-12)
    assert gdp.gaussian_delta(math.sqrt(2 * amount * (1 + 1e-5)), epsilon) > delta * (
        1 - 1e-9
    )  # nothing left lying
    assert amount >= acc.epsilon_to_rho(epsilon, delta) * (
        1 - 1e-9
    )  # exact is never worse than zCDP
    assert amount <= gdp.epsilon_to_amount(epsilon * more, delta)
    assert gdp.amount_to_epsilon(0, delta) == 0.0


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
        assert 0.85 * theirs < gdp.amount_to_epsilon(rho, delta) < 0.97 * theirs


# Whole-numbered noise


@pytest.mark.parametrize("variance", [0.5, 4.0, 90.0])
@pytest.mark.parametrize("loss", [1e-2, 1e-4, 1e-7])
def test_discrete_noise_is_rounded_normal_noise_up_to_the_factor(variance, loss):
    """By numerical integral: the law of a normal number that is rounded at random, around 0 and around 3."""
    square = gdp.rounding_variance(variance, loss)
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
        square == 0.1 or gdp.rounding_variance(variance, loss * 0.99) > square
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
    square = gdp.rounding_variance(sigma**2, (loss := 1e-4) / cells)
    bare = []
    for epsilon in np.linspace(0.01, 4 * mu + mu * mu / 2, 40 if len(shifts) < 3 else 8):
        claim = gdp.gaussian_delta(mu, max(0.0, epsilon - 2 * loss)) * math.exp(loss)
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
        assert extra == pytest.approx(gdp.rounding_variance(cells / (2 * amount), loss), rel=1e-6)
        assert 0.3 < extra < 0.8  # a fraction of a record, squared
    # All that rounding loses, over answers that use the budget up, is the part of epsilon that was set aside for it.
    assert gdp.amount_to_epsilon(budget.total, 1e-6 * math.exp(-ROUNDING / 2)) <= 1.0 - ROUNDING


# Choices


def test_a_window_of_odds_is_widest_in_the_middle():
    for width in (0.01, 0.5, 2.0, 8.0):
        low = np.linspace(-30, 30, 4001)
        p, q = 1 / (1 + np.exp(-(low + width))), 1 / (1 + np.exp(-low))
        apart = norm.ppf(p) - norm.ppf(q)
        mu = math.sqrt(2 * gdp.width_to_amount(width))
        ends = np.isfinite(apart)
        assert apart[ends].max() <= mu * (1 + 1e-8)
        assert apart[ends].max() == pytest.approx(mu, rel=1e-4)
        assert gdp.amount_to_width(gdp.width_to_amount(width)) == pytest.approx(width, rel=1e-8)
    slopes = [gdp.width_to_amount(w) / (w * w / 8) for w in (1e-9, 1e-3, 0.1, 1.0, 5.0)]
    assert slopes[0] == pytest.approx(math.pi / 2)
    assert all(a >= b * (1 - 1e-9) for a, b in pairwise(slopes))
    for amount in (1e-12, 1e-5, 0.3, 4.0):
        assert gdp.width_to_amount(gdp.amount_to_width(amount)) <= amount


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
            for epsilon in EPSILONS:
                delta, most = hockey_stick(p, q, epsilon), gdp.gaussian_delta(mu, epsilon)
                assert delta <= most + 1e-12
                if mechanism == "exponential":
                    tightest = max(tightest, delta / most)
    assert tightest > 0.95


@pytest.mark.parametrize("part", [0.01, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("total", [0.02, 0.5, 3.0])
def test_a_choice_with_something_left_costs_little_more_than_its_rho(total, part):
    """For all pairs of two outcomes at the ends of the interval, and at all epsilons: with the normal draw that is left, on the curve of both."""
    amount, after = part * total, (1 - part) * total
    width = gdp.amount_to_width(amount, after=after)
    assert width >= gdp.amount_to_width(amount)
    assert width == pytest.approx(
        max(math.sqrt(8 * amount * (1 - part)), gdp.amount_to_width(amount))
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
                    gdp.gaussian_delta(m, e)
                    if e >= 0
                    else 1 - math.exp(e) * (1 - gdp.gaussian_delta(m, -e))
                )

            found = p * curve(mu, epsilon - up) + (1 - p) * curve(mu, epsilon - down)
            most = curve(both, epsilon)
            assert found <= most * (1 + 1e-8) + 1e-13
            tightest = max(tightest, found / most if 1e-6 < most < 0.5 else 0.0)
    assert tightest > 0.75
    assert gdp.amount_to_width(amount, after=1e9) == pytest.approx(math.sqrt(8 * amount))


def test_selections_are_asked_for_at_the_price_that_what_is_left_allows():
    """Through the counter: the scale of a choice is that of its amount and of what the ledger then has left."""
    budget = Budget(1.0, 1e-6)
    ledger = Ledger(budget, Unit("add-remove"))
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
        max(gdp.amount_to_width(a), math.sqrt(8 * a * r / (a + r)))
        for a, r in zip(amounts, lefts, strict=True)
    ]
    products = [scale * width for scale, width in zip(Recorder.scales, widths, strict=True)]
    assert products == pytest.approx([products[0]] * 3, rel=1e-5)  # twice the sensitivity, in steps
    assert widths[0] == pytest.approx(math.sqrt(8 * amounts[0] * 0.9))
    assert widths[2] == pytest.approx(gdp.amount_to_width(amounts[2]))


# Sums of steps that are chosen on the way


def test_answers_that_are_chosen_on_the_way_stay_on_the_curve():
    """By enumeration: a noisy number, then, by what it was, the rest in noise, in a choice, or in two answers of other sizes.

    The chooser is the worst there is, one who sees the loss so far. Whatever is chosen, costs add up to the total.
    """
    total, loss = 0.5, 1e-3
    mu = math.sqrt(2 * total)

    def noise_law(amount, shift):
        square = 1 / (2 * amount)
        sigma = math.sqrt(square + gdp.rounding_variance(square, loss / 8))
        z = np.arange(-40, 41)
        return np.exp(gaussian_log_law(z, sigma)), np.exp(gaussian_log_law(z + shift, sigma))

    def choice_law(amount, after=0.0):
        width = gdp.amount_to_width(amount, after=after)
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
    for epsilon in EPSILONS:
        worst = sum(
            max(hockey_stick(p * rest[0], q * rest[1], epsilon) for rest in rests)
            for p, q in zip(*first, strict=True)
        )
        claim = gdp.gaussian_delta(mu, max(0.0, epsilon - 2 * loss)) * math.exp(loss)
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
        > gdp.gaussian_delta(mu, max(0.0, epsilon - 2 * loss)) * math.exp(loss)
        for epsilon in EPSILONS
    )
