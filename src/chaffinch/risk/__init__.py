"""What a synthetic table gives away: attacks, each beside its references, with intervals and a holdout.

The package is a function too: `chaffinch.risk(original, synthetic, holdout, keys=[...], sensitive=[...])` runs every attacker that is
registered in `ATTACKERS`.
"""

from .._base.registry import make_callable
from .attacker import ATTACKERS, Attacker

# isort: off
# The order of registration: attackers run in it.
from .attribution import cap, tcap, gcap, learners

# isort: on
from .attribution.crossfit import cross_fit
from .attribution.result import RiskResult
from .attribution.settings import RiskSettings
from .attribution.study import measure_risk
from .attribution.study import risk as _risk
from .finding import Finding

__all__ = [
    "ATTACKERS",
    "Attacker",
    "Finding",
    "RiskResult",
    "RiskSettings",
    "cross_fit",
    "measure_risk",
]

del cap, tcap, gcap, learners

make_callable(__name__, _risk)
