"""Weights that bring a model onto constraints: zeros where they must be, single columns as they were."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.synth.projecting import (
    MOST_WEIGHT,
    Projection,
    fitted_weights,
    projected_rows,
    projection_of,
)
from chaffinch.table.rules.constraints import AllowedCodes


@settings(deadline=None)
@given(st.integers(0, 200))
def test_columns_keep_their_shares_where_some_table_can_have_them(seed):
    """The shares come from a table with the zeros, spread over forbidden cells as independence would: so some table has them."""
    rng = np.random.default_rng(seed)
    allowed = rng.random((3, 4)) < 0.7
    allowed[0], allowed[:, 0] = True, True
    truth = rng.random((3, 4)) * allowed
    truth /= truth.sum()
    independent = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    weights = fitted_weights(independent, allowed)
    fitted = independent * weights
    assert (fitted[~allowed] == 0).all()
    if weights.max() < MOST_WEIGHT:
        assert np.allclose(fitted.sum(axis=1), truth.sum(axis=1), atol=2e-3)
        assert np.allclose(fitted.sum(axis=0), truth.sum(axis=0), atol=2e-3)


def test_nothing_is_weighted_where_nothing_is_forbidden():
    shares = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert np.allclose(fitted_weights(shares, np.ones((2, 2), dtype=bool)), 1)


GROUP = AllowedCodes(("a", "b"), np.array([[True, False], [True, True]]), ("rule",))


def independent(n, rng):
    return {
        "a": (rng.random(n) < 0.8).astype(np.uint32),
        "b": (rng.random(n) < 0.5).astype(np.uint32),
        "c": rng.integers(0, 9, n).astype(np.uint32),
    }


def test_accepted_rows_keep_columns_and_have_no_forbidden_cell():
    """Counts of 40,000 rows: five standard deviations are 0.0125 at most, passed once in 500,000 a figure."""
    projection = projection_of([GROUP], independent)
    assert projection is not None
    rng = np.random.default_rng(7)
    rows = projected_rows(projection, independent(40_000, rng), 40_000, rng, independent)
    assert len(rows["a"]) == 40_000
    assert GROUP.holds(rows).all()
    assert abs(rows["a"].mean() - 0.8) < 0.0125
    assert abs(rows["b"].mean() - 0.5) < 0.0125


def test_a_model_that_hardly_breaks_them_has_no_projection():
    def nearly(n, rng):
        codes = independent(n, rng)
        codes["b"][(codes["a"] == 0) & (rng.random(n) < 0.999)] = 0
        return codes

    assert projection_of([GROUP], nearly) is None


def test_rows_come_also_where_none_is_accepted():
    never = Projection((GROUP,), (np.array([[1.0, 0.0], [0.0, 0.0]]),))
    rng = np.random.default_rng(1)

    def wrong(n, rng):
        return {name: np.ones(n, dtype=np.uint32) for name in ("a", "b")}

    assert len(projected_rows(never, wrong(5, rng), 5, rng, wrong)["a"]) == 5
