"""Rules of thumb on what lies behind outputs, by a policy: what a checker already knows, and two rules that are often missing."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .check import check_entries as check_entries
    from .check import check_rules as check_rules
    from .findings import RuleFinding as RuleFinding
    from .findings import RuleReport as RuleReport
    from .findings import statbarn_of as statbarn_of
    from .policy import Policy as Policy
    from .policy import policy_of_acro as policy_of_acro
    from .policy import read_policy as read_policy

offer_names(__name__)
