"""A marginal: the number (or weight) of records with each combination of codes of a few columns;
its entropy and mutual information.

Where combinations are too many for an array only those that occur are kept (`SparseCounts`). A
combination is packed into one 64-bit key, or into several where the domain is larger than 2^63.
Batches are sorted and merged, so memory follows the number of distinct combinations and not the
number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.errors import InputError, TooLargeError
from ..table.compare.classes import class_ids

DENSE_LIMIT = 1 << 28
"""Cells beyond which `Marginal.dense()` refuses: 2 GiB of counts."""

MAX_CELLS = 1 << 26
"""Distinct combinations that one sparse tally may hold: about 1 GiB of keys and counts."""

Keys = list[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts of the combinations of codes of `columns`.

    The order of cells is C order with the axes as in `columns`: the last column moves fastest.
    Codes are those of the schema: values first, then `(other)` if there is one, then the missing
    levels.

    A dense marginal (`cells is None`) has `counts` of shape `sizes`. A sparse one has the codes of
    its non-empty combinations, one a row of `cells`, in cell order, and one entry of `counts` for
    each. Counts are int64, or float64 where records are weighted.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    counts: NDArray[Any]
    cells: NDArray[np.uint32] | None = None

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.sizes):
            raise InputError("A marginal needs one size for each column.")
        shape = self.sizes if self.cells is None else (len(self.cells),)
        if self.counts.shape != shape:
            raise InputError(
                f"A marginal of sizes {self.sizes} cannot have counts of shape {self.counts.shape}."
            )
        self.counts.flags.writeable = False

    @property
    def n_cells(self) -> int:
        """The number of cells, empty ones too (a Python int: it may be beyond any array)."""
        return prod(self.sizes)

    @property
    def total(self) -> int | float:
        """The sum of all counts: the number of records, or their weight."""
        return self.counts.sum().item()

    def dense(self) -> NDArray[Any]:
        """Return the counts as an array of shape `sizes`."""
        if self.cells is None:
            return self.counts
        if self.n_cells > DENSE_LIMIT:
            raise TooLargeError(
                f"The marginal of {', '.join(self.columns)} has {self.n_cells:,} cells, over the limit of "
                f"{DENSE_LIMIT:,} for a dense array. Use nonzero(), fewer columns or fewer bins."
            )
        out = np.zeros(self.sizes, dtype=self.counts.dtype)
        out[tuple(self.cells.T)] = self.counts if self.columns else self.counts.sum()
        return out

    def nonzero(self) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return the codes of the non-empty cells, one a row, in cell order, and their counts."""
        if self.cells is not None:
            return self.cells, self.counts
        if not self.columns:
            filled = self.counts.reshape(1)
            keep = filled != 0
            return np.empty((int(keep.sum()), 0), dtype=np.uint32), filled[keep]
        where = np.nonzero(self.counts)
        return np.stack(where, axis=1).astype(np.uint32), self.counts[where]

    def project(self, columns: Sequence[str]) -> Marginal:
        """Return the marginal of fewer of its columns, in the order given: the others are summed
        out.
        """
        for name in columns:
            check_name("column", name, self.columns)
        axes = [self.columns.index(name) for name in columns]
        sizes = tuple(self.sizes[a] for a in axes)
        if self.cells is None:
            summed_axes = tuple(a for a in range(len(self.columns)) if a not in axes)
            summed = self.counts.sum(axis=summed_axes) if summed_axes else self.counts
            rank = {a: i for i, a in enumerate(sorted(axes))}
            counts = np.asarray(summed).transpose([rank[a] for a in axes]).copy()
            return Marginal(tuple(columns), sizes, counts)
        if not columns:
            return Marginal((), (), np.asarray(self.counts.sum()))

        tally = SparseCounts(sizes, weighted=self.counts.dtype == np.float64)
        tally.add([self.cells[:, a] for a in axes], self.counts)
        return tally.marginal(tuple(columns))

    def same(self, other: Marginal) -> bool:
        """Return whether two marginals hold the same counts exactly, be they dense or sparse."""
        if self.columns != other.columns or self.sizes != other.sizes:
            return False
        ours, theirs = self.nonzero(), other.nonzero()
        return np.array_equal(ours[0], theirs[0]) and np.array_equal(ours[1], theirs[1])

    def __repr__(self) -> str:
        form = "dense" if self.cells is None else f"sparse, {len(self.cells):,} filled"
        return f"Marginal({' x '.join(self.columns)}: {self.n_cells:,} cells, {form})"


