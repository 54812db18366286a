"""The network under a promise: measured once in noise, everything else post-processing. See docs/design/0012."""

from .fitting import fit_private, plan_private

__all__ = ["fit_private", "plan_private"]
