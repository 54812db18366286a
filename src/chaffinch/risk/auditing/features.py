"""What an attacker reads off a released table: counts around the target, counts of every level, and whole records of small domains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..membership.matches import level_counts, match_counts, sampled_counts, subset_sample

MOST_COLUMNS = 11
"""Columns up to which every subset is counted: 2,048 subsets. Above, as many are drawn."""
MOST_CELLS = 64
"""Cells of a domain up to which every record is counted."""


def table_features(
    tables: NDArray[Any],
    target: NDArray[Any],
    sizes: tuple[int, ...],
    *,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Return (tables, features) counts: rows that match the target on subsets of columns, rows with each level, and each record.

    `tables`: (tables, rows, columns) codes; the largest code of the type is a value unknown to the domain, or a row that is not there.
    `target`, `sizes`: the target's codes, and how many codes each column has. Records are counted one by one where there are up to 64
    of them.

    Examples
    --------
    >>> table_features(np.array([[[0, 1], [0, 0], [1, 1]]], dtype=np.uint8), np.array([0, 1]), (2, 2)).astype(int).tolist()
    [[3, 2, 2, 1, 2, 1, 1, 2, 1, 1, 0, 1]]
    """
    columns = len(sizes)
    if columns <= MOST_COLUMNS:
        around = match_counts(tables, target, dtype=np.float32, threads=threads)
    else:
        subsets = subset_sample(
            columns, most=1 << MOST_COLUMNS, seed=0
        )  # public, and the same for all tables
        around = sampled_counts(tables, target, subsets, dtype=np.float32, threads=threads)
    parts = [around, level_counts(tables, sizes, threads=threads)]
    cells = int(np.prod(sizes, dtype=np.float64))
    if columns > 1 and cells <= MOST_CELLS:
        known = (tables < np.array(sizes)).all(axis=2)
        place = np.ravel_multi_index(
            tuple(np.minimum(tables[:, :, j], sizes[j] - 1) for j in range(columns)), sizes
        )
        parts.append(
            level_counts(
                np.where(known, place, cells).astype(np.uint8)[:, :, None], [cells], threads=threads
            )
        )
    return np.concatenate(parts, axis=1).astype(np.float32)
