"""Chaffinch: privacy-preserving synthetic microdata. Make it, measure it, attack it, decide.

Names are looked up when first used, so that `import chaffinch` and `chaffinch --help` answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._base.errors import (
        ChaffinchError,
        FileError,
        InputError,
        MissingExtraError,
        SchemaError,
        TooLargeError,
        UnknownNameError,
    )
    from .counts import Counter, Description, Marginal, MemoryCounter, StreamCounter, describe
    from .table import Column, Note, Scan, Schema, Table, read, read_schema, scan, write_schema

__version__ = "0.1.0"

_HOMES = {
    "_base.errors": (
        "ChaffinchError",
        "FileError",
        "InputError",
        "MissingExtraError",
        "SchemaError",
        "TooLargeError",
        "UnknownNameError",
    ),
    "counts": ("Counter", "Description", "Marginal", "MemoryCounter", "StreamCounter", "describe"),
    "table": ("Column", "Note", "Scan", "Schema", "Table", "read", "read_schema", "scan", "write_schema"),
}

__all__ = [
    "ChaffinchError",
    "Column",
    "Counter",
    "Description",
    "FileError",
    "InputError",
    "Marginal",
    "MemoryCounter",
    "MissingExtraError",
    "Note",
    "Scan",
    "Schema",
    "SchemaError",
    "StreamCounter",
    "Table",
    "TooLargeError",
    "UnknownNameError",
    "__version__",
    "describe",
    "read",
    "read_schema",
    "scan",
    "write_schema",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module 'chaffinch' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
