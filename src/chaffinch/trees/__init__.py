"""What a published decision tree gives away about single people (`audit`), and trees that give away nobody (`prune`)."""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .attack import Intersections as Intersections
    from .attack import Midpoints as Midpoints
    from .attack import intersections as intersections
    from .attack import midpoints as midpoints
    from .formats import TREE_FORMATS as TREE_FORMATS
    from .formats import OpenedModel as OpenedModel
    from .formats import TreeFormat as TreeFormat
    from .formats import open_model as open_model
    from .formats import write_model as write_model
    from .formats.dumps import read_lightgbm as read_lightgbm
    from .formats.dumps import read_xgboost as read_xgboost
    from .formats.from_sklearn import read_model as read_model
    from .result import AuditSummary as AuditSummary
    from .result import PruneResult as PruneResult
    from .result import PruneSummary as PruneSummary
    from .result import TreeAudit as TreeAudit
    from .settings import PruneSettings as PruneSettings
    from .settings import TreeSettings as TreeSettings
    from .study import audit as audit
    from .study import prune as prune
    from .tree import Ensemble as Ensemble
    from .tree import Tree as Tree
    from .tree import recount as recount

offer_names(__name__)
