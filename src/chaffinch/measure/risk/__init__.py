"""What a synthetic table gives away: attacks, each beside its references, with intervals and a holdout."""

from .attack import Attack, RiskStudy
from .crossfit import cross_fit
from .plan import RiskPlan
from .study import study_risk

__all__ = ["Attack", "RiskPlan", "RiskStudy", "cross_fit", "study_risk"]
