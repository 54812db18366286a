"""The attack: which nodes isolate someone, and how many tries it takes without their numbers.

Sedlmeyr, section 3.2, with counts where its code has shares, and the way to a node found from the tree alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .predicates import Comparison, Label, Predicate, label_name, label_of, predicate_of
from .recount import checked_data, label_codes, recounted
from .result import TreeAudit, Tries
from .tree import Ensemble, Kind, Tree


def attack_trees(
    model: Ensemble,
    *,
    at_least: int = 2,
    label: str | Sequence[str] = "label",
    columns: Sequence[NDArray[Any]] | None = None,
    labels: Sequence[NDArray[Any]] | None = None,
    most_tries: int = 100_000,
    threshold: int = THRESHOLD,
) -> TreeAudit:
    """Return what a model gives away about single records.

    With the counts that models keep no data are needed: every node in which a class has at least one and fewer than `at_least` records
    gives a predicate. With data (one array for each feature, one for each output) each is tried on them, and the attack without
    counts is run: leaves deepest first, every label, until a predicate is true of at least one and fewer than `at_least` records.
    """
    if at_least < 2:
        raise InputError(
            f"at_least must be 2 or more: a predicate that isolates one record is what is looked for. Got {at_least}."
        )
    if (columns is None) != (labels is None):
        raise InputError("Data are columns and labels: give both, or neither.")
    names = [label] if isinstance(label, str) else list(label)
    tried, real, sides = None, None, None
    if columns is not None and labels is not None:
        data = checked_data(model, columns, labels)
        real = recounted(model, *data)
        tried = tuple(
            tries(model, i, *data, names, at_least=at_least, most=most_tries)
            for i in range(len(model.trees))
        )
        if model.kind == "regression" and not model.boosted:
            sides = sum(
                int((~safe_values(tree, *data, at_least)[tree.leaves]).sum())
                for tree in model.trees
            )
    if not model.counted:
        nothing = (None, None, None, None)
        return TreeAudit(
            model,
            at_least,
            *nothing,
            tried,
            None,
            model.no_counts,
            value_leaves=sides,
            threshold=threshold,
        )
    predicates: list[Predicate] = []
    vulnerable, confirmed = 0, 0
    counted = [(i, tree) for i, tree in enumerate(model.trees) if tree.tells(model.kind)]
    for number, tree in counted:
        cells = exposed_cells(tree, model.kind, at_least)
        predicates += [
            predicate_of(model, number, node, label_of(model, output, k, names))
            for node, output, k in cells
        ]
        vulnerable += bool(cells)
        if real is not None and cells:
            there = real.trees[number].records(model.kind)
            now = there[tuple(np.array(cells).T[: there.ndim])]
            confirmed += int(((now > 0) & (now < at_least)).sum())
    reason = "" if model.counts_known else _partly(model)
    if reason and not predicates:  # nothing in a part of the trees is no all-clear
        nothing = (None, None, None, None)
        return TreeAudit(
            model, at_least, *nothing, tried, None, reason, value_leaves=sides, threshold=threshold
        )
    if real is not None:
        exposed, among = _exposed_rows(real, data, at_least)
    else:
        exposed, among = max(
            (_exposure(tree, model.kind, at_least) for _, tree in counted),
            key=lambda pair: pair[0] / max(pair[1], 1),
        )
    wide = (
        [open_to_value(tree, at_least) for tree in model.trees]
        if model.kind == "regression"
        else []
    )
    known = [n for n in wide if n is not None]
    return TreeAudit(
        model,
        at_least,
        tuple(predicates),
        exposed,
        exposed / max(among, 1),
        vulnerable,
        tried,
        None if real is None else (len(predicates), confirmed),
        reason,
        open_leaves=sum(known) if known else None,
        value_leaves=sides,
        threshold=threshold,
    )


def exposed_cells(tree: Tree, kind: Kind, at_least: int) -> list[tuple[int, int, int]]:
    """Return (node, output, class) of every class with at least one and fewer than `at_least` records.

    A node of a regression tree isolates if it has too few records: output and class are -1 then. With a bootstrap counts are draws: fewer
    draws than `at_least` are fewer records for certain; as many draws may be fewer records all the same, and are not counted here.
    """
    few = np.argwhere(tree.exposed_records(kind, at_least) > 0).tolist()
    return [(node, *(rest or (-1, -1))) for node, *rest in few]


def open_to_value(tree: Tree, at_least: int) -> int | None:
    """Return how many leaves of a regression tree must isolate fewer than m = `at_least` records by path AND label against the leaf value.

    A leaf says the mean of its n labels. If they differ, at least one lies above the mean and at least one does not: two sides that
    share n records, so the smaller has between 1 and n/2. With n < 2m that is fewer than m: certain, without any data. (m = 2: two
    records, of which each side holds one; three, of which one side holds one.) With n >= 2m it depends on the labels: of 0, 0, 0, 10
    only one lies above the mean, and so it can be in a leaf of any size. No size of leaves rules it out; `safe_values` looks at data.
    Leaves with fewer than m records isolate by their path alone and are not counted here.
    """
    if tree.samples is None or tree.varies is None:
        return None
    n = tree.samples[tree.leaves]
    return int(((n >= at_least) & (n < 2 * at_least) & tree.varies[tree.leaves]).sum())


def safe_values(
    tree: Tree, columns: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]], at_least: int
) -> NDArray[np.bool_]:
    """Return for each node whether its value, if it were a leaf, would isolate nobody: each side none or `at_least` records of the data."""
    out = np.ones(tree.n_nodes, dtype=bool)
    numbers = [np.asarray(numbers_of, dtype=np.float64) for numbers_of in labels]
    for node, rows in enumerate(tree.rows(columns)):
        for output, numbers_of in enumerate(numbers):
            above = int((numbers_of[rows] > tree.value[node, output, 0]).sum())
            out[node] &= all(side == 0 or side >= at_least for side in (above, len(rows) - above))
    return out


def _exposed_rows(
    real: Ensemble, data: tuple[list[NDArray[Any]], list[NDArray[Any]]], at_least: int
) -> tuple[int, int]:
    """How many distinct records of the data some tree and output expose, and how many there are."""
    columns, labels = data
    mask = np.zeros(len(columns[0]), dtype=bool)
    for tree in real.trees:
        records = tree.records(real.kind)[tree.apply(columns)]
        if real.kind == "regression":
            mask |= records < at_least
        for output, classes in enumerate(real.classes):
            codes = label_codes(labels[output], classes)
            mask |= (codes >= 0) & (records[np.arange(len(mask)), output, codes] < at_least)
    return int(mask.sum()), len(mask)


def _exposure(tree: Tree, kind: Kind, at_least: int) -> tuple[int, int]:
    """How many records (or draws) stand in leaves where their class (or the leaf) has too few, and how many there are."""
    few = tree.exposed_records(kind, at_least)[tree.leaves]
    if kind == "classification":
        return int(few.sum(axis=(0, 2)).max(initial=0)), int(tree.records(kind)[0, 0].sum())
    return int(few.sum()), int(
        tree.bounds[0, 1]
        if tree.samples is None and tree.bounds is not None
        else tree.records(kind)[0]
    )


def _partly(model: Ensemble) -> str:
    """Which trees tell numbers of records, in a sentence."""
    exact = sum(
        (t.counts if model.kind == "classification" else t.samples) is not None for t in model.trees
    )
    parts = [
        f"exactly in {exact:,}",
        *([f"within bounds in {model.counted - exact:,}"] if model.counted > exact else []),
    ]
    unknown = len(model.trees) - model.counted
    rest = (
        f" In the other {unknown:,} they are not known: {model.no_counts[0].lower()}{model.no_counts[1:]}"
        if unknown
        else ""
    )
    return f"Of {len(model.trees):,} trees the numbers of records are known {' and '.join(parts)}.{rest}"


def tries(
    model: Ensemble,
    number: int,
    columns: Sequence[NDArray[Any]],
    labels: Sequence[NDArray[Any]],
    names: Sequence[str],
    *,
    at_least: int = 2,
    most: int = 100_000,
) -> Tries:
    """Return how many predicates have to be tried on a tree, without its counts, until one isolates a record (Sedlmeyr, section 3.2).

    Leaves deepest first (of equal depth in their order); for each leaf every class of every output, or for numbers "above what the leaf
    says" and "not above". Leaves of boosted trees say neither: there the path alone is tried, then with each class.
    """
    tree = model.trees[number]
    rows_of = tree.rows(columns)
    arrays = [np.asarray(y) for y in labels]
    tried = 0
    for leaf in sorted(tree.leaves.tolist(), key=lambda i: (-int(tree.depth[i]), i)):
        rows = rows_of[leaf]
        for label in _guesses(model, tree, leaf, names):
            tried += 1
            hits = (
                len(rows) if label is None else int(label.holds(arrays[label.output][rows]).sum())
            )
            if 0 < hits < at_least:
                return Tries(number, tried, tried, predicate_of(model, number, leaf, label))
            if tried >= most:
                return Tries(number, None, tried, None)
    return Tries(number, None, tried, None)


def _guesses(model: Ensemble, tree: Tree, leaf: int, names: Sequence[str]) -> list[Label | None]:
    if model.boosted:
        return [None, *(Label(label_name(names, 0), 0, "=", k) for k in model.targets)]
    if model.kind == "classification":
        return [
            Label(label_name(names, o), o, "=", k)
            for o, classes in enumerate(model.classes)
            for k in classes
        ]
    outputs = range(tree.value.shape[1])
    signs: tuple[Comparison, Comparison] = (">", "<=")
    return [
        Label(label_name(names, o), o, sign, float(tree.value[leaf, o, 0]))
        for o in outputs
        for sign in signs
    ]
