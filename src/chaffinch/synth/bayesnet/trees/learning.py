"""Learning the trees of all columns: splits from a sample that every engine chooses alike, leaves counted over all rows.

The order of columns is that of the network of tables; a column's tree may split any column before it that rules allow, of those that tell most of it. Where rows are
more than `SAMPLE`, splits are learnt from those whose number, hashed, falls below a bound: the same rows on every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....counts.counter import RowCounter
from ....table.codec import Intervals
from ....table.schema import Column, Schema
from .growing import grow
from .table import TreeTable

__all__ = ["TreeSettings", "learn_trees"]

SAMPLE = 200_000
"""Rows, about, from which splits are learnt."""
CANDIDATES = 12
"""Columns that a tree may split, of those that tell most of the child by themselves."""


@dataclass(frozen=True)
class TreeSettings:
    """`least`: records of a leaf at least. `parents`: columns that a tree may split. `price`: nats that a split must gain for each free share, beside `naming`
    times the logarithm of how many splits there are to choose from. `smoothing`: how much, in records, the node above weighs.
    """

    least: int = 10
    parents: int = 6
    price: float = 1.0
    naming: float = 1.0
    smoothing: float = 3.0


def learn_trees(
    counter: RowCounter, order: Sequence[str], candidates: Mapping[str, Sequence[str]], required: Mapping[str, Sequence[str]], settings: TreeSettings
) -> tuple[TreeTable, ...]:
    """Return the tree of each column of an order; `candidates` are what each may split, `required` what each has as a parent at any rate."""
    schema = counter.schema
    number, sizes_of = {name: j for j, name in enumerate(schema.names)}, schema.sizes
    codes, weights = _sample(counter)
    trees = []
    for name in order:
        chosen = [number[other] for other in candidates[name]]
        child = number[name]
        sizes = np.array([sizes_of[j] for j in chosen], dtype=np.int64)
        ordered = np.array([_is_ordered(schema[other]) for other in candidates[name]], dtype=bool)
        about = (schema[name].size, schema[name].fitted_codec.n_values, _is_ordered(schema[name]))
        x = np.stack([codes[j] for j in chosen]) if chosen else np.zeros((0, codes.shape[1]), dtype=np.int32)
        must = np.array([other in required[name] for other in candidates[name]], dtype=bool)
        grown = grow(x, codes[child], weights, sizes, ordered, about, must, settings.least, settings.parents, settings.price, settings.naming)
        trees.append(_shape(name, schema, candidates[name], required[name], grown, settings.smoothing))
    return tuple(_filled(trees, counter))


def _is_ordered(column: Column) -> bool:
    return isinstance(column.codec, Intervals) or column.ordered


def _hashed(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers without pattern for row numbers (SplitMix64), the same everywhere."""
    with np.errstate(over="ignore"):
        z = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _sample(counter: RowCounter) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Codes by column and row, and weights, of all rows or of a sample that hangs on row numbers alone."""
    share, parts, weights, at = min(1.0, SAMPLE / max(counter.n_rows, 1)), [], [], 0
    bound = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    for batch in counter.coded():
        n = batch.codes.n_rows
        keep = slice(None) if share >= 1.0 else np.flatnonzero(_hashed(np.arange(at, at + n, dtype=np.uint64)) < bound)
        parts.append(np.stack([batch.codes[j][keep].astype(np.int32) for j in range(len(batch.codes))]))
        weights.append(np.ones(parts[-1].shape[1]) if batch.weights is None else batch.weights[keep])
        at += n
    return np.concatenate(parts, axis=1), np.concatenate(weights)


def _shape(name: str, schema: Schema, candidates: Sequence[str], required: Sequence[str], grown: Any, smoothing: float) -> TreeTable:
    """A tree without counts, of those parents that it splits and those that are required."""
    splits, below, first, sides = grown
    used = list(dict.fromkeys(splits[splits >= 0].tolist()))  # those split first are the strongest
    parents = list(dict.fromkeys([*(candidates[j] for j in used), *required]))
    number = {j: k for k, j in enumerate(used)}
    renamed = np.array([number[int(j)] if j >= 0 else -1 for j in splits], dtype=np.int32)
    sizes = tuple(schema[parent].size for parent in parents)
    nothing: NDArray[Any] = np.zeros(0)
    return TreeTable(
        name, schema[name].size, tuple(parents), sizes, smoothing, renamed, below, np.where(renamed >= 0, first, -1), sides,
        np.zeros(1, dtype=np.int64), nothing.astype(np.uint32), nothing,
    )  # fmt: skip


def _filled(trees: Sequence[TreeTable], counter: RowCounter) -> list[TreeTable]:
    """Trees with the counts of all rows in their nodes, in one pass."""
    number = {name: j for j, name in enumerate(counter.schema.names)}
    dense: list[NDArray[np.float64]] = [np.zeros((len(tree.splits), tree.size)) for tree in trees]
    for batch in counter.coded():
        for tree, counts in zip(trees, dense, strict=True):
            leaves = tree.leaves([batch.codes[number[parent]] for parent in tree.parents], batch.codes.n_rows)
            key = leaves * tree.size + batch.codes[number[tree.child]]
            counts += np.bincount(key, weights=batch.weights, minlength=counts.size).reshape(counts.shape)
    return [_with_counts(tree, counts) for tree, counts in zip(trees, dense, strict=True)]


def _with_counts(tree: TreeTable, counts: NDArray[np.float64]) -> TreeTable:
    """A tree with the counts of its leaves, and of the nodes above them."""
    for node in range(len(tree.splits) - 1, -1, -1):
        if tree.splits[node] >= 0:
            counts[node] = counts[tree.below[node]] + counts[tree.below[node] + 1]
    if not counts[0].any():
        counts[:] = 1.0  # a table without any record gives every code the same weight
    for node in range(1, len(counts)):
        if not counts[node].any():  # nobody came here after all: as above
            counts[node] = counts[tree.above[node]]
    nodes, codes = np.nonzero(counts)
    starts = np.searchsorted(nodes, np.arange(len(counts) + 1)).astype(np.int64)
    return replace(tree, starts=starts, codes=codes.astype(np.uint32), weights=counts[nodes, codes])
