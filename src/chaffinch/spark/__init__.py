"""The same synthesis where the data are: a Spark DataFrame is counted by its workers, and drawn
rows are one again.

Names are looked up when first used: a worker that counts loads what counting needs, in half of the
time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .counter import SparkCounter
    from .drawing import draw
    from .files import WrittenRows, write
    from .private import prepare
    from .scanning import SparkScan, scan
    from .session import Workers, check_workers

__all__ = [
    "SparkCounter",
    "SparkScan",
    "Workers",
    "WrittenRows",
    "check_workers",
    "draw",
    "prepare",
    "scan",
    "write",
]

_HOMES = {
    "SparkCounter": "counter",
    "SparkScan": "scanning",
    "Workers": "session",
    "WrittenRows": "files",
    "check_workers": "session",
    "draw": "drawing",
    "prepare": "private",
    "scan": "scanning",
    "write": "files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
