"""Was this person in the data? Membership attacks on what a synthesiser releases, by attackers of the kind "membership"."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .rates import Rates as Rates
    from .result import MembershipResult as MembershipResult
    from .settings import ShadowSettings as ShadowSettings
    from .settings import SinglingOutSettings as SinglingOutSettings
    from .study import membership as membership

offer_names(__name__)
