"""Is a promise of privacy kept? Runs on neighbouring tables, and what they prove about epsilon."""

from .canaries import Canaries, CanaryRuns, attack_canaries, made_canaries, run_canaries
from .claims import (
    MEASURES,
    Claim,
    Guessed,
    Measure,
    Rule,
    Threshold,
    choose_rule,
    choose_threshold,
    claim_of,
    divided,
    epsilon_lower,
    guess,
    power,
)
from .mechanism import MechanismRuns, attack_mechanism, couple, run_mechanism
from .pairs import MADE, PAIRS, Pair, Skipped, average_pair, made_pair
from .result import AuditResult, ClaimVerdict
from .settings import BOXES, AuditSettings
from .study import audit, measure_audit

__all__ = [
    "BOXES",
    "MADE",
    "MEASURES",
    "PAIRS",
    "AuditResult",
    "AuditSettings",
    "Canaries",
    "CanaryRuns",
    "Claim",
    "ClaimVerdict",
    "Guessed",
    "Measure",
    "MechanismRuns",
    "Pair",
    "Rule",
    "Skipped",
    "Threshold",
    "attack_canaries",
    "attack_mechanism",
    "audit",
    "average_pair",
    "choose_rule",
    "choose_threshold",
    "claim_of",
    "couple",
    "divided",
    "epsilon_lower",
    "guess",
    "made_canaries",
    "made_pair",
    "measure_audit",
    "power",
    "run_canaries",
    "run_mechanism",
]
