"""Outputs from fitted scikit-learn linear models, as published coefficients: those that are maximum likelihood estimates, without a penalty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..._base.errors import InputError
from ..._base.results import without_none
from .pandas import plain
from .understood import formula_of_columns, refuse, rename_numbers

_KINDS = {"LinearRegression": "ols", "LogisticRegression": "logit", "PoissonRegressor": "poisson"}


def coefficients_of(
    model: Any,
    *,
    name: str,
    label: str,
    where: str | None = None,
    formula: str | None = None,
    names: Mapping[str, str] | None = None,
    decimals: int | None = None,
) -> dict[str, Any]:
    """Return a fitted LinearRegression, LogisticRegression or PoissonRegressor as an entry of a specification's outputs.

    Parameters
    ----------
    model
        Fitted on a table with names of columns (`feature_names_in_`), without a penalty.
    name
        What to call the output.
    label
        The column that it predicts: a model does not know.
    where
        The filter it was fitted with.
    formula, names
        The formula, and what its coefficients are called by it, where features are not columns as they are: {"school_e2": "school[T.e2]"}.
    decimals
        How many decimals are published. The solvers of scikit-learn stop early (`tol`), so that coefficients in full precision are seldom the data's.
    """
    kind = _KINDS.get(type(model).__name__)
    features: Any = getattr(model, "feature_names_in_", None)
    refuse(
        name,
        (
            kind is None,
            f"must be a fitted {', '.join(_KINDS)} of scikit-learn. Got {type(model).__name__}.",
        ),
        (not hasattr(model, "coef_"), "was not fitted. Call its fit first."),
        *_penalties(model),
        (
            features is None,
            "was fitted on columns without names. Fit it on a DataFrame, so that its coefficients have names.",
        ),
    )
    columns = list(map(str, features))
    comment = None
    if formula is None:
        formula, comment = formula_of_columns(
            label, columns, output=name, intercept=bool(model.fit_intercept), named=True
        )
    keys = without_none({"comment": comment, "where": where, "decimals": decimals})
    entry: dict[str, Any] = {"name": name, "kind": kind, "formula": formula, **keys}

    def coefficients(row: Any, intercept: Any) -> dict[str, Any]:
        numbers = _class_coefficients(row, intercept, columns, model)
        return rename_numbers(numbers, names, output=name)

    if kind != "logit":
        return {**entry, "coefficients": coefficients(model.coef_, model.intercept_)}
    classes = [plain(label) for label in model.classes_]
    if len(classes) == 2:
        numbers = coefficients(model.coef_[0], model.intercept_[0])
        return {**entry, "success": classes[1], "coefficients": numbers}
    # Softmax has a set of coefficients for each class; those of the first are taken off, as a base has none.
    rows, firsts = model.coef_ - model.coef_[0], model.intercept_ - model.intercept_[0]
    inner = {
        str(label): coefficients(row, first)
        for row, first, label in zip(rows[1:], firsts[1:], classes[1:], strict=True)
    }
    return {**entry, "kind": "multinomial", "base": classes[0], "coefficients": inner}


def _class_coefficients(
    row: Any, intercept: Any, columns: list[str], model: Any
) -> dict[str, float]:
    if getattr(row, "ndim", 1) != 1:
        raise InputError(
            "A model of several labels at once is several outputs. Give each by itself."
        )
    first = {"Intercept": float(intercept)} if model.fit_intercept else {}
    return {**first, **{column: float(number) for column, number in zip(columns, row, strict=True)}}


def _penalties(model: Any) -> list[tuple[object, str]]:
    """Whether coefficients are not those of the data alone, and what is said of it."""
    kind, penalty = type(model).__name__, getattr(model, "penalty", None)
    # Newer versions of scikit-learn say it by C alone.
    is_unpenalised = penalty in (None, "none") or math.isinf(float(getattr(model, "C", 0.0)))
    has_class_weights = getattr(model, "class_weight", None) is not None
    return [
        (
            kind == "LinearRegression" and getattr(model, "positive", False),
            "was fitted with coefficients of at least 0: they are not those of least squares. Fit it with positive=False.",
        ),
        (
            kind == "PoissonRegressor" and float(model.alpha) != 0.0,
            "was fitted with a penalty: its coefficients are not maximum likelihood estimates. Fit it with alpha=0.",
        ),
        (
            kind == "LogisticRegression" and (not is_unpenalised or has_class_weights),
            "was fitted with a penalty or weights of classes: its coefficients are not maximum likelihood estimates. Fit it with C=inf (or penalty=None).",
        ),
    ]
