"""Declarations from codebooks: each kind of codebook one file, registered in `CODEBOOKS`."""

# isort: off
# The order of registration is that of help and messages.
from .codebook import CODEBOOKS, Codebook, read_codebook, schema_from_json
from . import sdv, table_schema, stat_files

# isort: on

__all__ = [
    "CODEBOOKS",
    "Codebook",
    "read_codebook",
    "schema_from_json",
    "sdv",
    "stat_files",
    "table_schema",
]
