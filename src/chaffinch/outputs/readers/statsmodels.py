"""Outputs from the objects that hold them: fitted statsmodels results, pandas and polars tables. Numbers come with full precision.

Nothing is taken from the records behind an object: a result gives its formula, coefficients and n, a table its cells. Columns are
declared (`columns_of` a schema, or written by hand); `levels_of` reads the levels that a formula found, for those who ask for it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._base.errors import InputError
from ..._base.results import without_none
from ..document import FORMAT, VERSION, Outputs
from ..families import DISTRIBUTIONS, LINKS
from .pandas import plain
from .understood import INTERCEPTS, ModelStatements, formula_of_columns, refuse, rename_numbers

_KINDS = {
    "OLS": "ols",
    "WLS": "ols",
    "Logit": "logit",
    "Probit": "probit",
    "Poisson": "poisson",
    "MNLogit": "multinomial",
    "NegativeBinomial": "negative-binomial",
    "GLM": "glm",
    "GEE": "gee",
    "MixedLM": "mixed",
    "QuantReg": "quantile-regression",
    "OrderedModel": "ordered",
    "PHReg": "cox",
}
_FAMILIES = {law.statsmodels: name for name, law in DISTRIBUTIONS.items()}
"""By the name of a distribution in statsmodels, ours."""
_GEE_LINKS = {"Gaussian": "Identity", "Binomial": "Logit", "Poisson": "Log"}
_LINKS = {link.statsmodels: name for name, link in LINKS.items()}


def outputs_of(
    result: Any,
    *,
    name: str,
    where: str | None = None,
    formula: str | None = None,
    success: str | int | float | bool | None = None,
    standard_errors: bool = False,
    loglik: bool = False,
    names: Mapping[str, str] | None = None,
    **statements: Any,
) -> dict[str, Any]:
    """Return a fitted statsmodels result as an entry of a specification's outputs: formula, coefficients and n, in full precision.

    Parameters
    ----------
    result
        What `.fit()` returned, of OLS, WLS, Logit, Probit, Poisson, NegativeBinomial, MNLogit, GLM, GEE, MixedLM (random intercept), QuantReg,
        OrderedModel or PHReg; statsmodels 0.14 or 0.15, with formulas by patsy or formulaic. `remove_data()` may have been called.
    name
        What to call the output.
    where
        The filter it was run with, in the words of a specification: a result does not know.
    formula
        The formula, for a model that was not made by one. Without it columns with names are taken as numbers, and the entry's comment says so.
    success
        The level that counts as 1, where the specification's column has words (or other numbers) in place of 0 and 1.
    standard_errors, loglik
        Whether these were published too.
    names
        What coefficients are called by the formula, where the model calls them otherwise: {"school_e2": "school[T.e2]"}.
    said
        Names of columns that a model does not know: `offset`, `weights`, `cluster` (of its standard errors), `group` (GEE, MixedLM), `event`,
        `level` and `strata` (PHReg); and `order`, the classes of an OrderedModel's label.
    """
    model = getattr(result, "model", None)
    kind = _KINDS.get(type(model).__name__)
    if kind is None:
        raise InputError(
            f"Output '{name}' must be a fitted statsmodels result of {', '.join(_KINDS)}. Got {type(model if model is not None else result).__name__}."
        )
    known = ModelStatements(
        name,
        statements,
        ("offset", "weights", "cluster", "group", "event", "level", "strata", "order"),
    )
    comment = None
    if formula is None:
        formula, comment = _formula(model, kind, name)
    keys = {"comment": comment, "where": where, "n": _n(result)} | _columns(model, name, known)
    entry = {"name": name, "kind": kind, "formula": formula, **without_none(keys)}
    if kind in _KEYS_OF_KINDS:
        entry |= without_none(_KEYS_OF_KINDS[kind](result, model, name, known))
    entry |= without_none({"success": _success(model) if success is None else success})
    entry["coefficients"] = _coefficients(result, model, kind)
    if kind == "negative-binomial":
        entry["alpha"] = entry["coefficients"].pop("alpha")
    if standard_errors:
        entry |= _errors(result, model, entry, name, known)
    if loglik:
        entry["loglik"] = float(result.llf)
    known.finish()
    for key in ("coefficients", "standard_errors"):
        if key in entry and kind != "multinomial":
            entry[key] = rename_numbers(entry[key], names, output=name)
    return entry


def _formula(model: Any, kind: str, name: str) -> tuple[str, str | None]:
    """The model's own formula; or what it stands for, with a sentence that says so."""
    written = getattr(model, "formula", None)
    if isinstance(written, str):
        return written, None
    is_named = hasattr(getattr(model.data, "orig_exog", None), "columns")
    size = model.exog.shape[1] if kind == "ordered" else None
    columns = [str(column) for column in model.exog_names][:size]
    # Cox and ordered models have no intercept, and their formula says nothing of it.
    intercept = kind in ("cox", "ordered") or not INTERCEPTS.isdisjoint(columns)
    return formula_of_columns(
        str(model.endog_names), columns, output=name, intercept=intercept, named=is_named
    )


