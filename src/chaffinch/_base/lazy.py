"""Packages that import a module when a name of it is first used: what asks for settings alone does not wait for numpy.

An `__init__.py` says where its names live in imports that type checkers and editors follow, and that are read, not run:

    if TYPE_CHECKING:
        from .result import UtilityResult as UtilityResult

    offer_names(__name__)
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from itertools import chain
from pkgutil import get_data
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that looks up its names when they are first used.

    A name that is offered and a module's too, as `utility.mu`, is what is offered, whatever was imported first.
    """

    _homes: dict[str, tuple[str, str]]
    """The module of each name, and what it is called there: nothing for the module itself."""

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        home, original = self._homes[name]
        module = import_module(home, self.__name__)
        value = getattr(module, original) if original else module
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        offered = self._homes.get(name, ("", ""))[1]
        if not (offered and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


class CallablePackage(LazyPackage):
    """A package that answers a call with one of its functions."""

    _answer: str

    @cached_property
    def _function(self) -> Callable[..., Any]:
        module, _, name = self._answer.rpartition(".")
        return getattr(import_module(f".{module}", self.__name__), name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)


def offer_names(package: str, *, answer: str = "") -> None:
    """Have a package offer the names that its `__init__.py` imports for type checkers, each looked up when first used.

    With `answer`, as "study.utility", the package answers calls with that function, whose signature `help` and editors then show.
    """
    module = sys.modules[package]
    source = get_data(package, "__init__.py") or b""
    blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If)]
    homes = {}
    for node in chain.from_iterable(blocks):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                is_package = (node.module or f"{name}.").startswith(f"{name}.")
                home = name if is_package else str(node.module)
                homes[name] = ("." * node.level + home, "" if is_package else alias.name)
    module._homes = homes  # type: ignore[attr-defined]
    module._answer = answer  # type: ignore[attr-defined]
    module.__all__ = list(homes)  # type: ignore[attr-defined]
    module.__class__ = CallablePackage if answer else LazyPackage
