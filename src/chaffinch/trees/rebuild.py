"""A model of scikit-learn with other trees in it, and nothing else of what the fit had left there.

The copy is made from the settings (`clone`), and only attributes on a list come with it: a fitted forest also holds the weights of its
training records and what it predicted for each of them out of bag.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tree import Ensemble, Tree

_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "n_outputs_", "max_features_")


def rebuilt(model: Any, trees: Ensemble) -> Any:
    """Return a model of the kind and settings of `model`, which stays as it is, with the given trees and classes."""
    from sklearn.base import clone

    out = _copy(clone, model)
    if not hasattr(model, "tree_"):
        out.estimators_ = []
    _set_classes(
        out,
        [np.asarray(_array(model, k))[_places(model, trees, k)] for k in range(len(trees.classes))],
    )
    if hasattr(model, "tree_"):
        out.tree_ = _compiled(model.tree_, trees.trees[0], trees)
        return out
    if hasattr(model, "estimator_"):
        out.estimator_ = clone(model.estimator_)
    for part, tree in zip(model.estimators_, trees.trees, strict=True):
        one = _copy(clone, part)
        _set_classes(one, [np.arange(len(names), dtype=np.float64) for names in trees.classes])
        one.tree_ = _compiled(part.tree_, tree, trees)
        out.estimators_.append(one)
    return out


def _copy(clone: Any, model: Any) -> Any:
    out = clone(model)
    for name in _ATTRIBUTES:
        if hasattr(model, name):
            setattr(out, name, getattr(model, name))
    return out


def _array(model: Any, output: int) -> NDArray[Any]:
    return np.asarray(
        model.classes_[output] if isinstance(model.classes_, list) else model.classes_
    )


def _places(model: Any, trees: Ensemble, output: int) -> list[int]:
    """Where the surviving classes stand among those of the model; taken from its own array, so that their type stays."""
    every = _array(model, output).tolist()
    return [every.index(name) for name in trees.classes[output]]


def _set_classes(out: Any, classes: list[NDArray[Any]]) -> None:
    if not classes:
        return
    sizes = [len(names) for names in classes]
    several = len(classes) > 1
    out.classes_ = classes if several else classes[0]
    if hasattr(out, "estimators_"):  # forests keep plain numbers, trees NumPy's
        out.n_classes_ = sizes if several else sizes[0]
    else:
        out.n_classes_ = np.array(sizes, dtype=np.intp) if several else np.intp(sizes[0])


def _compiled(old: Any, tree: Tree, trees: Ensemble) -> Any:
    """A plain tree as scikit-learn's own kind: splits, leaves, and nothing else in its nodes."""
    make, (n_features, n_classes, n_outputs), state = old.__reduce__()
    nodes = np.zeros(tree.n_nodes, dtype=state["nodes"].dtype)
    leaf = tree.left < 0
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"] = np.where(leaf, -2, tree.feature)
    nodes["threshold"] = np.where(leaf, -2.0, tree.threshold)
    # No record is told of, but a weight of nothing would make importances and drawings divide by zero.
    nodes["weighted_n_node_samples"] = 1.0
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        nodes["missing_go_to_left"] = tree.missing_left
    sizes = np.array(
        [len(names) for names in trees.classes] or np.ones_like(n_classes), dtype=n_classes.dtype
    )
    value = tree.value.copy()
    for output, size in enumerate(sizes if trees.classes else ()):
        value[~leaf, output, :size] = 1.0 / size  # shares of an inner node, which nobody reads
    new = make(n_features, sizes, n_outputs)
    new.__setstate__(
        {
            "max_depth": int(tree.depth.max()),
            "node_count": tree.n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(value, dtype=np.float64),
        }
    )
    return new
