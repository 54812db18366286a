"""Counts of combinations too many for an array: only those that occur are kept.

A combination is packed into one 64-bit key, or into several where the domain is larger than 2^63. Batches are
sorted and merged, so memory follows the number of distinct combinations and not the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import TooLargeError
from .marginal import Marginal

Keys = list[NDArray[np.int64]]

MOST_CELLS = 1 << 26
"""Distinct combinations that one sparse tally may hold: about 1 GiB of keys and counts."""


class SparseCounts:
    """A tally of combinations of codes that grows by batches."""

    def __init__(
        self, sizes: Sequence[int], *, weighted: bool = False, most_cells: int = MOST_CELLS
    ) -> None:
        self.sizes = tuple(sizes)
        self.most_cells = most_cells
        self.dtype = np.float64 if weighted else np.int64
        self.spans = packed_spans(self.sizes)
        self.keys: Keys = [np.empty(0, dtype=np.int64) for _ in self.spans]
        self.counts: NDArray[Any] = np.empty(0, dtype=self.dtype)

    def add(
        self,
        columns: Sequence[NDArray[np.unsignedinteger]],
        weights: NDArray[np.generic] | None = None,
    ) -> None:
        """Add one batch: a code array for each column, and a weight (or count) for each row if given."""
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
        if len(self.counts) > self.most_cells:
            raise TooLargeError(
                f"A marginal of {len(self.sizes)} columns has more than {self.most_cells:,} distinct combinations. "
                "Use fewer columns or fewer bins."
            )

    def marginal(self, columns: tuple[str, ...]) -> Marginal:
        """Return what was counted as a sparse marginal, without cells whose weight came to zero."""
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
