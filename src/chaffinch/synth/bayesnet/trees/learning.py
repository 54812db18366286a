"""Learning the trees of all columns: splits from a sample that every engine chooses alike, leaves counted over all rows.

The order of columns is that of the network of tables; a column's tree may split any column before it that rules allow, of those that tell most of it. Where rows are
more than `SAMPLE`, splits are learnt from those whose number, hashed, falls below a bound: the same rows on every engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._base.runtime import thread_map
from ....counts.counter import RowCounter
from ....counts.plan import runs_of
from ....table.codec import Intervals
from ....table.codes import Codes
from ....table.scan import CodedBatch
from ....table.schema import Column, Schema
from .growing import grow, x_log_x
from .table import TreeTable

SAMPLE = 200_000
"""Rows, about, from which splits are learnt."""
MOST_CELLS = 1 << 23
"""Cells of nodes by codes, 8 bytes each, that are counted in one pass."""
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
    counter: RowCounter,
    order: Sequence[str],
    candidates: Mapping[str, Sequence[str]],
    required: Mapping[str, Sequence[str]],
    settings: TreeSettings,
) -> tuple[TreeTable, ...]:
    """Return the tree of each column of an order; `candidates` are what each may split, `required` what each has as a parent at any rate."""
    return tuple(_filled(_grown(counter, order, candidates, required, settings), counter))


def _grown(
    counter: RowCounter,
    order: Sequence[str],
    candidates: Mapping[str, Sequence[str]],
    required: Mapping[str, Sequence[str]],
    settings: TreeSettings,
) -> list[TreeTable]:
    """The trees without counts. The sample of codes is let go with them: of many columns it is large."""
    schema = counter.schema
    number, sizes_of = {name: j for j, name in enumerate(schema.names)}, schema.sizes
    codes, weights = _sample(counter)
    known = np.zeros(0) if len(weights) else x_log_x(codes.n_rows)
    wide = np.uint16 if max(sizes_of, default=0) <= 1 << 16 else np.uint32

    def learnt(name: str) -> TreeTable:
        chosen = [number[other] for other in candidates[name]]
        sizes = np.array([sizes_of[j] for j in chosen], dtype=np.int64)
        ordered = np.array([_is_ordered(schema[other]) for other in candidates[name]], dtype=bool)
        about = (schema[name].size, schema[name].fitted_codec.n_values, _is_ordered(schema[name]))
        x = np.empty((len(chosen), codes.n_rows), dtype=wide)
        for row, j in zip(x, chosen, strict=True):
            row[:] = codes[j]
        must = np.array([other in required[name] for other in candidates[name]], dtype=bool)
        own = codes[number[name]].astype(wide)
        grown = grow(
            x,
            own,
            weights,
            known,
            sizes,
            ordered,
            about,
            must,
            settings.least,
            settings.parents,
            settings.price,
            settings.naming,
        )
        return _shape(name, schema, candidates[name], required[name], grown, settings.smoothing)

    return thread_map(learnt, list(order), threads=getattr(counter, "threads", None))


def _is_ordered(column: Column) -> bool:
    return isinstance(column.codec, Intervals) or column.ordered


def _hashed(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers without pattern for row numbers (SplitMix64), the same everywhere."""
    with np.errstate(over="ignore"):
        z = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _sample(counter: RowCounter) -> tuple[Codes, NDArray[np.float64]]:
    """Codes, and weights, none where each record counts one, of all rows or of a sample that hangs on row numbers alone."""
    chosen = _chosen_rows(counter.n_rows)
    weights: list[NDArray[np.float64]] = []

    def parts() -> Iterator[Codes]:
        first = 0
        for batch in counter.coded():
            own = (
                slice(None)
                if chosen is None
                else chosen[slice(*np.searchsorted(chosen, [first, first + batch.codes.n_rows]))]
                - first
            )
            if batch.weights is not None:
                weights.append(batch.weights[own])
            first += batch.codes.n_rows
            yield batch.codes if chosen is None else batch.codes.take(own)

    codes = Codes.gathered(
        parts(), counter.schema.sizes, counter.n_rows if chosen is None else len(chosen)
    )
    return codes, np.concatenate(weights) if weights else np.zeros(0)


def _chosen_rows(n_rows: int) -> NDArray[np.int64] | None:
    """The numbers of the rows of a sample, ascending; None where all are looked at."""
    if n_rows <= SAMPLE:
        return None
    bound = np.uint64(min(int(SAMPLE / n_rows * 2.0**64), 2**64 - 1))
    step = 1 << 20
    numbers = (
        np.arange(first, min(first + step, n_rows), dtype=np.uint64)
        for first in range(0, n_rows, step)
    )
    return np.concatenate([some[_hashed(some) < bound] for some in numbers]).astype(np.int64)


def _shape(
    name: str,
    schema: Schema,
    candidates: Sequence[str],
    required: Sequence[str],
    grown: Any,
    smoothing: float,
) -> TreeTable:
    """A tree without counts, of those parents that it splits and those that are required."""
    splits, below, first, sides = grown
    used = list(dict.fromkeys(splits[splits >= 0].tolist()))  # those split first are the strongest
    parents = list(dict.fromkeys([*(candidates[j] for j in used), *required]))
    number = {j: k for k, j in enumerate(used)}
    renamed = np.array([number[int(j)] if j >= 0 else -1 for j in splits], dtype=np.int32)
    sizes = tuple(schema[parent].size for parent in parents)
    nothing: NDArray[Any] = np.zeros(0)
    return TreeTable(
        name,
        schema[name].size,
        tuple(parents),
        sizes,
        smoothing,
        renamed,
        below,
        np.where(renamed >= 0, first, -1),
        sides,
        np.zeros(1, dtype=np.int64),
        nothing.astype(np.uint32),
        nothing,
    )


def _filled(trees: Sequence[TreeTable], counter: RowCounter) -> list[TreeTable]:
    """Trees with the counts of all rows in their nodes: as many as fit in one pass."""
    number = {name: j for j, name in enumerate(counter.schema.names)}
    filled: list[TreeTable] = []
    for run in runs_of([len(tree.splits) * tree.size for tree in trees], MOST_CELLS):
        counted = [
            (trees[place], np.zeros((len(trees[place].splits), trees[place].size))) for place in run
        ]
        for batch in counter.coded():
            thread_map(
                lambda one: _add(*one, batch, number),  # noqa: B023
                counted,
                threads=getattr(counter, "threads", None),
            )
        filled += [_with_counts(tree, counts) for tree, counts in counted]
        del counted
    return filled


def _add(
    tree: TreeTable, counts: NDArray[np.float64], batch: CodedBatch, number: Mapping[str, int]
) -> None:
    """Count some rows in the leaves of a tree."""
    leaves = tree.leaves(
        [batch.codes[number[parent]] for parent in tree.parents], batch.codes.n_rows
    )
    key = leaves * tree.size + batch.codes[number[tree.child]]
    if batch.weights is None:
        counts += np.bincount(key, minlength=counts.size).reshape(counts.shape)
    else:  # one after the other, as one batch of all rows would be added
        np.add.at(counts.reshape(-1), key, batch.weights)


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
