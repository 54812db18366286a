"""Readings of information sums: values against numpy and statsmodels, derivatives against differences, on small designs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import Lookup
from chaffinch.outputs.formula import read_formula
from chaffinch.outputs.kinds.regression.information import (
    Information,
    LeastSquares,
    Sandwich,
    products,
    squares,
)
from chaffinch.outputs.numbers import compare_numbers


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
    fields = OutputDomain(
        (
            OutputColumn("y", (1, 2, 5)),
            OutputColumn("a", ("u", "v", "w")),
            OutputColumn("b", ("p", "q")),
            OutputColumn("x", (1, 2, 4)),
        )
    )
    formula = read_formula(f"y ~ {right}", fields)
    codes = fields.start(17, seed=seed)
    x = sum(t.evaluate(codes, formula.size) for t in formula.terms)
    y = fields["y"].values[codes[:, 0]]
    terms, size = products(formula, fields, what="o")
    got = sum((t.evaluate(codes, size).sum(axis=0) for t in terms), np.zeros(size))
    np.testing.assert_allclose(got, (x.T @ x)[np.triu_indices(formula.size)])
    label = Lookup((0,), (3,), fields["y"].values[:, None])
    terms, size = squares(formula, label, fields, what="o")
    got = sum(t.evaluate(codes, size).sum(axis=0) for t in terms)
    np.testing.assert_allclose(
        got, [*(x.T @ x)[np.triu_indices(formula.size)], *(x.T @ y), y @ y, 17]
    )


RIGHT = "num_children ~ wife_age + C(wife_education)"
WHERE = "wife_age >= 20"


def entry(**keys: Any) -> dict[str, Any]:
    return {
        "name": "o",
        "kind": "ols",
        "formula": RIGHT,
        "where": WHERE,
        "standard_errors": True,
        "decimals": 8,
        **keys,
    }


@pytest.mark.parametrize("weights", [None, "standard_of_living"])
@pytest.mark.parametrize("covariance", [None, "HC0", "HC1", "HC2", "HC3", "cluster"])
def test_linear_regressions(cmc: Any, weights: str | None, covariance: str | None) -> None:
    frame, keys = cmc.frame.query(WHERE), {} if weights is None else {"weights": weights}
    model = (
        smf.ols(RIGHT, frame) if weights is None else smf.wls(RIGHT, frame, weights=frame[weights])
    )
    options: dict[str, Any] = {} if covariance is None else {"cov_type": covariance}
    if covariance == "cluster":
        options["cov_kwds"] = {"groups": frame["num_children"] * 0 + frame["wife_age"]}
        keys |= {"cluster": "wife_age"}
    fit = model.fit(**options)
    keys |= {} if covariance is None else {"covariance": covariance}
    spec = recipes_of([entry(**keys)], cmc.spec().fields)
    computed = spec.computed(cmc.codes())
    (numbers,) = [output.to_dict() for output in computed.outputs]
    for key, theirs in (("coefficients", fit.params), ("standard_errors", fit.bse)):
        np.testing.assert_allclose(
            [float(numbers[key][name]) for name in theirs.index], theirs, atol=2e-8, rtol=1e-7
        )
    assert compare_numbers(computed, cmc.codes())[0].within
    plain = covariance in (None, "HC0", "HC1") and weights is None
    assert bool(spec.rules_only) is not plain
    if not plain:
        assert "without them its coefficients can be measured" in spec.rules_only["o"]


@pytest.mark.parametrize("covariance", ["HC0", "HC1"])
def test_equations(cmc: Any, slopes_hold: Any, covariance: str) -> None:
    spec = recipes_of([entry(covariance=covariance, decimals=5)], cmc.spec().fields).computed(
        cmc.codes()
    )
    systems = [one for one in spec.problem().outputs if one.name.endswith("standard errors")]
    assert len(systems) == 1
    sums = systems[0].contributions(cmc.codes()).sum(axis=0)
    values = systems[0].reported(sums)[0]
    assert ((values > systems[0].lo - 1e-5) & (values < systems[0].hi + 1e-5)).all()
    slopes_hold(systems[0].reported, sums)
    other = systems[0].reported(systems[0].contributions(cmc.shuffled("wife_age")).sum(axis=0))[0]
    assert np.abs(other - values).max() > 1e-3


def test_a_sandwich_by_hand() -> None:
    """x = 1 for two records with residuals 1 and -3: V = (1 + 9) / 4, and twice that with n / (n - 1)."""
    sums = np.array([2.0, 10.0, 2.0])
    assert Sandwich(1, [0], corrected=False)(sums)[0] == pytest.approx([np.sqrt(2.5)])
    assert Sandwich(1, [0], corrected=True)(sums)[0] == pytest.approx([np.sqrt(5.0)])


def test_logit_with_hc0_and_weighted_logit(cmc: Any) -> None:
    frame = cmc.frame.assign(working=(cmc.frame["wife_now_working"] == "yes") * 1)
    base = {
        "name": "o",
        "kind": "logit",
        "formula": "wife_now_working ~ wife_age + media_exposure",
        "success": "yes",
        "decimals": 7,
    }
    fit = smf.logit("working ~ wife_age + media_exposure", frame).fit(
        disp=0, tol=1e-12, cov_type="HC0"
    )
    (numbers,) = recipes_of(
        [{**base, "covariance": "HC0", "standard_errors": True}], cmc.spec().fields
    ).entries(cmc.codes())
    np.testing.assert_allclose(
        [float(numbers["standard_errors"][name]) for name in fit.bse.index], fit.bse, atol=2e-7
    )
    glm = smf.glm(
        "working ~ wife_age + media_exposure",
        frame,
        family=sm.families.Binomial(),
        var_weights=frame["standard_of_living"],
    ).fit(tol=1e-14)
    weighted = recipes_of([{**base, "weights": "standard_of_living"}], cmc.spec().fields)
    assert not weighted.rules_only  # coefficients alone have equations
    computed = weighted.computed(cmc.codes())
    np.testing.assert_allclose(
        [float(computed.outputs[0].coefficients[name]) for name in glm.params.index],
        glm.params,
        atol=2e-7,
    )  # type: ignore[attr-defined]
    (system,) = computed.problem().outputs
    each = system.contributions(cmc.codes())
    assert (np.abs(each.sum(axis=0)) < 1e-5 * np.sqrt((each**2).sum(axis=0)) + 1e-2).all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"covariance": "cluster"}, "belong together"),
        ({"cluster": "wife_age"}, "belong together"),
        (
            {
                "kind": "logit",
                "success": 1,
                "formula": "wife_religion ~ wife_age",
                "covariance": "HC1",
            },
            "programs differ in HC1",
        ),
        (
            {
                "kind": "probit",
                "success": 1,
                "formula": "wife_religion ~ wife_age",
                "covariance": "HC0",
            },
            "programs differ in HC0",
        ),
        (
            {"kind": "poisson", "weights": "wife_age"},
            "programs differ in standard errors of weighted",
        ),
        ({"weights": "wife_education"}, "must be numbers of at least 0"),
        ({"weights": "wife_age", "loglik": True}, "a log-likelihood or dispersion with weights"),
        ({"covariance": "HC4"}, "'covariance' is not as it should be"),
    ],
)
def test_what_is_refused(cmc: Any, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes_of([entry(**keys)], cmc.spec().fields)


def test_one_cluster_has_no_standard_errors(cmc: Any) -> None:
    one = cmc.codes(cmc.frame.query("wife_religion == 1"))
    with pytest.raises(
        InputError, match="cannot be computed on the data: there is one cluster only"
    ):
        recipes_of(
            [entry(covariance="cluster", cluster="wife_religion")], cmc.spec().fields
        ).computed(one)
