"""Where a search stands: errors to first order, held against a refit."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch.outputs.equations import Problem, regression
from chaffinch.outputs.solve.state import State, nearest, outside_by


def test_the_first_order_error_is_what_a_refit_finds(problems: ModuleType) -> None:
    rng = np.random.default_rng(6)
    terms = problems.random_terms(rng, 3)
    codes = problems.COLUMNS.start(2_000, seed=3)
    x, y = (
        np.sum([t.evaluate(codes, 3) for t in terms], axis=0),
        problems.labels("probit").evaluate(codes)[:, 0],
    )
    estimate = sm.Probit(y, x).fit(disp=0).params
    near = estimate + np.array([1e-3, -2e-3, 1e-3])
    state = State(
        Problem(
            problems.COLUMNS,
            (
                regression(
                    "r",
                    family="probit",
                    terms=terms,
                    label=problems.labels("probit"),
                    coefficients=near,
                ),
            ),
        ),
        codes,
    )
    # Second order: about the square of the step.
    np.testing.assert_allclose(state.linear[0].values, estimate, atol=2e-5)
    assert state.errors()[0].worst == pytest.approx(2e-3, abs=2e-5)


def test_distances_from_intervals() -> None:
    off = outside_by(np.array([1, 5, 9]), np.array([3, 3, 3]), np.array([6, 6, 6]))
    assert off.tolist() == [2.0, 0.0, 3.0]


def test_a_level_that_a_coefficient_needs_is_filled(problems: ModuleType) -> None:
    _, terms = problems.simulated(12)
    label = problems.labels("logit")
    system = regression("r", family="logit", terms=terms, label=label, coefficients=np.full(5, 0.1))
    start = problems.COLUMNS.start(60, seed=1)
    start[:, 0] = 0
    state = State(Problem(problems.COLUMNS, (system,)), start)
    assert state.fill_levels(np.random.default_rng(1))
    assert set(state.codes[:, 0]) == {0, 1, 2}
    assert not state.fill_levels(np.random.default_rng(1))


@pytest.mark.parametrize("focus", [1.0, 5.0])
def test_the_quadratic_is_what_it_is_said_to_be(problems: ModuleType, focus: float) -> None:
    """Q = (z - t)' W (z - t) with z = z0 + H (S - S0), for coefficients in another form, with and without focus."""
    rng = np.random.default_rng(2)
    system = problems.random_system(rng, "r", "probit", "score")
    state = State(Problem(problems.COLUMNS, (system,)), problems.COLUMNS.start(300, seed=2))
    linear, sums = state.linear[0], state.sums + rng.normal(size=state.sums.size)
    off = linear.values_at(sums) - state.aims[0]
    weight = linear.weight + np.diag(np.full(len(off), focus - 1.0) * np.diag(linear.weight))
    error, pull, matrix = linear.quadratic(sums, state.aims[0], np.full(len(off), focus))
    assert error == pytest.approx(off @ weight @ off, rel=1e-6)
    np.testing.assert_allclose(pull, linear.slope.T @ weight @ off, rtol=1e-6)
    np.testing.assert_allclose(
        matrix, linear.slope.T @ weight @ linear.slope, rtol=1e-6, atol=1e-12
    )


def test_the_nearest_point_of_a_box_is_the_nearest() -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    weight, point = root @ root.T + np.eye(3), np.array([2.0, -0.3, 0.8])
    found = nearest(point, weight, -np.ones(3), np.ones(3), np.zeros(3))
    grid = np.array(np.meshgrid(*[np.linspace(-1, 1, 41)] * 3)).reshape(3, -1).T - point
    best = np.einsum("ij,jk,ik->i", grid, weight, grid).min()
    assert (found - point) @ weight @ (found - point) <= best + 1e-9
