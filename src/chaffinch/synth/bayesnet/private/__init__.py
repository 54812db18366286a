"""The network under a promise: measured once in noise, everything else post-processing. See docs/design/0012."""

from typing import TYPE_CHECKING

from ...._base.lazy import offer_names

if TYPE_CHECKING:
    from .fitting import fit_private as fit_private
    from .fitting import plan_private as plan_private

offer_names(__name__)
