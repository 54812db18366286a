"""Sets of keys, and counts of the (class, value) cells of their key classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints
from ..._base.checks import check_at_least
from ..._base.errors import InputError, TooLargeError
from ..._base.seeds import Seed, generator
from ...table.compare.classes import squeeze, zero_based

MOST_SUBSETS = 10_000
"""Key subsets beyond which `key_subsets` refuses, or samples if it has a seed."""


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
    def from_codes(
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
        """Return the cells of people and source, given the class (from `class_ids`) and the value of each row, or of each batch of n rows."""
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
    keys: Sequence[Any],
    sizes: tuple[int, int],
    *,
    max_subsets: int = MOST_SUBSETS,
    seed: Seed = None,
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
    check_at_least("most", max_subsets, 1)
    n_subsets = count_subsets(len(keys), sizes)
    subset_sizes = range(sizes[0], sizes[1] + 1)
    if n_subsets <= max_subsets:
        return [chosen for size in subset_sizes for chosen in combinations(keys, size)]
    if seed is None:
        raise TooLargeError(
            f"{len(keys)} keys have {n_subsets:,} subsets of sizes {sizes[0]} to {sizes[1]}, over the limit of {max_subsets:,}. "
            "Name fewer keys or sizes, raise the limit, or give a seed to draw that many at random."
        )
    rng = generator(seed)
    share = np.array([comb(len(keys), size) / n_subsets for size in subset_sizes])
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < max_subsets:
        size = int(rng.choice(subset_sizes, p=share / share.sum()))
        drawn.add(tuple(sorted(rng.choice(len(keys), size, replace=False).tolist())))
    return [
        tuple(keys[j] for j in chosen)
        for chosen in sorted(drawn, key=lambda chosen: (len(chosen), chosen))
    ]


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
