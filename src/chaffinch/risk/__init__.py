"""What a synthetic table gives away: attacks, each beside its references, with intervals and a holdout.

The package is a function too: `chaffinch.risk(original, synthetic, holdout, keys=[...], sensitive=[...])` runs every attacker that is
registered in `ATTACKERS`.
"""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .attacker import ATTACKERS as ATTACKERS
    from .attacker import Attacker as Attacker
    from .crossfit import cross_fit as cross_fit
    from .finding import Finding as Finding
    from .result import RiskResult as RiskResult
    from .settings import RiskSettings as RiskSettings
    from .study import measure_risk as measure_risk

offer_names(__name__, answer="study.risk")
