"""Published numbers as linear functions of sums: by their definitions, and by a search of all points of a grid."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from chaffinch.outputs.equations import Problem
from chaffinch.outputs.solve.state import State, nearest


@pytest.mark.parametrize("focus", [1.0, 5.0])
def test_the_quadratic_is_what_it_is_said_to_be(problems: ModuleType, focus: float) -> None:
    """Q = (z - t)' W (z - t) with z = z0 + H (S - S0), for coefficients in another form, with and without focus."""
    rng = np.random.default_rng(2)
    system = problems.random_system(rng, "r", "probit", "score")
    state = State(Problem(problems.COLUMNS, (system,)), problems.COLUMNS.start(300, seed=2))
    linear, sums = state.linear[0], state.sums + rng.normal(size=state.sums.size)
    off = linear.at(sums) - state.aims[0]
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
