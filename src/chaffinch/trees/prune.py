"""Trees that isolate nobody: splits whose children hold too few of a class are taken back, and everything that need not be told is cleared.

A leaf is safe if every class has no record in it, or at least m. A split stays only if below both children safe leaves can be had. Then
every surviving leaf is safe; every surviving inner node is a union of surviving leaves, and so is the difference of any two of them, so each
class has no record there or at least m: no path, and no difference of two released nodes, isolates fewer than m records of a class.

A class with fewer than m records in all is taken out of the model, name and all: no tree could hide it, for the label alone isolates.

Regression: a leaf is safe for its path with m records. But it also says the mean of its labels, and path AND label above the mean isolates
fewer than m for certain in a leaf of fewer than 2m whose labels differ (`attack.open_to_value`). An outlier can be alone above the mean of a larger
leaf too. With data every leaf is checked for that. Without, a node becomes a leaf only if the leaves that were below it show that at least m
records lie on each side (`certain_sides`); where a model does not tell variances, or with `splits="most"`, leaves need 2m records, and the certificate says what
that leaves open.

The rule speaks of single leaves, and a split is kept if both children can be cut into safe leaves: so the pruned tree is a refinement of every other pruning
that follows the rule. It has most leaves, and least loss on the training data by any measure that no split makes worse (squared error, Gini,
entropy, errors): there is nothing left to choose. More can be kept only by telling less in each leaf: `splits="most"` (`coarsen`).

What is not promised: that paths of two trees of a forest together isolate nobody (`intersections`), or that nothing but paths and labels of
the model is used. With a bootstrap and without data only records drawn for a tree are spoken of.

**Leaves that tell less** (`coarsen`): shares of classes with enough records one by one, and one share for all others together. With many classes some class has a single record in almost every leaf, and few splits survive the rule that each class has none or at least m. A leaf
can keep its place and tell less instead. It names classes of at least m records, and spreads the rest evenly over all classes that it does not
name, with or without a record, so that it does not tell which of them occur. The rest must be at least m records too: then a leaf with a class
that it names, or with none of them, is true of at least m. The class with the largest share is always named, so predictions stay.

What is given up: the leaf with a class that it does not name may still be true of one record. The file does not tell where; who guesses may be right.

**Sides of a regression leaf** (`certain_sides`): how many records must lie above what it says, and how many not, told from the tree alone. A leaf says the mean t of its labels, and "in this leaf, and above t" may be true of one record however large the leaf is. Its size does not rule
that out, and nor does its variance: one record far above and all others a little below have any mean and any variance. But a node that
becomes a leaf by pruning had leaves below it, and the tree tells their sizes n, means and variances v. Of n labels with mean t + d, d > 0, at most
n v / (v + d²) are not above t (Cantelli's inequality), and at least one is above; for d < 0 the other way round. Summed over the leaves below, that is
a number of records that must lie on each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .attack import safe_values
from .result import PruneResult, SideRule
from .settings import Splits
from .tree import Ensemble, Kind, Tree, checked_data, recount

TAKEN_OUT = "The numbers of records were taken out of the model."


def prune_trees(
    model: Ensemble,
    *,
    at_least: int = 2,
    splits: Splits = "safe",
    columns: Sequence[NDArray[Any]] | None = None,
    labels: Sequence[NDArray[Any]] | None = None,
) -> PruneResult:
    """Return plain trees in which no predicate isolates fewer than `at_least` records of a class; the released model is an Ensemble without counts.

    With `splits="most"` more splits stay and leaves tell less: see `coarsen`, and `certain_sides` for regression without data.
    """
    if model.boosted:
        raise InputError(
            "Trees of boosting cannot be pruned one by one: later trees correct earlier ones. Fit with larger leaves."
        )
    if (columns is None) != (labels is None):
        raise InputError("Data are columns and labels: give both, or neither.")
    counted, values = model, None
    if columns is not None and labels is not None:
        data = checked_data(model, columns, labels)
        counted = recount(model, *data)
        if model.kind == "regression":
            values = [safe_values(tree, *data, at_least) for tree in model.trees]
    if not counted.counts_known:
        reason = model.no_counts
        raise InputError(
            f"This model cannot be pruned without its training data: {reason[0].lower()}{reason[1:]}"
        )
    hidden = _too_rare(counted, at_least)
    classes = tuple(
        tuple(name for name, rare in zip(names, few, strict=False) if not rare)
        for names, few in zip(model.classes, hidden, strict=True)
    )
    side_rule: SideRule | None = None
    if model.kind == "regression":
        side_rule = "data" if values is not None else "size" if splits == "most" else "moments"
    if side_rule == "moments":
        values = _moment_checks(model, at_least)
        side_rule = "size" if values is None else "moments"
    trees = []
    for i, tree in enumerate(counted.trees):
        visible = _without(tree, hidden)
        checks = None if values is None else values[i]
        if model.kind == "classification" and splits == "most":
            checks = nameable_nodes(visible, classes, at_least)
        trees.append(pruned_tree(visible, model.kind, at_least, safe_values=checks))
    after = replace(model, classes=classes, trees=tuple(trees))
    if model.kind == "classification" and splits == "most":
        after = coarsen(after, at_least)
    n_hidden = int(sum(few.sum() for few in hidden))
    return PruneResult(
        without_counts(after), model, after, at_least, n_hidden, splits=splits, side_rule=side_rule
    )


def _moment_checks(model: Ensemble, at_least: int) -> list[NDArray[np.bool_]] | None:
    """For each tree the nodes whose value certainly isolates nobody; None where some tree does not tell, or its root may isolate."""
    checks = [sides_are_safe(tree, at_least) for tree in model.trees]
    known = [safe for safe in checks if safe is not None and safe[0]]
    return known if len(known) == len(checks) else None


def safe_nodes(tree: Tree, kind: Kind, at_least: int) -> NDArray[np.bool_]:
    """Return which nodes would be safe leaves: no class, or no side of a mean for certain, has at least one and fewer than `at_least` records."""
    if kind == "regression":
        assert tree.samples is not None
        # Whether labels differ is known up to rounding only: good for a claim, not for a promise.
        return np.asarray(tree.samples >= 2 * at_least)
    counts = tree.least_counts
    # A node of rare classes only, which are taken out, has no visible record: its path would isolate them.
    return np.asarray(
        ((counts == 0) | (counts >= at_least)).all(axis=(1, 2))
        & (counts.sum(axis=2) > 0).all(axis=1)
    )


def pruned_tree(
    tree: Tree, kind: Kind, at_least: int, *, safe_values: NDArray[np.bool_] | None = None
) -> Tree:
    """Return the tree without vulnerable nodes, numbered anew; counts are those of the leaves, and gone from inner nodes.

    `safe_values` says of each node whether it would be a safe leaf, by another rule than `safe_nodes`.
    """
    safe = safe_nodes(tree, kind, at_least) if safe_values is None else safe_values
    can = safe.copy()  # whether safe leaves can be had below
    for node in reversed(tree.order):
        if tree.left_child[node] >= 0:
            can[node] |= can[tree.left_child[node]] and can[tree.right_child[node]]
    if not can[0]:
        raise InputError(
            f"Nothing of this model can be released: even its root isolates fewer than {at_least} records. Lower at_least."
        )
    order: list[int] = []
    stack = [0]
    ends = np.array(
        [
            a < 0 or not (can[a] and can[b])
            for a, b in zip(tree.left_child, tree.right_child, strict=True)
        ]
    )
    while stack:
        node = stack.pop()
        order.append(node)
        if not ends[node]:
            stack += [int(tree.right_child[node]), int(tree.left_child[node])]
    nodes = np.array(order)
    leaf = ends[nodes]
    new_index = np.full(tree.n_nodes + 1, -1)
    new_index[nodes] = np.arange(len(nodes))
    value = tree.value[nodes].copy()
    value[~leaf] = 0.0
    left_child, right_child = (
        np.where(leaf, -1, new_index[side[nodes]]) for side in (tree.left_child, tree.right_child)
    )
    known: dict[str, Any] = {"single": tree.single}
    for name in ("counts", "samples", "fewest", "varies", "variance"):
        if (array := getattr(tree, name)) is not None:
            known[name] = (array[nodes].T * leaf).T
    return Tree.from_nodes(
        left_child,
        right_child,
        tree.feature[nodes],
        tree.threshold[nodes],
        tree.missing_left[nodes],
        value,
        **known,
    )


def _too_rare(model: Ensemble, at_least: int) -> list[NDArray[np.bool_]]:
    """For each output the classes that some root has, but fewer than `at_least` times."""
    out = []
    for output, names in enumerate(model.classes):
        few = np.zeros(len(names), dtype=bool)
        for tree in model.trees:
            counts = tree.least_counts
            root = counts[0, output, : len(names)]
            few |= (root > 0) & (root < at_least)
        if few.all():
            raise InputError(
                f"Nothing of this model can be released: every class has fewer than {at_least} records. Lower at_least."
            )
        out.append(few)
    return out


def _without(tree: Tree, hidden: Sequence[NDArray[np.bool_]]) -> Tree:
    """The tree as if the hidden classes had never been there: their columns are gone, and shares add up to one again."""
    if not any(few.any() for few in hidden):
        return tree
    keep = [np.flatnonzero(~few) for few in hidden]
    shape = (tree.n_nodes, len(keep), max(map(len, keep)))
    value = np.zeros(shape)
    counts, fewest = (
        np.zeros(shape, dtype=np.int64),
        None if tree.fewest is None else np.zeros(shape, dtype=np.int64),
    )
    assert tree.counts is not None
    for output, columns in enumerate(keep):
        shares = tree.value[:, output, columns]
        total = shares.sum(axis=1, keepdims=True)
        value[:, output, : len(columns)] = np.divide(
            shares, total, out=np.zeros_like(shares), where=total > 0
        )
        counts[:, output, : len(columns)] = tree.counts[:, output, columns]
        if fewest is not None and tree.fewest is not None:
            fewest[:, output, : len(columns)] = tree.fewest[:, output, columns]
    return replace(tree, value=value, counts=counts, fewest=fewest)


def without_counts(model: Ensemble) -> Ensemble:
    """Return the model without its numbers of records."""
    trees = (
        replace(
            tree,
            counts=None,
            samples=None,
            fewest=None,
            varies=None,
            bounds=None,
            variance=None,
            reason=TAKEN_OUT,
        )
        for tree in model.trees
    )
    return replace(model, trees=tuple(trees))


def unnamed_classes(
    counts: NDArray[np.int64], shares: NDArray[np.float64], at_least: int
) -> NDArray[np.bool_] | None:
    """Return which classes of a leaf are told together; none where all have enough records, None where the rest would be too few.

    Examples
    --------
    >>> unnamed_classes(np.array([50, 30, 1, 0]), np.array([50, 30, 1, 0]) / 81, 2).tolist()
    [False, True, True, True]
    >>> unnamed_classes(np.array([50, 1, 1, 0]), np.array([50, 1, 1, 0]) / 52, 2).tolist()
    [False, True, True, True]
    >>> unnamed_classes(np.array([50, 1]), np.array([50, 1]) / 51, 2) is None
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
    counts = tree.least_counts
    out = (counts.sum(axis=2) > 0).all(axis=1)
    for node in np.flatnonzero(out).tolist():
        for output, names in enumerate(classes):
            class_slice = slice(0, len(names))
            if (
                unnamed_classes(
                    counts[node, output, class_slice],
                    tree.value[node, output, class_slice],
                    at_least,
                )
                is None
            ):
                out[node] = False
    return np.asarray(out)


