"""MST with an engine for trees, on a table of codes.

The same mirror descent as mbi's: potentials of columns and of edges, marginals by message passing, 1,000 steps with mbi's own rule for
the length of a step; rows are drawn with rounding. See `mst.py`.
"""

from __future__ import annotations

import resource
import time
from dataclasses import asdict

import numba
import numpy as np

from benchmarks.private.coarse import Coarse, distances
from benchmarks.private.mst import Codes, Counts, TreeMeasurements, measure_tree, rho_of

STEPS = 1000


class Tree:
    """A tree laid out flat: columns in an order in which parents precede children, tables of edges as (parent, child)."""

    def __init__(self, released: TreeMeasurements) -> None:
        width = len(released.sizes)
        near: list[list[tuple[int, Counts]]] = [[] for _ in range(width)]
        for (a, b), table in zip(released.tree, released.pairs, strict=True):
            near[a].append((b, table))
            near[b].append((a, table.T))
        self.order, self.parent, tables = [0], [-1] * width, [np.empty((0, 0))] * width
        for node in self.order:
            for child, table in near[node]:
                if child != self.parent[node]:
                    self.parent[child], tables[child] = node, table
                    self.order.append(child)
        self.sizes = np.array(released.sizes)
        self.nodes = np.concatenate([[0], np.cumsum(self.sizes)])
        self.edges = np.concatenate([[0], np.cumsum([table.size for table in tables])])
        self.columns = np.concatenate(released.columns)
        self.weights = np.concatenate(released.weights)
        self.pairs = np.concatenate([table.ravel() for table in tables])

    def layout(self) -> tuple[np.ndarray, ...]:
        """Return what the compiled functions take."""
        return np.array(self.order), np.array(self.parent), self.sizes, self.nodes, self.edges


def fit_tree(released: TreeMeasurements) -> tuple[Tree, Counts, Counts]:
    """Return the tree with the counts of its columns and of its edges that fit best."""
    tree = Tree(released)
    layout, stds = tree.layout(), (released.column_std, released.pair_std)
    # mbi's bound on the curvature: for each table of an edge, its own precision and that of its columns, summed over the other column.
    rows, columns = tree.sizes[tree.parent], tree.sizes
    bounds = 1 / stds[1] ** 2 + (rows + columns) / stds[0] ** 2
    bound = bounds[tree.order[1:]].max() if len(tree.order) > 1 else 1 / stds[0] ** 2
    single, pair = _descend(
        tree.columns,
        tree.weights,
        tree.pairs,
        stds,
        released.total,
        2 / bound / released.total,
        layout,
    )
    return tree, single, pair


@numba.njit(cache=True)
def _marginals(single, pair, total, layout):  # type: ignore[no-untyped-def]
    """Return the counts of columns and edges from their potentials: messages up the tree, then down."""
    order, parent, sizes, nodes, edges = layout
    up = single.copy()
    for at in range(order.size - 1, 0, -1):
        i = order[at]
        p = parent[i]
        for a in range(sizes[p]):
            row = edges[i] + a * sizes[i]
            high = -np.inf
            for b in range(sizes[i]):
                high = max(high, pair[row + b] + up[nodes[i] + b])
            summed = 0.0
            for b in range(sizes[i]):
                summed += np.exp(pair[row + b] + up[nodes[i] + b] - high)
            up[nodes[p] + a] += high + np.log(summed)
    counts, tables = np.empty(single.size), np.empty(pair.size)
    root = order[0]
    own = up[nodes[root] : nodes[root + 1]]
    shares = np.exp(own - own.max())
    counts[nodes[root] : nodes[root + 1]] = shares / shares.sum() * total
    for at in range(1, order.size):
        i = order[at]
        p = parent[i]
        counts[nodes[i] : nodes[i + 1]] = 0.0
        for a in range(sizes[p]):
            row = edges[i] + a * sizes[i]
            high = -np.inf
            for b in range(sizes[i]):
                high = max(high, pair[row + b] + up[nodes[i] + b])
            summed = 0.0
            for b in range(sizes[i]):
                tables[row + b] = np.exp(pair[row + b] + up[nodes[i] + b] - high)
                summed += tables[row + b]
            for b in range(sizes[i]):
                tables[row + b] *= counts[nodes[p] + a] / summed
                counts[nodes[i] + b] += tables[row + b]
    return counts, tables


@numba.njit(cache=True)
def _descend(columns, weights, pairs, stds, total, length, layout):  # type: ignore[no-untyped-def]
    """Mirror descent on half the squared distance from the noisy tables, in units of their noise."""
    single, pair = np.zeros(columns.size), np.zeros(pairs.size)
    counts, tables = _marginals(single, pair, total, layout)
    for _ in range(STEPS):
        off, away = (counts * weights - columns) / stds[0], (tables - pairs) / stds[1]
        loss = 0.5 * (off @ off + away @ away)
        slope, steep = off * weights / stds[0], away / stds[1]
        single_next, pair_next = single - length * slope, pair - length * steep
        counts_next, tables_next = _marginals(single_next, pair_next, total, layout)
        off, away = (counts_next * weights - columns) / stds[0], (tables_next - pairs) / stds[1]
        gain = loss - 0.5 * (off @ off + away @ away)
        if gain >= 0.5 * length * (slope @ (counts - counts_next) + steep @ (tables - tables_next)):
            single, pair, counts, tables = single_next, pair_next, counts_next, tables_next
            length *= 1.01
        else:
            length *= 0.5
    return counts, tables


def rounded_rows(
    tree: Tree, single: Counts, pair: Counts, n_rows: int, rng: np.random.Generator
) -> Codes:
    """Return rows: among rows with the same parent, counts are those expected, and what is left over by chance; then shuffled."""
    out = np.zeros((n_rows, len(tree.sizes)), dtype=np.int64)
    for i in tree.order:
        p, size = tree.parent[i], int(tree.sizes[i])
        if p < 0:
            out[:, i] = _rounded(single[tree.nodes[i] : tree.nodes[i + 1]], n_rows, rng)
            continue
        table = pair[tree.edges[i] : tree.edges[i + 1]].reshape(-1, size)
        for a in range(len(table)):
            rows = np.flatnonzero(out[:, p] == a)
            out[rows, i] = _rounded(table[a], len(rows), rng)
    return out


def _rounded(counts: Counts, n_rows: int, rng: np.random.Generator) -> Codes:
    """One point in each of n even strata, as mbi draws."""
    if not n_rows:
        return np.empty(0, dtype=np.int64)
    shares = np.cumsum(counts) / max(counts.sum(), 1e-300)
    points = (rng.permutation(n_rows) + rng.random(n_rows)) / n_rows
    return np.minimum(np.searchsorted(shares, points, side="right"), len(counts) - 1)


def run(coarse: Coarse, *, epsilon: float, delta: float, seed: int) -> dict[str, float]:
    """Return the distances of one run and its processor time."""
    rng = np.random.default_rng(seed)
    start, begun = time.process_time(), time.perf_counter()
    released = measure_tree(coarse.codes, coarse.sizes, rho_of(epsilon, delta), rng)
    synthetic = released.expanded(rounded_rows(*fit_tree(released), coarse.n_rows, rng), rng)
    cost = {"cpu": time.process_time() - start, "wall": time.perf_counter() - begun}
    return {
        **asdict(distances(coarse, synthetic)),
        **cost,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
