"""Mitigations: publish less of an output, as little less as the rules and the measured risk ask for."""

from . import coarsening, suppressing
from .base import MITIGATIONS, Mitigation
from .search import find_mitigations

__all__ = ["MITIGATIONS", "Mitigation", "coarsening", "find_mitigations", "suppressing"]
