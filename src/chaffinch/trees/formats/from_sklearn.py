"""Models of scikit-learn as plain trees. Nothing of the training data is needed, and nothing is executed but array look-ups.

**Counts of records** (`recovered_counts`). scikit-learn keeps for each node the shares of the classes (before 1.3: their weights), the summed weight, and the number of records.
Without weights counts are shares times size. With one weight for each class, unknown to us, every node says that the weights of its
classes, each divided by that of its class, add up to the number of its records: linear equations for the inverse weights. They are
solved where they have one solution only, and then checked on every node. With a weight of its own for each record nothing can be recovered.

A bootstrap weights each record by how often it was drawn: class weights are draws, and the number of records counts each once.

**The model with other trees in it** (`rebuilt`), and nothing else of what the fit had left there. The copy is made from the settings (`clone`), and only attributes on a list come with it: a fitted forest also holds the weights of its
training records and what it predicted for each of them out of bag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, join_names
from ..tree import Ensemble, Kind, Tree
from .format import SETS, STAGES, TREE_FORMATS, TreeFormat

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
        out.tree_ = _to_sklearn_tree(model.tree_, trees.trees[0], trees)
        return out
    if hasattr(model, "estimator_"):
        out.estimator_ = clone(model.estimator_)
    for estimator, tree in zip(model.estimators_, trees.trees, strict=True):
        new_estimator = _copy(clone, estimator)
        _set_classes(
            new_estimator, [np.arange(len(names), dtype=np.float64) for names in trees.classes]
        )
        new_estimator.tree_ = _to_sklearn_tree(estimator.tree_, tree, trees)
        out.estimators_.append(new_estimator)
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
    classes = _array(model, output).tolist()
    return [classes.index(name) for name in trees.classes[output]]


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


def _to_sklearn_tree(old: Any, tree: Tree, trees: Ensemble) -> Any:
    """A plain tree as scikit-learn's own kind: splits, leaves, and nothing else in its nodes."""
    make, (n_features, n_classes, n_outputs), state = old.__reduce__()
    nodes = np.zeros(tree.n_nodes, dtype=state["nodes"].dtype)
    leaf = tree.left_child < 0
    nodes["left_child"], nodes["right_child"] = tree.left_child, tree.right_child
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


PRUNABLE = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)
FORESTS = (
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
)
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")

_DRAWS = (
    "Each tree saw a bootstrap of the records: its counts are draws (several may be of one record), and records outside it may "
    "satisfy a predicate too."
)
_SUBSAMPLE = (
    "Each tree saw a part of the records only: records outside it may satisfy a predicate too."
)
_HELD_BACK = "Early stopping held some records back: they may satisfy a predicate too."
_MONOTONE = "A monotone constraint bends the shares of the nodes: counts of classes cannot be told from them."
_WEIGHTED_DRAWS = (
    "The draws of the bootstrap had weights: how many records stand behind a weight cannot be told."
)
_CLEARED = "The numbers of records were taken out of the model."


def read_model(model: Any, *, features: Sequence[str] | None = None) -> Ensemble:
    """Return the trees of a fitted scikit-learn model: a tree, a forest, extra trees, or boosted trees.

    `features` names the columns where the model does not.
    """
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        raise InputError(
            f"A model of scikit-learn is needed. Got {name} of {type(model).__module__.split('.')[0]}."
        )
    if name in PRUNABLE:
        _check_fitted(model, "tree_")
        return _ensemble(model, [_tree(model, model.tree_, _kind(name))], features)
    if name in FORESTS:
        _check_fitted(model, "estimators_")
        return _ensemble(
            model, _forest(model, _kind(name)), features, note=_DRAWS if model.bootstrap else ""
        )
    if name in _BOOSTED:
        _check_fitted(model, "estimators_")
        trees = [
            _tree(model, estimator.tree_, "regression")
            for estimator in np.asarray(model.estimators_).ravel()
        ]
        note = STAGES if model.subsample >= 1 else f"{STAGES} {_SUBSAMPLE}"
        note = f"{note} {_HELD_BACK}" if getattr(model, "n_iter_no_change", None) else note
        return _ensemble(model, trees, features, note=note, boosted=True)
    if name in _HISTOGRAM:
        _check_fitted(model, "_predictors")
        trees = [
            _histogram_tree(predictor.nodes) for stage in model._predictors for predictor in stage
        ]
        note = f"{STAGES} {_HELD_BACK}" if getattr(model, "do_early_stopping_", False) else STAGES
        return _ensemble(model, trees, features, note=note, boosted=True)
    known = (*PRUNABLE, *FORESTS, *_BOOSTED, *_HISTOGRAM)
    raise InputError(
        f"A {name} is no tree. Models that are: {join_names(known, max_names=20)}. Of a pipeline or a search pass the tree inside."
    )


