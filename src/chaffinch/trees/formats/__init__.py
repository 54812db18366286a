"""Trees as others write them: one file a format, each read into the plain form and, where it can be pruned, written back."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from . import dumps as dumps
    from . import from_sklearn as from_sklearn
    from . import onnx_trees as onnx_trees
    from . import plain as plain
    from . import skops_files as skops_files
    from .files import as_opened as as_opened
    from .files import open_model as open_model
    from .files import write_model as write_model
    from .format import TREE_FORMATS as TREE_FORMATS
    from .format import ModelFile as ModelFile
    from .format import OpenedModel as OpenedModel
    from .format import TreeFormat as TreeFormat

offer_names(__name__)
