"""Scores of marginals: how much one column tells of others.

Every score reads a `Marginal` over a child and its parents, dense or sparse, and works on the matrix whose
rows are combinations of parents and whose columns are levels of the child. Natural logarithms: nats.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .counter import Counter
from .marginal import Marginal

__all__ = [
    "chi_square",
    "entropy",
    "f_score",
    "mutual_information",
    "pairwise",
    "pairwise_mutual_information",
    "r_score",
]


def entropy(marginal: Marginal) -> float:
    """Return the entropy of a marginal in nats: 0 if all records share one cell, log(cells) if spread evenly.

    Examples
    --------
    >>> round(entropy(Marginal(("a",), (2,), np.array([5, 5]))), 6)
    0.693147
    """
    counts = np.asarray(marginal.counts, dtype=np.float64).ravel()
    return _entropy(counts, float(counts.sum()))


def mutual_information(marginal: Marginal, child: str | None = None) -> float:
    """Return I(child; other columns) in nats: 0 if independent, at most the smaller entropy.

    The child is the last column unless named. For two columns this is the plain mutual information; for
    more it is the joint one that GreedyBayes maximises.

    Examples
    --------
    >>> same = Marginal(("a", "b"), (2, 2), np.array([[5, 0], [0, 5]]))
    >>> round(mutual_information(same), 6)
    0.693147
    """
    cells = _cells(marginal, child)
    if cells.total <= 0:
        return 0.0
    value = _entropy(cells.rows, cells.total) + _entropy(cells.columns, cells.total)
    return max(0.0, value - _entropy(cells.counts, cells.total))


def chi_square(marginal: Marginal, child: str | None = None) -> float:
    """Return Pearson's chi-square of child against the other columns: 0 if independent; no upper bound but n.

    Rows and columns of the table without any record are left out. Since the sum of (o - e)^2 / e is
    n (sum o^2 / (r c) - 1), only filled cells are visited.
    """
    cells = _cells(marginal, child)
    if cells.total <= 0:
        return 0.0
    filled = cells.counts > 0
    observed = cells.counts[filled]
    expected = cells.rows[cells.row[filled]] * cells.columns[cells.column[filled]]
    return max(0.0, cells.total * float((observed**2 / expected).sum() - 1.0))


def r_score(marginal: Marginal, child: str | None = None) -> float:
    """Return R of PrivBayes: half the L1 distance between the joint and the product of its margins, 0 to 1.

    0 if independent. Zhang et al., PrivBayes (TODS 2017), section 4.3: R has sensitivity 3/n + 2/n^2 where I has
    about log(n)/n.
    """
    cells = _cells(marginal, child)
    if cells.total <= 0:
        return 0.0
    joint = cells.counts / cells.total
    product = cells.rows[cells.row] * cells.columns[cells.column] / cells.total**2
    # Cells that are not listed have joint 0 and add their whole product.
    return 0.5 * float(np.abs(joint - product).sum() + max(0.0, 1.0 - product.sum()))


def f_score(marginal: Marginal, child: str | None = None) -> float:
    """Return F of PrivBayes for a binary child: 0 if the parents decide the child and split it evenly, at least -0.5.

    F is minus half the L1 distance to the nearest maximal joint distribution (Zhang et al., PrivBayes, section
    4.4). Each parent combination goes to one child value; F = -min((1/2 - K0)+ + (1/2 - K1)+), where Kx is
    the share of records with child value x among the combinations that went to x. Solved exactly by dynamic
    programming over K0 in whole records: time and memory grow with n.
    """
    axis = _axis(marginal, child)
    if marginal.sizes[axis] != 2:
        raise InputError(
            f"F is defined for a child of 2 levels. '{marginal.columns[axis]}' has {marginal.sizes[axis]}."
        )
    if marginal.counts.dtype != np.int64:
        raise InputError("F needs whole counts. Count without weights.")
    cells = _cells(marginal, child)
    total = int(cells.total)
    if total <= 0:
        return -0.5
    pairs = np.zeros((len(cells.rows), 2), dtype=np.int64)
    np.add.at(pairs, (cells.row, cells.column), cells.counts.astype(np.int64))
    # best[a]: the most child-1 records gained while child-0 gains are a; gains past half the records count no more.
    cap = (total + 1) // 2
    best = np.full(cap + 1, -1, dtype=np.int64)
    best[0] = 0
    for zero, one in pairs[pairs.sum(axis=1) > 0]:
        with_one = np.where(best >= 0, best + one, -1)
        step = min(int(zero), cap)
        with_zero = np.full_like(best, -1)
        with_zero[step:] = best[: cap + 1 - step]
        with_zero[cap] = max(with_zero[cap], best[cap - step :].max())
        best = np.maximum(with_one, with_zero)
    gained = np.flatnonzero(best >= 0)
    short = np.maximum(0.5 - gained / total, 0) + np.maximum(0.5 - best[gained] / total, 0)
    return -float(short.min())


def pairwise(
    counter: Counter, score: str = "mutual_information", *, columns: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Return the symmetric matrix of a score over all pairs of columns; the diagonal is a column with itself.

    `score` is `mutual_information`, `r_score` or `chi_square`. The diagonal of mutual information is the entropy.
    """
    scores = {"mutual_information": mutual_information, "r_score": r_score, "chi_square": chi_square}
    if score not in scores:
        raise unknown_name("score", score, scores)
    names = tuple(counter.schema.names if columns is None else columns)
    out = np.zeros((len(names), len(names)))
    pairs = list(combinations(range(len(names)), 2))
    sizes = dict(zip(counter.schema.names, counter.schema.sizes, strict=True))
    for batch in _batches(pairs, [sizes[names[i]] * sizes[names[j]] for i, j in pairs]):
        for (i, j), marginal in zip(batch, counter.marginals([(names[i], names[j]) for i, j in batch]), strict=True):
            out[i, j] = out[j, i] = scores[score](marginal)
    for i, marginal in enumerate(counter.marginals([(name,) for name in names])):
        diagonal = np.diag(np.asarray(marginal.dense(), dtype=marginal.counts.dtype))
        out[i, i] = scores[score](Marginal((names[i], names[i] + "'"), diagonal.shape, diagonal))
    return out


