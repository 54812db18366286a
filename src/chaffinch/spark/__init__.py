"""The same synthesis where the data are: a Spark DataFrame is counted by its workers, and drawn rows are one again."""

from .attribution import SparkAttribution, attribution
from .counter import SparkCounter
from .drawing import draw
from .files import WrittenRows, write
from .private import prepare
from .sampling import sample_rows
from .scan import SparkScan, scan
from .session import Workers, check_workers

__all__ = [
    "SparkAttribution", "SparkCounter", "SparkScan", "Workers", "WrittenRows", "attribution", "check_workers", "draw", "prepare", "sample_rows", "scan", "write",
]  # fmt: skip
