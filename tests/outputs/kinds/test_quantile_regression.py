"""Quantile regressions: the minimum by statsmodels and by brute force, published coefficients among several minima, rules."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.quantile_regression import tilted_loss
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain(
    (
        OutputColumn("a", ("u", "v")),
        OutputColumn("x", tuple(range(12))),
        OutputColumn("y", tuple(range(400))),
    )
)


def people_whose_spread_grows(n: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, x = rng.integers(0, 2, n), rng.integers(0, 12, n)
    y = 50 + 30 * a + 12 * x + (5 + 3 * x) * rng.normal(size=n)
    return np.c_[a, x, np.clip(y.round(), 0, 399)].astype(np.int32)


def entry(**keys: Any) -> dict[str, Any]:
    return {"name": "o", "kind": "quantile-regression", "formula": "y ~ a + x", "at": 0.75, **keys}


def fitted(codes: np.ndarray, **keys: Any) -> np.ndarray:
    output = recipes_of([entry(**keys)], FIELDS).computed(codes).outputs[0]
    return np.array([float(b) for b in output.coefficients.values()])  # type: ignore[attr-defined]


@pytest.mark.parametrize("at", [0.1, 0.5, 0.75])
def test_no_line_through_three_records_does_better(at: float) -> None:
    """Some minimum passes through as many records as there are coefficients: all of them are tried."""
    codes = people_whose_spread_grows(18)
    x, y = np.c_[np.ones(18), codes[:, 0], codes[:, 1]], codes[:, 2].astype(float)
    best = np.inf
    for rows in combinations(range(18), 3):
        if abs(np.linalg.det(x[list(rows)])) > 1e-9:
            best = min(best, tilted_loss(y - x @ np.linalg.solve(x[list(rows)], y[list(rows)]), at))
    assert tilted_loss(y - x @ fitted(codes, at=at), at) == pytest.approx(best, abs=1e-6)


def test_statsmodels_finds_the_same_nearly() -> None:
    codes = people_whose_spread_grows(400)
    frame = pd.DataFrame(
        {"a": np.array(["u", "v"])[codes[:, 0]], "x": codes[:, 1], "y": codes[:, 2]}
    )
    theirs = smf.quantreg("y ~ a + x", frame).fit(q=0.75).params.to_numpy()
    np.testing.assert_allclose(
        fitted(codes), theirs, atol=0.05
    )  # it stops within a tolerance of its own


def test_published_coefficients_are_the_datas_where_no_others_do_better() -> None:
    codes = people_whose_spread_grows(300)
    named = dict(zip(("Intercept", "a[T.v]", "x"), fitted(codes).tolist(), strict=True))
    for numbers, within in (
        ({name: f"{b:.2f}" for name, b in named.items()}, True),
        (named, True),
        ({**named, "x": named["x"] + 0.5}, False),
    ):
        (output,) = recipes_of([entry(coefficients=numbers, n=300)], FIELDS).outputs
        assert compare_numbers(Outputs(FIELDS, (output,), 300), codes)[0].within is within
    # A median between two records: everything from one to the other is as good.
    two = np.array([[0, 0, 10], [0, 0, 20]] * 10, dtype=np.int32)
    for middle, within in ((10.0, True), (13.0, True), (20.0, True), (22.0, False)):
        spec = recipes_of(
            [entry(formula="y ~ 1", at=0.5, coefficients={"Intercept": middle})], FIELDS
        )
        assert compare_numbers(Outputs(FIELDS, spec.outputs, 20), two)[0].within is within


def test_it_is_for_rules_only_and_rules_see_exact_labels() -> None:
    assert recipes_of([entry()], FIELDS).rules_only == {"o": "this kind has no equations"}
    found = {
        one.rule: one.status
        for one in check_entries([entry()], FIELDS, people_whose_spread_grows(300), Policy())
    }
    assert found["exact labels"] == "review"
    found = {
        one.rule: one.status
        for one in check_entries(
            [entry(decimals=2)], FIELDS, people_whose_spread_grows(300), Policy()
        )
    }
    assert (found["exact labels"], found["residual degrees of freedom"]) == ("pass", "pass")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"at": 1.0}, "'at' is not as it should be"),
        ({"formula": "a ~ x"}, "must be a number"),
        (
            {"coefficients": {"Intercept": 1, "a[T.v]": 1, "x": 1}, "standard_errors": {"x": 1.0}},
            "programs differ",
        ),
    ],
)
def test_what_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes_of([entry(**keys)], FIELDS).published(rows=10).compiled()