def _columns(model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    """The columns of an offset and of weights, where the model has these."""
    columns: dict[str, Any] = {}
    model_class = type(model).__name__
    is_weighted = any(
        _differs(getattr(model, key, None), 1.0)
        for key in ("freq_weights", "var_weights", "weights")
        if key != "weights" or model_class in ("WLS", "GEE")
    )
    shifts = (getattr(model, key, None) for key in ("offset", "exposure"))
    if any(_differs(numbers, 0.0) for numbers in shifts):
        columns["offset"] = known["offset"]
    if is_weighted and model_class != "GEE":
        columns["weights"] = known["weights"]
    refuse(
        name,
        (
            columns.get("offset", "") is None,
            "was fitted with an offset or exposure. Name its column: offset = ... (of an exposure, its log).",
        ),
        (
            is_weighted and model_class == "GEE",
            "was fitted with weights, which are not supported for GEE.",
        ),
        (
            columns.get("weights", "") is None,
            "was fitted with weights. Name their column: weights = ...",
        ),
    )
    return columns


def _differs(numbers: Any, plain: float) -> bool:
    """Whether an array of a model has entries other than the plain one."""
    values = numbers.ravel().tolist() if hasattr(numbers, "ravel") else [numbers]
    return numbers is not None and any(value != plain for value in values)


def _mixed_keys(result: Any, model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    is_intercept = model.k_re == 1 and not model.k_vc and bool((model.exog_re == 1.0).all())
    refuse(
        name,
        (
            not is_intercept,
            ": of mixed models only those with a random intercept are supported.",
        ),
    )
    return {
        "group": known.require("group", "its groups"),
        "reml": bool(result.reml),
        "group_variance": float(_values(result.cov_re)[0, 0]),
        "residual_variance": float(result.scale),
    }


def _cox_keys(result: Any, model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    has_entry = getattr(model, "entry", None) is not None
    refuse(name, (has_entry, ": times of entry are not supported."))
    event = known.require("event", "its column of events")
    keys = {"event": event, "level": known["level"], "ties": str(model.ties)}
    if getattr(model, "strata", None) is not None:
        strata = known.require("strata", "its strata")
        keys["strata"] = [strata] if isinstance(strata, str) else list(strata)
    return keys


def _negative_binomial_keys(
    result: Any, model: Any, name: str, known: ModelStatements
) -> dict[str, Any]:
    is_other = getattr(model, "loglike_method", "nb2") != "nb2"
    refuse(name, (is_other, ": only the negative binomial of type nb2 is supported."))
    return {}


def _quantile_keys(result: Any, model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    return {"at": float(result.q)}


def _gee_keys(result: Any, model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    family, link, structure = (
        type(component).__name__
        for component in (model.family, model.family.link, model.cov_struct)
    )
    has_usual_link = _GEE_LINKS.get(family) == link
    refuse(
        name,
        (
            not has_usual_link or structure not in ("Independence", "Exchangeable"),
            f": a GEE of family {family} with link {link} and correlation {structure} is not supported.",
        ),
    )
    return {
        "group": known.require("group", "its groups"),
        "family": family.lower(),
        "correlation": structure.lower(),
    }


def _ordered_keys(result: Any, model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    kinds = {"logistic": "ordered-logit", "norm": "ordered-probit"}
    kind = kinds.get(getattr(model.distr, "name", ""))
    refuse(name, (kind is None, ": of ordered models only logit and probit are supported."))
    thresholds = model.transform_threshold_params(_values(result.params))[1:-1]
    order = known["order"] or [plain(label) for label in model.labels]
    is_numeric = all(
        isinstance(level, int | float) and not isinstance(level, bool) for level in order
    )
    return {
        "kind": kind,
        "thresholds": [float(threshold) for threshold in thresholds],
        "order": None if is_numeric else list(order),
    }


def _glm_keys(result: Any, model: Any, name: str, known: ModelStatements) -> dict[str, Any]:
    family, link = type(model.family).__name__, type(model.family.link).__name__
    refuse(
        name,
        (
            family not in _FAMILIES or link not in _LINKS,
            f": a GLM of family {family} with link {link} is not supported. Families: {', '.join(_FAMILIES)}.",
        ),
    )
    return {
        "family": _FAMILIES[family],
        "link": _LINKS[link],
        "alpha": float(model.family.alpha) if family == "NegativeBinomial" else None,
    }


_KEYS_OF_KINDS: dict[str, Callable[[Any, Any, str, ModelStatements], dict[str, Any]]] = {
    "glm": _glm_keys,
    "negative-binomial": _negative_binomial_keys,
    "quantile-regression": _quantile_keys,
    "mixed": _mixed_keys,
    "gee": _gee_keys,
    "ordered": _ordered_keys,
    "cox": _cox_keys,
}
"""What a kind has beside formula and coefficients."""


def _success(model: Any) -> str | None:
    """The level that a binomial GLM with a label of words counts as 1: the first of its two columns."""
    names = model.endog_names
    is_pair = isinstance(names, list | tuple) and len(names) == 2
    level = re.fullmatch(r".*\[(?:T\.)?(.*)\]", str(names[0])) if is_pair else None
    return level[1] if level else None


def _n(result: Any) -> int | None:
    """The number of records; from the degrees of freedom where the data were removed."""
    with contextlib.suppress(AttributeError, TypeError):
        return int(result.nobs)
    if type(result.model).__name__ == "PHReg":
        endog = getattr(result.model, "endog", None)
        return None if endog is None else len(endog)
    with contextlib.suppress(AttributeError, TypeError):
        return int(result.df_resid) + len(result.params)
    return None


def _values(params: Any) -> Any:
    return params.to_numpy() if hasattr(params, "to_numpy") else params


def _numbers_by_name(params: Any, numbers: Any, model: Any) -> dict[str, float]:
    """Numbers by the names of parameters, of which there may be more."""
    is_indexed = hasattr(params, "index") and not callable(params.index)
    names = params.index if is_indexed else model.exog_names
    return {str(name): float(number) for name, number in zip(names, numbers, strict=False)}


def _coefficients(result: Any, model: Any, kind: str) -> dict[str, Any]:
    """Coefficients by name; by class first where the label has several: the base class has none, and a class 1.0 is 1."""
    params = result.fe_params if kind == "mixed" else result.params
    numbers = _values(params)
    if kind == "multinomial":
        classes = [str(word) for _, word in sorted(model._ynames_map.items())][1:]
        return {
            re.sub(r"^(-?\d+)\.0$", r"\1", word): _numbers_by_name(params, numbers[:, k], model)
            for k, word in enumerate(classes)
        }
    return _numbers_by_name(
        params, numbers[: model.exog.shape[1]] if kind == "ordered" else numbers, model
    )


def _errors(
    result: Any, model: Any, entry: Mapping[str, Any], name: str, known: ModelStatements
) -> dict[str, Any]:
    """Standard errors, with what else is needed to know which these are."""
    kind, robust = str(entry["kind"]), getattr(result, "cov_type", "nonrobust")
    is_usual = robust == ("robust" if kind == "gee" else "nonrobust")
    is_clustered = not is_usual and robust == "cluster"
    refuse(
        name,
        (
            kind == "gee" and not is_usual,
            ": of GEE only robust standard errors are supported. Leave standard_errors out.",
        ),
        (
            not is_usual and robust not in ("HC0", "HC1", "HC2", "HC3", "cluster"),
            f"has standard errors of type {robust}, which are not supported. Leave standard_errors out.",
        ),
        (
            is_clustered and result.cov_kwds.get("use_correction") is False,
            "has standard errors by cluster without the usual correction, which are not supported.",
        ),
        (
            kind == "quantile-regression",
            ": standard errors of quantile regressions are not supported, since programs differ in them. Leave standard_errors out.",
        ),
    )
    keys: dict[str, Any] = {} if is_usual else {"covariance": robust}
    if is_clustered:
        keys["cluster"] = known.require("cluster", "its clusters")
    bse = _values(result.bse_fe if kind == "mixed" else result.bse)
    keys["standard_errors"] = {
        word: number
        for word, number in _numbers_by_name(result.params, bse, model).items()
        if word in entry["coefficients"]
    }
    if kind == "glm":
        keys["information"] = "expected"
        if entry["family"] in ("gamma", "inverse-gaussian"):
            keys["dispersion"] = float(result.scale)
    return keys


def levels_of(result: Any) -> dict[str, list[Any]]:
    """Return the levels that a fitted formula found in its data, in its order, for each categorical column.

    These come from records: levels that no coefficient names, such as the reference, are then known to whoever gets the specification.
    """
    data = result.model.data
    spec = getattr(data, "model_spec", None) or getattr(data, "design_info", None)
    if spec is None:
        raise InputError(
            "The result has no record of its formula. Fit it by statsmodels.formula.api, before remove_data()."
        )
    # Of patsy, then of formulaic.
    categories_by_name = (
        {factor.name(): info.categories for factor, info in spec.factor_infos.items()}
        if hasattr(spec, "factor_infos")
        else {name: state[1].get("categories") for name, state in spec.encoder_state.items()}
    )
    levels: dict[str, list[Any]] = {}
    for name, categories in without_none(categories_by_name).items():
        inner = re.fullmatch(r"C\(\s*([^\W\d]\w*)\s*[,)].*", str(name))
        levels[inner[1] if inner else str(name)] = [plain(level) for level in categories]
    return levels


def spec_of(
    columns: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
    *,
    rows: int | None = None,
) -> Outputs:
    """Return a specification of columns and outputs, checked."""
    head = {"format": FORMAT, "version": VERSION, **without_none({"rows": rows})}
    return Outputs.from_dict(
        {
            **head,
            "columns": [dict(column) for column in columns],
            "outputs": [dict(output) for output in outputs],
        }
    )
