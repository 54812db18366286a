"""How many records of files have each combination of keys and sensitive value: a group-by in batches that keeps what occurs alone.

What CAP, DCAP, DiSCO and TCAP are functions of. Memory follows the number of distinct combinations, not of records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import unknown_name
from ..._base.masking import masked_count
from ...counts.marginal import Marginal, SparseCounts

Ints = NDArray[np.int64]

TOGETHER = 1 << 20
"""Rows that are sorted at once: each time, all combinations so far are merged with them."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyCounts:
    """Distinct combinations of codes, a column of codes for each of `columns`, and how many rows have each."""

    columns: tuple[str, ...]
    codes: tuple[Ints, ...]
    counts: Ints

    def of(self, columns: Sequence[str]) -> KeyCounts:
        """Return the counts of some of the columns, in another order where they are given so.

        Examples
        --------
        >>> whole = KeyCounts(("a", "b"), (np.array([0, 0, 1]), np.array([5, 6, 5])), np.array([2, 3, 4]))
        >>> part = whole.of(["b"])
        >>> part.codes[0].tolist(), part.counts.tolist()
        ([5, 6], [6, 3])
        """
        places = [self._place(name) for name in columns]
        tally = SparseCounts([int(self.codes[j].max(initial=0)) + 1 for j in places])
        if len(self.counts):
            tally.add([self.codes[j] for j in places], self.counts)  # type: ignore[misc]
        return _of_tally(tally, columns)

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise unknown_name("column", name, self.columns)
        return self.columns.index(name)

    def __repr__(self) -> str:
        return f"KeyCounts({' x '.join(self.columns)}: {masked_count(len(self.counts))})"


@dataclass(frozen=True, eq=False, repr=False)
class WholeCounts:
    """The counts of all records of files, by side and sensitive column, of all keys and that column; and the records of each side."""

    cells: Mapping[tuple[str, str], KeyCounts]
    n_rows: Mapping[str, int]

    def of(self, sides: Sequence[str], keys: Sequence[str], sensitive: str) -> KeyCounts:
        """Return the counts of sides together, of some keys and a sensitive column, which comes last."""
        parts = [self.cells[side, sensitive].of([*keys, sensitive]) for side in sides]
        codes = tuple(
            np.concatenate(columns) for columns in zip(*(part.codes for part in parts), strict=True)
        )
        return KeyCounts((*keys, sensitive), codes, np.concatenate([part.counts for part in parts]))

    def with_union(self, sides: Sequence[str], *, name: str) -> WholeCounts:
        """Return the counts with a side that has the records of several.

        Examples
        --------
        >>> one = KeyCounts(("a",), (np.array([0, 1]),), np.array([2, 3]))
        >>> both = WholeCounts({("x", "a"): one, ("y", "a"): one}, {"x": 5, "y": 5}).with_union(["x", "y"], name="z")
        >>> both.cells["z", "a"].counts.tolist(), both.n_rows["z"]
        ([4, 6], 10)
        """
        cells = dict(self.cells)
        for wanted in dict.fromkeys(sensitive for _, sensitive in self.cells):
            columns = self.cells[sides[0], wanted].columns
            cells[name, wanted] = self.of(sides, columns[:-1], wanted).of(columns)
        return WholeCounts(cells, {**self.n_rows, name: sum(self.n_rows[side] for side in sides)})

    def column(self, side: str, name: str) -> KeyCounts:
        """Return the counts of one column of a side."""
        return next(
            cells.of([name])
            for (own, _), cells in self.cells.items()
            if own == side and name in cells.columns
        )

    def __repr__(self) -> str:
        return f"WholeCounts({', '.join(f'{side} {n:,}' for side, n in self.n_rows.items())})"


def count_keys(
    batches: Iterable[Mapping[str, NDArray[Any]]],
    cliques: Sequence[Sequence[str]],
    sizes: Mapping[str, int],
) -> list[KeyCounts]:
    """Return how many rows of batches, which hold an array of codes for each column, have each combination of some columns.

    Examples
    --------
    >>> batches = [{"a": np.array([0, 1]), "b": np.array([2, 2])}, {"a": np.array([1]), "b": np.array([2])}]
    >>> (found,) = count_keys(batches, [("a", "b")], {"a": 2, "b": 3})
    >>> [codes.tolist() for codes in found.codes], found.counts.tolist()
    ([[0, 1], [2, 2]], [1, 2])
    """
    tallies = [SparseCounts([sizes[name] for name in clique]) for clique in cliques]
    waiting: list[Mapping[str, NDArray[Any]]] = []

    def flush() -> None:
        for tally, clique in zip(tallies, cliques, strict=True):
            if waiting:
                tally.add([np.concatenate([batch[name] for batch in waiting]) for name in clique])
        waiting.clear()

    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += len(next(iter(batch.values())))
        if n_waiting >= TOGETHER:
            flush()
            n_waiting = 0
    flush()
    return [_of_tally(tally, clique) for tally, clique in zip(tallies, cliques, strict=True)]


def _of_tally(tally: SparseCounts, columns: Sequence[str]) -> KeyCounts:
    return counts_of_marginal(tally.marginal(tuple(columns)), columns)


def counts_of_marginal(marginal: Marginal, columns: Sequence[str]) -> KeyCounts:
    """Return the counts of a marginal's cells that occur."""
    cells, counts = marginal.nonzero()
    return KeyCounts(
        tuple(columns),
        tuple(cells[:, j].astype(np.int64) for j in range(len(columns))),
        counts.astype(np.int64),
    )
