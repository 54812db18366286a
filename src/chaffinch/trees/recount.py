"""Counts of a tree from data instead of from the model: what its nodes hold, whatever the model says or hides of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .tree import Ensemble, Tree

Columns = Sequence[NDArray[Any]]


def checked_data(
    model: Ensemble, columns: Columns, labels: Columns
) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Return columns and labels as arrays; raise if they do not fit the model: another number, length, or other classes."""
    x, y = [np.asarray(c) for c in columns], [np.asarray(c) for c in labels]
    if len(x) != len(model.features):
        raise InputError(
            f"The model has {len(model.features)} columns, but the data have {len(x)}."
        )
    outputs = max(len(model.classes), model.trees[0].value.shape[1] if not model.boosted else 1)
    if len(y) != outputs:
        raise InputError(f"The model has {outputs} label(s), but {len(y)} came.")
    if len({len(c) for c in (*x, *y)}) != 1 or any(c.ndim != 1 for c in (*x, *y)):
        raise InputError("Columns and labels must be of one length.")
    if len(x[0]) == 0:
        raise InputError("The data have no records.")
    for values, classes in zip(
        y, model.classes or ((model.targets,) if model.targets else ()), strict=False
    ):
        if not any(bool(np.asarray(values == k).any()) for k in classes):
            raise InputError(
                "No label of the data is a class of the model: it is another column, or numbers came as text or text as numbers."
            )
    if model.kind == "regression" and not model.boosted:
        for values in y:
            if values.dtype.kind not in "iufb":
                raise InputError(
                    "The model predicts numbers, but the label of the data does not hold numbers."
                )
    return x, y


def label_codes(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the place of each label among the classes, -1 for any other.

    Examples
    --------
    >>> label_codes(np.array(["b", "a", "c"]), ["a", "b"]).tolist()
    [1, 0, -1]
    """
    out = np.full(len(labels), -1, dtype=np.int64)
    for k, name in enumerate(classes):
        out[np.asarray(labels == name)] = k
    return out


def recounted(model: Ensemble, columns: Columns, labels: Columns) -> Ensemble:
    """Return the model with the counts that its nodes have in the data: records, never draws or weights.

    A released model tells no counts; with the training data this is what a re-attack on it sees.
    """
    x, y = checked_data(model, columns, labels)
    codes = [
        label_codes(values, classes) for values, classes in zip(y, model.classes, strict=False)
    ]
    return replace(model, trees=tuple(_recounted(tree, x, codes) for tree in model.trees), note="")


def _recounted(tree: Tree, columns: Columns, codes: Sequence[NDArray[np.int64]]) -> Tree:
    where = tree.apply(columns)
    samples = tree.summed(np.bincount(where, minlength=tree.n_nodes).astype(np.int64))
    counts = None
    if codes:
        counts = np.zeros(tree.value.shape, dtype=np.int64)
        for output, label_code in enumerate(codes):
            seen = label_code >= 0
            np.add.at(counts[:, output, :], (where[seen], label_code[seen]), 1)
        counts = tree.summed(counts)
    return replace(tree, counts=counts, samples=samples, reason="", fewest=None, bounds=None)
