"""Trees that isolate nobody: splits whose children hold too few of a class are taken back, and everything that need not be told is cleared.

A leaf is safe if every class has no record in it, or at least m. A split stays only if below both children safe leaves can be had. Then
every surviving leaf is safe; every surviving inner node is a union of surviving leaves, and so is the difference of any two of them, so each
class has no record there or at least m: no path, and no difference of two released nodes, isolates fewer than m records of a class.

A class with fewer than m records in all is taken out of the model, name and all: no tree could hide it, for the label alone isolates.

Regression: a leaf is safe for its path with m records. But it also says the mean of its labels, and path AND label above the mean isolates
fewer than m for certain in a leaf of fewer than 2m whose labels differ (`attack.open_to_value`). An outlier can be alone above the mean of a larger
leaf too. With data every leaf is checked for that. Without, a node becomes a leaf only if the leaves that were below it show that at least m
records lie on each side (`sides`); where a model does not tell variances, or with `keep="most"`, leaves need 2m records, and the certificate says what
that leaves open.

The rule speaks of single leaves, and a split is kept if both children can be cut into safe leaves: so the pruned tree is a refinement of every other pruning
that follows the rule. It has most leaves, and least loss on the training data by any measure that no split makes worse (squared error, Gini,
entropy, errors): there is nothing left to choose. More can be kept only by telling less in each leaf: `keep="most"` (`coarse`).

What is not promised: that paths of two trees of a forest together isolate nobody (`intersections`), or that nothing but paths and labels of
the model is used. With a bootstrap and without data only records drawn for a tree are spoken of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .attack import safe_values
from .coarse import coarsened, nameable_nodes
from .recount import checked_data, recounted
from .result import Keep, PruneResult, SideRule
from .sides import sides_are_safe
from .tree import Ensemble, Kind, Tree

TAKEN_OUT = "The numbers of records were taken out of the model."


def prune_trees(
    model: Ensemble,
    *,
    at_least: int = 2,
    keep: Keep = "safe",
    columns: Sequence[NDArray[Any]] | None = None,
    labels: Sequence[NDArray[Any]] | None = None,
) -> PruneResult:
    """Return plain trees in which no predicate isolates fewer than `at_least` records of a class; the released model is an Ensemble without counts.

    With `keep="most"` more splits stay and leaves tell less: see `coarse`, and `sides` for regression without data.
    """
    if keep not in get_args(Keep):
        raise InputError(f"keep must be one of {', '.join(get_args(Keep))}. Got {keep!r}.")
    if at_least < 2:
        raise InputError(f"at_least must be 2 or more. Got {at_least}.")
    if model.boosted:
        raise InputError(
            "Trees of boosting cannot be pruned one by one: later trees correct earlier ones. Fit with larger leaves."
        )
    if (columns is None) != (labels is None):
        raise InputError("Data are columns and labels: give both, or neither.")
    counted, values = model, None
    if columns is not None and labels is not None:
        data = checked_data(model, columns, labels)
        counted = recounted(model, *data)
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
    sides: SideRule | None = None
    if model.kind == "regression":
        sides = "data" if values is not None else "size" if keep == "most" else "moments"
    if sides == "moments":
        values = _moment_checks(model, at_least)
        sides = "size" if values is None else "moments"
    trees = []
    for i, tree in enumerate(counted.trees):
        visible = _without(tree, hidden)
        checks = None if values is None else values[i]
        if model.kind == "classification" and keep == "most":
            checks = nameable_nodes(visible, classes, at_least)
        trees.append(pruned_tree(visible, model.kind, at_least, safe_values=checks))
    after = replace(model, classes=classes, trees=tuple(trees))
    if model.kind == "classification" and keep == "most":
        after = coarsened(after, at_least)
    n_hidden = int(sum(few.sum() for few in hidden))
    return PruneResult(
        without_counts(after), model, after, at_least, n_hidden, keep=keep, sides=sides
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
    counts = tree.counts if tree.fewest is None else tree.fewest
    assert counts is not None
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
        if tree.left[node] >= 0:
            can[node] |= can[tree.left[node]] and can[tree.right[node]]
    if not can[0]:
        raise InputError(
            f"Nothing of this model can be released: even its root isolates fewer than {at_least} records. Lower at_least."
        )
    order: list[int] = []
    stack = [0]
    ends = np.array(
        [a < 0 or not (can[a] and can[b]) for a, b in zip(tree.left, tree.right, strict=True)]
    )
    while stack:
        node = stack.pop()
        order.append(node)
        if not ends[node]:
            stack += [int(tree.right[node]), int(tree.left[node])]
    at = np.array(order)
    leaf = ends[at]
    place = np.full(tree.n_nodes + 1, -1)
    place[at] = np.arange(len(at))
    value = tree.value[at].copy()
    value[~leaf] = 0.0
    left, right = (np.where(leaf, -1, place[side[at]]) for side in (tree.left, tree.right))
    known: dict[str, Any] = {"single": tree.single}
    for name in ("counts", "samples", "fewest", "varies", "variance"):
        if (array := getattr(tree, name)) is not None:
            known[name] = (array[at].T * leaf).T
    return Tree.of(
        left, right, tree.feature[at], tree.threshold[at], tree.missing_left[at], value, **known
    )


def _too_rare(model: Ensemble, at_least: int) -> list[NDArray[np.bool_]]:
    """For each output the classes that some root has, but fewer than `at_least` times."""
    out = []
    for output, names in enumerate(model.classes):
        few = np.zeros(len(names), dtype=bool)
        for tree in model.trees:
            counts = tree.counts if tree.fewest is None else tree.fewest
            assert counts is not None
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
