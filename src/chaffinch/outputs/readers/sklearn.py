"""Outputs from fitted scikit-learn linear models, as published coefficients: those that are maximum likelihood estimates, without a penalty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..._base.errors import InputError
from ..._base.results import without_none
from .pandas import plain
from .understood import formula_of_columns, rename_numbers

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
    if kind is None:
        raise InputError(
            f"Output '{name}' must be a fitted {', '.join(_KINDS)} of scikit-learn. Got {type(model).__name__}."
        )
    if not hasattr(model, "coef_"):
        raise InputError(f"Output '{name}' was not fitted. Call its fit first.")
    _check_penalty(model, name)
    features = getattr(model, "feature_names_in_", None)
    if features is None:
        raise InputError(
            f"Output '{name}' was fitted on columns without names. Fit it on a DataFrame, so that its coefficients have names."
        )
    columns = [str(feature) for feature in features]
    comment = None
    if formula is None:
        formula, comment = formula_of_columns(
            label, columns, output=name, intercept=bool(model.fit_intercept), named=True
        )
    keys = without_none({"comment": comment, "where": where, "decimals": decimals})
    entry: dict[str, Any] = {"name": name, "kind": kind, "formula": formula, **keys}
    if kind != "logit":
        entry["coefficients"] = rename_numbers(
            _class_coefficients(model.coef_, model.intercept_, columns, model), names, output=name
        )
        return entry
    classes = [plain(label) for label in model.classes_]
    if len(classes) == 2:
        entry["success"] = classes[1]
        entry["coefficients"] = rename_numbers(
            _class_coefficients(model.coef_[0], model.intercept_[0], columns, model),
            names,
            output=name,
        )
        return entry
    # Softmax has a set of coefficients for each class; those of the first are taken off, as a base has none.
    rows = list(
        zip(
            model.coef_ - model.coef_[0],
            model.intercept_ - model.intercept_[0],
            classes,
            strict=True,
        )
    )[1:]
    inner = {
        str(label): rename_numbers(
            _class_coefficients(row, first, columns, model), names, output=name
        )
        for row, first, label in rows
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


def _check_penalty(model: Any, name: str) -> None:
    """Raise for coefficients that are not those of the data alone."""
    kind = type(model).__name__
    if kind == "LinearRegression" and getattr(model, "positive", False):
        raise InputError(
            f"Output '{name}' was fitted with coefficients of at least 0: they are not those of least squares. Fit it with positive=False."
        )
    if kind == "PoissonRegressor" and float(model.alpha) != 0.0:
        raise InputError(
            f"Output '{name}' was fitted with a penalty: its coefficients are not maximum likelihood estimates. Fit it with alpha=0."
        )
    if kind == "LogisticRegression":
        unpenalised = getattr(model, "penalty", None) in (None, "none") or math.isinf(
            float(model.C)
        )
        if getattr(model, "penalty", None) == "deprecated":  # newer versions say it by C alone
            unpenalised = math.isinf(float(model.C))
        if not unpenalised or getattr(model, "class_weight", None) is not None:
            raise InputError(
                f"Output '{name}' was fitted with a penalty or weights of classes: its coefficients are not maximum likelihood estimates. Fit it with C=inf (or penalty=None)."
            )
