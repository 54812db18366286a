"""Regressions: one class for ten kinds, with their standard errors, fits and rules."""

from ..base import KINDS, Kind
from .spec import RegressionSpec

__all__ = ["RegressionSpec"]

for _name, _sentence in (
    ("ols", "a linear regression"),
    ("logit", "a logistic regression"),
    ("probit", "a probit regression"),
    ("cloglog", "a regression with a complementary log-log link"),
    ("poisson", "a Poisson regression"),
    ("negative-binomial", "a negative binomial regression"),
    ("multinomial", "a multinomial logistic regression"),
    ("gamma", "a gamma regression"),
    ("inverse-gaussian", "an inverse Gaussian regression"),
    ("glm", "a generalised linear model of any of these families"),
):
    KINDS.register(
        Kind(_name, RegressionSpec, "CorrelationCoefficients", _sentence, regression=True)
    )
