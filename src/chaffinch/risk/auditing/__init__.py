"""Is a promise of privacy kept? Runs on neighbouring tables, and what they prove about epsilon."""

from .attacker import ATTACKERS, AuditAttacker
from .bounds import Threshold, choose_threshold, detectable, divided, epsilon_lower
from .pairs import MADE, PAIRS, Pair, Skipped, average_pair, made_pair
from .result import AuditFinding, AuditResult, ClaimVerdict
from .settings import BOXES, AuditSettings
from .study import audit, measure_audit

__all__ = [
    "ATTACKERS", "BOXES", "MADE", "PAIRS", "AuditAttacker", "AuditFinding", "AuditResult", "AuditSettings", "ClaimVerdict", "Pair",
    "Skipped", "Threshold", "audit", "average_pair", "choose_threshold", "detectable", "divided", "epsilon_lower", "made_pair",
    "measure_audit",
]  # fmt: skip
