"""Regression families: what one record adds to the score, the information and the log-likelihood at given coefficients.

With linear predictor eta, mean mu(eta) and variance function V(mu), a record with label y adds x times

    score     (y - mu) mu'(eta) / V(mu)          zero in sum at the published coefficients (McCullagh and Nelder 1989, eq. 2.12)
    weight    mu'(eta)^2 / V(mu)                 times x x': the expected information
    loglik    log f(y | eta)                     times 1: terms without the coefficients included, as statsmodels counts it
    pearson   (y - mu)^2 / V(mu)                 times 1: residual sum of squares and dispersion

all with dispersion 1. A family is a distribution with a link: one more is an entry of `FAMILIES` (with its distribution and link, where they are new), and
the compiled twin in `solve/program`; tests hold the two against each other and against statsmodels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._base.arrays import Floats

LinkName = Literal["identity", "logit", "probit", "cloglog", "log", "inverse", "inverse-squared"]
DistributionName = Literal[
    "gaussian", "binomial", "poisson", "negative-binomial", "gamma", "inverse-gaussian"
]
FamilyName = Literal[
    "gaussian",
    "logit",
    "probit",
    "cloglog",
    "poisson",
    "negative_binomial",
    "gamma_log",
    "gamma_inverse",
    "inverse_gaussian_log",
    "inverse_gaussian",
    "multinomial",
]
Part = Literal["score", "weight", "loglik", "pearson"]

PARTS: tuple[Part, ...] = ("score", "weight", "loglik", "pearson")
_TINY = 1e-12

LEAST_ETA = 1e-6
"""Where a mean is one over the predictor: records beyond cannot have been in the data, and their huge scores drive them back."""


def _logit(eta: Floats) -> tuple[Floats, Floats]:
    from scipy.special import expit

    mu = expit(eta)
    return mu, mu * (1.0 - mu)


def _probit(eta: Floats) -> tuple[Floats, Floats]:
    from scipy.special import ndtr

    mu = np.clip(ndtr(eta), _TINY, 1.0 - _TINY)
    return mu, np.exp(-0.5 * eta**2) / np.sqrt(2.0 * np.pi)


def _cloglog(eta: Floats) -> tuple[Floats, Floats]:
    hazard = np.exp(eta)
    return np.clip(-np.expm1(-hazard), _TINY, 1.0 - _TINY), hazard * np.exp(-hazard)


def _log(eta: Floats) -> tuple[Floats, Floats]:
    mu = np.exp(eta)
    return mu, mu


def _inverse(eta: Floats) -> tuple[Floats, Floats]:
    mu = 1.0 / np.maximum(eta, LEAST_ETA)
    return mu, -(mu**2)


def _inverse_squared(eta: Floats) -> tuple[Floats, Floats]:
    mu = 1.0 / np.sqrt(np.maximum(eta, LEAST_ETA))
    return mu, -0.5 * mu**3


def _logit_of(mu: Floats) -> Floats:
    from scipy.special import logit

    return np.asarray(logit(mu))


def _probit_of(mu: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(mu))


@dataclass(frozen=True)
class Link:
    """The mean and its derivative of linear predictors, and the predictors of means; `statsmodels` is its name there.

    `reach` is how far a chance has run to 0 or 1 at a linear predictor: minus its logarithm, roughly.
    """

    mean: Callable[[Floats], tuple[Floats, Floats]]
    predictor: Callable[[Floats], Floats]
    statsmodels: str
    reach: Callable[[Floats], Floats] = np.abs


LINKS: dict[LinkName, Link] = {
    "identity": Link(lambda eta: (eta, np.ones_like(eta)), lambda mu: mu, "Identity"),
    "logit": Link(_logit, _logit_of, "Logit"),
    "probit": Link(_probit, _probit_of, "Probit", lambda eta: 0.5 * eta**2 + np.log1p(np.abs(eta))),
    "cloglog": Link(
        _cloglog,
        lambda mu: np.log(-np.log1p(-mu)),
        "CLogLog",
        lambda eta: np.maximum(np.exp(np.minimum(eta, 30.0)), -eta),
    ),
    "log": Link(_log, np.log, "Log"),
    "inverse": Link(_inverse, lambda mu: mu**-1.0, "InversePower"),
    "inverse-squared": Link(_inverse_squared, lambda mu: mu**-2.0, "InverseSquared"),
}


def _binomial_loglik(y: Floats, mu: Floats, _: float) -> Floats:
    from scipy.special import xlogy

    return np.asarray(xlogy(y, mu) + xlogy(1.0 - y, 1.0 - mu))


def _poisson_loglik(y: Floats, mu: Floats, _: float) -> Floats:
    from scipy.special import gammaln, xlogy

    return np.asarray(xlogy(y, mu) - mu - gammaln(y + 1.0))


def _poisson_deviance(y: Floats, mu: Floats, _: float) -> Floats:
    from scipy.special import xlogy

    return np.asarray(2.0 * (xlogy(y, y / mu) - (y - mu)))


def _negative_binomial_loglik(y: Floats, mu: Floats, alpha: float) -> Floats:
    from scipy.special import gammaln, xlogy

    size = 1.0 / alpha
    binomial = gammaln(y + size) - gammaln(size) - gammaln(y + 1.0)
    return np.asarray(binomial + size * np.log(size / (size + mu)) + xlogy(y, mu / (size + mu)))


def _negative_binomial_deviance(y: Floats, mu: Floats, alpha: float) -> Floats:
    from scipy.special import xlogy

    size = 1.0 / alpha
    return np.asarray(2.0 * (xlogy(y, y / mu) - (y + size) * np.log((y + size) / (mu + size))))


def _gamma_loglik(y: Floats, mu: Floats, dispersion: float) -> Floats:
    from scipy.special import gammaln

    shape = 1.0 / dispersion
    return shape * np.log(shape * y / mu) - shape * y / mu - np.log(y) - gammaln(shape)


def _normal_loglik(y: Floats, mu: Floats, dispersion: float) -> Floats:
    return -0.5 * ((y - mu) ** 2 / dispersion + np.log(2.0 * np.pi * dispersion))


def _inverse_gaussian_loglik(y: Floats, mu: Floats, dispersion: float) -> Floats:
    scaled = (y - mu) ** 2 / (dispersion * mu**2 * y)
    return -0.5 * (scaled + np.log(2.0 * np.pi * dispersion * y**3))


Numbers = Callable[[Floats, Floats, float], Floats]


@dataclass(frozen=True)
class Distribution:
    """The variance function, the log-density and the unit deviance (McCullagh and Nelder 1989, section 2.3), of labels, means and a parameter.

    The parameter is the dispersion in log-densities, alpha of the negative binomial. `canonical` is its own link; `labels` says which labels it has:
    any, 0 to 1, at least 0, or above 0. `start` are the means from which R's families start scoring (`family()$initialize`,
    `MASS::negative.binomial`): labels moved off the ends. `is_dispersed`: whether records give a dispersion.
    """

    statsmodels: str
    canonical: LinkName | None
    labels: Literal["any", "share", "count", "positive"]
    variance: Callable[[Floats, float], Floats]
    loglik: Numbers
    deviance: Numbers
    start: Callable[[Floats], Floats] = lambda y: y

    @property
    def is_dispersed(self) -> bool:
        """Whether the score's variance is the information times a dispersion that the records give."""
        return self.labels in ("any", "positive")


