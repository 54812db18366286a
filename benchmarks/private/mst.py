"""MST in short, after McKenna, Miklau and Sheldon (2021): what it measures, and an engine for trees.

A third of the budget (zCDP, one record added or removed) for noisy columns, whose rare levels are merged, a third for a spanning tree,
chosen edge by edge by the exponential mechanism on the L1 distance of pairs from independence, a third for the tables of the tree. The
model is the tree that fits all noisy tables best, by mirror descent, from which rows are drawn with rounding. mbi does that for
any graph (`mbi_run.py`), with most of its time spent on compiling; `fit_tree` does the same on trees alone, in a second or two.
Noise is numpy's, which is good enough to measure and not for a release. Needs no more than numpy, and numba for `fit_tree`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Counts = NDArray[np.float64]


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest zCDP that gives (epsilon, delta), by the conversion of Canonne, Kamath and Steinke (2020), proposition 12."""

    def least(rho: float) -> float:
        # delta of rho-zCDP at epsilon: the least over the order a of exp((a - 1)(a rho - epsilon)) (1 - 1 / a)^a / (a - 1)
        a = 1 + np.logspace(-4, 5, 20_000)
        logs = (a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)
        return float(np.exp(min(logs.min(), 0.0)))

    low, high = 0.0, epsilon + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) <= delta else (low, middle)
    return low


def counted(codes: Codes, sizes: Sequence[int], clique: Sequence[int]) -> Counts:
    """Return the counts of a marginal, one axis a column."""
    shape = [sizes[j] for j in clique]
    cells = np.ravel_multi_index([codes[:, j] for j in clique], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def exponential(
    scores: Sequence[float], epsilon: float, sensitivity: float, rng: np.random.Generator
) -> int:
    """Return the place of the largest score plus Gumbel noise: the exponential mechanism."""
    return int(
        (epsilon / 2 / sensitivity * np.array(scores) + rng.gumbel(size=len(scores))).argmax()
    )


@dataclass(frozen=True, eq=False)
class TreeMeasurements:
    """What MST releases: noisy columns on merged levels, a tree, and noisy tables of its edges."""

    common: tuple[
        NDArray[np.bool_], ...
    ]  # for each column, the levels that stay; the others are one level, the last
    sizes: tuple[int, ...]  # numbers of merged levels
    columns: tuple[Counts, ...]  # noisy counts times `weights`
    weights: tuple[Counts, ...]  # so that every entry has the noise `column_std`
    column_std: float
    tree: tuple[tuple[int, int], ...]
    pairs: tuple[Counts, ...]
    pair_std: float
    total: float

    def expanded(self, merged: Codes, rng: np.random.Generator) -> Codes:
        """Return codes on the levels of the table: a merged level is drawn evenly among its own."""
        out = np.empty_like(merged)
        for j, stay in enumerate(self.common):
            levels, rare = np.flatnonzero(stay), np.flatnonzero(~stay)
            out[:, j] = np.append(levels, -1)[np.minimum(merged[:, j], len(levels))]
            rows = out[:, j] < 0
            out[rows, j] = rng.choice(rare, int(rows.sum())) if rows.any() else 0
        return out


def measure_tree(
    codes: Codes, sizes: Sequence[int], rho: float, rng: np.random.Generator
) -> TreeMeasurements:
    """Return what MST releases. Levels whose noisy count is below three standard deviations are merged, as published."""
    width = len(sizes)
    sigma = math.sqrt(width / (2 * rho / 3))
    noisy = [counted(codes, sizes, [j]) for j in range(width)]
    noisy = [counts + rng.normal(0, sigma, counts.shape) for counts in noisy]
    common = [counts >= 3 * sigma for counts in noisy]
    merged, shrunk, columns, weights = np.empty_like(codes), [], [], []
    for j, (counts, stay) in enumerate(zip(noisy, common, strict=True)):
        merged[:, j] = np.where(stay, np.cumsum(stay) - 1, stay.sum())[codes[:, j]]
        rest = [] if stay.all() else [counts[~stay].sum()]
        shrunk.append(int(stay.sum()) + len(rest))
        columns.append(np.concatenate([counts[stay], rest]))
        # The sum of several noisy counts has the noise of all of them: it is measured on the scale of one.
        weights.append(
            np.array([1.0] * int(stay.sum()) + [1 / math.sqrt((~stay).sum()) for _ in rest])
        )
    total = max(float(np.mean([counts.sum() for counts in columns])), 1.0)
    # Columns alone need no engine: clipped and scaled, they are the model of independence.
    shares = [np.maximum(counts, 0) / max(np.maximum(counts, 0).sum(), 1e-9) for counts in columns]
    pairs = {pair: counted(merged, shrunk, pair) for pair in combinations(range(width), 2)}
    scores = {
        (a, b): float(np.abs(t - total * np.outer(shares[a], shares[b])).sum())
        for (a, b), t in pairs.items()
    }
    epsilon, group = math.sqrt(8 * rho / 3 / max(width - 1, 1)), list(range(width))
    tree: list[tuple[int, int]] = []
    while len(tree) < width - 1:
        open_ = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
        a, b = open_[exponential([scores[pair] for pair in open_], epsilon, 1.0, rng)]
        tree.append((a, b))
        group = [group[a] if member == group[b] else member for member in group]
    spread = math.sqrt(max(width - 1, 1) / (2 * rho / 3))
    tables = tuple(pairs[edge] + rng.normal(0, spread, pairs[edge].shape) for edge in tree)
    scaled = tuple(counts * scale for counts, scale in zip(columns, weights, strict=True))
    return TreeMeasurements(
        tuple(common),
        tuple(shrunk),
        scaled,
        tuple(weights),
        sigma,
        tuple(tree),
        tables,
        spread,
        total,
    )
