"""Linear and logistic regression against statsmodels; dependence and separation against linear algebra and programming."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

from chaffinch.stats.glm import (
    CannotFitError,
    RegressionFit,
    class_influence,
    independent_columns,
    influence,
    logit,
    ols,
)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def sample(n: int = 400, seed: int = 0) -> tuple[Floats, Floats, Mask]:
    """Return an intercept, numbers of very different sizes and two dummies; a numeric and a yes-or-no response."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, n)
    x = np.column_stack(
        [
            np.ones(n),
            rng.normal(size=n),
            1e4 * rng.gamma(1.0, size=n),
            level == 1,
            level == 2,
            1e-5 * rng.normal(size=n),
        ]
    ).astype(np.float64)
    eta = x @ [0.3, -0.8, 1e-4, 0.5, -1.0, 2e4]
    return x, eta + rng.normal(size=n), rng.random(n) < 1 / (1 + np.exp(-eta))


def assert_same(
    fit: RegressionFit, theirs: object, level: float, columns: object = slice(None)
) -> None:
    low, high = np.asarray(theirs.conf_int(1 - level)).T  # type: ignore[attr-defined]
    for ours, expected in (
        (fit.values, theirs.params),  # type: ignore[attr-defined]
        (fit.errors, theirs.bse),  # type: ignore[attr-defined]
        (fit.low, low),
        (fit.high, high),
    ):
        np.testing.assert_allclose(ours[columns], expected, rtol=1e-6)  # type: ignore[index]


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("n", [12, 400])
def test_ols_is_statsmodels(n: int, level: float) -> None:
    x, y, _ = sample(n)
    fit = ols(x, y, level=level)
    assert_same(fit, sm.OLS(y, x).fit(), level)
    assert fit.df == n - 6
    assert not fit.aliased.any()
    assert not fit.unbounded.any()


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_logit_is_statsmodels(seed: int, level: float) -> None:
    x, _, y = sample(seed=seed)
    fit = logit(x, y, level=level)
    scale = np.abs(x).max(axis=0)  # statsmodels' own iteration needs columns of like size
    theirs = sm.Logit(y.astype(float), x / scale).fit(disp=0, tol=1e-12, maxiter=100)
    np.testing.assert_allclose(fit.values, theirs.params / scale, rtol=1e-6)
    np.testing.assert_allclose(fit.errors, theirs.bse / scale, rtol=1e-6)
    np.testing.assert_allclose(
        np.c_[fit.low, fit.high], theirs.conf_int(1 - level) / scale[:, None], rtol=1e-6
    )
    assert fit.df == 394


