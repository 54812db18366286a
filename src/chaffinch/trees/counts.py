"""Counts of records from what a library keeps of a tree: shares, weighted sizes and numbers of records.

scikit-learn keeps for each node the shares of the classes (before 1.3: their weights), the summed weight, and the number of records.
Without weights counts are shares times size. With one weight for each class, unknown to us, every node says that the weights of its
classes, each divided by that of its class, add up to the number of its records: linear equations for the inverse weights. They are
solved where they have one solution only, and then checked on every node. With a weight of its own for each record nothing can be recovered.

A bootstrap weights each record by how often it was drawn: class weights are draws, and the number of records counts each once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    left: NDArray[np.int64],
    right: NDArray[np.int64],
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
    least = np.maximum(draws - repeats[:, :, None], (draws > 0).astype(np.int64))
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            least[node] = np.maximum(least[node], least[left[node]] + least[right[node]])
    return least


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
        exact = _whole(
            weights
            / np.pad(weights_of, (0, weights.shape[1] - len(weights_of)), constant_values=1.0),
            samples,
        )
        if exact is not None:
            return exact, ""
    if not class_weights and (plain := _whole(weights, samples)) is not None:
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
    counts = _whole(weights * exact_inverse, samples)
    return counts, "" if counts is not None else _OWN


def _whole(counts: NDArray[np.float64], samples: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The counts as whole numbers that add up to the records of each node, or None where they are not."""
    nearest = np.rint(counts)
    # Sums of n floats are off by some n times 1e-16; a tolerance that grew to 1 would take anything for a count.
    close = np.abs(counts - nearest) <= np.minimum(1e-3, 1e-7 + 1e-11 * samples[:, None])
    if not close.all() or not np.array_equal(nearest.sum(axis=1), samples):
        return None
    return nearest.astype(np.int64)
