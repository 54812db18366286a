"""Predicates about a target: equality on all attributes, as in Sedlmeyr (2024), or on fewer, with their weight.

The records of the population that match a target on every set of attributes are counted at once (`membership.matches`). Of all sets of
a size the lightest is taken: it is true of the fewest records of the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..membership.matches import match_counts

ALL_SUBSETS = 16
"""Columns up to which every set of attributes is tried; above, one is added at a time."""


@dataclass(frozen=True, eq=False)
class Lightest:
    """For each number of attributes, the set of them that is true of the fewest records of the population.

    `columns`: (sizes, columns): row a - 1 marks the attributes of the set of size a. `matches`: records of the population that match
    the target on them, the target included.
    """

    columns: NDArray[np.bool_]
    matches: NDArray[np.int64]

    @property
    def shortest(self) -> int:
        """The fewest attributes that are true of the target alone; all of them if none are."""
        alone = np.flatnonzero(self.matches == 1)
        return int(alone[0]) + 1 if len(alone) else len(self.matches)


def lightest(population: NDArray[Any], target: NDArray[Any]) -> Lightest:
    """Return the lightest predicate of every number of attributes about a target.

    Up to 16 columns of all sets; above, attributes are added one at a time, each the one that leaves the fewest records.

    Examples
    --------
    >>> found = lightest(np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8))
    >>> found.columns.tolist(), found.matches.tolist(), found.shortest
    ([[True, False], [True, True]], [2, 1], 2)
    """
    n_columns = population.shape[1]
    if n_columns > ALL_SUBSETS:
        return _one_by_one(population, target)
    same = (population == target).astype(
        np.uint8
    )  # whether it is the target's value: records may have more values than codes have room for
    counts = match_counts(same[None], np.ones(n_columns, dtype=np.uint8))[0]
    masks = np.arange(1 << n_columns)
    size = np.array([int(mask).bit_count() for mask in masks])
    best = [masks[size == a][np.argmin(counts[size == a])] for a in range(1, n_columns + 1)]
    columns = (np.array(best)[:, None] >> np.arange(n_columns)) & 1 == 1
    return Lightest(columns, counts[best].astype(np.int64))


def _one_by_one(population: NDArray[Any], target: NDArray[Any]) -> Lightest:
    n_columns = population.shape[1]
    same = population == target
    left = np.ones(len(population), dtype=bool)
    chosen: list[int] = []
    columns = np.zeros((n_columns, n_columns), dtype=bool)
    matches = np.empty(n_columns, dtype=np.int64)
    for a in range(n_columns):
        after = (same & left[:, None]).sum(axis=0)
        after[chosen] = len(population) + 1
        chosen.append(int(np.argmin(after)))
        left &= same[:, chosen[-1]]
        columns[a, chosen] = True
        matches[a] = left.sum()
    return Lightest(columns, matches)


def isolates(
    data: NDArray[Any], target: NDArray[Any], columns: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for each set of attributes whether exactly one record of the data matches the target on it.

    `columns` is (sets, columns).
    """
    missed = (data != target).astype(np.int32) @ columns.T.astype(
        np.int32
    )  # attributes on which a record differs
    alone: NDArray[np.bool_] = (missed == 0).sum(axis=0) == 1
    return alone
