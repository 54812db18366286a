"""How many records must lie above what a regression leaf says, and how many not, told from the tree alone.

A leaf says the mean t of its labels, and "in this leaf, and above t" may be true of one record however large the leaf is. Its size does not rule
that out, and nor does its variance: one record far above and all others a little below have any mean and any variance. But a node that
becomes a leaf by pruning had leaves below it, and the tree tells their sizes n, means and variances v. Of n labels with mean t + d, d > 0, at most
n v / (v + d²) are not above t (Cantelli's inequality), and at least one is above; for d < 0 the other way round. Summed over the leaves below, that is
a number of records that must lie on each side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tree import Tree

_NEAR = 1e-10  # of the root mean square: how far two means may be off
_EQUAL = 1e-13  # of the squared mean: variances below are those of equal labels, or of some that differ by less than a millionth
_HIDDEN = (
    1e-11  # of the squared mean: where rounding could hide more, labels are not taken for equal
)


def _largest_variance(tree: Tree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The most that the variance of each node can be, and the mean square of its labels.

    The library takes the sum of squares of one child from that of the split, so a variance is off by the rounding of its parent's sum.
    """
    assert tree.samples is not None
    assert tree.variance is not None
    n = np.maximum(tree.samples, 1).astype(np.float64)
    square = tree.variance + (tree.value[:, :, 0] ** 2).sum(axis=1)
    above = np.where(tree.parent >= 0, tree.parent, 0)
    rounding = 8 * np.finfo(np.float64).eps * np.sqrt(n[above]) * square[above] * n[above] / n
    return np.where(tree.samples > 1, tree.variance + rounding, 0.0), square


def certain_sides(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return for each node and output the records that must lie above its value, and not above it; None where variances are not known.

    Examples
    --------
    >>> value = np.array([5.0, 0.0, 10.0]).reshape(3, 1, 1)
    >>> known = {"samples": np.array([6, 3, 3]), "variance": np.array([25.0, 0.0, 0.0])}
    >>> tree = Tree.of([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [False] * 3, value, **known)
    >>> [side[0].tolist() for side in certain_sides(tree)]
    [[3], [3]]
    """
    if tree.samples is None or tree.variance is None:
        return None
    means = tree.value[:, :, 0]
    variance, square = _largest_variance(tree)
    above, below = np.zeros(means.shape, dtype=np.int64), np.zeros(means.shape, dtype=np.int64)
    for leaf in tree.leaves.tolist():
        way = [leaf, *(split for split, _ in tree.path(leaf))]
        distance = means[leaf] - means[way]  # nodes on the way x outputs
        n, v = int(tree.samples[leaf]), variance[leaf]
        far = np.abs(distance) > _NEAR * np.sqrt(square[way])[:, None]
        astray = np.floor(n * v / np.where(far, v + distance**2, 1.0) + 1e-9)
        sure = np.where(far, np.maximum(n - astray, min(n, 1)), 0).astype(np.int64)
        above[way] += np.where(distance > 0, sure, 0)
        below[way] += np.where(distance < 0, sure, 0)
    return above, below


def sides_are_safe(tree: Tree, at_least: int) -> NDArray[np.bool_] | None:
    """Return which nodes would be leaves with at least `at_least` records on each side of what they say; None where that cannot be told.

    Nodes whose labels are equal, as far as a variance of 64-bit floats shows it (they differ by some millionths at most), have one side only: they
    need twice as many records.
    """
    sides = certain_sides(tree)
    if sides is None or tree.samples is None or tree.variance is None:
        return None
    # Of several outputs the smaller ones may vary within the rounding of the largest.
    single = tree.value.shape[1] == 1
    square = tree.value[:, 0, 0] ** 2
    equal = (
        single
        & (tree.variance <= _EQUAL * square)
        & (_largest_variance(tree)[0] <= _HIDDEN * square)
    )
    equal &= tree.samples >= 2 * at_least
    return np.asarray(equal | (np.minimum(*sides) >= at_least).all(axis=1))
