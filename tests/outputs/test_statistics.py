"""Numbers of compiled outputs from records: statsmodels on the records themselves, and sums by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.equations import SumSystem
from chaffinch.outputs.fields import Field, Fields
from chaffinch.outputs.statistics import estimated_alpha, fitted, numbers_of, observed, spread_at

FIELDS = Fields((Field("y", (0, 1)), Field("count", tuple(range(12))), Field("x", tuple(range(5))), Field("g", ("a", "b"))))


@pytest.fixture(scope="module")
def codes() -> Any:
    rng = np.random.default_rng(1)
    x, g = rng.integers(0, 5, 400), rng.integers(0, 2, 400)
    y = rng.random(400) < 1 / (1 + np.exp(1 - 0.4 * x))
    count = np.minimum(rng.negative_binomial(2, 0.5, 400), 11)
    return np.stack([y, count, x, g], axis=1).astype(np.int32)


@pytest.fixture(scope="module")
def frame(codes: Any) -> pd.DataFrame:
    return pd.DataFrame(codes, columns=list(FIELDS.names)).assign(g=np.array(["a", "b"])[codes[:, 3]])


def system(kind: str, formula: str, codes: Any, **keys: Any) -> SumSystem:
    outputs: Outputs = recipes_of([{"name": "o", "kind": kind, "formula": formula, **keys}], FIELDS).computed(codes)
    part = outputs.problem().outputs[0]
    assert isinstance(part, SumSystem)
    return part


@pytest.mark.parametrize(
    ("kind", "formula", "fit"),
    [
        ("ols", "count ~ x + C(g)", smf.ols),
        ("logit", "y ~ x + C(g)", smf.logit),
        ("probit", "y ~ x", smf.probit),
        ("poisson", "count ~ x * C(g)", smf.poisson),
    ],
)
def test_coefficients_are_those_of_statsmodels(kind: str, formula: str, fit: Any, codes: Any, frame: pd.DataFrame) -> None:
    part = system(kind, formula, codes)
    model = fit(formula, frame)
    expected = model.fit() if kind == "ols" else model.fit(disp=0, tol=1e-12, method="newton")
    assert numbers_of(part, codes) == pytest.approx(expected.params.to_numpy(), abs=1e-7)
    other = fitted(part, codes, from_published=False)
    assert np.asarray(other.params) == pytest.approx(expected.params.to_numpy(), abs=1e-7)
    assert spread_at(other, part) == pytest.approx(expected.bse.to_numpy(), rel=1e-4)


def test_what_a_regression_sees(codes: Any) -> None:
    data = observed(system("logit", "y ~ x", codes, where="g == 'b'"), codes)
    inside = codes[codes[:, 3] == 1]
    assert data.x.tolist() == [[1.0, float(x)] for x in inside[:, 2]]
    assert data.y.tolist() == inside[:, 0].tolist()
    assert data.plain
    assert data.weight.tolist() == [1.0] * len(inside)


def test_alpha_is_that_of_a_negative_binomial(codes: Any, frame: pd.DataFrame) -> None:
    data = observed(system("poisson", "count ~ x", codes), codes)
    expected = sm.NegativeBinomial(frame["count"], sm.add_constant(frame["x"])).fit(disp=0, maxiter=500)
    assert estimated_alpha(data) == pytest.approx(expected.params["alpha"], rel=1e-4)


def test_tables_and_sums_are_added_up(codes: Any, frame: pd.DataFrame) -> None:
    table = {"name": "t", "kind": "table", "by": ["g"]}
    mean = {"name": "m", "kind": "mean", "of": "count", "by": ["g"]}
    parts = recipes_of([table, mean], FIELDS).computed(codes).problem().outputs
    assert numbers_of(parts[0], codes).tolist() == frame["g"].value_counts().sort_index().tolist()
    assert numbers_of(parts[1], codes) == pytest.approx(frame.groupby("g")["count"].mean().to_numpy())


def test_classes_that_are_separated_have_no_smaller_spread_than_at_the_published_coefficients(codes: Any) -> None:
    """x above 2 decides y: the estimate runs off, and its standard error with it; at the published coefficients it is finite."""
    part = system("logit", "y ~ x", codes)
    apart = codes.copy()
    apart[:, 0] = apart[:, 2] > 2
    result = fitted(part, apart)
    assert (spread_at(result, part) <= np.asarray(result.bse)).all()
    assert spread_at(result, part).max() < 10.0
