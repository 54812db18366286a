"""How a package offers what it has. What varies is registered: metrics, attackers, kinds of output, synthesisers and file formats, each found by its name.

An entry is any object with a `name`. The package registers its own when the module that holds them is imported; users add theirs with
`register`, and find them in results, on pages and in `--help` like the others.
A package with one main job is also a function: `chaffinch.utility(original, synthetic)`, and `chaffinch.utility.METRICS` beside it.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from .checks import check_name
from .errors import InputError


class Named(Protocol):
    """Anything that has a name."""

    @property
    def name(self) -> str:
        """What it is called, in options, results and files."""


Entry = TypeVar("Entry", bound=Named)


class Registry(Generic[Entry]):
    """Entries by name, in the order in which they were registered.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Metric:
    ...     name: str
    >>> metrics = Registry[Metric]("metric")
    >>> _ = metrics.register(Metric("mu"))
    >>> "mu" in metrics, metrics.names, metrics["mu"]
    (True, ('mu',), Metric(name='mu'))
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._entries: dict[str, Entry] = {}

    def register(self, entry: Entry) -> Entry:
        """Add an entry and return it; InputError if its name is taken."""
        if entry.name in self._entries:
            raise InputError(f"There is a {self.what} '{entry.name}' already. Choose another name.")
        self._entries[entry.name] = entry
        return entry

    def remove(self, name: str) -> None:
        """Take an entry out again; UnknownNameError if there is none of that name."""
        del self._entries[self[name].name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._entries)

    def __getitem__(self, name: str) -> Entry:
        check_name(self.what, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.what}: {', '.join(self._entries)})"


def import_modules(package: str) -> None:
    """Import every module of a package, so that what registers itself there is found: an entry is one file."""
    for module in pkgutil.iter_modules(sys.modules[package].__path__, f"{package}."):
        import_module(module.name)


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
