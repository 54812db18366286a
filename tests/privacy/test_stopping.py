"""The best of a random number of runs: its law by series, its draws, and its privacy loss by enumeration on laws that are worst."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaffinch._base.errors import InputError
from chaffinch.privacy.accounting import rho_to_epsilon
from chaffinch.privacy.selection import Stopping, stopping_for

from .conftest import gaussian_pmf

SHAPES = [Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1)]


def law_of(stopping, most=60_000):
    """Return P(K = k) for k = 1, 2, ... from the definition, factor by factor."""
    g, h = 1 / stopping.one_in, float(stopping.shape)
    steps = np.arange(1, most)
    logs = np.concatenate([[0.0], np.cumsum(np.log((steps + h) / (steps + 1)) + np.log1p(-g))])
    weights = np.exp(logs)
    return weights / weights.sum()


def best_law(stopping, law):
    """Return the law of the best of K runs, outcomes in ascending order, by the series: sum over k of P(k) (Q(up to y)^k - Q(below y)^k)."""
    chances = law_of(stopping)
    upto = np.concatenate([[0.0], np.cumsum(law)])
    upto[-1] = 1.0
    powers = np.array([(chances * x ** np.arange(1, len(chances) + 1)).sum() for x in upto])
    return np.diff(powers)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("one_in", [2, 7, 40])
def test_mean_and_generating_function_are_those_of_the_series(one_in, shape):
    stopping = Stopping(one_in, shape)
    chances = law_of(stopping)
    k = np.arange(1, len(chances) + 1)
    assert stopping.mean == pytest.approx((chances * k).sum(), rel=1e-9)
    for x in (0.0, 0.3, 0.9, 1.0):
        assert stopping.generating(x) == pytest.approx((chances * x**k).sum(), abs=1e-12)
    assert stopping.tried(1) == 1
    assert stopping.tried(4) == pytest.approx(1 - (chances * 0.75**k).sum(), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_draws_have_the_law(shape):
    """Seeded; the p-value of a right sampler is below 1e-6 once in a million seeds."""
    stopping, n = Stopping(6, shape), 20_000
    rng = np.random.default_rng(5)
    below = lambda size: int(rng.integers(size))  # noqa: E731
    draws = np.array([stopping.draw(below) for _ in range(n)])
    expected = law_of(stopping) * n
    last = int(np.flatnonzero(expected >= 25)[-1])
    seen = np.bincount(np.minimum(draws, last + 2), minlength=last + 3)[1:]
    expected = np.append(expected[: last + 1], expected[last + 1 :].sum())
    assert stats.chisquare(seen, expected).pvalue > 1e-6
    other = law_of(Stopping(6, 1 if shape != 1 else 0)) * n  # and not another law
    assert (
        stats.chisquare(seen, np.append(other[: last + 1], other[last + 1 :].sum())).pvalue < 1e-6
    )


def test_draws_of_a_release_come_from_the_system():
    # 400 draws of mean 3, standard deviation sqrt(6): six errors of the mean, once in 500 million runs.
    draws = [Stopping(3).draw() for _ in range(400)]
    assert abs(np.mean(draws) - 3) < 6 * (6 / 400) ** 0.5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_pure_loss_is_two_and_the_shape_times_that_of_a_run(shape, epsilon):
    # Three outcomes. The top one is e^epsilon less likely on D, the middle one as much more, both rare: what is likely must make up for little.
    top, middle = 1e-3, 1e-7
    law = np.array(
        [
            1 - middle * exp(epsilon) - top * exp(-epsilon),
            middle * exp(epsilon),
            top * exp(-epsilon),
        ]
    )
    other = np.array([1 - middle - top, middle, top])
    assert np.abs(np.log(law / other)).max() <= epsilon * (1 + 1e-12)

    def exact(stopping, q):  # by the generating function: the series would need too many terms
        g, h = 1 / stopping.one_in, float(stopping.shape)
        above = np.append(np.cumsum(q[::-1])[::-1], 0.0)  # 1 - Q(below y)
        p = g + (1 - g) * above
        f = np.log(p) / log(g) if h == 0 else (p**-h - 1) / (g**-h - 1)
        return np.diff(f)

    claim = Stopping(2, shape).pure_cost(epsilon)
    worst = 0.0
    for one_in in (2, 10, 10**3, 10**6):
        stopping = Stopping(one_in, shape)
        losses = np.log(exact(stopping, law) / exact(stopping, other))
        worst = max(worst, float(np.abs(losses).max()))
        if one_in <= 10:
            np.testing.assert_allclose(
                exact(stopping, law)[[0, 2]], best_law(stopping, law)[[0, 2]], rtol=1e-7
            )
    assert worst <= claim
    assert worst >= 0.97 * claim


laws = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6)


@given(
    weights=laws,
    tilts=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    shape=st.sampled_from(SHAPES),
    one_in=st.integers(2, 500),
)
def test_no_law_of_a_run_loses_more(weights, tilts, shape, one_in):
    q = np.array(weights) / sum(weights)
    other = q * np.exp(tilts[: len(q)])
    other /= other.sum()
    epsilon = float(np.abs(np.log(q / other)).max())
    if epsilon < 1e-6:
        return
    stopping = Stopping(one_in, shape)
    best, best_other = (
        np.diff([stopping.generating(min(x, 1.0)) for x in np.append(0.0, np.cumsum(law))])
        for law in (q, other)
    )
    assert np.abs(np.log(best / best_other)).max() <= stopping.pure_cost(epsilon) + 1e-9


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.parametrize(("rho", "one_in"), [(0.02, 20), (0.1, 8), (0.5, 50)])
def test_zcdp_cost_holds_for_noisy_scores(rho, one_in, shape):
    """A run of one discrete Gaussian number, moved by 1 up or down: exactly rho-zCDP at whole orders. The exact delta of the best is below the claim's."""
    stopping, sigma, delta = Stopping(one_in, shape), (1 / (2 * rho)) ** 0.5, 1e-5
    reach = int(14 * sigma) + 3
    z = np.arange(-reach, reach + 1)

    def best(centre):
        above = np.append(np.cumsum(gaussian_pmf(z - centre, sigma)[::-1])[::-1], 0.0)
        g, h = 1 / one_in, float(shape)
        p = g + (1 - g) * np.minimum(above, 1.0)
        return np.diff(np.log(p) / log(g) if h == 0 else (p**-h - 1) / (g**-h - 1))

    epsilon = stopping.zcdp_cost(rho, delta)
    for one, two in ((0, 1), (1, 0)):
        p, q = best(one), best(two)
        assert np.maximum(p - exp(epsilon) * q, 0).sum() <= delta
    assert epsilon > rho_to_epsilon(rho, delta)  # the best of many is dearer than one
    p, q = best(1), best(0)
    assert (
        np.maximum(p - exp(epsilon / 4) * q, 0).sum() > delta
    )  # and a quarter of the claim would be wrong


