"""Distinct rows of integer codes, and codes of two tables that agree where values do: by a table of cells, or by sorting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .classes import Ints, KeySpace

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct keys and the values that rows with each have; keys ascend by pattern of missing columns, then by code.

    `columns`: by key column, the code of each distinct key; 0 where it is missing. `starts`: where the values of each key begin, and
    the end of all. `values`, `counts`: distinct values of one key after the other, and the number of rows with that key and value.
    `patterns`: by pattern, which columns are missing. `pattern_starts`: where the keys of each pattern begin, and the end of all.
    `inverse`: for each row that was given, its place in `values`.
    """

    columns: list[NDArray[Any]]
    starts: Ints
    values: Ints
    counts: Ints
    patterns: Mask
    pattern_starts: Ints
    inverse: Ints

    @property
    def n_keys(self) -> int:
        """The number of distinct keys."""
        return len(self.starts) - 1

    def by_pattern(self) -> Iterator[tuple[Mask, Ints]]:
        """Yield which columns are missing, with the keys in which they are."""
        for pattern, start, stop in zip(
            self.patterns, self.pattern_starts, self.pattern_starts[1:], strict=False
        ):
            yield pattern, np.arange(start, stop)

    def missing(self, column: int) -> Mask:
        """Return in which keys a column is missing."""
        return np.repeat(self.patterns[:, column], np.diff(self.pattern_starts))


def align(mine: NDArray[Any], theirs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return two columns of codes with equal codes exactly where they were equal across them, as narrow as may be; and their size.

    Codes that one side alone has can agree with nothing on the other: each side has one code for all of them. So there are fewer distinct
    keys, and none is lost: who is how far from whom stays as it was.

    Examples
    --------
    >>> [part if isinstance(part, int) else part.tolist() for part in align(np.array([5, 9, 2, 7]), np.array([9, 3, 2]))]
    [[2, 1, 0, 2], [1, 3, 0], 4]
    """
    size = int(max(mine.max(), theirs.max())) + 1
    if _few(size, len(mine) + len(theirs)):
        seen, both = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        seen[mine] = True
        both[theirs] = True
        both &= seen
        codes, n = np.cumsum(both) - 1, int(np.count_nonzero(both))
        narrow = np.min_scalar_type(n + 1)
        return (
            np.where(both, codes, n).astype(narrow)[mine],
            np.where(both, codes, n + 1).astype(narrow)[theirs],
            n + 2,
        )
    shared = np.intersect1d(mine, theirs)
    return (
        _place(mine, shared, len(shared)),
        _place(theirs, shared, len(shared) + 1),
        len(shared) + 2,
    )


def _place(codes: NDArray[Any], among: NDArray[Any], otherwise: int) -> NDArray[Any]:
    """Return the place of codes among sorted ones, or `otherwise`."""
    narrow = np.min_scalar_type(len(among) + 1)
    if not len(among):
        return np.full(len(codes), otherwise, dtype=narrow)
    at = np.minimum(np.searchsorted(among, codes), len(among) - 1)
    return np.where(among[at] == codes, at, otherwise).astype(narrow)


def distinct(
    columns: Sequence[NDArray[Any]], values: NDArray[Any], missing: Mask | None = None
) -> Distinct:
    """Return the distinct keys of rows, with the values that go with them; a code that is missing means nothing."""
    n = len(values)
    if missing is not None:
        columns = [
            np.where(gone, 0, column).astype(column.dtype)
            for gone, column in zip(missing, columns, strict=True)
        ]
    pattern, patterns = _patterns(missing, len(columns), n)
    inverse, n_found = _number([pattern, *columns, values])
    row = np.empty(n_found, dtype=np.intp)
    row[inverse] = np.arange(n)  # any row will do for those that it is equal to
    new = np.zeros(n_found, dtype=bool)
    new[:1] = True
    for column in (pattern, *columns):
        codes = column[row]
        new[1:] |= codes[1:] != codes[:-1]
    first = np.flatnonzero(new)
    heads = row[first]
    return Distinct(
        columns=[column[heads] for column in columns],
        starts=np.append(first, n_found),
        values=values[row].astype(np.int64),
        counts=np.bincount(inverse, minlength=n_found),
        patterns=patterns,
        pattern_starts=np.searchsorted(pattern[heads], np.arange(len(patterns) + 1)),
        inverse=inverse,
    )


def _patterns(missing: Mask | None, n_columns: int, n_rows: int) -> tuple[Ints, Mask]:
    """Return the number of each row's pattern of missing columns, and the patterns."""
    if missing is None or not missing.any():
        return np.zeros(n_rows, dtype=np.int64), np.zeros((1, n_columns), dtype=bool)
    ids, n_patterns = _number(missing)
    row = np.empty(n_patterns, dtype=np.intp)
    row[ids] = np.arange(n_rows)
    return ids, missing[:, row].T


def _number(columns: Sequence[NDArray[Any]] | Mask) -> tuple[Ints, int]:
    """Return the place of each row among the distinct ones, in order, and how many there are."""
    classes = KeySpace.of(list(columns)).classes()
    return classes.ids[0], classes.n_classes


def pool(cells: Ints, counts: Ints, n_cells: int) -> tuple[Ints, Ints]:
    """Return the distinct cells in order, and the sum of the counts of each (counts are above 0).

    Examples
    --------
    >>> [part.tolist() for part in pool(np.array([7, 2, 7]), np.array([1, 5, 3]), 10)]
    [[2, 7], [5, 4]]
    """
    if _few(n_cells, len(cells)):
        sums = np.bincount(
            cells, weights=counts, minlength=n_cells
        )  # exact: sums of integers below 2^53
        filled = np.flatnonzero(sums)
        return filled, sums[filled].astype(np.int64)
    order = np.argsort(cells)
    cells = cells[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    return cells[first], np.add.reduceat(counts[order], first)


def spread(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Return runs written out: for each of their entries the run's number and the place that it points to.

    Examples
    --------
    >>> [part.tolist() for part in spread(np.array([5, 0]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 0]]
    """
    owner = np.repeat(np.arange(len(lengths)), lengths)
    ends = np.cumsum(lengths)
    return owner, np.arange(len(owner)) + (starts - ends + lengths)[owner]


def _few(cells: int, n: int) -> bool:
    """Return whether a table of cells costs less than sorting n numbers; it is at most 64 MB."""
    return cells <= min(16 * n + (1 << 12), 1 << 23)
