"""Models of scikit-learn as plain trees. Nothing of the training data is needed, and nothing is executed but array look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, listed
from ..counts import fewest_records, known_weights, recovered_counts
from ..rebuild import rebuilt
from ..tree import Ensemble, Kind, Tree
from .format import SETS, STAGES, TREE_FORMATS, TreeFormat

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
        _fitted(model, "tree_")
        return _ensemble(model, [_tree(model, model.tree_, _kind(name))], features)
    if name in FORESTS:
        _fitted(model, "estimators_")
        return _ensemble(
            model, _forest(model, _kind(name)), features, note=_DRAWS if model.bootstrap else ""
        )
    if name in _BOOSTED:
        _fitted(model, "estimators_")
        trees = [
            _tree(model, one.tree_, "regression") for one in np.asarray(model.estimators_).ravel()
        ]
        note = STAGES if model.subsample >= 1 else f"{STAGES} {_SUBSAMPLE}"
        note = f"{note} {_HELD_BACK}" if getattr(model, "n_iter_no_change", None) else note
        return _ensemble(model, trees, features, note=note, boosted=True)
    if name in _HISTOGRAM:
        _fitted(model, "_predictors")
        trees = [_histogram_tree(one.nodes) for stage in model._predictors for one in stage]
        note = f"{STAGES} {_HELD_BACK}" if getattr(model, "do_early_stopping_", False) else STAGES
        return _ensemble(model, trees, features, note=note, boosted=True)
    known = (*PRUNABLE, *FORESTS, *_BOOSTED, *_HISTOGRAM)
    raise InputError(
        f"A {name} is no tree. Models that are: {listed(known, most=20)}. Of a pipeline or a search pass the tree inside."
    )


def _kind(name: str) -> Kind:
    return "classification" if name.endswith("Classifier") else "regression"


def _fitted(model: Any, attribute: str) -> None:
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
        every = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        classes = tuple(tuple(labels.tolist()) for labels in every)
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
    compiled = [one.tree_ for one in model.estimators_]
    # Without other weights every tree of a bootstrap has as many draws; sample weights would make them differ.
    draws = {float(one.weighted_n_node_samples[0]) for one in compiled}
    plain = (
        model.bootstrap
        and len(draws) == 1
        and draws == {float(getattr(model, "_n_samples_bootstrap", *draws))}
    )
    if getattr(model, "_sample_weight", None) is not None:
        plain = False
    return [
        _tree(model, one, kind, bootstrap=bool(model.bootstrap), plain_draws=plain)
        for one in compiled
    ]


def _tree(
    model: Any, compiled: Any, kind: Kind, *, bootstrap: bool = False, plain_draws: bool = False
) -> Tree:
    """A plain tree of scikit-learn's compiled one."""
    samples = np.asarray(compiled.n_node_samples, dtype=np.int64)
    value = np.asarray(compiled.value, dtype=np.float64)
    left, right = compiled.children_left, compiled.children_right
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
            fewest = fewest_records(counts, samples, left, right)
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
    return Tree.of(left, right, compiled.feature, compiled.threshold, missing, value, **known_of)


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
    left, right = (
        np.where(nodes["is_leaf"], -1, nodes[side].astype(np.int64)) for side in ("left", "right")
    )
    value, samples = (
        nodes["value"].astype(np.float64).reshape(-1, 1, 1),
        nodes["count"].astype(np.int64),
    )
    cuts, missing = nodes["num_threshold"], nodes["missing_go_to_left"]
    return Tree.of(
        left, right, nodes["feature_idx"], cuts, missing, value, samples=samples, single=False
    )


SKLEARN = TREE_FORMATS.register(
    TreeFormat(
        "sklearn",
        accepts=lambda model: type(model).__module__.startswith("sklearn."),
        trees=lambda model, features: read_model(model, features=features),
        rebuild=rebuilt,
    )
)
