"""Ordered regressions against statsmodels and R: scores, fits, equations, rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputDomain
from chaffinch.outputs.kinds.ordered import ordered_parts
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import check_entries

FORMULA = "wife_education ~ wife_age + media_exposure + C(wife_religion)"
ORDER = ["none", "some", "more", "most"]
# R 4.2.2, records of examples/data/cmc.csv: MASS::polr(factor(wife_education) ~ wife_age + (media_exposure != 0) + (wife_religion != 0),
#   data, method = "logistic" or "probit", Hess = TRUE, control = list(reltol = 1e-16)); media_exposure 1 is "poor".
# Coefficients in our order, thresholds, standard errors, log-likelihood.
IN_R = {
    "ordered-logit": (
        [-2.43645, -1.319158, -0.005636464],
        [-3.899171, -2.223801, -0.9579682],
        [0.20339, 0.152073, 0.00607435],
        -1782.5819,
    ),
    "ordered-probit": (
        [-1.410162, -0.8191871, -0.006072258],
        [-2.401978, -1.459318, -0.6815484],
        [0.115925, 0.0894901, 0.00357517],
        -1778.798,
    ),
}


@pytest.mark.parametrize("kind", ["ordered-logit", "ordered-probit"])
def test_score_and_information_are_derivatives_of_the_log_likelihood(kind: str) -> None:
    rng = np.random.default_rng(3)
    x, offset, place = rng.normal(size=(12, 2)), rng.normal(size=12), np.arange(12) % 4
    at = np.array([0.4, -0.3, -1.0, 0.2, 1.1])

    def parts(b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return ordered_parts(kind, x, place, offset, b[:2], b[2:])

    score, information, _ = parts(at)
    for k in range(12):
        np.testing.assert_allclose(
            approx_fprime(at, lambda b, k=k: parts(b)[2][k], 1e-7), score[k], atol=1e-5
        )
        np.testing.assert_allclose(
            approx_fprime(at, lambda b, k=k: -parts(b)[0][k], 1e-7), information[k], atol=1e-5
        )


@pytest.mark.parametrize("kind", IN_R)
def test_numbers_are_those_of_r_and_records_satisfy_them(
    cmc: Any, check: Any, slopes_hold: Any, kind: str
) -> None:
    """Computed, compared, and as equations: the records that were fitted satisfy what was printed, others do not."""
    coefficients, thresholds, errors, loglik = IN_R[kind]
    recipe = {
        "name": "o",
        "kind": kind,
        "formula": FORMULA,
        "order": ORDER,
        "thresholds": True,
        "standard_errors": True,
        "loglik": True,
        "decimals": 5,
    }
    (ours,) = recipes_of([recipe], cmc.spec().fields).entries(cmc.codes())
    assert list(ours["coefficients"]) == [
        "media_exposure[T.poor]",
        "C(wife_religion)[T.1]",
        "wife_age",
    ]
    np.testing.assert_allclose(
        [float(b) for b in ours["coefficients"].values()], coefficients, atol=2e-5
    )
    np.testing.assert_allclose([float(b) for b in ours["thresholds"]], thresholds, atol=2e-5)
    np.testing.assert_allclose(
        [float(b) for b in ours["standard_errors"].values()], errors, atol=2e-5
    )
    assert abs(float(ours["loglik"]) - loglik) < 1e-3
    entry = {
        "kind": kind,
        "formula": FORMULA,
        "order": ORDER,
        "coefficients": dict(
            zip(ours["coefficients"], (f"{b:.4f}" for b in coefficients), strict=True)
        ),
        "thresholds": {
            "none|some": f"{thresholds[0]:.4f}",
            "some | more": f"{thresholds[1]:.4f}",
            "more|most": f"{thresholds[2]:.4f}",
        },
        "standard_errors": {"wife_age": f"{errors[2]:.4f}"},
        "loglik": f"{loglik:.2f}",
        "n": 1473,
    }
    spec = cmc.spec(entry)
    (again,) = compare_numbers(spec, cmc.codes())
    assert (again.within, again.size) == (True, 9)
    assert check(spec, cmc.codes()) == []
    assert check(spec, cmc.shuffled("wife_age")) == ["o0"]
    (system,) = spec.problem().outputs
    slopes_hold(system.reported, system.contributions(cmc.shuffled("wife_age")).sum(axis=0))


def test_a_dataset_is_evolved_from_published_numbers(evolved: Any, cmc: Any) -> None:
    recipe = {
        "name": "o",
        "kind": "ordered-logit",
        "formula": "standard_of_living ~ num_children + media_exposure",
        "thresholds": True,
        "standard_errors": ["num_children"],
        "decimals": 3,
    }
    spec = recipes_of([recipe], cmc.spec().fields).computed(cmc.codes()[:400])
    fields = OutputDomain(
        tuple(
            field
            for field in spec.fields
            if field.name in ("standard_of_living", "num_children", "media_exposure")
        )
    )
    evolved(Outputs(fields, spec.outputs, 400), seconds=20)


def test_order_and_thresholds_are_not_guessed(cmc: Any) -> None:
    fields = cmc.spec().fields
    base = {"name": "o", "kind": "ordered-logit", "formula": FORMULA, "order": ORDER}
    for keys, message in (
        ({"order": None}, r"Say their order, .* with order = \[...\] of column 'wife_education'"),
        ({"order": ["none", "some", "more"]}, "order must have every level"),
        ({"formula": "wife_education ~ 0 + wife_age"}, "Leave out the 0 or -1"),
        ({"formula": "wife_education ~ 1"}, "a term besides the intercept"),
        ({"formula": "I(wife_age * 2) ~ num_children", "order": None}, "must be a column"),
        ({"coefficients": {"wife_age": 1.0}}, "no coefficient for 'media_exposure"),
        ({"standard_errors": ["age"]}, "Unknown standard error 'age'"),
    ):
        with pytest.raises(InputError, match=message):
            recipes_of(
                [{key: value for key, value in {**base, **keys}.items() if value is not None}],
                fields,
            )
    numbers = {
        "coefficients": {"media_exposure[T.poor]": 1, "C(wife_religion)[T.1]": 1, "wife_age": 0}
    }
    for thresholds, message in (
        ([1, 2], "must have 3 thresholds"),
        ([1, 3, 2], "must rise"),
        ({"a|b": 1}, "named like"),
    ):
        with pytest.raises(InputError, match=message):
            cmc.spec({**base, **numbers, "thresholds": thresholds}).problem()
    bare = cmc.spec({**base, **numbers})
    assert bare.rules_only == {"o": "without its thresholds it has no equations"}


def test_columns_with_too_many_combinations_are_for_rules_only(cmc: Any) -> None:
    many = {
        "name": "o",
        "kind": "ordered-probit",
        "formula": "standard_of_living ~ wife_age*num_children*C(wife_education)*contraceptive_method",
        "thresholds": True,
    }
    assert "too many combinations" in recipes_of([many], cmc.spec().fields).rules_only["o"]


def test_rules_and_what_cannot_be_fitted(cmc: Any) -> None:
    from chaffinch.outputs.rules import Policy

    fields, codes = cmc.spec().fields, cmc.codes()
    recipe = {
        "name": "o",
        "kind": "ordered-logit",
        "formula": "standard_of_living ~ C(num_children)",
    }
    report = check_entries([recipe], fields, codes, Policy())
    by_rule = {one.rule: one.status for one in report}
    assert by_rule["small group behind a coefficient"] == "fail"  # hardly anyone has 13 children
    assert by_rule["residual degrees of freedom"] == "pass"
    few = check_entries([recipe], fields, codes[:20], Policy())
    assert {one.rule: one.status for one in few}["residual degrees of freedom"] == "fail"
    alone = codes[codes[:, fields.position("standard_of_living")] > 0]
    with pytest.raises(InputError, match="class '1' of column 'standard_of_living' has no records"):
        recipes_of(
            [{**recipe, "formula": "standard_of_living ~ wife_age"}], fields.counted(codes)
        ).computed(alone)
