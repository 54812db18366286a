"""Mitigations: publish less of an output, as little less as the rules and the measured risk ask for."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from . import coarsening as coarsening
    from . import suppressing as suppressing
    from .base import MITIGATIONS as MITIGATIONS
    from .base import Mitigation as Mitigation
    from .search import find_mitigations as find_mitigations

offer_names(__name__)
