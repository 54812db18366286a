"""The frontier: settings by what they give away and what they are worth, searched, chosen and confirmed on different people."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from ...report.frontier_result import FrontierResult as FrontierResult
    from .run import frontier as frontier
    from .run import run_frontier as run_frontier
    from .settings import FrontierSettings as FrontierSettings

offer_names(__name__)
