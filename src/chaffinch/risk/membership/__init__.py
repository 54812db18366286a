"""Was this person in the data? Membership attacks on what a synthesiser releases."""

from .plan import ShadowPlan
from .rates import Rates
from .study import MembershipStudy, study_membership

__all__ = ["MembershipStudy", "Rates", "ShadowPlan", "study_membership"]
