"""What the order of leaves of equal depth does to a score without counts, and what the paper's code does with numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.p3_trees.shared_search import node_depths

ORDERS = (
    "ties as numpy sorts",
    "ties reversed",
    "ties at random",
    "larger first among ties",
    "shallowest first",
)
"""Orders beside ours (deepest first, ties by number). The first is the paper's code: an argsort that is not stable, so its ties hang on the version of numpy."""
SHUFFLES = 20


def scores_by_order(
    tree: Any, leaf_of: NDArray[np.int64], y: NDArray[Any], *, numbers: bool
) -> dict[str, float]:
    """Return one over the number of tries, 0 where none isolates anyone, for each of `ORDERS`.

    A leaf is tried with each class, or with "above what the leaf says" and "not above" for numbers.
    """
    leaves = np.flatnonzero(tree.children_left < 0)
    depth = node_depths(tree)[leaves]
    if numbers:
        above = y > tree.value[leaf_of, 0, 0]
        hits = np.stack(
            [
                np.bincount(leaf_of[side], minlength=tree.node_count)[leaves]
                for side in (above, ~above)
            ],
            axis=1,
        )
    else:
        hits = np.stack(
            [np.bincount(leaf_of[y == k], minlength=tree.node_count)[leaves] for k in np.unique(y)],
            axis=1,
        )
    rng = np.random.default_rng(0)
    deepest = np.argsort(-depth, kind="stable")
    mixed = [np.lexsort((rng.random(len(leaves)), -depth)) for _ in range(SHUFFLES)]
    orders = {
        "ties as numpy sorts": [np.argsort(-depth)],
        "ties reversed": [np.lexsort((-np.arange(len(leaves)), -depth))],
        "ties at random": mixed,
        "larger first among ties": [np.lexsort((-tree.n_node_samples[leaves], -depth))],
        "shallowest first": [deepest[::-1]],
    }
    return {
        name: float(np.mean([_score(hits[order]) for order in every]))
        for name, every in orders.items()
    }


def wrong_node_score(tree: Any, leaf_of: NDArray[np.int64], y: NDArray[np.float64]) -> float:
    """Return one over the number of tries as the paper's public code counts them for numbers.

    It compares with the value of the node whose number is that of the try, not with the value of the leaf in hand, and tries "not above" first.
    """
    leaves = np.flatnonzero(tree.children_left < 0)
    order = leaves[np.argsort(-node_depths(tree)[leaves])]
    hits = []
    for turn, leaf in enumerate(order):
        inside = y[leaf_of == leaf]
        above = int((inside > tree.value[turn, 0, 0]).sum())
        hits.append([len(inside) - above, above])
    return _score(np.array(hits))


def _score(hits: NDArray[np.int64]) -> float:
    """One over the place of the first 1 among leaves and guesses, read row by row."""
    ones = np.flatnonzero(hits.ravel() == 1)
    return 1.0 / (int(ones[0]) + 1) if len(ones) else 0.0
