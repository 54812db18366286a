"""Mixed models and GEE: their numbers by other means, what they say of themselves, and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.grouped import random_intercept
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain(
    (
        OutputColumn("school", tuple(f"s{k}" for k in range(12))),
        OutputColumn("sex", ("f", "m")),
        OutputColumn("hours", tuple(range(10))),
        OutputColumn("marks", tuple(range(60))),
    )
)


def pupils(seed: int = 1) -> np.ndarray:
    """Codes of 240 pupils of twelve schools, whose marks depend on school, sex and hours."""
    rng = np.random.default_rng(seed)
    school, sex, hours = (
        np.repeat(np.arange(12), 20),
        rng.integers(0, 2, 240),
        rng.integers(0, 10, 240),
    )
    marks = (
        20.0
        + 4.0 * rng.normal(size=12)[school]
        + 3.0 * sex
        + 1.5 * hours
        + 4.0 * rng.normal(size=240)
    )
    return np.c_[school, sex, hours, np.clip(marks.round(), 0, 59)].astype(np.int32)


MIXED = {
    "name": "o",
    "kind": "mixed",
    "formula": "marks ~ sex + hours",
    "group": "school",
    "decimals": 4,
}


def test_a_mixed_model_by_its_likelihood() -> None:
    """Maximum likelihood: minimised by scipy over the density of each school's marks together."""
    codes = pupils()
    x, y = np.c_[np.ones(240), codes[:, 1], codes[:, 2]], codes[:, 3].astype(float)

    def minus_loglik(b: np.ndarray) -> float:
        between, within = np.exp(b[3:])
        cover = within * np.eye(20) + between
        return -sum(
            multivariate_normal(np.zeros(20), cover).logpdf((y - x @ b[:3])[codes[:, 0] == k])
            for k in range(12)
        )

    best = minimize(minus_loglik, [20.0, 3.0, 1.5, 2.0, 2.0], method="BFGS")
    recipe = {
        **MIXED,
        "reml": False,
        "standard_errors": True,
        "loglik": True,
        "group_variance": True,
        "residual_variance": True,
    }
    spec = recipes_of([recipe], FIELDS)
    computed = spec.computed(codes)
    (numbers,) = [one.to_dict() for one in computed.outputs]
    np.testing.assert_allclose(
        [float(b) for b in numbers["coefficients"].values()], best.x[:3], atol=2e-3
    )
    np.testing.assert_allclose(
        [float(numbers["group_variance"]), float(numbers["residual_variance"])],
        np.exp(best.x[3:]),
        rtol=2e-3,
    )
    assert float(numbers["loglik"]) == pytest.approx(-best.fun, abs=1e-3)
    cover = np.exp(best.x[4]) * np.eye(20) + np.exp(best.x[3])
    information = sum(
        x[codes[:, 0] == k].T @ np.linalg.inv(cover) @ x[codes[:, 0] == k] for k in range(12)
    )
    np.testing.assert_allclose(
        [float(b) for b in numbers["standard_errors"].values()],
        np.sqrt(np.diag(np.linalg.inv(information))),
        rtol=2e-3,
    )
    assert compare_numbers(computed, codes)[0].within
    assert not compare_numbers(computed, pupils(2))[0].within
    restricted = recipes_of([{**recipe, "reml": True}], FIELDS).computed(codes).outputs[0].to_dict()
    assert float(restricted["group_variance"]) > float(
        numbers["group_variance"]
    )  # as it should, with twelve schools
    assert spec.rules_only == {"o": "this kind has no equations"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reml", [True, False])
def test_a_mixed_model_by_statsmodels(reml: bool) -> None:
    """Groups of unequal sizes, and restricted likelihood, too."""
    codes = pupils(3)[np.random.default_rng(1).random(240) < 0.7]
    frame = pd.DataFrame({name: codes[:, k] for k, name in enumerate(FIELDS.names)})
    theirs = smf.mixedlm("marks ~ sex + hours", frame, groups="school").fit(
        reml=reml, method="bfgs", gtol=1e-9
    )
    ours = random_intercept(
        np.c_[np.ones(len(codes)), codes[:, 1:3]], codes[:, 3].astype(float), codes[:, 0], reml=reml
    )
    np.testing.assert_allclose(ours.coefficients, theirs.fe_params, rtol=1e-5)
    np.testing.assert_allclose(ours.errors, theirs.bse_fe, rtol=2e-3)  # as far as it agrees with R
    assert ours.singles["loglik"] == pytest.approx(theirs.llf, abs=1e-5)
    assert ours.singles["group_variance"] == pytest.approx(
        float(theirs.cov_re.to_numpy()[0, 0]), rel=1e-3
    )
    assert ours.singles["residual_variance"] == pytest.approx(theirs.scale, rel=1e-4)
    alike = random_intercept(
        np.ones((40, 1)),
        np.tile([1.0, 3.0], 20),
        np.repeat(np.arange(10), 4).astype(np.int32),
        reml=reml,
    )
    assert alike.singles["group_variance"] == 0.0  # all groups have the same mean


@pytest.mark.parametrize("correlation", ["independence", "exchangeable"])
def test_gee_of_a_linear_model(correlation: str) -> None:
    """Independent: least squares with errors by cluster, uncorrected. Exchangeable with equal groups: what is between and within them, weighed by its common correlation."""
    codes = pupils()
    frame = pd.DataFrame({name: codes[:, k] for k, name in enumerate(FIELDS.names)})
    recipe = {
        "name": "o",
        "kind": "gee",
        "formula": "marks ~ sex + hours",
        "group": "school",
        "family": "gaussian",
        "correlation": correlation,
    }
    spec = recipes_of([{**recipe, "standard_errors": True, "decimals": 5}], FIELDS)
    computed = spec.computed(codes)
    (numbers,) = [one.to_dict() for one in computed.outputs]
    coefficients, errors = (
        [float(b) for b in numbers[key].values()] for key in ("coefficients", "standard_errors")
    )
    ols = smf.ols("marks ~ sex + hours", frame).fit(
        cov_type="cluster", cov_kwds={"groups": codes[:, 0], "use_correction": False}
    )
    if correlation == "independence":
        np.testing.assert_allclose(coefficients, ols.params.to_numpy(), atol=1e-4)
        np.testing.assert_allclose(errors, ols.bse.to_numpy(), atol=1e-4)
    else:
        x, y = np.c_[np.ones(240), codes[:, 1], codes[:, 2]], codes[:, 3].astype(float)
        b, cover = ols.params.to_numpy(), np.eye(20)
        for _ in range(50):  # moments and generalised least squares by turns
            r = (y - x @ b).reshape(12, 20)
            scale = (r**2).sum() / (240 - 3)
            pairs = (r.sum(axis=1) ** 2 - (r**2).sum(axis=1)).sum() / 2
            rho = pairs / scale / (12 * 190 - 3)
            cover = np.linalg.inv((1 - rho) * np.eye(20) + rho)
            blocks = x.reshape(12, 20, 3)
            b = np.linalg.solve(
                np.einsum("gip,ij,gjq->pq", blocks, cover, blocks),
                np.einsum("gip,ij,gj->p", blocks, cover, y.reshape(12, 20)),
            )
        np.testing.assert_allclose(coefficients, b, atol=1e-4)
    assert compare_numbers(computed, codes)[0].within
    assert spec.rules_only == {"o": "this kind has no equations"}


def test_gee_of_a_binary_label_with_independence_is_a_logit(cmc: Any) -> None:
    frame = cmc.frame.assign(working=(cmc.frame["wife_now_working"] == "yes") * 1)
    fit = smf.logit("working ~ wife_age + media_exposure", frame).fit(disp=0, tol=1e-12)
    recipe = {
        "name": "o",
        "kind": "gee",
        "formula": "wife_now_working ~ wife_age + media_exposure",
        "group": "num_children",
        "family": "binomial",
        "correlation": "independence",
        "success": "yes",
        "decimals": 5,
    }
    (numbers,) = recipes_of([recipe], cmc.spec().fields).entries(cmc.codes())
    np.testing.assert_allclose(
        [float(numbers["coefficients"][name]) for name in fit.params.index], fit.params, atol=2e-5
    )


def test_rules_know_how_many_groups_there_are() -> None:
    found = {one.rule: one.status for one in check_entries([MIXED], FIELDS, pupils(), Policy())}
    assert (
        found["few groups"],
        found["residual degrees of freedom"],
        found["small group behind a coefficient"],
    ) == ("pass", "pass", "pass")
    some = pupils()[:100]  # five schools
    assert {one.rule: one.status for one in check_entries([MIXED], FIELDS, some, Policy())}[
        "few groups"
    ] == "review"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"group": None}, "'group' is missing"),
        ({"group": "class"}, "Unknown column 'class'"),
        ({"group": "hours"}, "must not stand in its formula"),
        ({"formula": "sex ~ hours"}, "the label must be a number"),
        (
            {"kind": "gee", "family": "binomial", "correlation": "independence"},
            "the label must be 0 or 1",
        ),
        (
            {"kind": "gee", "family": "binomial", "correlation": "ar1"},
            "'correlation' is not as it should be",
        ),
        (
            {
                "kind": "gee",
                "family": "gaussian",
                "correlation": "independence",
                "loglik": -1.0,
                "coefficients": {"Intercept": 1, "sex[T.m]": 1, "hours": 1},
            },
            "do not have",
        ),
    ],
)
def test_what_is_refused(keys: dict[str, Any], message: str) -> None:
    entry = {key: value for key, value in {**MIXED, **keys}.items() if value is not None}
    with pytest.raises(InputError, match=message):
        recipes_of([entry], FIELDS)


def test_records_without_an_estimate() -> None:
    for codes, message in (
        (pupils()[:20], "all its records are in one group"),
        (pupils()[pupils()[:, 1] == 0], "cannot be told apart from others, or no record"),
    ):
        with pytest.raises(InputError, match=message):
            recipes_of([MIXED], FIELDS).computed(codes)
