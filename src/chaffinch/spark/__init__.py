"""The same synthesis where the data are: a Spark DataFrame is counted by its workers, and drawn rows are one again."""

from .counter import SparkCounter
from .drawing import draw
from .files import WrittenRows, write
from .private import prepare
from .scan import SparkScan, scan
from .session import Workers, check_workers

__all__ = ["SparkCounter", "SparkScan", "Workers", "WrittenRows", "check_workers", "draw", "prepare", "scan", "write"]
