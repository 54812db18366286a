"""The numbers of a compiled output computed again from records: regressions by statsmodels, all else by plain numpy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Floats
from .._base.errors import InputError, MissingExtraError
from .._base.runtime import one_blas_thread
from .domain import Codes
from .equations import CountTable, Output, SumSystem
from .families import FAMILIES, LINKS, FamilyName, moments

SCORING_STOP, MOST_SCORING = 1e-8, 25
"""When R's `glm` stops: the relative change of the deviance between two steps, and the most steps (`glm.control`)."""


def numbers_of(output: Output, codes: Codes) -> Floats:
    """Return the published numbers of an output as these records give them, in the order of its intervals.

    Coefficients are fitted by statsmodels (nan where it finds none); sums and what is read off them are added up by numpy.
    """
    if isinstance(output, CountTable):
        return output.counts(codes).astype(float)
    if output.reported == "coefficients":
        try:
            params = np.asarray(fit_system(output, codes).params, dtype=float)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError, OverflowError):
            return np.full(output.size, np.nan)
        flat = params.T.ravel()
        return (
            flat if flat.size == output.size else np.full(output.size, np.nan)
        )  # a class without records has no coefficients
    sums = np.zeros(output.size)
    for chunk in np.array_split(codes, max(1, len(codes) * output.size // 4_000_000)):
        sums += output.contributions(chunk).sum(axis=0)
    return output.reported(sums)[0] if callable(output.reported) else sums


@dataclass(frozen=True, eq=False)
class Observed:
    """What a regression sees of records: design (n, columns), label, offset (n, predictors) and weight of each."""

    x: Floats
    y: Floats
    offset: Floats
    weight: Floats

    @property
    def plain(self) -> bool:
        """Whether there is no offset, and no weight other than 1."""
        return bool(np.abs(self.offset).max(initial=0.0) < 1e-9 and (self.weight == 1.0).all())


def observe(system: SumSystem, codes: Codes) -> Observed:
    """Return design, label, offset and weight of the records that a regression was made of."""
    assert system.model is not None
    assert system.coefficients is not None
    model = system.model
    weight = np.ones(len(codes))
    for look in system.keep:
        weight = weight * look.evaluate(codes)[:, 0]
    rows = np.flatnonzero(weight > 0.0)
    codes, weight = codes[rows], weight[rows]
    width = system.size // model.width
    x = np.zeros((len(codes), width))
    for terms in system.terms:
        x += terms.evaluate(codes, width)
    matrix = system.coefficients.reshape(model.width, width).T
    # What the linear predictor has beyond the terms times their coefficients is an offset.
    offset = np.sum([look.evaluate(codes) for look in model.eta], axis=0) - x @ matrix
    return Observed(x, model.label.evaluate(codes)[:, 0], offset, weight)


def fit_system(
    system: SumSystem,
    records: Codes | Observed,
    *,
    from_published: bool = True,
    expected: bool = False,
    max_iterations: int = 200,
) -> Any:
    """Return the statsmodels result of a regression on these records: the model's own class where there is one, else a GLM.

    Raises MissingExtraError without statsmodels; LinAlgError or ValueError where nothing can be fitted.

    It starts at the system's coefficients, or else where statsmodels would, and takes `most` steps. With `expected`, standard errors are those of
    the expected information, which GLMs have.
    """
    try:
        import statsmodels.api as sm  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("Fitting a regression", "statsmodels") from None
    data = records if isinstance(records, Observed) else observe(system, records)
    with warnings.catch_warnings(), np.errstate(all="ignore"), one_blas_thread():
        warnings.simplefilter("ignore")
        if from_published:
            try:
                return _estimate(
                    sm,
                    system,
                    data,
                    start=system.coefficients,
                    expected=expected,
                    max_iterations=max_iterations,
                )
            except (
                np.linalg.LinAlgError
            ):  # far from the published coefficients Newton's first step may fail
                pass
        return _estimate(
            sm, system, data, start=None, expected=expected, max_iterations=max_iterations
        )


@contextmanager
def statsmodels_fit(what: str) -> Iterator[None]:
    """Silence the warnings of a fit by statsmodels; MissingExtraError without it, InputError where it finds no estimate."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except ImportError:
            raise MissingExtraError(what, "statsmodels") from None
        except InputError:
            raise
        except (np.linalg.LinAlgError, ValueError, ArithmeticError, IndexError):
            raise InputError("statsmodels finds no estimate") from None


def estimated_alpha(data: Observed) -> float:
    """Return alpha of a negative binomial regression (NB2), estimated with its coefficients; raises as `fit_system` does."""
    try:
        import statsmodels.api as sm
    except ImportError:
        raise MissingExtraError("Fitting a regression", "statsmodels") from None
    with warnings.catch_warnings(), np.errstate(all="ignore"), one_blas_thread():
        warnings.simplefilter("ignore")
        model = sm.NegativeBinomial(data.y, data.x, loglike_method="nb2", offset=data.offset[:, 0])
        return float(model.fit(disp=0, maxiter=500).params[-1])


def _estimate(
    sm: Any,
    system: SumSystem,
    data: Observed,
    *,
    start: Floats | None,
    expected: bool,
    max_iterations: int,
) -> Any:
    """The result of the model's own class where there is one, else of a GLM."""
    model, x, y, plain = system.model, data.x, data.y, data.plain
    assert model is not None
    if model.family == "gaussian" and plain:
        return sm.OLS(y, x).fit()
    classes = {
        "logit": sm.Logit,
        "probit": sm.Probit,
        "poisson": sm.Poisson,
        "multinomial": sm.MNLogit,
    }
    has_class = plain and not (expected and model.family == "probit")
    if model.family == "multinomial" or (has_class and model.family in classes):
        return classes[model.family](y, x, check_rank=False).fit(
            disp=0, method="newton", tol=1e-12, maxiter=max_iterations, start_params=start
        )
    family = FAMILIES[model.family].statsmodels(sm, model.parameter)
    glm = sm.GLM(y, x, family=family, offset=data.offset[:, 0], freq_weights=data.weight)
    steps = {"tol": 1e-14, "rtol": 1e-13, "tol_criterion": "params", "maxiter": max_iterations}
    result = glm.fit(start_params=start, **steps)
    if (
        start is None
        and not (np.abs(glm.score(result.params)) <= 1e-5 * np.abs(x).sum(axis=0)).all()
    ):
        # Few records may throw scoring about; Newton's own steps then find the maximum, and scoring stays there.
        maximum = glm.fit(method="newton", maxiter=max_iterations, disp=0).params
        result = glm.fit(start_params=maximum, **steps)
    return result


@dataclass(frozen=True, eq=False)
class ScoringFit:
    """Standard errors and dispersion as programs print them that stop Fisher scoring by the deviance, and take the weights of their last step."""

    errors: Floats
    dispersion: float


def scoring_fit(family: FamilyName, data: Observed, *, parameter: float = 1.0) -> ScoringFit:
    """Return what R's `glm` prints of a fit: its covariance has the working weights with which the last step was taken, those of the last but one estimate.

    A step solves a regression of the working response on the design, weighted by mu'(eta)^2 / V(mu) at the estimate before it (McCullagh and Nelder
    1989, section 2.5; `glm.fit` keeps the decomposition of that regression). It stops once the deviance changes by less than 1e-8 of itself: the
    coefficients are then right to about 1e-8, the weights to about the root of it, and so the standard errors differ from those at the estimate in their
    fourth to seventh digit. Steps start from the labels themselves, as R's families do. nan where scoring does not end.

    Examples
    --------
    Two groups, one with 1 of 4 ill and one with 2 of 4. At the estimate the variance of the intercept is 1 / (4 * 1/4 * 3/4):

    >>> x, y = np.array([[1.0, 0.0]] * 4 + [[1.0, 1.0]] * 4), np.array([0.0, 0, 0, 1, 0, 0, 1, 1])
    >>> fit = scoring_fit("logit", Observed(x, y, np.zeros((8, 1)), np.ones(8)))
    >>> bool(abs(fit.errors[0] - (4 / 3) ** 0.5) < 1e-4), bool(fit.errors[0] == (4 / 3) ** 0.5)
    (True, False)
    """
    x, y, prior, offset = data.x, data.y, data.weight, data.offset[:, 0]
    distribution = FAMILIES[family].law
    nothing = ScoringFit(np.full(x.shape[1], np.nan), np.nan)
    with np.errstate(all="ignore"):
        mu = distribution.start(y)
        eta = LINKS[FAMILIES[family].link].predictor(mu)
        deviance = distribution.deviance(y, mu, parameter) @ prior
        for _ in range(MOST_SCORING):
            mu, slope, variance = moments(family, eta, parameter)
            weight = prior * slope**2 / variance
            response = eta - offset + (y - mu) / slope
            if not (np.isfinite(weight) & np.isfinite(response)).all():
                return nothing
            information = x.T @ (weight[:, None] * x)
            root = np.sqrt(weight)
            beta = np.linalg.lstsq(root[:, None] * x, root * response, rcond=None)[0]
            eta = x @ beta + offset
            mu, slope, _ = moments(family, eta, parameter)
            before, deviance = deviance, distribution.deviance(y, mu, parameter) @ prior
            if abs(deviance - before) < SCORING_STOP * (abs(deviance) + 0.1):
                break
        else:
            return nothing
        dispersion, freedom = 1.0, int((prior > 0.0).sum()) - x.shape[1]
        if distribution.is_dispersed:
            dispersion = (
                float(weight @ ((y - mu) / slope) ** 2 / freedom) if freedom > 0 else np.nan
            )
        try:
            variances = np.diag(np.linalg.inv(information)) * dispersion
        except np.linalg.LinAlgError:
            return nothing
        return ScoringFit(np.sqrt(variances), dispersion)


def spread_at(result: Any, system: SumSystem) -> Floats:
    """Return the standard errors of coefficients, but never larger than at the published ones.

    Where records separate the classes an estimate runs off and its own standard error with it: nothing would look far from it.
    """
    errors = np.asarray(result.bse, dtype=float).T.ravel()
    if not hasattr(result.model, "hessian") or type(result.model).__name__ == "OLS":
        return errors
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scale = {"scale": result.scale} if type(result.model).__name__ == "GLM" else {}
        try:
            expected_errors = np.sqrt(
                np.diag(
                    np.linalg.inv(-np.asarray(result.model.hessian(system.coefficients, **scale)))
                )
            )
        except (np.linalg.LinAlgError, ValueError):
            return errors
    return np.where(
        np.isfinite(expected_errors) & (expected_errors > 0.0),
        np.fmin(errors, expected_errors),
        errors,
    )
