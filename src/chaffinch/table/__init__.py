"""What a column is, and how values become codes and codes values."""

from .codes import Codes
from .domain import OTHER, Categories, ColumnDomain, Intervals
from .formats import FORMATS, FileLayout, FileOptions, Format, ReadOptions, Source
from .read import read
from .scan import Scan, scan
from .schema import Column, Note, Schema
from .schema_file import read_schema, schema_text, write_schema
from .table import Table
from .write import table_writer, write_table

__all__ = [
    "FORMATS",
    "OTHER",
    "Categories",
    "Codes",
    "Column",
    "ColumnDomain",
    "FileLayout",
    "FileOptions",
    "Format",
    "Intervals",
    "Note",
    "ReadOptions",
    "Scan",
    "Schema",
    "Source",
    "Table",
    "read",
    "read_schema",
    "scan",
    "schema_text",
    "table_writer",
    "write_schema",
    "write_table",
]
