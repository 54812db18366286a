"""A marginal: how many records (or how much weight) share each combination of codes of a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, TooLargeError, unknown_name

DENSE_LIMIT = 1 << 28
"""Cells beyond which `Marginal.dense()` refuses: 2 GiB of counts."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts of the combinations of codes of `columns`.

    The order of cells is C order with the axes as in `columns`: the last column moves fastest. Codes are
    those of the schema: values first, then `(other)` if there is one, then the missing levels.

    A dense marginal (`cells is None`) has `counts` of shape `sizes`. A sparse one has the codes of its
    non-empty combinations, one a row of `cells`, in cell order, and one entry of `counts` for each.
    Counts are int64, or float64 where records are weighted.
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
        """Return the marginal of fewer of its columns, in the order given: the others are summed out."""
        for name in columns:
            if name not in self.columns:
                raise unknown_name("column", name, self.columns)
        axes = [self.columns.index(name) for name in columns]
        sizes = tuple(self.sizes[a] for a in axes)
        if self.cells is None:
            gone = tuple(a for a in range(len(self.columns)) if a not in axes)
            summed = self.counts.sum(axis=gone) if gone else self.counts
            rank = {a: i for i, a in enumerate(sorted(axes))}
            counts = np.asarray(summed).transpose([rank[a] for a in axes]).copy()
            return Marginal(tuple(columns), sizes, counts)
        if not columns:
            return Marginal((), (), np.asarray(self.counts.sum()))
        from .sparse import SparseCounts

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
