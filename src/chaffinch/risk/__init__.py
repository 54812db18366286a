"""What a synthetic table gives away: attacks, each beside its references, with intervals and a holdout."""

from .attribution.attack import Attack, RiskStudy
from .attribution.crossfit import cross_fit
from .attribution.plan import RiskPlan
from .attribution.study import study_risk

__all__ = ["Attack", "RiskPlan", "RiskStudy", "cross_fit", "study_risk"]