DISTRIBUTIONS = {
    "gaussian": Distribution(
        "Gaussian",
        "identity",
        "any",
        lambda mu, _: np.ones_like(mu),
        _normal_loglik,
        lambda y, mu, _: (y - mu) ** 2,
    ),
    "binomial": Distribution(
        "Binomial",
        "logit",
        "share",
        lambda mu, _: mu * (1.0 - mu),
        _binomial_loglik,
        lambda y, mu, _: -2.0 * _binomial_loglik(y, mu, 1.0),
        lambda y: (y + 0.5) / 2.0,
    ),
    "poisson": Distribution(
        "Poisson",
        "log",
        "count",
        lambda mu, _: mu,
        _poisson_loglik,
        _poisson_deviance,
        lambda y: y + 0.1,
    ),
    "negative-binomial": Distribution(
        "NegativeBinomial",
        None,
        "count",
        lambda mu, alpha: mu + alpha * mu**2,
        _negative_binomial_loglik,
        _negative_binomial_deviance,
        lambda y: y + (y == 0.0) / 6.0,
    ),
    "gamma": Distribution(
        "Gamma",
        "inverse",
        "positive",
        lambda mu, _: mu**2,
        _gamma_loglik,
        lambda y, mu, _: 2.0 * ((y - mu) / mu - np.log(y / mu)),
    ),
    "inverse-gaussian": Distribution(
        "InverseGaussian",
        "inverse-squared",
        "positive",
        lambda mu, _: mu**3,
        _inverse_gaussian_loglik,
        lambda y, mu, _: (y - mu) ** 2 / (y * mu**2),
    ),
}


