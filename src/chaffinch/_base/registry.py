"""How a package offers what it has. What varies is registered: metrics, attackers, kinds of output, synthesisers and file formats, each found by its name.

An entry is any object with a `name`. The package registers its own in modules that are imported when entries are first asked for; users add theirs with
`register`, and find them in results, on pages and in `--help` like the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cached_property
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules
from threading import RLock
from typing import Generic, Protocol, TypeVar

from .checks import check_name
from .errors import InputError


class Named(Protocol):
    """Anything that has a name."""

    @property
    def name(self) -> str:
        """What it is called, in options, results and files."""


Entry = TypeVar("Entry", bound=Named)


class Registry(Generic[Entry]):
    """Entries by name: those of the package in the order of its modules, then those that users registered.

    Parameters
    ----------
    what
        What an entry is, in errors.
    package, modules
        The modules in which the package registers its own, by their names in the package; "folder.*" is every module of a folder, in the order of their names.
    by_module
        Whether each module registers the one entry of its own name: it is then imported when that entry is asked for, and names cost nothing.

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

    def __init__(
        self, what: str, package: str = "", *modules: str, by_module: bool = False
    ) -> None:
        self.what = what
        self._by_module = by_module
        self._entries: dict[str, Entry] = {}
        self._homes: dict[str, str] = {}
        self._modules = [f"{package}.{module}" for module in modules]
        self._is_filled = False
        self._lock = RLock()

    def register(self, entry: Entry) -> Entry:
        """Add an entry and return it; InputError if its name is taken."""
        home = sys._getframe(1).f_globals["__name__"]
        is_ours = any(fnmatch(home, module) for module in self._modules)
        if entry.name in (self._entries if is_ours else self.names):
            raise InputError(f"There is a {self.what} '{entry.name}' already. Choose another name.")
        self._homes[entry.name] = home
        self._entries[entry.name] = entry
        return entry

    def remove(self, name: str) -> None:
        """Take an entry out again; UnknownNameError if there is none of that name."""
        del self._entries[self[name].name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        if self._by_module:
            names = (module.rpartition(".")[2] for module in self._found_modules)
            return tuple(dict.fromkeys([*names, *self._entries]))
        with self._lock:
            if not self._is_filled:
                self._is_filled = True
                for module in self._found_modules:
                    import_module(module)
                order = self._found_modules.index
                entries = sorted(
                    self._entries.items(), key=lambda item: order(self._homes[item[0]])
                )
                self._entries = dict(entries)
        return tuple(self._entries)

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            check_name(self.what, name, self.names)
            for module in self._found_modules:
                if self._by_module and module.endswith(f".{name}"):
                    import_module(module)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Registry({self.what}: {', '.join(self.names)})"

    @cached_property
    def _found_modules(self) -> list[str]:
        """The modules that register the package's own, those of folders among them."""
        return list(dict.fromkeys(chain.from_iterable(map(_module_names, self._modules))))


def _module_names(module: str) -> list[str]:
    """Return a module, or every module of a folder."""
    folder, _, star = module.rpartition(".")
    if star != "*":
        return [module]
    return [entry.name for entry in iter_modules(import_module(folder).__path__, f"{folder}.")]
