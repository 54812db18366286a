"""Scores of marginals: how much one column tells of others.

Every score reads a `Marginal` over a child and its parents, dense or sparse, and works on the matrix whose
rows are combinations of parents and whose columns are levels of the child. Natural logarithms: nats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .marginal import Marginal

FEW = 1 << 16
"""Counts up to which c log c is looked up."""


def count_log_count(counts: NDArray[np.integer[Any]], n: int) -> NDArray[np.complex128]:
    """Return c log c as two parts: multiples of a grid on which sums up to n log n are exact, and rests, whose sums are exact too where they are few.

    Real and imaginary parts carry the two, so that one kernel sums both; and no sum depends on the order of cells, so all engines agree to the last bit.
    """
    whole = counts * np.log(np.maximum(counts, 1))
    grid = 2.0 ** (51 - np.ceil(np.log2((n + 1) * np.log(n + 2))))
    coarse = np.rint(whole * grid) / grid
    return np.asarray(coarse + 1j * (whole - coarse), dtype=np.complex128)


def entropy_of_counts(counts: NDArray[np.integer[Any]], n: int) -> float:
    """Return the entropy in nats of n records that are in cells by these counts, none of them 0, whatever the order of cells.

    Examples
    --------
    >>> round(entropy_of_counts(np.array([5, 5]), 10), 6)
    0.693147
    """
    total = count_log_count(counts, n).sum()
    return max(0.0, float(np.log(n) - (total.real + total.imag) / n))


class EntropySum:
    """What `entropy_of_counts` returns, of many tables of the same n records; small counts, which most are, are looked up."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.small = count_log_count(np.arange(min(n + 1, FEW)), n)

    def margins(
        self, cells: NDArray[np.uint32], n_groups: int, shape: Sequence[int]
    ) -> list[tuple[float, int]]:
        """Return the entropy and the number of filled cells of a table of groups by each of several columns, and then of the groups alone.

        `cells` are the counts by group and by all of these columns, which have so many levels.
        """
        from . import kernels

        places = np.indices(shape).reshape(len(shape), -1)
        ends = np.cumsum([0, *shape, 1])
        slots = (
            np.concatenate([places, np.zeros((1, places.shape[1]), dtype=np.int64)])
            + ends[:-1, None]
        )
        spread, filled = (
            np.zeros(len(slots), dtype=np.complex128),
            np.zeros(len(slots), dtype=np.int64),
        )
        large = np.zeros((2, len(slots) * (self.n // len(self.small) + 1)), dtype=np.int64)
        n_large = kernels.spreads(cells, n_groups, slots, ends, self.small, spread, filled, large)
        np.add.at(spread, large[0, :n_large], count_log_count(large[1, :n_large], self.n))
        values = np.maximum(0.0, np.log(self.n) - (spread.real + spread.imag) / self.n)
        return list(zip(values.tolist(), filled.tolist(), strict=True))


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
            self.columns = np.bincount(
                self.column, weights=self.counts, minlength=marginal.sizes[axis]
            )
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