def test_zcdp_cost_holds_for_runs_that_are_worst_and_is_needed():
    """Rare outcomes: the top one less likely on one table, that below it more. What keeping the best costs beyond the best run is most of it here."""
    top, middle, delta = 0.01, 1e-4, 1e-3
    law = np.array([1 - middle * exp(1) - top * exp(-1), middle * exp(1), top * exp(-1)])
    other = np.array([1 - middle - top, middle, top])
    orders = 1 + np.geomspace(1e-3, 1e4, 3000)
    rho = max(  # the largest divergence over its order, both ways: peaks are wide, so that a fine grid is near
        float(
            (
                np.logaddexp.reduce(
                    orders[:, None] * np.log(p) + (1 - orders[:, None]) * np.log(q), axis=1
                )
                / (orders - 1)
                / orders
            ).max()
        )
        for p, q in ((law, other), (other, law))
    )
    stopping = Stopping(1000)
    g = 1 / 1000

    def best(q):
        p = g + (1 - g) * np.append(np.cumsum(q[::-1])[::-1], 0.0)
        return np.diff((1 / p - 1) / (1 / g - 1))

    claim = stopping.zcdp_cost(rho * 1.0001, delta)
    for p, q in ((best(law), best(other)), (best(other), best(law))):
        assert np.maximum(p - exp(claim) * q, 0).sum() <= delta
    worst = max(
        np.maximum(p - exp(0.65 * claim) * q, 0).sum()
        for p, q in ((best(law), best(other)), (best(other), best(law)))
    )
    assert worst > delta  # two thirds of the claim would be wrong
    alone = rho_to_epsilon(rho, delta)
    assert claim > 2 * alone


@given(
    epsilon=st.floats(0.01, 20),
    delta=st.floats(1e-12, 1e-3),
    one_in=st.integers(2, 1000),
    shape=st.sampled_from(SHAPES),
)
def test_what_is_affordable_is_within_the_budget_and_uses_it(epsilon, delta, one_in, shape):
    stopping = Stopping(one_in, shape)
    run = stopping.affordable_epsilon(epsilon)
    assert epsilon * (1 - 1e-9) <= stopping.pure_cost(run) <= epsilon
    rho = stopping.affordable_rho(epsilon, delta)
    assert epsilon * (1 - 1e-6) <= stopping.zcdp_cost(rho, delta) <= epsilon


@pytest.mark.parametrize("candidates", [1, 2, 9, 40])
@pytest.mark.parametrize("tried", [0.5, 0.9])
def test_the_fewest_runs_that_try_enough(candidates, tried):
    stopping = stopping_for(candidates, tried=tried)
    assert stopping.tried(candidates) >= tried
    if stopping.one_in > 2:
        assert Stopping(stopping.one_in - 1).tried(candidates) < tried
    # By hand for geometric numbers: (1 - g)/m over g + (1 - g)/m, and g of it where the first run hits.
    g = 1 / stopping.one_in
    assert stopping.tried(candidates) == pytest.approx(
        1 - g * (1 - 1 / candidates) / (g + (1 - g) / candidates)
    )


def test_bad_laws_are_named():
    with pytest.raises(InputError, match="one_in must be a whole number of at least 2"):
        Stopping(1)
    with pytest.raises(InputError, match="above -1 and at most 1"):
        Stopping(5, Fraction(-1))
    with pytest.raises(InputError, match="above -1 and at most 1"):
        Stopping(5, "many")
    with pytest.raises(InputError, match="far too many runs"):
        stopping_for(1000, tried=0.99, shape=Fraction(0))
    with pytest.raises(InputError, match="between 0 and 1"):
        stopping_for(10, tried=1.0)
    with pytest.raises(InputError, match="Got 0"):
        stopping_for(0)