def coarsen(model: Ensemble, at_least: int) -> Ensemble:
    """Return the model with leaves that tell classes of fewer than `at_least` records together."""
    return replace(
        model, trees=tuple(_coarse(tree, model.classes, at_least) for tree in model.trees)
    )


def _coarse(tree: Tree, classes: tuple[tuple[object, ...], ...], at_least: int) -> Tree:
    counts = tree.least_counts
    value = tree.value.copy()
    for leaf in tree.leaves.tolist():
        for output, names in enumerate(classes):
            together = unnamed_classes(
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
        counts = known.least_counts
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
        counts = tree.least_counts
        for output, names in enumerate(model.classes):
            here = counts[tree.leaves, output, : len(names)]
            few = (here > 0) & (here < at_least)
            open_leaves = few.any(axis=1)
            tried += int((here[open_leaves] < at_least).sum())
            right += int(few.sum())
    return tried, right


_NEAR = 1e-10
"""How far two means may be apart, as a share of the root mean square."""
_EQUAL = 1e-13
"""Share of the squared mean below which a variance is that of equal labels, or of labels that differ by less than a millionth."""
_HIDDEN = 1e-11
"""Share of the squared mean: where rounding could hide more, labels are not treated as equal."""


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
    >>> tree = Tree.from_nodes([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [False] * 3, value, **known)
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
    records_by_side = certain_sides(tree)
    if records_by_side is None or tree.samples is None or tree.variance is None:
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
    return np.asarray(equal | (np.minimum(*records_by_side) >= at_least).all(axis=1))