def pairwise_mutual_information(counter: Counter) -> NDArray[np.float64]:
    """Return the mutual information of all pairs of columns in nats; the diagonal holds the entropies."""
    return pairwise(counter, "mutual_information")


def _batches(pairs: list[tuple[int, int]], cells: list[int], *, most: int = 1 << 24) -> list[list[tuple[int, int]]]:
    """Return the pairs in runs whose tables together stay small enough to hold."""
    out: list[list[tuple[int, int]]] = []
    total = most
    for pair, size in zip(pairs, cells, strict=True):
        size = min(size, most)
        if total + size > most:
            out.append([])
            total = 0
        out[-1].append(pair)
        total += size
    return out


class _cells:  # noqa: N801 - reads as a function: the cells of a marginal, seen as parents by child
    """The listed cells of a marginal with their parent combination (`row`), child level (`column`) and margins."""

    def __init__(self, marginal: Marginal, child: str | None) -> None:
        axis = _axis(marginal, child)
        if marginal.cells is None:
            matrix = np.moveaxis(np.asarray(marginal.counts, dtype=np.float64), axis, -1)
            matrix = matrix.reshape(-1, marginal.sizes[axis])
            self.rows, self.columns = matrix.sum(axis=1), matrix.sum(axis=0)
            self.row = np.repeat(np.arange(matrix.shape[0]), matrix.shape[1])
            self.column = np.tile(np.arange(matrix.shape[1]), matrix.shape[0])
            self.counts = matrix.ravel()
        else:
            parents = np.delete(marginal.cells, axis, axis=1)
            _, self.row = np.unique(parents, axis=0, return_inverse=True)
            self.row = self.row.ravel()
            self.column = marginal.cells[:, axis].astype(np.int64)
            self.counts = np.asarray(marginal.counts, dtype=np.float64)
            self.rows = np.bincount(self.row, weights=self.counts)
            self.columns = np.bincount(self.column, weights=self.counts, minlength=marginal.sizes[axis])
        self.total = float(self.counts.sum())


def _axis(marginal: Marginal, child: str | None) -> int:
    if not marginal.columns:
        raise InputError("A score needs a marginal of at least one column.")
    if child is None:
        return len(marginal.columns) - 1
    if child not in marginal.columns:
        raise unknown_name("column", child, marginal.columns)
    return marginal.columns.index(child)


def _entropy(counts: NDArray[np.float64], total: float) -> float:
    shares = counts[counts > 0] / total if total > 0 else counts[:0]
    return float(-(shares * np.log(shares)).sum())
