"""From noisy tables to distributions: overlapping tables made to agree, nothing negative, totals kept. Post-processing only.

Tables that share columns tell the same sums twice, each with its own noise. Their best common estimate is the mean weighted by
precision; spreading the difference evenly over the cells that make up a sum moves the table least. Shared sets are taken
from small to large, closed under intersection, so a later step never undoes an earlier one (Barak et al. 2007; Qardaji, Yang and Li,
PriView, SIGMOD 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..counts.marginal import Marginal
from ..privacy.counter import NoisyTable

MOST_SHARED = 4_000
_ROUNDS = 3

Counts = NDArray[np.float64]


def agreed(tables: Sequence[NoisyTable]) -> list[Marginal]:
    """Return tables without negative counts that agree with each other as nearly as that allows, in the order given."""
    estimates = [np.asarray(table.counts, dtype=np.float64) for table in tables]
    for _ in range(_ROUNDS):
        estimates = consistent(tables, estimates)
        estimates = [nonnegative(counts) for counts in estimates]
    return [
        Marginal(t.columns, t.sizes, counts) for t, counts in zip(tables, estimates, strict=True)
    ]


def clipped(tables: Sequence[NoisyTable]) -> list[Marginal]:
    """Return tables with negative counts set to 0, one by one: what other implementations do."""
    return [
        Marginal(t.columns, t.sizes, np.maximum(t.counts, 0).astype(np.float64)) for t in tables
    ]


def consistent(tables: Sequence[NoisyTable], estimates: Sequence[Counts]) -> list[Counts]:
    """Return the tables with equal sums on all columns they share (the grand total among them)."""
    out = [counts.copy() for counts in estimates]
    sets = [frozenset(table.columns) for table in tables]
    for shared in _shared_sets(sets):
        members = [i for i, columns in enumerate(sets) if shared <= columns]
        if len(members) < 2:
            continue
        order = sorted(shared)
        sums, weights = [], []
        for i in members:
            sums.append(_project(out[i], tables[i].columns, order))
            spread = tables[i].n_cells / max(prod(sums[-1].shape), 1)
            weights.append(1.0 / (max(tables[i].std, 1e-9) ** 2 * spread))
        mean = sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights)
        for i, own in zip(members, sums, strict=True):
            spread = tables[i].n_cells / max(prod(own.shape), 1)
            out[i] += _broadcast((mean - own) / spread, order, tables[i].columns)
    return out


def nonnegative(counts: Counts) -> Counts:
    """Return the nearest table without negative counts of the same total: what the others have too much is taken from all alike.

    The Euclidean projection on counts >= 0 of a given sum. A total of 0 or less gives zeros.

    Examples
    --------
    >>> nonnegative(np.array([5.0, -1.0, 2.0])).tolist()
    [4.5, 0.0, 1.5]
    """
    total = float(counts.sum())
    if total <= 0:
        return np.zeros_like(counts)
    if counts.min() >= 0:
        return counts
    flat = np.sort(counts, axis=None)[::-1]
    over = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > over)[-1])
    return np.asarray(np.maximum(counts - over[last], 0.0))


def _shared_sets(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Every set of columns that two tables share, and what these share again, small ones first; single columns if too many."""
    shared = {frozenset[str]()} | {a & b for a, b in combinations(sets, 2)}
    new = set(shared)
    while new and len(shared) <= MOST_SHARED:
        new = {a & b for a in new for b in shared} - shared
        shared |= new
    if len(shared) > MOST_SHARED:
        shared = {frozenset[str](), *(frozenset({name}) for columns in sets for name in columns)}
    return sorted(shared, key=lambda s: (len(s), sorted(s)))


def _project(counts: Counts, columns: Sequence[str], onto: Sequence[str]) -> Counts:
    """The sums of a table over all columns but some, axes in the order of `onto`."""
    gone = tuple(a for a, name in enumerate(columns) if name not in onto)
    shared = [name for name in columns if name in onto]
    return np.asarray(counts.sum(axis=gone)).transpose([shared.index(name) for name in onto])


def _broadcast(sums: Counts, order: Sequence[str], columns: Sequence[str]) -> Counts:
    """An array of sums laid out so that it can be added to a table of more columns."""
    shared = [name for name in columns if name in order]
    laid = sums.transpose([order.index(name) for name in shared])
    return laid.reshape(
        [laid.shape[shared.index(name)] if name in shared else 1 for name in columns]
    )
