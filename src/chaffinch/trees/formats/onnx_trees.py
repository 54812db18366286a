"""Tree ensembles of ONNX files as plain trees. They tell splits and leaves, never counts: only the attack by trying is left.

Nothing of the graph is run. Read are the attributes of one TreeEnsembleClassifier or TreeEnsembleRegressor of the domain ai.onnx.ml.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FileError, InputError, MissingExtraError
from ..tree import Ensemble, Tree
from .format import TREE_FORMATS, OpenedModel, TreeFormat, naming

NO_COUNTS = "ONNX files do not say how many records stand behind a node."
SCORES = "The leaves hold scores that are added up and transformed, not shares of classes."
_MOST_COLUMNS = 100_000
_OPERATORS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")


def onnx_ensemble(data: bytes, *, name: str = "the file") -> Ensemble:
    """Return the trees of an ONNX file; raise a clear error for any other file. `name` is for messages."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("Reading ONNX files", "onnx") from None
    try:
        graph = onnx.ModelProto.FromString(data).graph
    except Exception:  # protobuf has an error class of its own for each of its back ends
        raise FileError(
            f"'{name}' is not a sound ONNX file: it is damaged, truncated or of another format."
        ) from None
    if any(node.op_type == "TreeEnsemble" for node in graph.node):
        raise FileError(
            f"'{name}' has a TreeEnsemble of ai.onnx.ml version 5, which is not read yet. Convert for version 3 or 4."
        )
    operators = [node for node in graph.node if node.op_type in _OPERATORS]
    if len(operators) != 1:
        raise FileError(
            f"'{name}' must hold exactly one {' or '.join(_OPERATORS)}. It has {'none' if not operators else 'several'}."
        )
    with naming(f"'{name}' cannot be read as trees."):
        return _ensemble(onnx, graph, operators[0])


def _ensemble(onnx: Any, graph: Any, node: Any) -> Ensemble:
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    classifier = node.op_type == "TreeEnsembleClassifier"
    classes: tuple[tuple[Any, ...], ...] = ()
    if classifier:
        label_texts = [word.decode("utf-8") for word in attributes.get("classlabels_strings", ())]
        labels = label_texts or [int(label) for label in attributes.get("classlabels_int64s", ())]
        if not labels or len(set(labels)) != len(labels):
            raise InputError("Its class labels are missing, or one comes twice.")
        classes = (tuple(labels),)
    width = len(classes[0]) if classifier else int(attributes.get("n_targets", 1))
    if not 1 <= width <= _MOST_COLUMNS:
        raise InputError("The number of outputs is out of bounds.")
    trees = _trees(onnx, attributes, "class" if classifier else "target", width)
    if not classifier:  # one number for each output, instead of one share for each class
        trees = [replace(tree, value=tree.value.transpose(0, 2, 1)) for tree in trees]
    min_columns = max(int(tree.feature.max(initial=-1)) for tree in trees) + 1
    summed = attributes.get("post_transform", b"NONE") == b"NONE" and not attributes.get(
        "base_values"
    )
    has_all_classes = not classifier or set(attributes.get("class_ids", ())) == set(range(width))
    return Ensemble(
        node.op_type,
        "classification" if classifier else "regression",
        _features(graph, node, min_columns),
        classes,
        tuple(trees),
        "" if summed and has_all_classes else SCORES,
    )


def _trees(onnx: Any, attributes: dict[str, Any], leaf: str, width: int) -> list[Tree]:
    ids = _integers(attributes["nodes_treeids"])
    n = len(ids)
    numbers, features = (
        _integers(attributes["nodes_nodeids"]),
        _integers(attributes["nodes_featureids"]),
    )
    yes, no = (
        _integers(attributes["nodes_truenodeids"]),
        _integers(attributes["nodes_falsenodeids"]),
    )
    modes = [mode.decode("ascii") for mode in attributes["nodes_modes"]]
    cuts = _reals(onnx, attributes, "nodes_values")
    tracks = _integers(attributes.get("nodes_missing_value_tracks_true") or [0] * n)
    if n == 0 or {len(a) for a in (numbers, features, yes, no, modes, cuts, tracks)} != {n}:
        raise InputError("The lists of nodes have different lengths.")
    position = {(int(t), int(i)): k for k, (t, i) in enumerate(zip(ids, numbers, strict=True))}
    if len(position) != n:
        raise InputError("A node comes twice.")
    value = np.zeros((n, 1, width))
    weights = _reals(onnx, attributes, f"{leaf}_weights")
    for t, i, k, weight in zip(
        attributes[f"{leaf}_treeids"],
        attributes[f"{leaf}_nodeids"],
        attributes[f"{leaf}_ids"],
        weights,
        strict=True,
    ):
        if not 0 <= k < width:
            raise InputError("A leaf speaks of an output that the model does not have.")
        value[position[int(t), int(i)], 0, k] += weight
    left_child, right_child, missing = np.full(n, -1), np.full(n, -1), np.zeros(n, dtype=bool)
    for k, mode in enumerate(modes):
        if mode != "LEAF":
            pair = position[int(ids[k]), int(yes[k])], position[int(ids[k]), int(no[k])]
            # The child of smaller values first.
            left_child[k], right_child[k] = (
                pair if mode in ("BRANCH_LEQ", "BRANCH_LT") else pair[::-1]
            )
            missing[k], cuts[k] = _comparison(mode, float(cuts[k]), bool(tracks[k]))
    out = []
    for t in dict.fromkeys(ids.tolist()):
        order = _root_first(np.flatnonzero(ids == t), left_child, right_child)
        local = np.full(n + 1, -1)  # of -1 it is -1 again
        local[order] = np.arange(len(order))
        children = local[left_child[order]], local[right_child[order]]
        out.append(
            Tree.from_nodes(
                *children,
                features[order],
                cuts[order],
                missing[order],
                value[order],
                reason=NO_COUNTS,
            )
        )
    return out


