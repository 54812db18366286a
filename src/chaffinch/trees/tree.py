"""A tree as plain arrays, wherever it came from: who goes where, what the leaves say, and how many records are behind them, told by the model or by data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.results import plain_form

Kind = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes of a binary tree; node 0 is the root. A record goes left where `feature` is at most `threshold`.

    `value` is what each node predicts: shares of classes, or numbers (then the last axis has length 1). What cannot be known is None. With
    a bootstrap `counts` are draws of records, and `fewest` bounds the distinct records behind them from below: draws of one record
    cannot be told from draws of several. `varies` says, where leaves are means of a label, whether the labels in a node differ.
    """

    left_child: NDArray[np.int64] = field(metadata=plain_form(key="left"))
    """The first child of each node, -1 for a leaf."""
    right_child: NDArray[np.int64] = field(metadata=plain_form(key="right"))
    """The second child of each node, -1 for a leaf."""
    feature: NDArray[np.int64]
    """The column that each node splits, -1 for a leaf."""
    threshold: NDArray[np.float64]
    """Where each node splits, nan for a leaf."""
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    """What each node predicts: nodes x outputs x classes."""
    counts: NDArray[np.int64] | None = None
    """Training records: nodes x outputs x classes."""
    samples: NDArray[np.int64] | None = None
    """Training records of each node, whatever their class."""
    reason: str = ""
    """Why counts are not known."""
    fewest: NDArray[np.int64] | None = None
    varies: NDArray[np.bool_] | None = None
    bounds: NDArray[np.int64] | None = None
    """The fewest and the most training records of each node, where `samples` are not certain."""
    variance: NDArray[np.float64] | None = None
    """Of the labels in each node (the largest over outputs, at most), where values are means."""
    single: bool = True
    """Whether numbers are compared as 32-bit floats (scikit-learn's trees, XGBoost), or as they are."""

    @classmethod
    def from_nodes(
        cls,
        left_child: Any,
        right_child: Any,
        feature: Any,
        threshold: Any,
        missing_left: Any,
        value: Any,
        **known: Any,
    ) -> Tree:
        """Return the tree of nodes as a library keeps them: of a leaf, which has no left child, nothing stays of a split."""
        left_child = np.asarray(left_child, dtype=np.int64)
        inner = left_child >= 0
        return cls(
            left_child,
            np.asarray(right_child, dtype=np.int64),
            np.where(inner, np.asarray(feature, dtype=np.int64), -1),
            np.where(inner, np.asarray(threshold, dtype=np.float64), np.nan),
            np.asarray(missing_left).astype(bool) & inner,
            value,
            **known,
        )

    def __post_init__(self) -> None:
        n = len(self.left_child)
        lengths = {
            len(a)
            for a in (
                self.left_child,
                self.right_child,
                self.feature,
                self.threshold,
                self.missing_left,
                self.value,
            )
        }
        if n == 0 or lengths != {n}:
            raise InputError("A tree needs at least one node, and every array one entry for each.")
        inner = self.left_child >= 0
        children = np.concatenate([self.left_child[inner], self.right_child[inner]])
        tree_like = (
            np.array_equal(inner, self.right_child >= 0)
            and len(np.unique(children)) == len(children) == n - 1
            and (len(children) == 0 or (children.min() >= 1 and children.max() < n))
            # An infinite cut is scikit-learn's way to part missing values from all others.
            and not bool(np.isnan(self.threshold[inner]).any())
            and bool((self.feature[inner] >= 0).all())
        )
        if not tree_like or len(self.order) != n:
            raise InputError(
                "The nodes do not form a tree: each but the root must be the child of exactly one other."
            )
        if self.value.ndim != 3:
            raise InputError(
                "The values of a tree must be nodes x outputs x classes (1 for numbers)."
            )
        for array in (self.counts, self.fewest):
            if array is not None and array.shape != self.value.shape:
                raise InputError("The counts of a tree must have the shape of its values.")
        if self.samples is not None and self.samples.shape != (n,):
            raise InputError("A tree needs one number of records for each node.")
        if self.bounds is not None and self.bounds.shape != (n, 2):
            raise InputError("A tree needs two bounds of the number of records for each node.")
        if self.variance is not None and self.variance.shape != (n,):
            raise InputError("A tree needs one variance for each node.")

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.left_child)

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The leaves, by number."""
        return np.flatnonzero(self.left_child < 0)

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """The parent of each node, -1 for the root."""
        out = np.full(self.n_nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(self.left_child >= 0)
        out[self.left_child[inner]] = inner
        out[self.right_child[inner]] = inner
        return out

    @cached_property
    def order(self) -> list[int]:
        """The nodes that the root reaches, parents before children."""
        out, stack, seen = [], [0], set()
        while stack:
            node = stack.pop()
            if node in seen:
                break
            seen.add(node)
            out.append(node)
            if self.left_child[node] >= 0:
                stack += [int(self.right_child[node]), int(self.left_child[node])]
        return out

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """The number of splits above each node."""
        out = np.zeros(self.n_nodes, dtype=np.int64)
        for node in self.order[1:]:
            out[node] = out[self.parent[node]] + 1
        return out

    def path(self, node: int) -> list[tuple[int, bool]]:
        """Return the splits from the root to a node, and whether the way goes left at each."""
        out: list[tuple[int, bool]] = []
        while (above := int(self.parent[node])) >= 0:
            out.append((above, int(self.left_child[above]) == node))
            node = above
        return out[::-1]

    def goes_left(self, node: int, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values of a split's column go left: compared as the library does, missing ones as the split says."""
        numbers = comparison_values(values, single=self.single)
        with np.errstate(invalid="ignore"):
            below = numbers <= self.threshold[node]
        return np.where(np.isnan(numbers), self.missing_left[node], below)

    def rows(self, columns: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
        """Return for each node the records that come through it, given one array for each feature."""
        n = len(columns[0]) if len(columns) else 0
        out: list[NDArray[np.int64]] = [np.arange(n)] * self.n_nodes
        for node in self.order:
            if self.left_child[node] >= 0:
                goes_left = self.goes_left(node, columns[self.feature[node]][out[node]])
                out[self.left_child[node]], out[self.right_child[node]] = (
                    out[node][goes_left],
                    out[node][~goes_left],
                )
        return out

    def apply(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Return the leaf of each record, given one array for each feature."""
        rows = self.rows(columns)
        where = np.zeros(len(rows[0]), dtype=np.int64)
        for leaf in self.leaves:
            where[rows[leaf]] = leaf
        return where

    def records(self, kind: Kind) -> NDArray[np.int64]:
        """Return the records of each class in each node of a classification, of each node of a regression: they must be known."""
        records = self.counts if kind == "classification" else self.samples
        assert records is not None
        return records

    @property
    def least_counts(self) -> NDArray[np.int64]:
        """The fewest records that each class can have in each node of a classification: they must be known."""
        counts = self.counts if self.fewest is None else self.fewest
        assert counts is not None
        return counts

    def tells(self, kind: Kind) -> bool:
        """Return whether numbers of records, or bounds of them, are known."""
        if kind == "classification":
            return self.counts is not None
        return self.samples is not None or self.bounds is not None

    def exposed_records(self, kind: Kind, at_least: int) -> NDArray[np.int64]:
        """Return the records of each class (or node) that has at least one and fewer than `at_least` for certain, 0 for all others."""
        if kind == "regression" and self.samples is None:
            assert self.bounds is not None
            min_records, max_records = self.bounds.T
            return np.where(max_records < at_least, min_records, 0)
        records = self.records(kind)
        return np.where(records < at_least, records, 0)

    def summed(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return an array of one entry for each node with inner nodes as the sum of their leaves; entries of inner nodes are ignored."""
        out = leaves.copy()
        for node in reversed(self.order):
            if self.left_child[node] >= 0:
                out[node] = out[self.left_child[node]] + out[self.right_child[node]]
        return out


def comparison_values(values: NDArray[Any], *, single: bool = True) -> NDArray[np.float64]:
    """Return values as a library compares them: rounded to 32-bit floats if `single`; missing ones are nan.

    Examples
    --------
    >>> comparison_values(np.array([0.1]))[0] == 0.1, comparison_values(np.array([0.1]), single=False)[0] == 0.1
    (np.False_, np.True_)
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "A column that the tree splits on does not hold numbers. Encode it as it was for the fit."
        ) from None
    if not single:
        return numbers
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """One tree or many, of one model. Leaves of stages of boosting hold steps, which are neither classes nor labels."""

    model: str
    """As its own library calls it."""
    kind: Kind
    features: tuple[str, ...]
    classes: tuple[tuple[Any, ...], ...]
    """Of each output, in the order of counts and values; empty for regression."""
    trees: tuple[Tree, ...]
    note: str = ""
    """What a reader must know of the counts: that they are of a bootstrap, of a subsample ..."""
    boosted: bool = False
    targets: tuple[Any, ...] = ()
    """The class labels of boosted trees that classify."""

    def __post_init__(self) -> None:
        if not self.trees:
            raise InputError("A model needs at least one tree.")
        for tree in self.trees:
            if int(tree.feature.max(initial=-1)) >= len(self.features):
                raise InputError("A tree splits on a column that the model does not have.")
            if self.kind == "classification" and (
                tree.value.shape[1] != len(self.classes)
                or tree.value.shape[2] < max(map(len, self.classes))
            ):
                raise InputError("The values of a tree do not fit the classes of the model.")

    @property
    def counts_known(self) -> bool:
        """Whether every tree tells how many records of each class, or in all, its nodes hold."""
        return all(
            (t.counts if self.kind == "classification" else t.samples) is not None
            for t in self.trees
        )

    @property
    def counted(self) -> int:
        """How many trees tell numbers of records, or bounds of them."""
        return sum(tree.tells(self.kind) for tree in self.trees)

    @property
    def no_counts(self) -> str:
        """Why counts are not known."""
        reasons = (tree.reason for tree in self.trees if tree.reason)
        return next(reasons, "The model does not say how many records its nodes hold.")

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)


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


def recount(model: Ensemble, columns: Columns, labels: Columns) -> Ensemble:
    """Return the model with the counts that its nodes have in the data: records, never draws or weights.

    A released model tells no counts; with the training data this is what a re-attack on it sees.
    """
    x, y = checked_data(model, columns, labels)
    codes = [
        label_codes(values, classes) for values, classes in zip(y, model.classes, strict=False)
    ]
    return replace(
        model, trees=tuple(_recount_tree(tree, x, codes) for tree in model.trees), note=""
    )


def _recount_tree(tree: Tree, columns: Columns, codes: Sequence[NDArray[np.int64]]) -> Tree:
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
