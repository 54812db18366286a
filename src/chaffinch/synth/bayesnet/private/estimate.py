"""Estimates from noisy tables: nothing negative, noise held back where a model explains as much, sums as known. Post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...noisy import nonnegative

Table = NDArray[np.float64]
Target = tuple[tuple[int, ...], Table]
"""Axes of a table, ascending, and what its sums over all others should be."""

SIGMAS = np.geomspace(1e-2, 1e7, 46)
_CERTAIN = 3.0
"""Standard deviations beyond which a deviation from the model is taken as it is."""


def margins_of(tables: Sequence[Table], stds: Sequence[float]) -> tuple[list[Table], float]:
    """Return single columns without negative counts, all of one total: the mean of their totals, weighted by precision."""
    precisions = [
        1 / max(table.size * std**2, 1e-300) for table, std in zip(tables, stds, strict=True)
    ]
    total = sum(p * float(table.sum()) for p, table in zip(precisions, tables, strict=True)) / sum(
        precisions
    )
    total = max(total, 1.0)
    return [of_total(table, total) for table in tables], total


def of_total(table: Table, total: float) -> Table:
    """Return the nearest table without negative counts that has a total."""
    shifted = nonnegative(table + (total - table.sum()) / table.size)
    return shifted if shifted.sum() > 0 else np.full_like(table, total / table.size)


def shrunk(noisy: Table, model: Table, std: float) -> Table:
    """Return a table between what was measured and what a model expects, nearer to the model where noise could explain the difference.

    Differences are taken to vary in proportion to the model's count, by as much as they do beyond noise over the whole table (empirical
    Bayes); a cell that lies far outside the noise is taken as measured.
    """
    gap = noisy - model
    spread = max(float((gap**2).sum()) - gap.size * std**2, 0.0) / max(float(model.sum()), 1.0)
    varying = spread * model
    both = (
        varying + std**2
    )  # 0 where nothing is expected and, at a huge epsilon, noise is below what a double holds
    weight = np.divide(varying, both, out=np.zeros_like(both), where=both > 0)
    weight = np.where(np.abs(gap) > _CERTAIN * std, 1.0, weight)
    return np.maximum(model + weight * gap, 0.0)


def raked(table: Table, targets: Sequence[Target], *, rounds: int) -> Table:
    """Return the table nearest to a start (in relative entropy) with given sums, by iterative proportional fitting."""
    out = table
    for _ in range(rounds):
        for axes, target in targets:
            gone = tuple(a for a in range(out.ndim) if a not in axes)
            sums = out.sum(axis=gone)
            factor = np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
            out = out * factor.reshape([out.shape[a] if a in axes else 1 for a in range(out.ndim)])
    return out


def error_curve(model: Table) -> NDArray[np.float64]:
    """Return the expected half L1 error of measuring a table, at each of `SIGMAS`: a cell cannot be wrong by more than it holds."""
    flat = np.sort(model, axis=None)
    sums = np.concatenate([[0.0], np.cumsum(flat)])
    below = np.searchsorted(flat, SIGMAS)
    return np.asarray(0.4 * (sums[below] + SIGMAS * (flat.size - below)))


def error_at(curve: NDArray[np.float64], sigma: float) -> float:
    """Return the expected error at a standard deviation."""
    return float(np.interp(np.log(sigma), np.log(SIGMAS), curve))


def conditional_target(estimate: Table, parents: Table, child: Table) -> Table:
    """Return sums over (parents, child) that have the estimate's conditional distributions and the sums of parents.

    Where the estimate has no weight for a combination of parents, the child is as in its own distribution.
    """
    rows = estimate.sum(axis=-1, keepdims=True)
    share = child / max(float(child.sum()), 1e-300)
    conditional = np.where(rows > 0, estimate / np.maximum(rows, 1e-300), share)
    return np.asarray(conditional * parents[..., None])


def product_of(clique: Sequence[int], margins: Sequence[Table], total: float) -> Table:
    """Return the table of independent columns, in records."""
    out = np.asarray(total)
    for c in clique:
        out = out[..., None] * (margins[c] / total)
    return out


def column_noise(
    clique: Sequence[int], model: Table, margins: Sequence[Table], stds: Sequence[float]
) -> float:
    """Return how far from their model independent columns would seem to be, because it is made of noisy ones: half an L1 distance."""
    squared = np.zeros_like(model)
    for axis, c in enumerate(clique):
        shape = [-1 if a == axis else 1 for a in range(len(clique))]
        counts = np.maximum(
            margins[c], stds[c]
        )  # a cell is not wrong by more than it holds, or may hold
        squared += (model * (stds[c] / counts).reshape(shape)) ** 2
    return float(0.4 * np.sqrt(squared).sum())


def cells_of(sizes: Sequence[int], columns: Sequence[int]) -> int:
    """Return the number of cells of a table over some columns."""
    return prod(sizes[c] for c in columns)
