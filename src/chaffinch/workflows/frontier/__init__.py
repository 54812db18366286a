"""The frontier: settings by what they give away and what they are worth, searched, chosen and confirmed on different people."""

from ...report.frontier_result import FrontierResult
from .run import frontier, run_frontier
from .settings import FrontierSettings

__all__ = ["FrontierResult", "FrontierSettings", "frontier", "run_frontier"]
