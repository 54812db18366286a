"""All measurements put together: against weighted least squares written out in full."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from chaffinch.privacy.counter import NoisyTable
from chaffinch.synth.bayesnet.private.measurements import (
    LENGTHS,
    STRENGTHS,
    Measurements,
    centre,
    expected_gap,
    factors_of,
    in_order,
)
from chaffinch.table import Column


def noisy(counts, std):
    counts = np.asarray(counts)
    return NoisyTable(tuple("abc"[: counts.ndim]), counts.shape, counts, std)


@pytest.fixture(scope="module")
def measured():
    """Columns of 2 and 3 levels, their pair, and 6,000 records: far from 0, so that nothing is cut off."""
    rng = np.random.default_rng(7)
    true = np.array([[900, 1100, 500], [1300, 700, 1500]])

    def draw(counts, std):
        return noisy(np.round(counts + rng.normal(0, std, counts.shape)).astype(np.int64), std)

    return draw(true.sum(axis=1), 6.0), draw(true.sum(axis=0), 4.0), draw(true, 3.0)


def test_single_columns_are_the_weighted_least_squares_of_all_tables(measured):
    first, second, pair = measured
    released = Measurements((2, 3), (False, False))
    released.add([(0,), (1,)], [first, second])
    released.add([(0, 1)], [pair])
    # Unknown: the six counts. Every cell of every table is a sum of some, with its own noise.
    cells = np.eye(6).reshape(2, 3, 6)
    rows = np.concatenate(
        [
            cells.sum(axis=1) / first.std,
            cells.sum(axis=0) / second.std,
            cells.reshape(6, 6) / pair.std,
        ]
    )
    values = np.concatenate([t.counts.ravel() / t.std for t in measured])
    best = np.linalg.lstsq(rows, values, rcond=None)[0].reshape(2, 3)
    assert released.total == pytest.approx(best.sum(), abs=0.01)
    np.testing.assert_allclose(
        released.margins[0], best.sum(axis=1), atol=0.5
    )  # a hair is held back as noise
    np.testing.assert_allclose(released.margins[1], best.sum(axis=0), atol=0.5)
    np.testing.assert_allclose(released.tables[0, 1], best, atol=1.5)
    # Precision adds up: 1/36 from the column itself, and 1/(3 x 9) from the pair, of which its cells are sums of three.
    assert released.stds[0] == pytest.approx((1 / 36 + 1 / 27) ** -0.5)
    assert released.stds[1] == pytest.approx((1 / 16 + 1 / 18) ** -0.5)


def test_estimates_agree_and_have_no_negative_counts():
    rng = np.random.default_rng(2)
    released = Measurements((3, 4), (True, True))
    released.add([(0,), (1,)], [noisy(rng.integers(-9, 9, k), 6.0) for k in (3, 4)])
    released.add([(0, 1)], [noisy(rng.integers(-9, 9, (3, 4)), 6.0)])
    table = released.tables[0, 1]
    assert table.min() >= 0
    assert [m.min() >= 0 for m in released.margins] == [True, True]
    assert [m.sum() for m in released.margins] == pytest.approx([released.total] * 2)
    np.testing.assert_allclose(table.sum(axis=1), released.margins[0], atol=1e-6 * released.total)


def test_which_levels_stand_in_an_order():
    assert in_order(Column("a", "integer"))
    assert in_order(Column("a", "categorical", levels=("low", "high"), ordered=True))
    assert in_order(Column("a", "categorical", levels=(1, 2, 5)))
    assert not in_order(Column("a", "categorical", levels=(2, 1, 5)))
    assert not in_order(Column("a", "categorical", levels=("x", "y")))
    assert not in_order(Column("a", "boolean"))


def covariances(shares, *, ordered):
    """The factors of a column by their definition."""
    shares = shares / shares.sum()
    root = np.sqrt(shares)
    steps = np.abs(np.subtract.outer(np.arange(len(shares)), np.arange(len(shares))))
    likeness = [
        np.eye(len(shares)),
        *(np.exp(-steps / length) for length in LENGTHS if ordered and len(shares) > 3),
    ]
    return [root[:, None] * c * root for c in likeness]


@pytest.mark.parametrize("ordered", [True, False])
def test_factors_are_what_they_say(ordered):
    shares = np.array([5.0, 1.0, 0.0, 3.0, 2.0])
    factors = factors_of(shares, ordered=ordered)
    for factor, full in zip(factors, covariances(shares, ordered=ordered), strict=True):
        vectors = np.eye(5) if factor.vectors is None else factor.vectors
        np.testing.assert_allclose(vectors @ np.diag(factor.values) @ vectors.T, full, atol=1e-12)
    assert len(factors_of(np.ones(3), ordered=True)) == 1, (
        "three levels have no neighbours to speak of"
    )


@pytest.mark.parametrize("ordered", [True, False])
def test_the_expected_difference_is_the_posterior_mean_of_the_likeliest_process(ordered):
    rng = np.random.default_rng(3)
    one, other, total, variance = rng.random(5) + 0.1, rng.random(4) + 0.1, 100.0, 9.0
    gap = 20 * np.outer(np.linspace(-1, 1, 5), np.linspace(1, -1, 4)) + rng.normal(0, 3, (5, 4))
    factors = [factors_of(margin, ordered=ordered) for margin in (one, other)]
    answers = {}
    for i, first in enumerate(covariances(one, ordered=ordered)):
        for j, second in enumerate(covariances(other, ordered=ordered)):
            for t in STRENGTHS * total**2:
                signal = t * np.kron(first, second)
                whole = signal + variance * np.eye(20)
                likelihood = multivariate_normal(np.zeros(20), whole).logpdf(gap.ravel())
                answers[i, j, t] = likelihood, signal @ np.linalg.solve(whole, gap.ravel())
    out = expected_gap(gap, factors, variance, total)
    distances = {key: np.abs(mean - out.ravel()).max() for key, (_, mean) in answers.items()}
    key = min(distances, key=distances.get)
    assert distances[key] < 1e-9, "it is the posterior mean of one of the processes"
    likelihoods = {key: likelihood for key, (likelihood, _) in answers.items()}
    i, j, _ = key
    along_rows = max(v for (a, b, _), v in likelihoods.items() if b == 0)
    assert max(v for (a, b, _), v in likelihoods.items() if (a, b) == (i, 0)) == pytest.approx(
        along_rows
    )
    assert likelihoods[key] == pytest.approx(
        max(v for (a, b, _), v in likelihoods.items() if a == i)
    )


def test_noise_alone_is_taken_out_and_large_differences_stay():
    rng = np.random.default_rng(1)
    factors = [factors_of(np.ones(8), ordered=True)] * 2
    noise = rng.normal(0, 5, (8, 8))
    assert not expected_gap(noise, factors, 25.0, 1000.0).any()
    far = 5000 * centre(rng.random((8, 8)))
    np.testing.assert_allclose(expected_gap(far, factors, 1e-6, 10_000.0), far, atol=1e-3)
    np.testing.assert_array_equal(expected_gap(far, factors, 0.0, 10_000.0), far)


def test_smooth_tables_come_nearer_than_they_were_measured():
    """A ridge along the diagonal of 16 x 16 levels under noise of half its height: at least a third of the error goes (seeded)."""
    rng = np.random.default_rng(5)
    i = np.arange(16)
    ridge = centre(20 * np.exp(-((i[:, None] - i) ** 2) / 20))
    noisy = centre(ridge + rng.normal(0, 10, (16, 16)))
    out = expected_gap(
        noisy, [factors_of(np.ones(16), ordered=True)] * 2, 100.0 * (15 / 16) ** 2, 3000.0
    )
    assert np.abs(out - ridge).sum() < 2 / 3 * np.abs(noisy - ridge).sum()
