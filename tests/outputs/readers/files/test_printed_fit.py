"""Models as printed over columns of data, and the rules without data."""

from __future__ import annotations

from typing import Any

import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.readers.files.printed import PrintedFit, patsy_formula, patsy_name
from chaffinch.outputs.rules import Policy

FIELDS = Fields(
    (
        Field("y", (0, 1, 2, 3)),
        Field("age", (1, 2, 3)),
        Field("sex", ("f", "m", "x")),
        Field("area", (1, 2)),
    )
)


def statuses(fit: PrintedFit) -> dict[str, str]:
    return {one.rule: one.status for one in fit.findings("m", Policy())}


def test_n_and_degrees_of_freedom_are_judged_and_the_rest_is_not_assessed() -> None:
    good = statuses(PrintedFit("ols", coefficients={"a": "1", "b": "2"}, n=100))
    assert good == {
        "threshold": "pass",
        "residual degrees of freedom": "pass",
        "small group behind a coefficient": "not assessed",
    }
    assert (
        statuses(PrintedFit("ols", coefficients={"a": "1", "b": "2"}, n=11))[
            "residual degrees of freedom"
        ]
        == "fail"
    )
    assert statuses(PrintedFit("ols", coefficients={"a": "1"}, n=9))["threshold"] == "fail"
    assert statuses(PrintedFit("ols", dof=8))["residual degrees of freedom"] == "fail"
    assert (
        statuses(PrintedFit("ols", coefficients={"a": "1"}))["residual degrees of freedom"]
        == "not assessed"
    )
    assert statuses(PrintedFit("ols", dof=80, extremes=True))["extremes of residuals"] == "review"


@pytest.mark.parametrize(
    ("formula", "names", "written"),
    [
        (
            "y ~ age + sex",
            ["(Intercept)", "age", "sexm", "sexx"],
            ["Intercept", "age", "sex[T.m]", "sex[T.x]"],
        ),
        (
            "y ~ factor(area) * age",
            ["(Intercept)", "factor(area)2", "age", "factor(area)2:age"],
            ["Intercept", "C(area)[T.2]", "age", "C(area)[T.2]:age"],
        ),
        ("y ~ age + C(area)", ["_cons", "age", "2.area"], ["Intercept", "age", "C(area)[T.2]"]),
    ],
)
def test_a_formula_of_r_and_stata_becomes_ours(
    formula: str, names: list[str], written: list[str]
) -> None:
    fit = PrintedFit("ols", "y", formula, {name: f"{k}.5" for k, name in enumerate(names)}, n=50)
    (entry,) = fit.entries("m", FIELDS)
    assert list(entry["coefficients"]) == written
    assert entry["n"] == 50


def test_another_reference_level_is_found_by_the_coefficient_that_is_not_there() -> None:
    fit = PrintedFit("ols", "y", "y ~ sex", {"(Intercept)": "1.0", "sexf": "2.0", "sexx": "3.0"})
    (entry,) = fit.entries("m", FIELDS)
    assert "Treatment('m')" in entry["formula"]
    assert list(entry["coefficients"].values()) == ["1.0", "2.0", "3.0"]


def test_without_a_formula_it_is_put_together_from_names() -> None:
    (entry,) = PrintedFit("ols", "y", None, {"_cons": "1.0", "age": "2.0"}).entries("m", FIELDS)
    assert entry["formula"] == "y ~ age"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"coefficients": {"_cons": "1"}}, "what it is a model of"),
        ({}, "no coefficients, and no formula"),
        ({"unsaid": "it is weighted"}, "it is weighted"),
        (
            {"label": "y", "coefficients": {"_cons": "1", "income": "2"}},
            "'income' is no column of the data",
        ),
    ],
)
def test_what_does_not_fit_the_data_says_why(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        PrintedFit("ols", **keys).entries("m", FIELDS)


def test_ratios_are_looked_at_without_their_numbers() -> None:
    fit = PrintedFit(
        "logit",
        "sex",
        "sex ~ age",
        {"(Intercept)": "1.5", "age": "2.5"},
        n=50,
        exponentiated=True,
        success="m",
    )
    (entry,) = fit.entries("m", FIELDS)
    assert "coefficients" not in entry
    assert entry["n"] is True


def test_a_label_that_is_a_comparison_is_a_column_and_a_level() -> None:
    fit = PrintedFit("logit", "y == 2", "y == 2 ~ age", {"(Intercept)": "1.5", "age": "2.5"})
    (entry,) = fit.entries("m", FIELDS)
    assert (entry["formula"], entry["success"]) == ("y ~ age", 2)


def test_words_of_r_are_translated() -> None:
    assert patsy_formula("y ~ as.factor(a) +\n    I(b^2)") == "y ~ C(a) + I(b**2)"
    assert patsy_name("factor(a)never married", {}) == "C(a)[T.never married]"
    assert patsy_name("1.foreign#c.weight", {}) == "C(foreign)[T.1]:weight"
