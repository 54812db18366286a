"""Chaffinch: privacy-preserving synthetic microdata. Make it, measure it, attack it, decide."""

from ._base.errors import (
    ChaffinchError,
    FileError,
    InputError,
    MissingExtraError,
    SchemaError,
    TooLargeError,
    UnknownNameError,
)
from .counts import Counter, Marginal, MemoryCounter, StreamCounter
from .table import Column, Note, Scan, Schema, Table, read, read_schema, scan, write_schema

__version__ = "0.1.0"

__all__ = [
    "ChaffinchError",
    "Column",
    "Counter",
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
    "read",
    "read_schema",
    "scan",
    "write_schema",
]
