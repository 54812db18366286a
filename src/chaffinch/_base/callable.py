"""A package that is also a function: `chaffinch.utility(original, synthetic)`, and `chaffinch.utility.METRICS` beside it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that answers a call with one of its functions."""

    _function: Callable[..., Any]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)


def make_callable(name: str, function: Callable[..., Any]) -> None:
    """Have the package of this name answer calls with a function, whose signature `help` and editors then show."""
    package = sys.modules[name]
    package.__class__ = CallablePackage
    package._function = function  # type: ignore[attr-defined]
    package.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
