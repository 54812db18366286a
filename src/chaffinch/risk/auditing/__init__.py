"""Is a promise of privacy kept? Runs on neighbouring tables, and what they prove about epsilon."""

from .bounds import Threshold, choose_threshold, detectable, divided, epsilon_lower
from .pairs import MADE, PAIRS, Pair, Skipped, average_pair, made_pair
from .result import Audit, Finding, Verdict
from .study import BOXES, audit_claim

__all__ = [
    "BOXES",
    "MADE",
    "PAIRS",
    "Audit",
    "Finding",
    "Pair",
    "Skipped",
    "Threshold",
    "Verdict",
    "audit_claim",
    "average_pair",
    "choose_threshold",
    "detectable",
    "divided",
    "epsilon_lower",
    "made_pair",
]
