"""Regression families: what one record adds to the score, the information and the log-likelihood at given coefficients.

With linear predictor eta, mean mu(eta) and variance function V(mu), a record with label y adds x times

    score     (y - mu) mu'(eta) / V(mu)          zero in sum at the published coefficients (McCullagh and Nelder 1989, eq. 2.12)
    weight    mu'(eta)^2 / V(mu)                 times x x': the expected information
    loglik    log f(y | eta)                     times 1: terms without the coefficients included, as statsmodels counts it
    pearson   (y - mu)^2 / V(mu)                 times 1: residual sum of squares and dispersion

all with dispersion 1. The compiled twin is in `solve/program`; tests hold the two against each other and against statsmodels.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from .domain import Floats

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


class RegressionFamily(NamedTuple):
    """What the engines must know of a family besides its formulas.

    `canonical`: whether expected and observed information are equal. `dispersed`: whether the score's variance is the information
    times a dispersion that the records give.
    """

    code: int
    canonical: bool
    dispersed: bool


FAMILIES: dict[FamilyName, RegressionFamily] = {
    "gaussian": RegressionFamily(1, canonical=True, dispersed=True),
    "logit": RegressionFamily(2, canonical=True, dispersed=False),
    "probit": RegressionFamily(3, canonical=False, dispersed=False),
    "cloglog": RegressionFamily(4, canonical=False, dispersed=False),
    "poisson": RegressionFamily(5, canonical=True, dispersed=False),
    "negative_binomial": RegressionFamily(6, canonical=False, dispersed=False),
    "gamma_log": RegressionFamily(7, canonical=False, dispersed=True),
    "gamma_inverse": RegressionFamily(8, canonical=True, dispersed=True),
    "inverse_gaussian_log": RegressionFamily(9, canonical=False, dispersed=True),
    "inverse_gaussian": RegressionFamily(10, canonical=True, dispersed=True),
    "multinomial": RegressionFamily(11, canonical=True, dispersed=False),
}
"""Families by name; with the link after the name where it is not the family's own (negative binomial: log)."""

BINARY = ("logit", "probit", "cloglog")
COUNTS = ("poisson", "negative_binomial")

_TINY = 1e-12

LEAST_ETA = 1e-6
"""Where a mean is one over the predictor: records beyond cannot have been in the data, and their huge scores drive them back."""


def moments(family: FamilyName, eta: Floats, parameter: float) -> tuple[Floats, Floats, Floats]:
    """Return mean, its derivative by eta, and the variance function."""
    from scipy import special

    if family == "gaussian":
        return eta, np.ones_like(eta), np.ones_like(eta)
    if family == "logit":
        mu = special.expit(eta)
        return mu, mu * (1.0 - mu), mu * (1.0 - mu)
    if family == "probit":
        mu = np.clip(special.ndtr(eta), _TINY, 1.0 - _TINY)
        return mu, np.exp(-0.5 * eta**2) / np.sqrt(2.0 * np.pi), mu * (1.0 - mu)
    if family == "cloglog":
        hazard = np.exp(eta)
        mu = np.clip(-np.expm1(-hazard), _TINY, 1.0 - _TINY)
        return mu, hazard * np.exp(-hazard), mu * (1.0 - mu)
    if family == "gamma_inverse":
        mu = 1.0 / np.maximum(eta, LEAST_ETA)
        return mu, -(mu**2), mu**2
    if family == "inverse_gaussian":
        mu = 1.0 / np.sqrt(np.maximum(eta, LEAST_ETA))
        return mu, -0.5 * mu**3, mu**3
    mu = np.exp(eta)
    variance = {
        "poisson": mu,
        "negative_binomial": mu + parameter * mu**2,
        "gamma_log": mu**2,
        "inverse_gaussian_log": mu**3,
    }[family]
    return mu, mu, variance


def link(family: FamilyName, mu: Floats) -> Floats:
    """Return the linear predictor of each mean: the inverse of what `moments` gives first."""
    from scipy import special

    if family == "logit":
        return np.asarray(special.logit(mu))
    if family == "probit":
        return np.asarray(special.ndtri(mu))
    if family == "cloglog":
        return np.log(-np.log1p(-mu))
    if family == "gaussian":
        return mu
    if family in ("gamma_inverse", "inverse_gaussian"):
        return mu ** (-1.0 if family == "gamma_inverse" else -2.0)
    return np.log(mu)


def start_means(family: FamilyName, y: Floats) -> Floats:
    """Return the means from which R's families start scoring (`family()$initialize`, `MASS::negative.binomial`): labels moved off the ends."""
    if family in BINARY:
        return (y + 0.5) / 2.0
    return {"poisson": y + 0.1, "negative_binomial": y + (y == 0.0) / 6.0}.get(family, y)


def unit_deviances(family: FamilyName, y: Floats, mu: Floats, parameter: float) -> Floats:
    """Return what each record adds to the deviance (McCullagh and Nelder 1989, section 2.3), with dispersion 1."""
    from scipy.special import xlogy

    if family == "gaussian":
        return (y - mu) ** 2
    if family in BINARY:
        return -2.0 * (xlogy(y, mu) + xlogy(1.0 - y, 1.0 - mu))
    if family == "poisson":
        return 2.0 * (xlogy(y, y / mu) - (y - mu))
    if family == "negative_binomial":
        size = 1.0 / parameter
        return 2.0 * (xlogy(y, y / mu) - (y + size) * np.log((y + size) / (mu + size)))
    if family in ("gamma_log", "gamma_inverse"):
        return 2.0 * ((y - mu) / mu - np.log(y / mu))
    return (y - mu) ** 2 / (y * mu**2)


def _loglik(family: FamilyName, y: Floats, mu: Floats, parameter: float) -> Floats:
    """Return the log-density of each label; `parameter` is the dispersion, or alpha of the negative binomial."""
    from scipy.special import gammaln, xlogy

    if family == "gaussian":
        return -0.5 * ((y - mu) ** 2 / parameter + np.log(2.0 * np.pi * parameter))
    if family in BINARY:
        return xlogy(y, mu) + xlogy(1.0 - y, 1.0 - mu)
    if family == "poisson":
        return xlogy(y, mu) - mu - gammaln(y + 1.0)
    if family == "negative_binomial":
        size = 1.0 / parameter
        return (
            gammaln(y + size)
            - gammaln(size)
            - gammaln(y + 1.0)
            + size * np.log(size / (size + mu))
            + xlogy(y, mu / (size + mu))
        )
    if family in ("gamma_log", "gamma_inverse"):
        shape = 1.0 / parameter
        return shape * np.log(shape * y / mu) - shape * y / mu - np.log(y) - gammaln(shape)
    return -0.5 * ((y - mu) ** 2 / (parameter * mu**2 * y) + np.log(2.0 * np.pi * parameter * y**3))


def class_chances(eta: Floats) -> Floats:
    """Return the chance of each class of a multinomial, (n, K), from the predictors of all but the first."""
    whole = np.hstack([np.zeros((len(eta), 1)), eta])
    chances = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def multipliers(
    family: FamilyName, part: Part, eta: Floats, y: Floats, *, parameter: float = 1.0
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
        if part == "score":
            return (is_class - chances)[:, 1:]
        return np.log((chances * is_class).sum(axis=1, keepdims=True))
    mu, slope, variance = moments(family, eta[:, 0], parameter)
    if part == "score":
        out = (y - mu) * slope / variance
    elif part == "weight":
        out = slope**2 / variance
    elif part == "pearson":
        out = (y - mu) ** 2 / variance
    else:
        out = _loglik(family, y, mu, parameter)
    return out[:, None]