def _kind(name: str) -> Kind:
    return "classification" if name.endswith("Classifier") else "regression"


def _check_fitted(model: Any, attribute: str) -> None:
    if not hasattr(model, attribute):
        raise InputError(
            f"The {type(model).__name__} is not fitted: it has no trees yet. Fit it first."
        )


def _ensemble(
    model: Any,
    trees: Sequence[Tree],
    features: Sequence[str] | None,
    *,
    note: str = "",
    boosted: bool = False,
) -> Ensemble:
    d = int(model.n_features_in_)
    names = (
        list(features) if features is not None else list(getattr(model, "feature_names_in_", ()))
    )
    names = [str(name) for name in names] or [f"x{i}" for i in range(d)]
    if len(names) != d:
        raise InputError(f"The model has {d} columns, but {len(names)} names were given.")
    kind = _kind(type(model).__name__)
    classes: tuple[tuple[Any, ...], ...] = ()
    if kind == "classification":
        class_arrays = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        classes = tuple(tuple(labels.tolist()) for labels in class_arrays)
    if boosted:
        targets = classes[0] if classes else ()
        return Ensemble(
            type(model).__name__,
            "regression",
            tuple(names),
            (),
            tuple(trees),
            note,
            boosted=True,
            targets=targets,
        )
    return Ensemble(type(model).__name__, kind, tuple(names), classes, tuple(trees), note)


def _forest(model: Any, kind: Kind) -> list[Tree]:
    compiled = [estimator.tree_ for estimator in model.estimators_]
    # Without other weights every tree of a bootstrap has as many draws; sample weights would make them differ.
    draws = {float(tree.weighted_n_node_samples[0]) for tree in compiled}
    plain = (
        model.bootstrap
        and len(draws) == 1
        and draws == {float(getattr(model, "_n_samples_bootstrap", *draws))}
    )
    if getattr(model, "_sample_weight", None) is not None:
        plain = False
    return [
        _tree(model, tree, kind, bootstrap=bool(model.bootstrap), plain_draws=plain)
        for tree in compiled
    ]


def _tree(
    model: Any, compiled: Any, kind: Kind, *, bootstrap: bool = False, plain_draws: bool = False
) -> Tree:
    """A plain tree of scikit-learn's compiled one."""
    samples = np.asarray(compiled.n_node_samples, dtype=np.int64)
    value = np.asarray(compiled.value, dtype=np.float64)
    left_child, right_child = compiled.children_left, compiled.children_right
    monotone = getattr(model, "monotonic_cst", None) is not None
    known: NDArray[np.int64] | None = samples if samples.max(initial=0) > 0 else None
    counts, fewest, reason = None, None, "" if known is not None else _CLEARED
    if known is not None and kind == "classification":
        counts, reason = (
            (None, _MONOTONE)
            if monotone
            else _counts(model, compiled, value, bootstrap, plain_draws)
        )
        if counts is not None and bootstrap:
            fewest = fewest_records(counts, samples, left_child, right_child)
    varies = (
        None if known is None or monotone or bootstrap else _varies(model, compiled, value, kind)
    )
    missing = getattr(compiled, "missing_go_to_left", False)
    variance = (
        None
        if known is None or monotone or bootstrap or kind != "regression"
        else _variance(model, compiled, value)
    )
    known_of = {
        "counts": counts,
        "samples": known,
        "reason": reason,
        "fewest": fewest,
        "varies": varies,
        "variance": variance,
    }
    return Tree.from_nodes(
        left_child, right_child, compiled.feature, compiled.threshold, missing, value, **known_of
    )


