"""The kinds of outputs, one file or package each; importing this registers them all."""

from .base import KINDS, Kind, OutputSpec

from .table import TableSpec  # isort: skip
from .histogram import HistogramSpec  # isort: skip
from .moments import MomentSpec  # isort: skip
from .correlation import CorrelationSpec  # isort: skip
from .quantiles import QuantileSpec  # isort: skip
from .regression import RegressionSpec  # isort: skip
from .kaplan_meier import KaplanMeierSpec  # isort: skip
from .tree import TreeSpec  # isort: skip

__all__ = [
    "KINDS",
    "CorrelationSpec",
    "HistogramSpec",
    "KaplanMeierSpec",
    "Kind",
    "MomentSpec",
    "OutputSpec",
    "QuantileSpec",
    "RegressionSpec",
    "TableSpec",
    "TreeSpec",
]
