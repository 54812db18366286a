"""What a published decision tree gives away about single people (`audit`), and trees that give away nobody (`prune`)."""

from .attack import Intersections, Midpoints, intersections, midpoints
from .formats import TREE_FORMATS, OpenedModel, TreeFormat, open_model, write_model
from .formats.dumps import read_lightgbm, read_xgboost
from .formats.from_sklearn import read_model
from .result import AuditSummary, PruneResult, PruneSummary, TreeAudit
from .tree import Ensemble, Tree, recounted

# isort: split
# After the modules of these names: the functions are what the package is for.
from .study import audit, prune

__all__ = [
    "TREE_FORMATS",
    "AuditSummary",
    "Ensemble",
    "Intersections",
    "Midpoints",
    "OpenedModel",
    "PruneResult",
    "PruneSummary",
    "Tree",
    "TreeAudit",
    "TreeFormat",
    "audit",
    "intersections",
    "midpoints",
    "open_model",
    "prune",
    "read_lightgbm",
    "read_model",
    "read_xgboost",
    "recounted",
    "write_model",
]
