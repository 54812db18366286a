"""Key classes: rows of several tables that agree on all keys share a number; counts of (class, value) cells.

Codes are folded into one mixed-radix number, column after column. Before the number outgrows a lookup table of a few
entries a row, it is squeezed to the dense ranks of the numbers that occur; where one column alone is too large for
that, by sorting. So nothing overflows, time is O((N + M) d) for lookups, and memory is O(N + M) whatever the number of
levels. Dense ids follow the order of the codes, not of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.checks import check_at_least
from ..._base.errors import InputError, TooLargeError
from ..._base.masking import masked_count
from ..._base.seeds import Seed, generator

Ints = NDArray[np.int64]
Keys = NDArray[Any] | Sequence[NDArray[Any]]
"""Key columns: a matrix of rows x keys, or a sequence of code arrays, one a key."""

MOST_SUBSETS = 10_000
"""Key subsets beyond which `key_subsets` refuses, or samples if it has a seed."""

ROOM = 4
"""Entries of a lookup table for each row; beyond, numbers are sorted. 1 to 16 take about the same time."""

SMALL_ROOM = 1 << 16
"""A lookup table may always have this many entries."""

WIDEST = 1 << 32
"""Codes that span more than this are ranked first, so that class x code stays below 2^63."""


def class_ids(*tables: Keys) -> list[Ints]:
    """Return an id for each row of each table: ids are equal exactly where all keys are, also across tables.

    Ids are 0, 1, ... without gaps over all tables together.

    Examples
    --------
    >>> [ids.tolist() for ids in class_ids([np.array([5, 5, 9]), np.array([1, 2, 1])], [np.array([9, 5]), np.array([1, 1])])]
    [[0, 1, 2], [2, 0]]
    """
    return list(KeySpace.of(*tables).classes().ids)


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """The key classes of several tables: `ids[t]` has the class of each row of table t, from 0 to `n_classes` - 1."""

    ids: tuple[Ints, ...]
    n_classes: int

    def __repr__(self) -> str:
        return f"Classes(classes: {masked_count(self.n_classes)}, rows: {', '.join(str(masked_count(len(i))) for i in self.ids)})"


@dataclass(frozen=True, eq=False, repr=False)
class KeySpace:
    """The key columns of several tables on common codes, ready for the classes of any subset of them.

    `codes` has one array a key with the rows of all tables one after the other, from 0 to below its entry of `sizes`.
    """

    codes: tuple[Ints, ...]
    sizes: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, *tables: Keys) -> KeySpace:
        """Return the space of tables that have the same keys in the same order."""
        if not tables:
            raise InputError("Key classes need at least one table. Got none.")
        split = [_columns(table) for table in tables]
        widths = {len(columns) for columns, _ in split}
        if len(widths) > 1:
            raise InputError(
                f"Tables must have the same number of keys. Got {', '.join(map(str, sorted(widths)))}."
            )
        joined = [zero_based([columns[j] for columns, _ in split]) for j in range(widths.pop())]
        return cls(
            tuple(c for c, _ in joined), tuple(s for _, s in joined), tuple(n for _, n in split)
        )

    @property
    def n_keys(self) -> int:
        """The number of keys."""
        return len(self.codes)

    def classes(self, columns: Sequence[int] | None = None) -> Classes:
        """Return the classes of some of the keys, by position; of all if not said. Of none: one class."""
        chosen = tuple(range(self.n_keys)) if columns is None else tuple(columns)
        return next(key_classes for _, key_classes in self.sweep([chosen]))

    def sweep(self, subsets: Iterable[Sequence[int]]) -> Iterator[tuple[tuple[int, ...], Classes]]:
        """Yield each subset with its classes, subsets sorted as words are.

        Subsets that begin alike share the work on their beginning: 56 foldings for the 42 subsets of 3 to 6 of 6
        keys, where each by itself makes 156. Memory: one number a row for each key of the longest subset.
        """
        n_rows = sum(self.lengths)
        path: list[tuple[int, Ints, int]] = []
        for subset in sorted(tuple(s) for s in subsets):
            self._check(subset)
            depth = 0
            while depth < len(path) and depth < len(subset) and path[depth][0] == subset[depth]:
                depth += 1
            del path[depth:]
            for column in subset[depth:]:
                number, domain = path[-1][1:] if path else (np.zeros(n_rows, dtype=np.int64), 1)
                path.append((column, *self._fold(number, domain, column)))
            number, domain = path[-1][1:] if path else (np.zeros(n_rows, dtype=np.int64), 1)
            ids, filled = squeeze(number, domain)
            ends = np.cumsum(self.lengths)[:-1]
            yield subset, Classes(tuple(np.split(ids, ends)), len(filled))

    def _fold(self, number: Ints, domain: int, column: int) -> tuple[Ints, int]:
        size = self.sizes[column]
        if domain > 1 and domain * size > room(len(number)):
            number, filled = squeeze(number, domain)
            domain = max(len(filled), 1)
        return number * size + self.codes[column], domain * size

    def _check(self, subset: tuple[int, ...]) -> None:
        for column in subset:
            if not 0 <= column < self.n_keys:
                raise InputError(f"Keys are numbered from 0 to {self.n_keys - 1}. Got {column}.")

    def __repr__(self) -> str:
        return f"KeySpace(keys: {self.n_keys}, rows: {', '.join(str(masked_count(n)) for n in self.lengths)})"


@dataclass(frozen=True, eq=False, repr=False)
class KeyCells:
    """How many people and source rows fill each (class, value) cell; only cells that one of them fills.

    KeyCells are sorted by class, then value. `people_class` and `source_class` have the class of each row, `people_cell`
    and `source_cell` its cell; `cell_class` has the class of each cell, `people` and `source` count its rows.
    """

    people_class: Ints
    source_class: Ints
    n_classes: int
    people_cell: Ints
    source_cell: Ints
    cell_class: Ints
    people: Ints
    source: Ints

    @classmethod
    def of(
        cls,
        people_class: Ints,
        people_value: NDArray[Any],
        source_class: Ints,
        source_value: NDArray[Any],
        *,
        n_classes: int,
        people_count: Ints | None = None,
        source_count: Ints | None = None,
    ) -> KeyCells:
        """Return the cells of people and source, given the class (from `class_ids`) and the value of each row, or of each lot of so many rows."""
        values, size = zero_based([people_value, source_value])
        classes = np.concatenate([people_class, source_class])
        if len(values) != len(classes):
            raise InputError(
                "Each row needs one class and one sensitive value. Got arrays of different lengths."
            )
        ids, filled = squeeze(classes * size + values, n_classes * size)
        first, second = ids[: len(people_class)], ids[len(people_class) :]
        people, source = (
            sums_of(first, people_count, len(filled)),
            sums_of(second, source_count, len(filled)),
        )
        return cls(
            people_class, source_class, n_classes, first, second, filled // size, people, source
        )

    @cached_property
    def people_of_class(self) -> Ints:
        """The number of people in each class."""
        return sums_of(self.cell_class, self.people, self.n_classes)

    @cached_property
    def source_of_class(self) -> Ints:
        """The number of source rows in each class."""
        return sums_of(self.cell_class, self.source, self.n_classes)

    @cached_property
    def source_top(self) -> Ints:
        """The number of source rows with the most frequent value of each class; 0 where the class has none."""
        return top_of(self.cell_class, self.source, self.n_classes)

    def __repr__(self) -> str:
        return f"KeyCells(cells: {masked_count(len(self.people))}, classes: {masked_count(self.n_classes)})"


def count_subsets(n_keys: int, sizes: tuple[int, int]) -> int:
    """Return how many subsets of a size in `sizes`, both ends included, `n_keys` keys have.

    Examples
    --------
    >>> count_subsets(6, (3, 6))
    42
    """
    low, high = sizes
    if not 1 <= low <= high <= n_keys:
        raise InputError(
            f"Key sizes must go up and be from 1 to the number of keys, {n_keys}. Got {low} to {high}."
        )
    return sum(comb(n_keys, size) for size in range(low, high + 1))


def key_subsets(
    keys: Sequence[Any], sizes: tuple[int, int], *, most: int = MOST_SUBSETS, seed: Seed = None
) -> list[tuple[Any, ...]]:
    """Return the subsets of keys with a size in `sizes`, both ends included, small ones first, keys in the order given.

    There are up to 2^d subsets. Where there are more than `most`, none are returned but an error, or, given a `seed`,
    `most` of them drawn at random without repeats, each equally likely (compare with `count_subsets` to say so).

    Examples
    --------
    >>> key_subsets(["age", "sex", "job"], (2, 3))
    [('age', 'sex'), ('age', 'job'), ('sex', 'job'), ('age', 'sex', 'job')]
    """
    if len(set(keys)) != len(keys):
        raise InputError("Keys must differ from each other. Got one twice.")
    check_at_least("most", most, 1)
    n_subsets = count_subsets(len(keys), sizes)
    every = range(sizes[0], sizes[1] + 1)
    if n_subsets <= most:
        return [chosen for size in every for chosen in combinations(keys, size)]
    if seed is None:
        raise TooLargeError(
            f"{len(keys)} keys have {n_subsets:,} subsets of sizes {sizes[0]} to {sizes[1]}, over the limit of {most:,}. "
            "Name fewer keys or sizes, raise the limit, or give a seed to draw that many at random."
        )
    rng = generator(seed)
    share = np.array([comb(len(keys), size) / n_subsets for size in every])
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        size = int(rng.choice(every, p=share / share.sum()))
        drawn.add(tuple(sorted(rng.choice(len(keys), size, replace=False).tolist())))
    return [
        tuple(keys[j] for j in chosen)
        for chosen in sorted(drawn, key=lambda chosen: (len(chosen), chosen))
    ]


def zero_based(parts: Sequence[NDArray[Any]]) -> tuple[Ints, int]:
    """Return code arrays joined and moved to start at 0, and the size of their span; a wide span is ranked first."""
    joined = np.concatenate([_codes(part) for part in parts])
    if not len(joined):
        return joined, 1
    low, high = int(joined.min()), int(joined.max())
    if high - low >= WIDEST:
        levels, ranks = np.unique(joined, return_inverse=True)
        return ranks.astype(np.int64, copy=False), len(levels)
    return joined - low, high - low + 1


def squeeze(number: Ints, domain: int) -> tuple[Ints, Ints]:
    """Return the dense rank of each number from 0 to below `domain`, and the numbers that occur, sorted."""
    if domain > room(len(number)):
        filled, ids = np.unique(number, return_inverse=True)
        return ids.astype(np.int64, copy=False), filled
    seen = np.zeros(domain, dtype=bool)
    seen[number] = True
    filled = np.flatnonzero(seen)
    ranks = np.empty(domain, dtype=np.int64)
    ranks[filled] = np.arange(len(filled))
    return ranks[number], filled


def top_of(cell_class: Ints, counts: Ints, n_classes: int) -> Ints:
    """Return the largest count of each class; cells are sorted by class, and a class without any has 0."""
    top = np.zeros(n_classes, dtype=np.int64)
    if len(cell_class):
        starts = np.flatnonzero(np.diff(cell_class, prepend=-1))
        top[cell_class[starts]] = np.maximum.reduceat(counts, starts)
    return top


def sums_of(ids: Ints, counts: Ints | None, size: int) -> Ints:
    """Return how many rows have each id; an entry stands for as many rows as `counts` says, for one without."""
    return np.bincount(ids, counts, size).astype(
        np.int64, copy=False
    )  # exact: sums of integers below 2^53


def room(n_rows: int) -> int:
    """Return how many entries a lookup table for so many rows may have."""
    return max(SMALL_ROOM, ROOM * n_rows)


def _columns(table: Keys) -> tuple[list[NDArray[Any]], int]:
    """Return the columns of a matrix or of a sequence of columns, and the number of rows."""
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise InputError(
                f"Keys must be a matrix of rows x keys, or a sequence of arrays. Got {table.ndim} dimensions."
            )
        return [table[:, j] for j in range(table.shape[1])], len(table)
    columns = [np.asarray(column) for column in table]
    if not columns:
        raise InputError(
            "Keys as a sequence must hold at least one column. For no keys, give a matrix of width 0."
        )
    if len({column.shape for column in columns}) > 1:
        raise InputError(
            "Key columns must have one code for each row. Got columns of different lengths."
        )
    return columns, len(columns[0])


def _codes(column: NDArray[Any]) -> Ints:
    array = np.asarray(column)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise InputError(
            f"Codes must be a one-dimensional array of integers. Got {array.ndim} dimensions, {array.dtype}."
        )
    if array.dtype == np.uint64 and len(array) and int(array.max()) >= 1 << 63:
        raise InputError("Codes must be below 2^63. Rank the values first.")
    return array.astype(np.int64, copy=False)
