"""When a number counts as reached: at the fitted coefficients, ends included, whatever else the numbers are tied to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from chaffinch.outputs.document import Outputs
from chaffinch.outputs.solve.engines.incremental import solve
from chaffinch.outputs.solve.state import State

COLUMNS = [
    {"name": "x", "from": 0, "to": 40},
    {"name": "g", "levels": ["a", "b", "c"]},
    {"name": "y", "levels": [0, 1]},
]


def spec_of(*outputs, rows):
    named = [{"name": f"o{k}", **output} for k, output in enumerate(outputs)]
    return Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": rows,
            "columns": COLUMNS,
            "outputs": named,
        }
    )


def frame_of(records):
    words = pd.Categorical.from_codes(records[:, 1], categories=["a", "b", "c"])
    return pd.DataFrame({"x": records[:, 0], "g": words, "y": records[:, 2]})


@pytest.fixture
def records():
    rng = np.random.default_rng(3)
    x, g = rng.integers(0, 41, 800), rng.integers(0, 3, 800)
    y = rng.random(800) < 1 / (1 + np.exp(1.5 - 0.05 * x - 0.4 * g))
    return np.stack([x, g, y], axis=1).astype(np.int32)


def test_standard_errors_are_those_at_the_fitted_coefficients(records):
    """Coefficients in whole hundredths are far from the fitted ones; statsmodels has the standard errors and the log-likelihood."""
    frame = frame_of(records)
    fit = smf.logit("y ~ x + g", frame).fit(disp=0, tol=1e-12)
    some = {"standard_errors": {"x": "0.01", "Intercept": "0.2"}, "loglik": f"{fit.llf:.1f}"}
    printed = {name: round(number, 2) for name, number in fit.params.items()}
    spec = spec_of(
        {"kind": "logit", "formula": "y ~ x + g", "decimals": 2, "coefficients": printed, **some},
        rows=800,
    )
    state = State(spec.problem(), records)
    wanted = [fit.bse["Intercept"], fit.bse["x"], fit.llf]

    def read():
        return [*state.linear[1].values, *state.linear[2].values]

    gap = abs(read()[0] - wanted[0])
    assert gap > 2e-5  # at the printed ones
    # To first order, before any model is moved; then exactly.
    drifts, shift = (
        state.drifts(),
        np.array([fit.params[name] for name in ("Intercept", "g[T.b]", "g[T.c]", "x")]),
    )
    assert state.systems[0].coefficients is not None
    foretold = read()[0] + drifts[1][1][0] @ (shift - state.systems[0].coefficients)
    assert abs(foretold - wanted[0]) < 0.1 * gap
    for _ in range(3):  # each time a Newton step
        assert state.recentre_models()
    np.testing.assert_allclose(read(), wanted, rtol=1e-7)


def test_both_ends_of_an_interval_belong_to_it(records):
    """Survival of 1 where nothing happened, and a rounded count at its end: exact readings, with no margin."""
    codes = records.copy()
    codes[codes[:, 0] < 10, 2] = 0
    some = codes[
        (codes[:, 0] < 20) | (codes[:, 1] == 0)
    ]  # a filter that ties columns: counts are sums then
    at_the_end = [int((some[:, 2] == level).sum()) - 2 for level in (0, 1)]
    survival = {"kind": "kaplan-meier", "time": "x", "event": "y", "times": [5], "complete": False}
    spec = spec_of(
        {**survival, "survival": ["1.0000"]},
        {
            "kind": "table",
            "by": ["y"],
            "where": "x < 20 or g == 'a'",
            "base": 5,
            "counts": at_the_end,
        },
        rows=len(codes),
    )
    assert [error.outside for error in State(spec.problem(), codes).errors()] == [0, 0]
    beyond = codes.copy()
    beyond[np.flatnonzero((codes[:, 0] < 20) & (codes[:, 2] == 0))[0], 2] = 1
    assert sum(error.outside for error in State(spec.problem(), beyond).errors()) >= 1


def test_numbers_that_add_up_weigh_nothing_together(records):
    """Shares of rows add up to 1, so that no record can change their sum; printed ones do not, and that must not become the error."""
    share = [[33.3, 66.6], [33.3, 66.6], [33.3, 66.6]]
    spec = spec_of(
        {"kind": "table", "by": ["g", "y"], "percentages": "rows", "decimals": 1, "values": share},
        rows=800,
    )
    state = State(spec.problem(), records)
    together = np.kron(np.eye(3), np.ones(2))
    np.testing.assert_allclose(
        state.linear[0].weight @ together.T, 0.0, atol=1e-3 * np.abs(state.linear[0].weight).max()
    )
    assert state.error < 1e3


@pytest.mark.parametrize("decimals", [1, 2])
@pytest.mark.parametrize("with_table", [False, True])
def test_few_digits_are_met_by_the_fitted_coefficients(records, decimals, with_table):
    """Printed so coarsely, coefficients are far from linear in the sums: what counts is a fit, also beside an exact table."""
    fit = smf.logit("y ~ x + g", frame_of(records)).fit(disp=0)
    printed = {name: f"{value:.{decimals}f}" for name, value in fit.params.items()}
    counts = pd.crosstab(frame_of(records)["g"], records[:, 2]).to_numpy().tolist()
    outputs = [{"kind": "logit", "formula": "y ~ x + g", "coefficients": printed}]
    outputs += [{"kind": "table", "by": ["g", "y"], "counts": counts}] if with_table else []
    spec = spec_of(*outputs, rows=800)
    solved = solve(spec.problem(), spec.fields.start(800, seed=1), seed=1)
    assert solved.reached
    again = smf.logit("y ~ x + g", frame_of(solved.codes)).fit(disp=0).params
    assert {
        name: f"{value:.{decimals}f}".replace("-0.0", "0.0") for name, value in again.items()
    } == {name: text.replace("-0.0", "0.0") for name, text in printed.items()}
