"""Trees as plain JSON: the form "chaffinch-tree", version 1, that any language reads and that runs nothing.

    {"format": "chaffinch-tree", "version": 1, "model": "DecisionTreeClassifier", "kind": "classification",
     "features": ["age", "income"], "classes": [["no", "yes"]], "note": "",
     "trees": [{"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, -1, -1], "threshold": [41.5, null, null],
                "missing_left": [false, false, false], "value": [[[0.5, 0.5]], [[1.0, 0.0]], [[0.25, 0.75]]],
                "counts": null, "samples": null}]}

Node 0 is the root; a record goes left where its value is at most the threshold, as 32-bit floats unless "single" is false. Leaves have
children -1, feature -1 and threshold null; a split of missing values from all others has the threshold "inf". Counts, samples, and the other
entries of `Tree` and `Ensemble` may be null or left out: not known, or not told.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FileError, InputError
from ..._base.results import to_plain
from ..tree import Ensemble, Kind, Tree
from .format import TREE_FORMATS, ModelFile, OpenedModel, TreeFormat, naming, strict_json

FORMAT = "chaffinch-tree"
VERSION = 1

_TOP = {"format", "version", "model", "kind", "features", "classes", "trees"}
_TOP_MAY = {"note": "", "boosted": False, "targets": []}
_TREE = {"left", "right", "feature", "threshold", "missing_left", "value"}
_TREE_MAY = {
    "counts": None,
    "samples": None,
    "reason": "",
    "fewest": None,
    "varies": None,
    "single": True,
}
_TREE_RARE = {"bounds": None, "variance": None}
"""Entries of a tree that are written only where they are known."""
_MOST_TEXT = 10_000
_MOST_WHOLE = 1 << 53
"""The largest whole number in a file: sums of two stay exact."""


def plain_text(model: Ensemble) -> str:
    """Return an ensemble as JSON text; `plain_ensemble` gives the same ensemble back.

    Examples
    --------
    >>> leaf = np.array([-1])
    >>> alone = Tree(leaf, leaf, leaf, np.array([np.nan]), np.array([False]), np.array([[[0.25, 0.75]]]))
    >>> text = plain_text(Ensemble("DecisionTreeClassifier", "classification", ("age",), (("no", "yes"),), (alone,)))
    >>> plain_ensemble(text).trees[0].value.tolist()
    [[[0.25, 0.75]]]
    """
    data = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.model,
        "kind": model.kind,
        "features": list(model.features),
        "classes": [[_scalar(label) for label in labels] for labels in model.classes],
        "note": model.note,
        "boosted": model.boosted,
        "targets": [_scalar(label) for label in model.targets],
        "trees": [_plain_tree(tree) for tree in model.trees],
    }
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise InputError(
            "A leaf of the model has a value that is not a finite number, which the plain form cannot hold."
        ) from None


def plain_ensemble(
    text: str | bytes | dict[str, Any] | list[Any], *, name: str = "the text"
) -> Ensemble:
    """Return the ensemble that `plain_text` wrote, also of the parsed text; raise a clear error for any other. `name` is for messages."""
    data = strict_json(text, name=name) if isinstance(text, str | bytes) else text
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(
            f'\'{name}\' is JSON, but not a tree in our plain form: it has no "format": "{FORMAT}". '
            "`chaffinch tree prune MODEL -o OUT.json` writes one."
        )
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise FileError(
            f"'{name}' is not of version {VERSION}, which this release reads. Use a newer release."
        )
    if set(data) - set(_TOP_MAY) != _TOP:
        raise FileError(
            f"'{name}' is damaged: it has other entries than {', '.join(sorted(_TOP | set(_TOP_MAY)))}."
        )
    with naming(f"'{name}' is damaged."):
        return _build_ensemble(_TOP_MAY | data)


def _scalar(label: Any) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, str | int | float | bool):
        return label
    raise InputError(
        "The classes of the model are neither words nor numbers, which the plain form cannot hold."
    )


def _plain_tree(tree: Tree) -> dict[str, Any]:
    cuts = [
        _cut(float(cut)) if left_child >= 0 else None
        for cut, left_child in zip(tree.threshold, tree.left_child, strict=True)
    ]
    plain = {**to_plain(tree), "threshold": cuts}
    return {
        name: value for name, value in plain.items() if name not in _TREE_RARE or value is not None
    }


def _cut(value: float) -> float | str:
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _build_ensemble(data: dict[str, Any]) -> Ensemble:
    kind: Kind = data["kind"]
    if kind not in ("classification", "regression"):
        raise InputError('"kind" must be "classification" or "regression".')
    features, classes = data["features"], data["classes"]
    if (
        not isinstance(features, list)
        or not all(_is_text(f) for f in features)
        or len(set(features)) != len(features)
    ):
        raise InputError('"features" must be a list of names, each once.')
    if not isinstance(classes, list) or not all(
        isinstance(c, list) and c and _labels(c) for c in classes
    ):
        raise InputError('"classes" must be a list of lists of words or numbers, each once.')
    if bool(classes) != (kind == "classification"):
        raise InputError("A classification needs classes, and a regression has none.")
    if not isinstance(data["trees"], list):
        raise InputError('"trees" must be a list.')
    note, boosted, targets = data["note"], data["boosted"], data["targets"]
    if not (_is_text(data["model"]) and _is_text(note)):
        raise InputError('"model" and "note" must be texts.')
    if not isinstance(boosted, bool) or not isinstance(targets, list) or not _labels(targets):
        raise InputError(
            '"boosted" must be true or false, and "targets" a list of words or numbers, each once.'
        )
    shape = (len(classes), max(map(len, classes))) if classes else None
    trees = tuple(_tree(tree, shape) for tree in data["trees"])
    if len({tree.value.shape[1] for tree in trees}) > 1:
        raise InputError("The trees have different numbers of outputs.")
    names = tuple(tuple(c) for c in classes)
    return Ensemble(
        data["model"], kind, tuple(features), names, trees, note, boosted, tuple(targets)
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _labels(labels: list[Any]) -> bool:
    sound = all(
        isinstance(x, bool) or _is_text(x) or (isinstance(x, int | float) and math.isfinite(x))
        for x in labels
    )
    return sound and len(set(labels)) == len(labels)


def _tree(data: Any, shape: tuple[int, int] | None) -> Tree:
    if not isinstance(data, dict) or set(data) - set(may := _TREE_MAY | _TREE_RARE) != _TREE:
        raise InputError(
            f"A tree has other entries than {', '.join(sorted({*_TREE, *_TREE_MAY, *_TREE_RARE}))}."
        )
    data = may | data
    value = _numbers(data["value"])
    if (
        value.ndim != 3
        or (shape is None and value.shape[2] != 1)
        or (shape is not None and value.shape[1:] != shape)
    ):
        raise InputError("The values of a tree are not nodes x outputs x classes (1 for numbers).")
    left_child, right_child, feature = (
        _integers(data[name]) for name in ("left", "right", "feature")
    )
    n = len(value)
    if {a.shape for a in (left_child, right_child, feature)} != {(n,)} or min(
        a.min() for a in (left_child, right_child, feature)
    ) < -1:
        raise InputError(
            "Children and features must be whole numbers from -1 on, one for each node."
        )
    if (
        not isinstance(data["threshold"], list)
        or not _is_text(data["reason"])
        or not isinstance(data["single"], bool)
    ):
        raise InputError('"threshold" must be a list, "reason" a text, and "single" true or false.')
    counts, samples, fewest, bounds = (
        None if data[name] is None else _integers(data[name])
        for name in ("counts", "samples", "fewest", "bounds")
    )
    variance = None if data["variance"] is None else _numbers(data["variance"])
    cuts = np.array([_threshold(cut) for cut in data["threshold"]], dtype=np.float64)
    missing, varies = (
        _truths(data["missing_left"], n),
        None if data["varies"] is None else _truths(data["varies"], n),
    )
    tree = Tree(
        left_child,
        right_child,
        feature,
        cuts,
        missing,
        value,
        counts,
        samples,
        data["reason"],
        fewest,
        varies,
        bounds,
        variance,
        data["single"],
    )
    _check_tree(tree)
    return tree


def _check_tree(tree: Tree) -> None:
    """Raise where the numbers of nodes contradict each other."""
    if not np.array_equal(tree.feature < 0, tree.left_child < 0):
        raise InputError("Leaves have the feature -1, and splits have another.")
    if tree.fewest is not None and (
        (tree.fewest < 0).any() or tree.counts is None or (tree.fewest > tree.counts).any()
    ):
        raise InputError("The fewest records cannot be more than the counts.")
    if tree.variance is not None and (tree.variance < 0).any():
        raise InputError("A variance cannot be negative.")
    if tree.bounds is not None and (
        (tree.bounds < 0).any() or (tree.bounds[:, 0] > tree.bounds[:, 1]).any()
    ):
        raise InputError("The bounds of a number of records must be the fewest and the most.")
    for numbers in (tree.counts, tree.samples):
        if numbers is not None:
            _check_sums(tree, numbers)


def _truths(flags: Any, n: int) -> NDArray[np.bool_]:
    if (
        not isinstance(flags, list)
        or len(flags) != n
        or not all(isinstance(x, bool) for x in flags)
    ):
        raise InputError(
            '"missing_left" and "varies" must be lists of true and false, one for each node.'
        )
    return np.array(flags, dtype=bool)


def _threshold(cut: Any) -> float:
    if cut is None:
        return math.nan
    if cut == "inf" or cut == "-inf":
        return float(cut)
    if isinstance(cut, bool) or not isinstance(cut, int | float) or not math.isfinite(cut):
        raise InputError('A threshold must be a finite number, null for a leaf, or "inf".')
    return float(cut)


def _numbers(nested: Any) -> NDArray[np.float64]:
    """Nested lists of finite numbers as an array: strings, true, false and null are no numbers."""
    array = np.array(nested)
    if array.dtype.kind not in "if" or not np.isfinite(array).all():
        raise InputError(
            "Where numbers are needed there is something else, or lists of different lengths."
        )
    return array.astype(np.float64)


def _integers(nested: Any) -> NDArray[np.int64]:
    array = np.array(nested)
    if array.dtype.kind != "i" or (array.size and int(abs(array).max()) > _MOST_WHOLE):
        raise InputError(
            "Where whole numbers are needed there is something else, or lists of different lengths."
        )
    return array.astype(np.int64)


def _check_sums(tree: Tree, records: NDArray[np.int64]) -> None:
    """Raise unless the children of a split hold its records; a split that tells nothing (all 0, as after pruning) may."""
    inner = np.flatnonzero(tree.left_child >= 0)
    known = inner[records[inner].reshape(len(inner), -1).any(axis=1)] if len(inner) else inner
    if (records < 0).any() or not np.array_equal(
        records[known], records[tree.left_child[known]] + records[tree.right_child[known]]
    ):
        raise InputError("The children of a split must hold as many records as the split itself.")


def _is_plain(file: ModelFile) -> bool:
    return isinstance(file.json, dict) and file.json.get("format") == FORMAT


PLAIN = TREE_FORMATS.register(
    TreeFormat(
        "json",
        f"JSON of the form {FORMAT}",
        ".json",
        _is_plain,
        lambda file: OpenedModel("json", plain_ensemble(file.json, name=file.name)),
        lambda ensemble, model: plain_text(ensemble).encode("utf-8"),
    )
)
