"""Outputs from the objects that hold them: fitted statsmodels results, pandas and polars tables. Numbers come with full precision.

Nothing is taken from the records behind an object: a result gives its formula, coefficients and n, a table its cells. Columns are
declared (`columns_of` a schema, or written by hand); `levels_of` reads the levels that a formula found, for those who ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..._base.errors import InputError
from ..._base.plain import without_none
from ..document import FORMAT, VERSION, Outputs
from ..tables import columns_of
from .pandas import plain, table_of

__all__ = ["columns_of", "levels_of", "outputs_of", "spec_of", "table_of"]

_KINDS = {
    "OLS": "ols",
    "Logit": "logit",
    "Probit": "probit",
    "Poisson": "poisson",
    "MNLogit": "multinomial",
    "NegativeBinomial": "negative-binomial",
    "GLM": "glm",
}
_FAMILIES = ("Gaussian", "Binomial", "Poisson", "NegativeBinomial", "Gamma", "InverseGaussian")
_LINKS = {
    "Identity": "identity",
    "Logit": "logit",
    "Probit": "probit",
    "CLogLog": "cloglog",
    "Log": "log",
    "InversePower": "inverse",
    "InverseSquared": "inverse-squared",
}


def outputs_of(
    result: Any,
    *,
    name: str,
    where: str | None = None,
    formula: str | None = None,
    success: str | int | float | bool | None = None,
    offset: str | None = None,
    standard_errors: bool = False,
    loglik: bool = False,
) -> dict[str, Any]:
    """Return a fitted statsmodels result as an entry of a specification's outputs: formula, coefficients and n, in full precision.

    Parameters
    ----------
    result
        What `.fit()` returned, of OLS, Logit, Probit, Poisson, NegativeBinomial, MNLogit or GLM; statsmodels 0.14 or 0.15, with
        formulas by patsy or formulaic. `remove_data()` may have been called.
    name
        What to call the output.
    where
        The filter it was run with, in the words of a specification: a result does not know.
    formula
        The formula, for a model that was not made by one; coefficients must have the names that it makes.
    success
        The level that counts as 1, where the specification's column has words (or other numbers) in place of 0 and 1.
    offset
        The column behind the model's offset, if it has one.
    standard_errors, loglik
        Whether these were published too.
    """
    model = getattr(result, "model", None)
    kind = _KINDS.get(type(model).__name__)
    if kind is None:
        raise InputError(
            f"Output '{name}' must be a fitted statsmodels result of {', '.join(_KINDS)}. Got {type(model if model is not None else result).__name__}."
        )
    formula = formula or getattr(model, "formula", None)
    if not isinstance(formula, str):
        raise InputError(
            f"Output '{name}' was fitted without a formula. Fit it by statsmodels.formula.api, or pass formula = ..."
        )
    _check_plain(result, model, name, offset, standard_errors=standard_errors)
    keys = without_none({"where": where, "offset": offset, "n": _n(result)})
    entry: dict[str, Any] = {"name": name, "kind": kind, "formula": formula, **keys}
    if kind == "glm":
        entry |= _family(model, name)
    if kind == "negative-binomial" and getattr(model, "loglike_method", "nb2") != "nb2":
        raise InputError(f"Output '{name}': only the negative binomial of type nb2 is supported.")
    chosen = success if success is not None else _success(model)
    if chosen is not None:
        entry["success"] = chosen
    entry["coefficients"] = _named_classes(result, model) if kind == "multinomial" else _named(result.params, model)
    if kind == "negative-binomial":
        entry["alpha"] = entry["coefficients"].pop("alpha")
    if standard_errors:
        errors = _named(result.bse, model)
        errors.pop("alpha", None)
        entry["standard_errors"] = errors
        if kind == "glm" and entry["family"] in ("gamma", "inverse-gaussian"):
            entry["dispersion"] = float(result.scale)
        if kind == "glm":
            entry["information"] = "expected"
    if loglik:
        entry["loglik"] = float(result.llf)
    return entry


def _check_plain(result: Any, model: Any, name: str, offset: str | None, *, standard_errors: bool) -> None:
    """Raise for what a specification cannot say."""
    has_offset = any(_some(getattr(model, key, None), 0.0) for key in ("offset", "exposure"))
    if has_offset and offset is None:
        raise InputError(
            f"Output '{name}' was fitted with an offset or exposure. Name its column: offset = ... (of an exposure, its log)."
        )
    if any(_some(getattr(model, key, None), 1.0) for key in ("freq_weights", "var_weights")):
        raise InputError(f"Output '{name}' was fitted with weights, which are not supported.")
    if standard_errors and getattr(result, "cov_type", "nonrobust") != "nonrobust":
        raise InputError(
            f"Output '{name}' has robust standard errors, which are not supported. Leave standard_errors out."
        )


def _some(numbers: Any, plain: float) -> bool:
    """Whether an array of a model has entries other than the plain one."""
    if numbers is None:
        return False
    values = numbers.ravel().tolist() if hasattr(numbers, "ravel") else [numbers]
    return any(value != plain for value in values)


def _n(result: Any) -> int | None:
    """The number of records; from the degrees of freedom where the data were removed."""
    try:
        return int(result.nobs)
    except (AttributeError, TypeError):
        pass
    try:
        return int(result.df_resid) + len(result.params)
    except (AttributeError, TypeError):
        return None


def _family(model: Any, name: str) -> dict[str, Any]:
    family, link = type(model.family).__name__, type(model.family.link).__name__
    if family not in _FAMILIES or link not in _LINKS:
        raise InputError(
            f"Output '{name}': a GLM of family {family} with link {link} is not supported. Families: {', '.join(_FAMILIES)}."
        )
    entry: dict[str, Any] = {"family": re.sub("(?<=[a-z])(?=[A-Z])", "-", family).lower(), "link": _LINKS[link]}
    if family == "NegativeBinomial":
        entry["alpha"] = float(model.family.alpha)
    return entry


def _success(model: Any) -> str | None:
    """The level that a binomial GLM with a label of words counts as 1: the first of its two columns."""
    names = model.endog_names
    if isinstance(names, list | tuple) and len(names) == 2:
        level = re.fullmatch(r".*\[(.*)\]", str(names[0]))
        return level[1].removeprefix("T.") if level else None
    return None


def _names(params: Any, model: Any) -> list[str]:
    indexed = hasattr(params, "index") and not callable(params.index)
    return [str(name) for name in (params.index if indexed else model.exog_names)]


def _named(params: Any, model: Any) -> dict[str, float]:
    return {name: float(number) for name, number in zip(_names(params, model), list(params), strict=True)}


def _named_classes(result: Any, model: Any) -> dict[str, dict[str, float]]:
    """Coefficients by class, then by name; the base class has none. A class 1.0 is 1."""
    classes = [re.sub(r"^(-?\d+)\.0$", r"\1", str(word)) for _, word in sorted(model._ynames_map.items())][1:]
    names = _names(result.params, model)
    numbers = result.params.to_numpy() if hasattr(result.params, "to_numpy") else result.params
    return {label: {name: float(numbers[i, k]) for i, name in enumerate(names)} for k, label in enumerate(classes)}


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
    if hasattr(spec, "factor_infos"):
        factors = {
            factor.name(): info.categories for factor, info in spec.factor_infos.items() if info.categories is not None
        }
    else:
        factors = {
            str(name): state[1]["categories"] for name, state in spec.encoder_state.items() if "categories" in state[1]
        }
    levels: dict[str, list[Any]] = {}
    for name, categories in factors.items():
        inner = re.fullmatch(r"C\(\s*([^\W\d]\w*)\s*[,)].*", name)
        levels[inner[1] if inner else name] = [plain(level) for level in categories]
    return levels


def spec_of(
    columns: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]], *, rows: int | None = None
) -> Outputs:
    """Return a specification of columns and outputs, checked."""
    head = {"format": FORMAT, "version": VERSION, **without_none({"rows": rows})}
    return Outputs.from_dict({**head, "columns": [dict(one) for one in columns], "outputs": [dict(one) for one in outputs]})
