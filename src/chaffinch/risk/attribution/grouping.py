"""Distinct rows of integer codes, and which keys of two tables agree on some columns: by a table of cells, or by sorting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distinct", "Ints", "Mask", "Word", "align", "distinct", "fold", "meet", "pool", "spread"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Word = tuple[Ints, int]
"""Several columns folded into one number for each row, and the number of cells that they span."""

WIDEST = 1 << 62
"""Cells that one word may span."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct keys and the values that rows with each have; keys ascend by pattern of missing columns, then by code.

    Parameters
    ----------
    columns
        By key column, the code of each distinct key; 0 where it is missing.
    starts
        Where the values of each key begin, and the end of all.
    values, counts
        Distinct values of one key after the other, and the number of rows with that key and value.
    patterns
        By pattern, which columns are missing.
    pattern_starts
        Where the keys of each pattern begin, and the end of all.
    inverse
        For each row that was given, its place in `values`.
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
        for pattern, start, stop in zip(self.patterns, self.pattern_starts, self.pattern_starts[1:], strict=False):
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
        return np.where(both, codes, n).astype(narrow)[mine], np.where(both, codes, n + 1).astype(narrow)[theirs], n + 2
    shared = np.intersect1d(mine, theirs)
    return _place(mine, shared, len(shared)), _place(theirs, shared, len(shared) + 1), len(shared) + 2


def _place(codes: NDArray[Any], among: NDArray[Any], otherwise: int) -> NDArray[Any]:
    """Return the place of codes among sorted ones, or `otherwise`."""
    narrow = np.min_scalar_type(len(among) + 1)
    if not len(among):
        return np.full(len(codes), otherwise, dtype=narrow)
    at = np.minimum(np.searchsorted(among, codes), len(among) - 1)
    return np.where(among[at] == codes, at, otherwise).astype(narrow)


def distinct(
    columns: Sequence[NDArray[Any]],
    sizes: Sequence[int],
    values: NDArray[Any],
    n_levels: int,
    missing: Mask | None = None,
) -> Distinct:
    """Return the distinct keys of rows, with the values that go with them.

    Parameters
    ----------
    columns, sizes
        Codes of each key column and the number of codes it may have.
    missing
        By column and row, whether the code is missing: the code there means nothing.
    """
    n = len(values)
    if missing is not None:
        columns = [
            np.where(gone, 0, column).astype(column.dtype) for gone, column in zip(missing, columns, strict=True)
        ]
    pattern, patterns = _patterns(missing, len(columns), n)
    inverse, n_found = _number(fold([pattern, *columns, values], [len(patterns), *sizes, n_levels], n))
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
    ids, n_patterns = _number(fold([column.view(np.uint8) for column in missing], [2] * n_columns, n_rows))
    row = np.empty(n_patterns, dtype=np.intp)
    row[ids] = np.arange(n_rows)
    return ids, missing[:, row].T


def fold(columns: Sequence[NDArray[Any]], sizes: Sequence[int], n_rows: int) -> list[Word]:
    """Return columns as few numbers for each row, in which the order of rows is that of the columns, first one first.

    Examples
    --------
    >>> [(key.tolist(), cells) for key, cells in fold([np.array([0, 2]), np.array([1, 0])], [3, 2], 2)]
    [([1, 4], 6)]
    """
    words: list[Word] = []
    key, cells = np.zeros(n_rows, dtype=np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if cells * size > WIDEST:
            words.append((key, cells))
            key, cells = np.zeros(n_rows, dtype=np.int64), 1
        key *= size
        key += column
        cells *= size
    return [*words, (key, cells)]


def _number(words: list[Word]) -> tuple[Ints, int]:
    """Return the place of each row among the distinct ones, in order, and how many there are."""
    ids, n = _rank(*words[0])
    for word in words[1:]:
        more, m = _rank(*word)
        ids, n = _rank(ids * m + more, n * m)
    return ids, n


def _rank(key: Ints, cells: int) -> tuple[Ints, int]:
    """Return the place of each number among the distinct ones, and how many there are."""
    if _few(cells, len(key)):
        seen = np.zeros(cells, dtype=bool)
        seen[key] = True
        place = np.cumsum(seen) - 1
        return place[key], int(place[-1]) + 1
    found, ids = np.unique(key, return_inverse=True)
    return ids, len(found)


def meet(mine: list[Word], theirs: list[Word]) -> tuple[Ints, Ints, Ints, int]:
    """Return the class of each of mine; which of theirs are in one of these classes, and in which; and a bound of the classes.

    Examples
    --------
    >>> mine_in, met, met_in, n = meet([(np.array([4, 0, 4]), 5)], [(np.array([3, 4]), 5)])
    >>> bool(mine_in[0] == mine_in[2] != mine_in[1]), met.tolist(), bool(met_in[0] == mine_in[0])
    (True, [1], True)
    """
    met = np.arange(len(theirs[0][0]))
    mine_in, met_in, n = np.zeros(len(mine[0][0]), dtype=np.int64), np.zeros(len(met), dtype=np.int64), 1
    for (key, cells), (other, _) in zip(mine, theirs, strict=True):
        ids, others, m = _match(key, other[met], cells)
        kept = others >= 0
        met, met_in, others = met[kept], met_in[kept], others[kept]
        if n == 1:
            mine_in, met_in, n = ids, others, m
            continue
        mine_in, met_in, n = _match(mine_in * m + ids, met_in * m + others, n * m)
        kept = met_in >= 0
        met, met_in = met[kept], met_in[kept]
    return mine_in, met, met_in, n


def _match(key: Ints, other: Ints, cells: int) -> tuple[Ints, Ints, int]:
    """Return ids of numbers, the id of each other number or -1 if it is not among them, and a bound of the ids."""
    if _few(cells, len(key) + len(other)):
        table = np.full(cells, -1, dtype=np.int64)
        table[key] = np.arange(len(key))
        return table[key], table[other], len(key)
    found, ids = np.unique(key, return_inverse=True)
    at = np.minimum(np.searchsorted(found, other), len(found) - 1)
    return ids, np.where(found[at] == other, at, -1), len(found)


def pool(cells: Ints, counts: Ints, n_cells: int) -> tuple[Ints, Ints]:
    """Return the distinct cells in order, and the sum of the counts of each (counts are above 0).

    Examples
    --------
    >>> [part.tolist() for part in pool(np.array([7, 2, 7]), np.array([1, 5, 3]), 10)]
    [[2, 7], [5, 4]]
    """
    if _few(n_cells, len(cells)):
        sums = np.bincount(cells, weights=counts, minlength=n_cells)  # exact: sums of integers below 2^53
        found = np.flatnonzero(sums)
        return found, sums[found].astype(np.int64)
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
