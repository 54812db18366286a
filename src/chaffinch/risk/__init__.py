"""What a synthetic table gives away: attacks, each beside its references, with intervals and a holdout.

The package is a function too: `chaffinch.risk(original, synthetic, holdout, keys=[...], sensitive=[...])` runs every attacker that is
registered in `ATTACKERS`.
"""

from .._base.registry import import_modules, make_callable
from .attacker import ATTACKERS, Attacker

# isort: off
# The order of registration: attackers run in it. Those in other modules of these packages come after.
from .attribution import cap as cap, tcap as tcap, gcap as gcap, learners as learners

# isort: on
from .crossfit import cross_fit
from .finding import Finding
from .result import RiskResult
from .settings import RiskSettings
from .study import measure_risk
from .study import risk as _risk

__all__ = [
    "ATTACKERS",
    "Attacker",
    "Finding",
    "RiskResult",
    "RiskSettings",
    "cross_fit",
    "measure_risk",
]

for _package in ("attribution", "memorisation"):
    import_modules(f"{__name__}.{_package}")

make_callable(__name__, _risk)
