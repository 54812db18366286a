"""All measurements put together: against weighted least squares written out in full."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.privacy.counter import NoisyTable
from chaffinch.synth.bayesnet.private.measurements import Measurements, in_order
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