def _counts(
    model: Any, compiled: Any, value: NDArray[np.float64], bootstrap: bool, plain_draws: bool
) -> tuple[NDArray[np.int64] | None, str]:
    weighted = np.asarray(compiled.weighted_n_node_samples, dtype=np.float64)
    class_weight = getattr(model, "class_weight", None)
    if bootstrap:
        if class_weight is not None or not plain_draws:
            return None, _WEIGHTED_DRAWS
        return recovered_counts(value, weighted, np.rint(weighted).astype(np.int64))
    single = value.shape[1] == 1
    labels = model.classes_.tolist() if single else []
    return recovered_counts(
        value,
        weighted,
        np.asarray(compiled.n_node_samples, dtype=np.int64),
        class_weights=class_weight is not None,
        weights_of=known_weights(class_weight, labels) if single else None,
    )


def _varies(
    model: Any, compiled: Any, value: NDArray[np.float64], kind: Kind
) -> NDArray[np.bool_] | None:
    """Whether the labels in a node differ, where its value is their mean; an impurity of rounding alone does not count."""
    means = ("squared_error", "friedman_mse", "poisson")
    boosted = type(model).__name__ in _BOOSTED
    if kind != "regression" or boosted or value.shape[1:] != (1, 1) or model.criterion not in means:
        return None
    impurity = np.asarray(compiled.impurity, dtype=np.float64)
    # The library subtracts the squared mean from the mean square: small leaves, which matter, are off by some 1e-15 of it.
    return np.asarray(impurity > 1e-13 * value[:, 0, 0] ** 2)


