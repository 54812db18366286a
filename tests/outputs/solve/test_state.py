"""Where a search stands: errors to first order, held against a refit."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch.outputs.equations import Problem, regression
from chaffinch.outputs.solve.state import State, outside_by


def test_the_first_order_error_is_what_a_refit_finds(problems: ModuleType) -> None:
    rng = np.random.default_rng(6)
    terms = problems.random_terms(rng, 3)
    codes = problems.COLUMNS.start(2_000, seed=3)
    x, y = (
        np.sum([t.of(codes, 3) for t in terms], axis=0),
        problems.labels("probit").of(codes)[:, 0],
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
