"""Trees as others write them: one file a format, each read into the plain form and, where it can be pruned, written back."""

# isort: off
# The order of registration is that of help and messages.
from .format import TREE_FORMATS, ModelFile, OpenedModel, TreeFormat
from . import skops_files, plain, onnx_trees, dumps, from_sklearn
from .files import as_opened, open_model, write_model

# isort: on

__all__ = [
    "TREE_FORMATS",
    "ModelFile",
    "OpenedModel",
    "TreeFormat",
    "as_opened",
    "dumps",
    "from_sklearn",
    "onnx_trees",
    "open_model",
    "plain",
    "skops_files",
    "write_model",
]