def _variance(model: Any, compiled: Any, value: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The variance of the labels of each node, where values are means and every record counts once; of several outputs at most that."""
    boosted = type(model).__name__ in _BOOSTED
    if boosted or model.criterion not in ("squared_error", "friedman_mse"):
        return None
    if not np.array_equal(compiled.weighted_n_node_samples, compiled.n_node_samples):
        return None
    # The library keeps the mean over outputs.
    return np.maximum(np.asarray(compiled.impurity, dtype=np.float64), 0.0) * value.shape[1]


def _histogram_tree(nodes: Any) -> Tree:
    """A plain tree of histogram gradient boosting: counts of records, no classes, values compared as they are."""
    if nodes["is_categorical"].any():
        raise InputError(SETS)
    left_child, right_child = (
        np.where(nodes["is_leaf"], -1, nodes[side].astype(np.int64)) for side in ("left", "right")
    )
    value, samples = (
        nodes["value"].astype(np.float64).reshape(-1, 1, 1),
        nodes["count"].astype(np.int64),
    )
    cuts, missing = nodes["num_threshold"], nodes["missing_go_to_left"]
    return Tree.from_nodes(
        left_child,
        right_child,
        nodes["feature_idx"],
        cuts,
        missing,
        value,
        samples=samples,
        single=False,
    )


SKLEARN = TREE_FORMATS.register(
    TreeFormat(
        "sklearn",
        accepts=lambda model: type(model).__module__.startswith("sklearn."),
        trees=lambda model, features: read_model(model, features=features),
        rebuild=rebuilt,
    )
)


_OWN = "The records had weights of their own: how many stand behind a weight cannot be told."
_OPEN = (
    "Classes had weights, and the tree is too small to tell how many records stand behind a weight."
)


def recovered_counts(
    value: NDArray[np.float64],
    weighted: NDArray[np.float64],
    samples: NDArray[np.int64],
    *,
    class_weights: bool = False,
    weights_of: Sequence[float] | None = None,
) -> tuple[NDArray[np.int64] | None, str]:
    """Return the records of each class in each node (nodes x outputs x classes), or None and the reason.

    `value` are shares or weights of classes. Where classes are known to have weights, weights that happen to be whole are not taken for
    counts; `weights_of` is the weight of each class, where it is known (one output only).

    Examples
    --------
    >>> shares = np.array([[[0.75, 0.25]], [[1.0, 0.0]], [[0.0, 1.0]]])
    >>> recovered_counts(shares, np.array([4.0, 3.0, 1.0]), np.array([4, 3, 1]))[0].tolist()
    [[[3, 1]], [[3, 0]], [[0, 1]]]
    """
    sums = value.sum(axis=2)
    if np.allclose(sums, 1.0, rtol=0, atol=1e-6):
        weights = value * weighted[:, None, None]
    elif np.allclose(sums, weighted[:, None], rtol=1e-6):
        weights = value
    else:
        return None, "The values of the nodes are neither shares nor weights of classes."
    out = []
    for k in range(value.shape[1]):
        of_class = None if weights_of is None else np.asarray(weights_of, dtype=np.float64)
        counts, reason = _of_output(weights[:, k, :], samples, class_weights, of_class)
        if counts is None:
            return None, reason
        out.append(counts)
    return np.stack(out, axis=1), ""


def fewest_records(
    draws: NDArray[np.int64],
    samples: NDArray[np.int64],
    left_child: NDArray[np.int64],
    right_child: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return a lower bound of the distinct records behind draws of a bootstrap (nodes x outputs x classes).

    A node with W draws of S distinct records has W - S repeats, so a class with c draws has at least c - (W - S) records, and
    at least one if c > 0; and a split has at least as many as its children together. Children must come after their parents.

    Examples
    --------
    >>> leaf = np.array([-1])
    >>> fewest_records(np.array([[[5, 2]]]), np.array([5]), leaf, leaf).tolist()
    [[[3, 1]]]
    """
    repeats = draws.sum(axis=2) - samples[:, None]
    fewest = np.maximum(draws - repeats[:, :, None], (draws > 0).astype(np.int64))
    for node in range(len(left_child) - 1, -1, -1):
        if left_child[node] >= 0:
            fewest[node] = np.maximum(
                fewest[node], fewest[left_child[node]] + fewest[right_child[node]]
            )
    return fewest


def known_weights(class_weight: Any, classes: Sequence[Any]) -> list[float] | None:
    """Return the weight of each class from scikit-learn's setting if that names them, else None.

    Examples
    --------
    >>> known_weights({"a": 2.0}, ["a", "b"]), known_weights("balanced", ["a", "b"])
    ([2.0, 1.0], None)
    """
    if not isinstance(class_weight, Mapping):
        return None
    return [float(class_weight.get(label, 1.0)) for label in classes]


def _of_output(
    weights: NDArray[np.float64],
    samples: NDArray[np.int64],
    class_weights: bool,
    weights_of: NDArray[np.float64] | None,
) -> tuple[NDArray[np.int64] | None, str]:
    if weights_of is not None and (weights_of > 0).all():
        exact = _rounded_counts(
            weights
            / np.pad(weights_of, (0, weights.shape[1] - len(weights_of)), constant_values=1.0),
            samples,
        )
        if exact is not None:
            return exact, ""
    if not class_weights and (plain := _rounded_counts(weights, samples)) is not None:
        return plain, ""
    used = weights.max(axis=0) > 0
    of_used = weights[:, used]
    scale = of_used.max(axis=0)
    if np.linalg.matrix_rank(of_used / scale, tol=1e-7) < used.sum():
        return None, _OPEN
    inverse = np.zeros(weights.shape[1])
    inverse[used] = (
        np.linalg.lstsq(of_used / scale, samples.astype(np.float64), rcond=None)[0] / scale
    )
    if (inverse[used] <= 0).any():
        return None, _OWN
    # Solved to a few digits: take the inverse weight that makes the root's counts whole, then check every node.
    root = np.rint(weights[0] * inverse)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact_inverse = np.where(weights[0] > 0, root / weights[0], 0.0)
    counts = _rounded_counts(weights * exact_inverse, samples)
    return counts, "" if counts is not None else _OWN


def _rounded_counts(
    counts: NDArray[np.float64], samples: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """The counts as whole numbers that add up to the records of each node, or None where they are not."""
    nearest = np.rint(counts)
    # Sums of n floats are off by some n times 1e-16; a tolerance that grew to 1 would take anything for a count.
    close = np.abs(counts - nearest) <= np.minimum(1e-3, 1e-7 + 1e-11 * samples[:, None])
    if not close.all() or not np.array_equal(nearest.sum(axis=1), samples):
        return None
    return nearest.astype(np.int64)