@dataclass(frozen=True)
class RegressionFamily:
    """A family: its number in the engines, its distribution and its link. `kind` is the kind of output that is this family alone, `sentence` what that is."""

    code: int
    distribution: str
    link: LinkName
    kind: str = ""
    sentence: str = ""

    @property
    def law(self) -> Distribution:
        """The distribution; a multinomial's classes are those of binomials."""
        return DISTRIBUTIONS.get(self.distribution, DISTRIBUTIONS["binomial"])

    @property
    def canonical(self) -> bool:
        """Whether expected and observed information are equal."""
        return self.link == self.law.canonical

    @property
    def is_binary(self) -> bool:
        """Whether the label is one of two classes."""
        return self.distribution == "binomial"

    @property
    def is_count(self) -> bool:
        """Whether the label is a count."""
        return self.law.labels == "count"

    def statsmodels(self, sm: Any, parameter: float) -> Any:
        """Return the family as statsmodels has it."""
        link = getattr(sm.families.links, LINKS[self.link].statsmodels)()
        options = {"alpha": parameter} if self.distribution == "negative-binomial" else {}
        return getattr(sm.families, self.law.statsmodels)(link, **options)


FAMILIES: dict[FamilyName, RegressionFamily] = {
    "gaussian": RegressionFamily(1, "gaussian", "identity", "ols", "a linear regression"),
    "logit": RegressionFamily(2, "binomial", "logit", "logit", "a logistic regression"),
    "probit": RegressionFamily(3, "binomial", "probit", "probit", "a probit regression"),
    "cloglog": RegressionFamily(
        4, "binomial", "cloglog", "cloglog", "a regression with a complementary log-log link"
    ),
    "poisson": RegressionFamily(5, "poisson", "log", "poisson", "a Poisson regression"),
    "negative_binomial": RegressionFamily(
        6, "negative-binomial", "log", "negative-binomial", "a negative binomial regression"
    ),
    "gamma_log": RegressionFamily(7, "gamma", "log"),
    "gamma_inverse": RegressionFamily(8, "gamma", "inverse"),
    "inverse_gaussian_log": RegressionFamily(9, "inverse-gaussian", "log"),
    "inverse_gaussian": RegressionFamily(10, "inverse-gaussian", "inverse-squared"),
    "multinomial": RegressionFamily(
        11, "multinomial", "logit", "multinomial", "a multinomial logistic regression"
    ),
}
"""Families by name; with the link after the name where it is not the family's own (negative binomial: log)."""


def moments(family: FamilyName, eta: Floats, parameter: float) -> tuple[Floats, Floats, Floats]:
    """Return mean, its derivative by eta, and the variance function."""
    mu, slope = LINKS[FAMILIES[family].link].mean(eta)
    return mu, slope, FAMILIES[family].law.variance(mu, parameter)


def class_chances(eta: Floats) -> Floats:
    """Return the chance of each class of a multinomial, (n, K), from the predictors of all but the first."""
    predictors = np.hstack([np.zeros((len(eta), 1)), eta])
    chances = np.exp(predictors - predictors.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def multipliers(
    family: FamilyName, quantity: Part, eta: Floats, y: Floats, *, parameter: float = 1.0
) -> Floats:
    """Return what each record's terms are multiplied with, shape (n, 1); multinomial scores: (n, K - 1).

    Linear predictors `eta` are (n, 1); multinomial: (n, K - 1), class 0 being the base with predictor 0, and labels are class numbers.
    `parameter` is alpha of the negative binomial; in log-likelihoods the dispersion of the families that have one.

    Examples
    --------
    A label of 1 where the model says one half:

    >>> multipliers("logit", "score", np.zeros((1, 1)), np.ones(1))
    array([[0.5]])
    """
    if family == "multinomial":
        chances = class_chances(eta)
        is_class = y[:, None] == np.arange(chances.shape[1])
        if quantity == "score":
            return (is_class - chances)[:, 1:]
        return np.log((chances * is_class).sum(axis=1, keepdims=True))
    mu, slope, variance = moments(family, eta[:, 0], parameter)
    if quantity == "score":
        out = (y - mu) * slope / variance
    elif quantity == "weight":
        out = slope**2 / variance
    elif quantity == "pearson":
        out = (y - mu) ** 2 / variance
    else:
        out = FAMILIES[family].law.loglik(y, mu, parameter)
    return out[:, None]
