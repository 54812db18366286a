"""The kinds of outputs, one file or package of this folder each: importing this imports them all, and each registers itself."""

from importlib import import_module
from pkgutil import iter_modules

from .base import KINDS, Kind, OutputSpec

__all__ = ["KINDS", "Kind", "OutputSpec"]

_FIRST = (
    "table",
    "moments",
    "correlation",
    "quantiles",
    "regression",
    "kaplan_meier",
    "tree",
    "t_test",
)
"""What messages and help list first; all other files follow."""

for _name in (*_FIRST, *(module.name for module in iter_modules(__path__))):
    import_module(f"{__name__}.{_name}")
