"""Mitigations: publish less of an output, as little less as the rules and the measured risk ask for."""

from . import banding, omitting, rounding, suppressing
from .base import MITIGATIONS, Mitigation
from .search import find_mitigations

__all__ = [
    "MITIGATIONS",
    "Mitigation",
    "banding",
    "find_mitigations",
    "omitting",
    "rounding",
    "suppressing",
]
