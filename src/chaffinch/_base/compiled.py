"""Functions that are compiled when they are first called, and kept compiled for the next process.

Two things that cost a small job more than its work are put off. numba is imported at the first call of a kernel, so that a command which calls none does
not wait for it. And where the compiled function lies in the cache, numba's tables of what it can compile are not built: they are needed to compile, not to
run. What a loaded function is linked with is there without them (`docs/design/0034-starting-quickly.md`).
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

COMPILING = "Compiling, once after an installation: 10 to 15 CPU seconds more."
"""What a person is told while the first run takes longer than those after it."""

_LOCK = threading.RLock()
_TOLD: list[Callable[[str], object]] = []
"""Who is told that a kernel is being compiled, innermost last; each is told once."""


@contextlib.contextmanager
def told_of_compiling(tell: Callable[[str], object]) -> Iterator[None]:
    """Have `tell` called with a sentence if a kernel must be compiled in the block, once, and before it is."""
    _TOLD.append(tell)
    try:
        yield
    finally:
        if tell in _TOLD:
            _TOLD.remove(tell)


def _say_compiling() -> None:
    while _TOLD:
        _TOLD.pop()(COMPILING)


class CompiledFunction:
    """A function that numba compiles, with the releases of the GIL and the cache that all of ours have; called like the function itself.

    Other kernels may call it. Its attributes are those of numba's dispatcher: `py_func` is the plain function.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._dispatcher or self.dispatcher)(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    @property
    def dispatcher(self) -> Any:
        """What numba made of the function; numba is imported for it."""
        with _LOCK:
            if self._dispatcher is None:
                self._dispatcher = _compiler()(self._function, self._options)
            return self._dispatcher


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Return a function as a `CompiledFunction`: compiled at its first call, cached, without the GIL."""
    return (
        functools.partial(jit, **options)
        if function is None
        else CompiledFunction(function, options)
    )


@functools.cache
def _compiler() -> Callable[[Callable[..., Any], dict[str, Any]], Any]:
    """Return what makes a dispatcher of a function, with numba imported and told what a `CompiledFunction` in the text of another one is."""
    import numba
    from numba.core import environment
    from numba.core.caching import FunctionCache
    from numba.core.runtime import rtsys
    from numba.extending import typeof_impl

    @typeof_impl.register(CompiledFunction)  # type: ignore[untyped-decorator]
    def type_of_kernel(value: CompiledFunction, _context: Any) -> Any:
        return numba.types.Dispatcher(value.dispatcher)

    inside = (
        (environment, "_rebuild_env"),
        (environment, "lookup_environment"),
        (environment.Environment, "_memo"),
        (FunctionCache, "_load_overload"),
    )
    inside_is_known = all(hasattr(owner, name) for owner, name in inside)
    rebuild = getattr(environment, "_rebuild_env", None)

    def light_environment(module: str, constants: Any, name: str) -> Any:
        """Return the constants of a part that was compiled from numba's own sources, without importing the module that it stands in."""
        if not module.startswith("numba.") or module in sys.modules:
            return rebuild(module, constants, name)  # type: ignore[misc]
        known = environment.lookup_environment(name)
        if known is not None:
            return known
        light = environment.Environment(
            {"__name__": module}
        )  # its globals serve code that Python interprets, and ours is all compiled
        light.consts[:] = constants
        light.env_name = name
        environment.Environment._memo[name] = light
        return light

    class QuickCache(FunctionCache):  # type: ignore[misc]
        """numba's cache of a function, read before the tables are built that only compiling needs."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            rtsys.initialize(target_context)
            environment._rebuild_env = light_environment
            try:
                with self._guard_against_spurious_io_errors():
                    loaded = self._load_overload(sig, target_context)
                    if loaded is not None:
                        return loaded
            finally:
                environment._rebuild_env = rebuild
            _say_compiling()
            return None  # compiling builds the tables itself

    def dispatcher_of(function: Callable[..., Any], options: dict[str, Any]) -> Any:
        if options.get("inline") == "always":  # becomes part of its callers
            return numba.njit(**options)(function)
        dispatcher = numba.njit(nogil=True, cache=True, **options)(function)
        if (
            inside_is_known and type(getattr(dispatcher, "_cache", None)) is FunctionCache
        ):  # not where numba was told to interpret, or to cache nothing
            dispatcher._cache.__class__ = QuickCache
        return dispatcher

    return dispatcher_of
