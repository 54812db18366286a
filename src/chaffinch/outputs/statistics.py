"""The numbers of a compiled output computed again from records: regressions by statsmodels, all else by plain numpy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._base.errors import MissingExtraError
from .._base.threads import one_blas_thread
from .columns import Codes, Floats
from .equations import CountTable, Output, SumSystem

__all__ = ["fitted", "numbers_of", "spread_at"]


def numbers_of(output: Output, codes: Codes) -> Floats:
    """Return the published numbers of an output as these records give them, in the order of its intervals.

    Coefficients are fitted by statsmodels (nan where it finds none); sums and what is read off them are added up by numpy.
    """
    if isinstance(output, CountTable):
        return output.counts(codes).astype(float)
    if output.reported == "coefficients":
        try:
            params = np.asarray(fitted(output, codes).params, dtype=float)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError, OverflowError):
            return np.full(output.size, np.nan)
        flat = params.T.ravel()
        return (
            flat if flat.size == output.size else np.full(output.size, np.nan)
        )  # a class without records has no coefficients
    sums = np.zeros(output.size)
    for part in np.array_split(codes, max(1, len(codes) * output.size // 4_000_000)):
        sums += output.contributions(part).sum(axis=0)
    return output.reported(sums)[0] if callable(output.reported) else sums


def fitted(system: SumSystem, codes: Codes) -> Any:
    """Return the statsmodels result of a regression on these records: the model's own class where there is one, else a GLM.

    Raises MissingExtraError without statsmodels; LinAlgError or ValueError where nothing can be fitted.
    """
    try:
        import statsmodels.api as sm  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("Refitting a regression", "statsmodels") from None
    assert system.model is not None
    assert system.at is not None
    model = system.model
    weight = np.ones(len(codes))
    for look in system.keep:
        weight = weight * look.of(codes)[:, 0]
    rows = np.flatnonzero(weight > 0.0)
    codes, weight = codes[rows], weight[rows]
    width = system.size // model.width
    x = np.zeros((len(codes), width))
    for terms in system.terms:
        x += terms.of(codes, width)
    y = model.label.of(codes)[:, 0]
    matrix = system.at.reshape(model.width, width).T
    # What the linear predictor has beyond the terms times their coefficients is an offset.
    offset = np.sum([look.of(codes) for look in model.eta], axis=0) - x @ matrix
    plain = bool(np.abs(offset).max(initial=0.0) < 1e-9 and (weight == 1.0).all())
    with warnings.catch_warnings(), np.errstate(all="ignore"), one_blas_thread():
        warnings.simplefilter("ignore")
        try:
            return _estimated(sm, system, x, y, offset, weight, start=system.at, plain=plain)
        except np.linalg.LinAlgError:  # far from the published coefficients Newton's first step may fail
            return _estimated(sm, system, x, y, offset, weight, start=None, plain=plain)


def _estimated(
    sm: Any,
    system: SumSystem,
    x: Floats,
    y: Floats,
    offset: Floats,
    weight: Floats,
    *,
    start: Floats | None,
    plain: bool,
) -> Any:
    """The result of the model's own class where there is one, else of a GLM."""
    model = system.model
    assert model is not None
    if model.family == "gaussian" and plain:
        return sm.OLS(y, x).fit()
    if model.family in ("logit", "probit") and plain:
        kind = sm.Logit if model.family == "logit" else sm.Probit
        return kind(y, x).fit(disp=0, method="newton", tol=1e-12, maxiter=200, start_params=start)
    if model.family == "poisson" and plain:
        return sm.Poisson(y, x).fit(disp=0, method="newton", tol=1e-12, maxiter=200, start_params=start)
    if model.family == "multinomial":
        return sm.MNLogit(y, x).fit(disp=0, method="newton", tol=1e-12, maxiter=200, start_params=start)
    glm = sm.GLM(y, x, family=_glm_family(model.family, model.parameter, sm), offset=offset[:, 0], freq_weights=weight)
    return glm.fit(start_params=start, tol=1e-14, tol_criterion="params", maxiter=200)


def spread_at(result: Any, system: SumSystem) -> Floats:
    """Return the standard errors of coefficients, but never larger than at the published ones.

    Where records separate the classes an estimate runs off and its own standard error with it: nothing would look far from it.
    """
    own = np.asarray(result.bse, dtype=float).T.ravel()
    if not hasattr(result.model, "hessian") or type(result.model).__name__ == "OLS":
        return own
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scale = {"scale": result.scale} if type(result.model).__name__ == "GLM" else {}
        try:
            at = np.sqrt(np.diag(np.linalg.inv(-np.asarray(result.model.hessian(system.at, **scale)))))
        except (np.linalg.LinAlgError, ValueError):
            return own
    return np.where(np.isfinite(at) & (at > 0.0), np.fmin(own, at), own)


def _glm_family(name: str, parameter: float, sm: Any) -> Any:
    families, links = sm.families, sm.families.links
    return {
        "gaussian": lambda: families.Gaussian(),
        "logit": lambda: families.Binomial(),
        "probit": lambda: families.Binomial(links.Probit()),
        "cloglog": lambda: families.Binomial(links.CLogLog()),
        "poisson": lambda: families.Poisson(),
        "negative_binomial": lambda: families.NegativeBinomial(alpha=parameter),
        "gamma_log": lambda: families.Gamma(links.Log()),
        "gamma_inverse": lambda: families.Gamma(),
        "inverse_gaussian_log": lambda: families.InverseGaussian(links.Log()),
        "inverse_gaussian": lambda: families.InverseGaussian(),
    }[name]()
