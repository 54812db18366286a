"""Was this person in the data? Membership attacks on what a synthesiser releases, by attackers of the kind "membership"."""

# isort: off
# The order of registration.
from . import combined, linear, forests, kernel, ranked

# isort: on
from .rates import Rates
from .result import MembershipResult
from .settings import ShadowSettings
from .study import membership

__all__ = [
    "MembershipResult",
    "Rates",
    "ShadowSettings",
    "membership",
]

del combined, linear, forests, kernel, ranked
