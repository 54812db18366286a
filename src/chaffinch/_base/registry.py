"""How a package offers what it has. What varies is registered: metrics, attackers, kinds of output, synthesisers and file formats, each found by its name.

An entry is any object with a `name`. The package registers its own in modules that are imported when entries are first asked for; users add theirs with
`register`, and find them in results, on pages and in `--help` like the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fnmatch import fnmatch
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

    def __init__(self, what: str, package: str = "", *modules: str) -> None:
        self.what = what
        self._entries: dict[str, Entry] = {}
        self._homes: dict[str, str] = {}
        self._modules = [f"{package}.{module}" for module in modules]
        self._is_filled = False
        self._lock = RLock()

    def register(self, entry: Entry) -> Entry:
        """Add an entry and return it; InputError if its name is taken."""
        home = sys._getframe(1).f_globals["__name__"]
        is_ours = any(fnmatch(home, module) for module in self._modules)
        entries = self._entries if is_ours else self._filled()
        if entry.name in entries:
            raise InputError(f"There is a {self.what} '{entry.name}' already. Choose another name.")
        self._homes[entry.name] = home
        entries[entry.name] = entry
        return entry

    def remove(self, name: str) -> None:
        """Take an entry out again; UnknownNameError if there is none of that name."""
        del self._entries[self[name].name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._filled())

    def __getitem__(self, name: str) -> Entry:
        check_name(self.what, name, self._filled())
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._filled()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._filled().values())

    def __len__(self) -> int:
        return len(self._filled())

    def __repr__(self) -> str:
        return f"Registry({self.what}: {', '.join(self._filled())})"

    def _filled(self) -> dict[str, Entry]:
        """The entries, after the modules that register the package's own were imported; their order is that of the modules, whichever came first."""
        with self._lock:
            if not self._is_filled:
                self._is_filled = True
                modules = list(dict.fromkeys(chain.from_iterable(map(_named, self._modules))))
                for module in modules:
                    import_module(module)
                entries = sorted(
                    self._entries.items(), key=lambda item: modules.index(self._homes[item[0]])
                )
                self._entries = dict(entries)
        return self._entries


def _named(module: str) -> list[str]:
    """Return a module, or every module of a folder."""
    folder, _, star = module.rpartition(".")
    if star != "*":
        return [module]
    return [entry.name for entry in iter_modules(import_module(folder).__path__, f"{folder}.")]
