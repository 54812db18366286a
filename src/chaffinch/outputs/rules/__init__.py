"""Rules of thumb on what lies behind outputs, by a policy: what a checker already knows, and two rules that are often missing."""

from .check import check_entries, check_rules
from .findings import RuleFinding, RuleReport, statbarn_of
from .policy import Policy, policy_of_acro, read_policy

__all__ = [
    "Policy",
    "RuleFinding",
    "RuleReport",
    "check_entries",
    "check_rules",
    "policy_of_acro",
    "read_policy",
    "statbarn_of",
]