def _root_first(
    rows: NDArray[np.int64], left_child: NDArray[np.int64], right_child: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The nodes of a tree, its root first: the node that is nobody's child."""
    below = np.isin(rows, np.concatenate([left_child[rows], right_child[rows]]))
    if (~below).sum() != 1:
        raise InputError("The nodes do not form a tree: there must be one that is nobody's child.")
    return np.concatenate([rows[~below], rows[below]])


def _comparison(mode: str, cut: float, tracks_true: bool) -> tuple[bool, float]:
    """Whether a missing value goes to the smaller side, and the cut as "at most": values are 32-bit floats.

    A comparison with a missing value is false, unless missing values track the true branch.
    """
    if mode in ("BRANCH_LEQ", "BRANCH_GT"):
        bound = cut
    elif mode in (
        "BRANCH_LT",
        "BRANCH_GTE",
    ):  # below the cut is at most the largest 32-bit float below it
        single = np.float32(cut)
        bound = float(single if float(single) < cut else np.nextafter(single, np.float32(-np.inf)))
    else:
        raise InputError(
            "A split compares by something else than LEQ, LT, GT or GTE. Encode categories as numbers before the fit."
        )
    return (tracks_true if mode in ("BRANCH_LEQ", "BRANCH_LT") else not tracks_true), bound


def _features(graph: Any, node: Any, min_columns: int) -> tuple[str, ...]:
    """The names of the columns: those of one-column inputs put side by side, or x0, x1, ... as of a model without names."""
    constants = {constant.name for constant in graph.initializer}
    inputs = {entry.name: _columns(entry) for entry in graph.input if entry.name not in constants}
    joined = [
        list(other.input)
        for other in graph.node
        if other.op_type == "Concat" and list(other.output) == node.input[:1]
    ]
    if (
        joined
        and all(inputs.get(column) == 1 for column in joined[0])
        and min_columns <= len(joined[0])
    ):
        return tuple(joined[0])
    known = [d for d in inputs.values() if d] if len(inputs) == 1 else []
    d = known[0] if known else min_columns
    if not min_columns <= d <= _MOST_COLUMNS:
        raise InputError(
            "A split is on a column that the model does not have, or it has too many columns."
        )
    return tuple(f"x{i}" for i in range(d))


def _columns(entry: Any) -> int:
    shape = entry.type.tensor_type.shape.dim
    return int(shape[1].dim_value) if len(shape) == 2 else 0


def _integers(values: Any) -> NDArray[np.int64]:
    return np.array(list(values), dtype=np.int64)


def _reals(onnx: Any, attributes: dict[str, Any], name: str) -> NDArray[np.float64]:
    """An attribute of 32-bit numbers, or the tensor of 64-bit ones that stands in for it."""
    if f"{name}_as_tensor" in attributes:
        tensor = attributes[f"{name}_as_tensor"]
        if tensor.external_data:
            raise InputError("Its numbers lie in another file, which is not opened.")
        out = np.asarray(onnx.numpy_helper.to_array(tensor), dtype=np.float64)
    else:
        out = np.array(list(attributes.get(name, ())), dtype=np.float64)
    if out.ndim != 1 or np.isnan(out).any():
        raise InputError("Where numbers are needed there is something else.")
    return out


ONNX = TREE_FORMATS.register(
    TreeFormat(
        "onnx",
        "ONNX",
        recognise=lambda file: file.data[:1] == b"\x08",  # the version of ONNX, its first entry
        read=lambda file: OpenedModel("onnx", onnx_ensemble(file.data, name=file.name)),
    )
)