class SparseCounts:
    """A tally of combinations of codes that grows by batches."""

    def __init__(
        self, sizes: Sequence[int], *, weighted: bool = False, max_cells: int = MAX_CELLS
    ) -> None:
        self.sizes = tuple(sizes)
        self.max_cells = max_cells
        self.dtype = np.float64 if weighted else np.int64
        self.spans = packed_spans(self.sizes)
        self.keys: Keys = [np.empty(0, dtype=np.int64) for _ in self.spans]
        self.counts: NDArray[Any] = np.empty(0, dtype=self.dtype)

    def add(
        self,
        columns: Sequence[NDArray[np.unsignedinteger]],
        weights: NDArray[np.generic] | None = None,
    ) -> None:
        """Add one batch: a code array for each column, and a weight (or count) for each row if
        given.
        """
        keys: Keys = []
        for span in self.spans:
            key = columns[span[0]].astype(np.int64)
            for j in span[1:]:
                key *= self.sizes[j]
                key += columns[j]
            keys.append(key)
        n = len(keys[0]) if keys else 0
        new = (
            np.ones(n, dtype=self.dtype)
            if weights is None
            else np.asarray(weights, dtype=self.dtype)
        )
        if weights is None and len(keys) == 1:
            unique, counts = np.unique(keys[0], return_counts=True)
            keys, new = [unique], counts.astype(self.dtype)
        # Old cells stand before new rows, so that weights are summed in row order, as one pass would.
        joined = [np.concatenate([old, key]) for old, key in zip(self.keys, keys, strict=True)]
        self.keys, self.counts = _merge(joined, np.concatenate([self.counts, new]))
        if len(self.counts) > self.max_cells:
            raise TooLargeError(
                f"A marginal of {len(self.sizes)} columns has more than {self.max_cells:,} distinct combinations. "
                "Use fewer columns or fewer bins."
            )

    def marginal(self, columns: tuple[str, ...]) -> Marginal:
        """Return the sparse marginal, without cells whose weight is zero."""
        keep = self.counts != 0
        cells = np.empty((int(keep.sum()), len(self.sizes)), dtype=np.uint32)
        for span, key in zip(self.spans, self.keys, strict=True):
            rest = key[keep]
            for j in reversed(span):
                rest, code = np.divmod(rest, self.sizes[j])
                cells[:, j] = code
        return Marginal(columns, self.sizes, self.counts[keep], cells)


def packed_spans(sizes: Sequence[int]) -> list[list[int]]:
    """Return runs of columns whose domain fits in a positive 64-bit integer."""
    spans: list[list[int]] = []
    domain = 0
    for j, size in enumerate(sizes):
        if spans and domain * max(size, 1) < 1 << 63:
            spans[-1].append(j)
            domain *= max(size, 1)
        else:
            spans.append([j])
            domain = max(size, 1)
    return spans


def _merge(keys: Keys, counts: NDArray[Any]) -> tuple[Keys, NDArray[np.generic]]:
    """Return sorted distinct keys with their counts summed."""
    if not len(counts):
        return keys, counts
    order = np.lexsort(keys[::-1])  # stable, first key most significant
    keys = [key[order] for key in keys]
    first = np.zeros(len(counts), dtype=bool)
    first[0] = True
    for key in keys:
        first[1:] |= key[1:] != key[:-1]
    groups = np.cumsum(first) - 1
    if counts.dtype == np.float64:
        summed: NDArray[np.generic] = np.bincount(
            groups, weights=counts[order]
        )  # adds in order, as a loop would
    else:
        summed = np.add.reduceat(counts[order], np.flatnonzero(first))
    return [key[first] for key in keys], summed


def entropy(marginal: Marginal) -> float:
    """Return the entropy of a marginal in nats: 0 if all records share one cell, log(cells) if
    spread evenly.

    Examples
    --------
    >>> round(entropy(Marginal(("a",), (2,), np.array([5, 5]))), 6)
    0.693147
    """
    counts = np.asarray(marginal.counts, dtype=np.float64).ravel()
    return _entropy(counts, float(counts.sum()))


def mutual_information(marginal: Marginal, child: str | None = None) -> float:
    """Return I(child; other columns) in nats: 0 if independent, at most the smaller entropy.

    The child is the last column unless named. For two columns this is the plain mutual information;
    for more it is the joint one that GreedyBayes maximises.

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
    """The listed cells of a marginal with their parent combination (`row`), child level (`column`)
    and margins.
    """

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
            (self.row,) = class_ids(np.delete(marginal.cells, axis, axis=1))
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
    check_name("column", child, marginal.columns)
    return marginal.columns.index(child)


def _entropy(counts: NDArray[np.float64], total: float) -> float:
    shares = counts[counts > 0] / total if total > 0 else counts[:0]
    return float(-(shares * np.log(shares)).sum())
