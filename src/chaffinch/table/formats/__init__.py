"""File formats and objects that tables are read from and written to: each one file, registered in `FORMATS` or `OBJECTS`."""

# isort: off
# The order of registration is that of help and messages.
from .format import FORMATS, Format, Labels, ReadOptions, Source, Tagged
from . import delimited, parquet, arrow, spss_stata, refused
from .objects import OBJECTS, ObjectKind

# isort: on

__all__ = [
    "FORMATS", "OBJECTS", "Format", "Labels", "ObjectKind", "ReadOptions", "Source", "Tagged", "arrow", "delimited",
    "parquet", "refused", "spss_stata",
]  # fmt: skip
