"""Regressions: one class for ten kinds, with their standard errors, fits and rules."""

from ...families import FAMILIES
from ..base import KINDS, Kind
from .spec import RegressionSpec

__all__ = ["RegressionSpec"]

_SENTENCES = {
    **{family.kind: family.sentence for family in FAMILIES.values() if family.kind},
    "gamma": "a gamma regression",
    "inverse-gaussian": "an inverse Gaussian regression",
    "glm": "a generalised linear model of any of these families",
}

for _name, _sentence in _SENTENCES.items():
    KINDS.register(
        Kind(_name, RegressionSpec, "CorrelationCoefficients", _sentence, regression=True)
    )
