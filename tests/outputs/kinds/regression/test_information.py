"""Readings of information sums: values against numpy and statsmodels, derivatives against differences, on small designs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.equations import Lookup
from chaffinch.outputs.formula import read_formula
from chaffinch.outputs.kinds.regression.information import (
    Information,
    LeastSquares,
    products,
    squares,
)


def design(seed: int, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(40), rng.normal(size=(40, p - 1))])
    return x, x @ rng.normal(size=p) + rng.normal(size=40)


@pytest.mark.parametrize("seed", range(3))
def test_standard_errors_of_weighted_products(seed: int, slopes_hold: Any) -> None:
    x, _ = design(seed)
    w = np.random.default_rng(seed).uniform(0.1, 0.25, 40)
    matrix = (x * w[:, None]).T @ x
    reading = Information(3, [0, 2], 1.7)
    values, _ = reading(matrix[np.triu_indices(3)])
    np.testing.assert_allclose(values, np.sqrt(1.7 * np.diag(np.linalg.inv(matrix)))[[0, 2]])
    slopes_hold(reading, matrix[np.triu_indices(3)])


@pytest.mark.parametrize("seed", range(3))
def test_least_squares_as_statsmodels_prints_it(seed: int, slopes_hold: Any) -> None:
    x, y = design(seed)
    result = sm.OLS(y, x).fit()
    sums = np.concatenate([(x.T @ x)[np.triu_indices(3)], x.T @ y, [y @ y, len(y)]])
    reading = LeastSquares(3, result.params, [0, 1, 2], ["loglik", "dispersion"])
    np.testing.assert_allclose(reading(sums)[0], [*result.bse, result.llf, result.scale])
    slopes_hold(reading, sums)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["a*x", "x + I(x ** 2) + a:b", "a + b", "0 + a:b:x", "1"]),
)
def test_sums_of_products_by_brute_force(seed: int, right: str) -> None:
    fields = Fields(
        (
            Field("y", (1, 2, 5)),
            Field("a", ("u", "v", "w")),
            Field("b", ("p", "q")),
            Field("x", (1, 2, 4)),
        )
    )
    formula = read_formula(f"y ~ {right}", fields)
    codes = fields.columns.start(17, seed=seed)
    x = sum(t.of(codes, formula.size) for t in formula.terms)
    y = fields["y"].values[codes[:, 0]]
    terms, size = products(formula, fields, what="o")
    got = sum((t.of(codes, size).sum(axis=0) for t in terms), np.zeros(size))
    np.testing.assert_allclose(got, (x.T @ x)[np.triu_indices(formula.size)])
    label = Lookup((0,), (3,), fields["y"].values[:, None])
    terms, size = squares(formula, label, fields, what="o")
    got = sum(t.of(codes, size).sum(axis=0) for t in terms)
    np.testing.assert_allclose(
        got, [*(x.T @ x)[np.triu_indices(formula.size)], *(x.T @ y), y @ y, 17]
    )
