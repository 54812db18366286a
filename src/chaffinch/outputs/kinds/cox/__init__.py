"""Cox's proportional hazards model."""

from ..base import KINDS, Kind
from .spec import CoxSpec

__all__ = ["CoxSpec"]

KINDS.register(
    Kind(
        "cox",
        CoxSpec,
        "HazardSurvivalTables",
        "a Cox proportional hazards regression",
        regression=True,
    )
)
