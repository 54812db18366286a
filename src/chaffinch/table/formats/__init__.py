"""File formats and objects that tables are read from and written to: each one file, registered in
`FORMATS` or `OBJECTS`.
"""

# isort: off
# The order of registration is that of help and messages.
from .format import FORMATS, Format, Labels, Source, Tagged
from .layout import FileLayout
from .format import FileOptions, ReadOptions
from . import (
    delimited,
    parquet,
    arrow,
    spss_stata,
    sas,
    rds,
    workbook,
    json_lines,
    databases,
    refused,
    zipped,
)
from .objects import OBJECTS, ObjectKind

# isort: on

__all__ = [
    "FORMATS",
    "OBJECTS",
    "FileLayout",
    "FileOptions",
    "Format",
    "Labels",
    "ObjectKind",
    "ReadOptions",
    "Source",
    "Tagged",
    "arrow",
    "databases",
    "delimited",
    "json_lines",
    "parquet",
    "rds",
    "refused",
    "sas",
    "spss_stata",
    "workbook",
    "zipped",
]
