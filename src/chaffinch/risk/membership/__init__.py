"""Was this person in the data? Membership attacks on what a synthesiser releases, by attackers that are registered in `ATTACKERS`."""

from .attacker import ATTACKERS, MembershipAttacker

# isort: off
# The order of registration.
from . import combined, linear, forests, kernel, ranked

# isort: on
from .rates import Rates
from .result import MembershipResult, PartStrength
from .settings import ShadowSettings
from .study import membership

__all__ = [
    "ATTACKERS",
    "MembershipAttacker",
    "MembershipResult",
    "PartStrength",
    "Rates",
    "ShadowSettings",
    "membership",
]

del combined, linear, forests, kernel, ranked
