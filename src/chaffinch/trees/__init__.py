"""What a published decision tree gives away about single people, and trees that give away nobody."""

from .attack import TreeAudit, audit_trees
from .formats.dumps import read_lightgbm, read_xgboost
from .formats.from_sklearn import read_model
from .intersections import Intersections, intersections
from .midpoints import Midpoints, midpoints
from .prune import Pruned, prune, prune_plain
from .recount import recounted
from .tree import Ensemble, Tree

__all__ = [
    "Ensemble",
    "Intersections",
    "Midpoints",
    "Pruned",
    "Tree",
    "TreeAudit",
    "audit_trees",
    "intersections",
    "midpoints",
    "prune",
    "prune_plain",
    "read_lightgbm",
    "read_model",
    "read_xgboost",
    "recounted",
]
