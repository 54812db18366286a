"""Outputs from fitted lifelines objects: Cox regressions and Kaplan-Meier tables. lifelines itself is not needed, and no record is read."""

from __future__ import annotations

from typing import Any

from ..._base.results import without_none
from .understood import ModelStatements, column_term, formula_of_columns, refuse


def cox_of(
    fitter: Any,
    *,
    name: str,
    where: str | None = None,
    standard_errors: bool = False,
    loglik: bool = False,
    level: Any = None,
    event: str | None = None,
) -> dict[str, Any]:
    """Return a fitted `CoxPHFitter` as an entry of a specification's outputs: formula, coefficients and n, in full precision.

    `standard_errors` and `loglik` say whether these were published too; `level` is the level of the event's column that says yes, where that is
    not its last of two; `event` its column, where the fitter was given none.
    """
    _check(fitter, "CoxPHFitter", "params_", name)
    penalties = fitter.penalizer if hasattr(fitter.penalizer, "__iter__") else [fitter.penalizer]
    has_clusters = getattr(fitter, "cluster_col", None) is not None
    method = getattr(fitter, "baseline_estimation_method", "breslow")
    refuse(
        name,
        (
            method != "breslow",
            ': only the semi-parametric Cox model is supported (baseline_estimation_method="breslow").',
        ),
        (
            any(float(strength) != 0.0 for strength in penalties),
            "was fitted with a penalty: its coefficients are not those at which the partial likelihood is largest. Fit it with penalizer=0.",
        ),
        (
            getattr(fitter, "weights_col", None) is not None,
            "was fitted with weights, which are not supported.",
        ),
        (
            getattr(fitter, "entry_col", None) is not None,
            "was fitted with times of entry, which are not supported.",
        ),
        (
            standard_errors and (has_clusters or getattr(fitter, "robust", False)),
            "has robust standard errors, which are not supported for Cox regressions. Leave standard_errors out.",
        ),
    )
    statements = ModelStatements(name, {"event": event or fitter.event_col}, ("event",))
    coefficients = {str(key): float(value) for key, value in fitter.params_.items()}
    comment = None
    if isinstance(fitter.formula, str):
        formula = f"{column_term(str(fitter.duration_col))} ~ {fitter.formula}"
    else:
        formula, comment = formula_of_columns(
            str(fitter.duration_col), list(coefficients), output=name, intercept=True, named=True
        )
    strata = [fitter.strata] if isinstance(fitter.strata, str) else fitter.strata
    keys = {
        "comment": comment,
        "where": where,
        "n": int(fitter._n_examples),
        "event": statements.require("event", "its column of events"),
        "level": level,
        "ties": "efron",
        "strata": None if strata is None else [str(stratum) for stratum in strata],
    }
    entry = {
        "name": name,
        "kind": "cox",
        "formula": formula,
        **without_none(keys),
        "coefficients": coefficients,
    }
    if standard_errors:
        entry["standard_errors"] = {
            str(key): float(value) for key, value in fitter.standard_errors_.items()
        }
    if loglik:
        entry["loglik"] = float(fitter.log_likelihood_)
    return entry


def kaplan_meier_of(
    fitter: Any,
    *,
    name: str,
    time: str,
    event: str,
    level: Any = None,
    where: str | None = None,
    parts: tuple[str, ...] = ("at_risk", "events", "survival"),
) -> dict[str, Any]:
    """Return a fitted `KaplanMeierFitter` as an entry: at risk, events and survival at each of its times, or some of these `parts`.

    It does not know the columns of `time` and `event`, nor which people it was fitted on (`where`): these are said.
    """
    _check(fitter, "KaplanMeierFitter", "event_table", name)
    table = fitter.event_table
    unknown = [key for key in parts if key not in ("at_risk", "events", "survival")]
    is_late = (table["entrance"] > 0) & (table.index > 0)
    refuse(
        name,
        (
            unknown,
            f": a Kaplan-Meier table has at_risk, events and survival. Got '{''.join(unknown[:1])}'.",
        ),
        (
            getattr(fitter, "entry", None) is not None,
            "was fitted with times of entry, which are not supported.",
        ),
        (
            (table["removed"] % 1 != 0).any() or is_late.any(),
            "was fitted with weights or late entries, which are not supported.",
        ),
    )
    steps = table[table["removed"] > 0]
    survival = fitter.survival_function_.iloc[:, 0]
    numbers = {
        "at_risk": [int(count) for count in steps["at_risk"]],
        "events": [int(count) for count in steps["observed"]],
        "survival": [float(survival.loc[time]) for time in steps.index],
    }
    keys = without_none({"where": where, "time": time, "event": event, "level": level})
    times = [int(time) if float(time).is_integer() else float(time) for time in steps.index]
    return {
        "name": name,
        "kind": "kaplan-meier",
        **keys,
        "times": times,
        **{key: numbers[key] for key in parts},
    }


def _check(fitter: Any, wanted: str, attribute: str, name: str) -> None:
    cls = type(fitter).__name__
    refuse(
        name,
        (cls != wanted, f"must be a fitted {wanted} of lifelines. Got {cls}."),
        (
            getattr(fitter, attribute, None) is None,
            f"is a {wanted} that was not fitted. Call its fit first.",
        ),
    )