def test_numbers_far_from_nought_lose_no_digits() -> None:
    """A slope does not change when a billion is added to its column."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=500) * 100)
    near, far = np.c_[np.ones(500), x], np.c_[np.ones(500), x + 1e9]
    y = x / 50 + rng.normal(size=500)
    assert ols(far, y).values[1] == pytest.approx(ols(near, y).values[1], rel=1e-6)
    assert ols(far, y).errors[1] == pytest.approx(ols(near, y).errors[1], rel=1e-6)
    assert logit(far, y > 0).values[1] == pytest.approx(logit(near, y > 0).values[1], rel=1e-5)


def test_order_of_records_and_a_copy_of_each() -> None:
    """Twice the records: the same coefficients; of the logistic regression, errors smaller by the root of two."""
    x, _, y = sample()
    order = np.random.default_rng(1).permutation(np.r_[np.arange(400), np.arange(400)])
    once, twice = logit(x, y), logit(x[order], y[order])
    np.testing.assert_allclose(twice.values, once.values, rtol=1e-8)
    np.testing.assert_allclose(twice.errors, once.errors / np.sqrt(2), rtol=1e-8)


# Columns that are combinations of others.

SMALL = arrays(
    np.float64,
    st.tuples(st.integers(2, 8), st.integers(1, 5)),
    elements=st.integers(-2, 2).map(float),
)


@given(SMALL)
@settings(max_examples=200, deadline=None)
def test_independent_columns_by_ranks(x: Floats) -> None:
    ranks = [0, *(int(np.linalg.matrix_rank(x[:, : j + 1])) for j in range(x.shape[1]))]
    assert independent_columns(x).tolist() == [a < b for a, b in pairwise(ranks)]


def null_space(x: Floats) -> Floats:
    _, values, rows = np.linalg.svd(x)
    return rows[int((values > 1e-9).sum()) :].T


@given(SMALL, st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_ols_gives_what_the_data_determine(x: Floats, seed: int) -> None:
    """A coefficient is determined if every solution has it: if it is 0 all over the null space."""
    y = np.random.default_rng(seed).normal(size=len(x))
    if len(x) <= np.linalg.matrix_rank(x):
        with pytest.raises(CannotFitError, match="no more records than coefficients"):
            ols(x, y)
        return
    fit = ols(x, y)
    free = (np.abs(null_space(x)) > 1e-7).any(axis=1)
    assert np.array_equal(fit.aliased, free)
    assert np.array_equal(np.isnan(fit.values), free)
    smallest = np.linalg.pinv(x) @ y
    np.testing.assert_allclose(fit.values[~free], smallest[~free], atol=1e-8)
    spread = np.sqrt(((y - x @ smallest) ** 2).sum() / fit.df * np.diag(np.linalg.pinv(x.T @ x)))
    np.testing.assert_allclose(fit.errors[~free], spread[~free], atol=1e-8)


def test_a_lost_level_and_a_lost_reference() -> None:
    x, y, answers = sample()
    rows = x[:, 3] == 0
    for fit in (ols(x[rows], y[rows]), logit(x[rows], answers[rows])):
        assert fit.aliased.tolist() == [False, False, False, True, False, False]
        assert np.isnan(fit.values).tolist() == fit.aliased.tolist()
        assert not fit.unbounded.any()
    rows = (x[:, 3] == 1) | (
        x[:, 4] == 1
    )  # without the reference the two dummies trade with the intercept
    for fit in (ols(x[rows], y[rows]), logit(x[rows], answers[rows])):
        assert fit.aliased.tolist() == [True, False, False, True, True, False]
    theirs = sm.OLS(y[rows], x[rows][:, [1, 2, 3, 4, 5]]).fit()
    np.testing.assert_allclose(
        ols(x[rows], y[rows]).values[[1, 2, 5]], theirs.params[[0, 1, 4]], rtol=1e-6
    )


def test_fits_without_error_or_variation_are_refused() -> None:
    x, _, _ = sample()
    with pytest.raises(CannotFitError, match="the fit leaves no error"):
        ols(x, x @ [1.0, 2, 3, 4, 5, 6])
    with pytest.raises(CannotFitError, match="the response does not vary"):
        ols(x, np.full(400, 7.0))
    with pytest.raises(CannotFitError, match="the response does not vary"):
        ols(x[:0], np.empty(0))
    for same in (np.ones(400, dtype=bool), np.zeros(400, dtype=bool)):
        with pytest.raises(CannotFitError, match="all records have the same response"):
            logit(x, same)


# Separation.


def certain_rows(x: Floats, y: Mask) -> Mask:
    """Return which records some direction predicts that predicts no record wrongly: by a linear programme for each."""
    margins = np.where(y, 1.0, -1.0)[:, None] * x
    found = [
        linprog(
            -row,
            A_ub=-margins,
            b_ub=np.zeros(len(y)),
            bounds=[(-1, 1)] * x.shape[1],
            method="highs",
        ).fun
        for row in margins
    ]
    return np.array(found) < -1e-7


def most_likely(x: Floats, y: Mask) -> Floats:
    """Return the coefficients of most likelihood and least length, by a general minimiser in the row space."""
    _, values, rows = np.linalg.svd(x, full_matrices=False)
    span = rows[values > 1e-9].T
    sign = np.where(y, 1.0, -1.0)
    z = x @ span

    def loss(g: Floats) -> float:
        return float(np.logaddexp(0, -sign * (z @ g)).sum())

    def slope(g: Floats) -> Floats:
        return np.asarray(-(sign / (1 + np.exp(sign * (z @ g)))) @ z)

    return np.asarray(
        span
        @ minimize(
            loss, np.zeros(span.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-9}
        ).x
    )


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(4, 14), st.integers(1, 3)),
        elements=st.integers(-2, 2).map(float),
    ),
    st.integers(0, 2**14 - 1),
)
@settings(max_examples=80, deadline=None)
def test_separation_is_what_linear_programmes_say(x: Floats, answers: int) -> None:
    x = np.column_stack([np.ones(len(x)), x])
    y = np.array([bool(answers >> i & 1) for i in range(len(x))])
    certain = certain_rows(x, y)
    if certain.all():
        with pytest.raises(
            CannotFitError, match=r"same response|predict the response of every record"
        ):
            logit(x, y)
        return
    fit = logit(x, y)
    rest = x[~certain]
    free = (np.abs(null_space(rest)) > 1e-7).any(axis=1)
    aliased = (np.abs(null_space(x)) > 1e-7).any(axis=1)
    assert np.array_equal(fit.aliased, aliased)
    assert np.array_equal(fit.unbounded, free & ~aliased)
    assert fit.df == len(rest) - np.linalg.matrix_rank(rest)
    expected = most_likely(rest, y[~certain])
    np.testing.assert_allclose(fit.values[~free], expected[~free], atol=1e-5)


def test_a_level_that_answers_alike_has_no_maximum_and_leaves_the_others_alone() -> None:
    x, _, y = sample()
    y = y & (x[:, 4] == 0)  # nobody of the last level says yes
    fit = logit(x, y)
    assert fit.unbounded.tolist() == [False, False, False, False, True, False]
    assert np.isnan(fit.values[4])
    rows, scale = x[:, 4] == 0, np.abs(x).max(axis=0)
    columns = [0, 1, 2, 3, 5]
    theirs = sm.Logit(y[rows].astype(float), (x / scale)[rows][:, columns]).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.values[columns], theirs.params / scale[columns], rtol=1e-6)
    np.testing.assert_allclose(fit.errors[columns], theirs.bse / scale[columns], rtol=1e-6)


def test_a_reference_that_answers_alike() -> None:
    """Then no difference from the reference has a maximum, nor the intercept; the slopes have."""
    x, _, y = sample()
    y = y & ((x[:, 3] == 1) | (x[:, 4] == 1))
    fit = logit(x, y)
    assert fit.unbounded.tolist() == [True, False, False, True, True, False]


def test_complete_separation_and_one_record_against_it() -> None:
    x = np.column_stack([np.ones(60), np.arange(60.0)])
    y = np.arange(60) >= 30
    with pytest.raises(CannotFitError, match="separation"):
        logit(x, y)
    y[10] = True
    fit = logit(x, y)
    assert not fit.unbounded.any()
    theirs = sm.Logit(y.astype(float), x).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.values, theirs.params, rtol=1e-6)


def test_touching_at_one_point() -> None:
    """All no below 0, all yes above, three of four yes at 0: no slope, and an intercept of log 3 in the limit."""
    x = np.repeat([-2.0, -1.0, 0.0, 1.0, 2.0], 20)
    y = (x > 0) | ((x == 0) & (np.arange(100) % 4 > 0))
    fit = logit(np.column_stack([np.ones(100), x]), y)
    assert fit.unbounded.tolist() == [False, True]
    assert fit.values[0] == pytest.approx(np.log(3), abs=1e-9)
    assert fit.errors[0] == pytest.approx(
        np.sqrt(1 / 15 + 1 / 5), abs=1e-9
    )  # of a log odds of 15 to 5


def test_a_heavy_tail_is_no_separation() -> None:
    """One small number against a hundred large ones that all say yes."""
    x = np.concatenate([np.zeros(300), [2.0], np.full(100, 1e5)])
    y = np.concatenate([np.arange(300) % 2 == 0, [False], np.ones(100, dtype=bool)])
    design = np.column_stack([np.ones(401), x])
    assert not certain_rows(
        design[::10] / [1.0, 1e5], y[::10]
    ).any()  # every tenth, the one among them
    fit = logit(design, y)
    assert not fit.unbounded.any()
    assert np.isfinite(fit.values).all()


# How much of a fit a few records are.


@given(
    arrays(float, (12, 3), elements=st.integers(-9, 9).map(float)),
    arrays(float, 12, elements=st.integers(-99, 99).map(float)),
)
@settings(max_examples=60)
def test_influence_is_what_its_definition_says(x: Floats, y: Floats) -> None:
    """Second opinions: sorted sums for shares; statsmodels' hat matrix and residuals where the design has full rank."""
    x = np.column_stack([np.ones(len(y)), x])
    result = influence(x, y, top=2)
    for j, share in enumerate(result.equations):
        parts = sorted(abs(x[:, j] * y), reverse=True)
        assert (
            np.isnan(share)
            if not sum(parts)
            else share == pytest.approx(sum(parts[:2]) / sum(parts))
        )
    assert result.leverage <= 1 + 1e-9
    if np.linalg.matrix_rank(x) == 4 and np.linalg.cond(x) < 1e6:
        fit = sm.OLS(y, x).fit()
        assert result.leverage == pytest.approx(fit.get_influence().hat_matrix_diag.max())
        squares = np.sort(fit.resid**2)[::-1]
        if squares.sum() > 1e-6:
            assert result.residuals == pytest.approx(squares[:2].sum() / squares.sum(), abs=1e-6)


def test_a_fit_without_residuals_has_no_share_of_them() -> None:
    x = np.column_stack([np.ones(20), np.arange(20.0)])
    assert np.isnan(influence(x, 3 + 2 * x[:, 1]).residuals)


def test_classes_of_few_records_are_left_out() -> None:
    x, label = np.array([[1.0]] * 10 + [[50.0]]), np.array([0] * 10 + [1])
    assert class_influence(x, label, min_records=10).tolist() == [0.2]
    assert class_influence(x, label, min_records=1).tolist() == [1.0]
