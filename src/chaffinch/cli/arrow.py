"""Arrow at the start of a command: as many threads as were asked for, and no pandas until somebody wants it.

Arrow imports pandas, where it is installed, at the first array it makes: to know a frame if it were given one. That takes longer than most small jobs, and
swallows a Ctrl-C. So Arrow finds none at first, and looks again when pandas is imported for something: it then knows frames as ever.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def start_arrow(threads: int | None) -> None:
    """Keep Arrow to the number of threads asked for, and have it look for pandas when that is imported, not before."""
    import pyarrow as pa

    from .._base.runtime import thread_count

    if "pandas" not in sys.modules and not any(
        isinstance(finder, _PandasFinder) for finder in sys.meta_path
    ):
        finder = _PandasFinder()
        sys.meta_path.insert(0, finder)
        pa.array([0])
        finder.hides = False
        held = (
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            if hasattr(signal, "pthread_sigmask")
            else None
        )
        try:
            pa.array(
                [0]
            )  # an old Arrow (17) looks again at every array: let it find pandas now, while Ctrl-C waits
        finally:
            if held is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
    if threads is not None:
        pa.set_cpu_count(thread_count(threads))


class _PandasFinder(MetaPathFinder):
    """Hides pandas while Arrow looks for it; later, finds it once and has Arrow look again."""

    hides = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "pandas":
            return None
        if self.hides:
            raise ModuleNotFoundError("pandas is not looked for yet", name=fullname)
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _PandasLoader(spec.loader)
        return spec


class _PandasLoader(Loader):
    """Loads pandas as its own loader does, then has Arrow know it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader  # as if it had been there alone
        self.loader.exec_module(module)
        import pyarrow as pa

        pa.array([0]).to_pandas()  # for this Arrow looks for pandas again, where it found none
