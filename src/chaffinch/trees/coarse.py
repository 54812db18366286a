"""Leaves that tell less: shares of classes with enough records one by one, and one share for all others together.

With many classes some class has a single record in almost every leaf, and few splits survive the rule that each class has none or at least m. A leaf
can keep its place and tell less instead. It names classes of at least m records, and spreads the rest evenly over all classes that it does not
name, with or without a record, so that it does not tell which of them occur. The rest must be at least m records too: then a leaf with a class
that it names, or with none of them, is true of at least m. The class with the largest share is always named, so predictions stay.

What is given up: the leaf with a class that it does not name may still be true of one record. The file does not tell where; who guesses may be right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .tree import Ensemble, Tree


def unnamed(
    counts: NDArray[np.int64], shares: NDArray[np.float64], at_least: int
) -> NDArray[np.bool_] | None:
    """Return which classes of a leaf are told together; none where all have enough records, None where the rest would be too few.

    Examples
    --------
    >>> unnamed(np.array([50, 30, 1, 0]), np.array([50, 30, 1, 0]) / 81, 2).tolist()
    [False, True, True, True]
    >>> unnamed(np.array([50, 1, 1, 0]), np.array([50, 1, 1, 0]) / 52, 2).tolist()
    [False, True, True, True]
    >>> unnamed(np.array([50, 1]), np.array([50, 1]) / 51, 2) is None
    True
    """
    out = counts < at_least
    if not ((counts > 0) & out).any():
        return np.zeros_like(out)
    top = int(np.argmax(shares))
    if out[top]:
        return None
    named = [k for k in np.argsort(counts, kind="stable").tolist() if not out[k] and k != top]
    while counts[out].sum() < at_least or out.sum() < 2:
        if not named:
            return None
        out[named.pop(0)] = True
    return out


def nameable_nodes(
    tree: Tree, classes: tuple[tuple[object, ...], ...], at_least: int
) -> NDArray[np.bool_]:
    """Return which nodes could be leaves that name some classes and tell the others together."""
    counts = tree.counts if tree.fewest is None else tree.fewest
    assert counts is not None
    out = (counts.sum(axis=2) > 0).all(axis=1)
    for node in np.flatnonzero(out).tolist():
        for output, names in enumerate(classes):
            part = slice(0, len(names))
            if (
                unnamed(counts[node, output, part], tree.value[node, output, part], at_least)
                is None
            ):
                out[node] = False
    return np.asarray(out)


def coarsened(model: Ensemble, at_least: int) -> Ensemble:
    """Return the model with leaves that tell classes of fewer than `at_least` records together."""
    return replace(
        model, trees=tuple(_coarse(tree, model.classes, at_least) for tree in model.trees)
    )


def _coarse(tree: Tree, classes: tuple[tuple[object, ...], ...], at_least: int) -> Tree:
    counts = tree.counts if tree.fewest is None else tree.fewest
    assert counts is not None
    value = tree.value.copy()
    for leaf in tree.leaves.tolist():
        for output, names in enumerate(classes):
            together = unnamed(
                counts[leaf, output, : len(names)], tree.value[leaf, output, : len(names)], at_least
            )
            assert together is not None
            if together.any():
                shares = value[leaf, output, : len(names)]
                shares[together] = shares[together].mean()
    return replace(tree, value=value)


def groups_are_safe(model: Ensemble, counted: Ensemble, at_least: int) -> bool:
    """Return whether the leaves of a file tell no class of fewer than `at_least` records apart; `counted` has their counts.

    Looked at is what is written: classes of too few records must have one share, together with others, and be enough with them.
    """
    for tree, known in zip(model.trees, counted.trees, strict=True):
        counts = known.counts if known.fewest is None else known.fewest
        assert counts is not None
        for leaf in tree.leaves.tolist():
            for output, names in enumerate(model.classes):
                here, shares = (
                    counts[leaf, output, : len(names)],
                    tree.value[leaf, output, : len(names)],
                )
                few = (here > 0) & (here < at_least)
                if not few.any():
                    continue
                group = shares == shares[few][0]
                if not group[few].all() or group.sum() < 2 or here[group].sum() < at_least:
                    return False
    return True


def guesses(model: Ensemble, at_least: int) -> tuple[int, int]:
    """Return how many pairs of a leaf and a class with too few records or none there are, and how many of them isolate someone.

    Whoever tries a class that a leaf does not name is right with the share of the two.
    """
    tried, right = 0, 0
    for tree in model.trees:
        counts = tree.counts if tree.fewest is None else tree.fewest
        assert counts is not None
        for output, names in enumerate(model.classes):
            here = counts[tree.leaves, output, : len(names)]
            few = (here > 0) & (here < at_least)
            open_leaves = few.any(axis=1)
            tried += int((here[open_leaves] < at_least).sum())
            right += int(few.sum())
    return tried, right
