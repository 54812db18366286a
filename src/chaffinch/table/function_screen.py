"""Which columns are functions of another one, in a sample of rows: each value of the one has one value of the other."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import compiled
from .codec import Categories, Intervals
from .schema import Column
from .screens import CHANCE, FEWEST, RuleSample

MOST_LEVELS = 1000

FIRST = 1_000
"""Rows of a sample that show, for most pairs of columns, that neither is a function of the other."""

SMALL = 10_000
"""Cells of a table of two columns up to which these rows are looked at alone first."""


def listable(column: Column) -> bool:
    """Return whether every code of a column is one value, so that a function of it is a list."""
    codec = column.fitted_codec
    few = 2 <= codec.n_values <= MOST_LEVELS
    return few and (
        isinstance(codec, Categories) or (isinstance(codec, Intervals) and not len(codec.starts))
    )


def function_pairs(sample: RuleSample, tied: set[frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Return pairs of columns of which the first determines the second: it has few values, each with several rows, and no fewer than the second."""
    ids: dict[str, tuple[NDArray[np.int64], int]] = {}
    for column in sample.schema.modelled:
        values = sample.values[column.name]
        distinct, which = np.unique(values.numbers[values.present], return_inverse=True)
        full = np.full(sample.n_rows, -1, dtype=np.int64)
        full[values.present] = which
        ids[column.name] = (full, len(distinct))
    lefts = [c.name for c in sample.schema.modelled if listable(c)]
    tried = len(lefts) * len(ids)
    first, names = np.stack([full[:FIRST] for full, _ in ids.values()]), list(ids)
    distinct_of = np.array([n for _, n in ids.values()], dtype=np.int64)
    for left in lefts:
        ours, n_left = ids[left]
        ours = np.where(sample.values[left].pooled, -1, ours)
        possible = (distinct_of >= 2) & (distinct_of <= 2 * n_left)
        _rule_out(
            ours[:FIRST], first, n_left, distinct_of, SMALL, 0.01 * sample.n_rows, possible
        )  # more rows can only miss more
        for right in (names[place] for place in np.flatnonzero(possible)):
            theirs, n_right = ids[right]
            if left == right or frozenset((left, right)) in tied:
                continue
            both = (ours >= 0) & (theirs >= 0)
            a, b = ours[both], theirs[both]
            if len(a) < max(FEWEST, 5 * n_left):
                continue
            table = np.bincount(a * n_right + b, minlength=n_left * n_right).reshape(
                n_left, n_right
            )
            fewer = 2 <= table.any(axis=0).sum() <= table.any(axis=1).sum()
            if (
                fewer
                and table.max(axis=1).sum() >= 0.99 * len(a)
                and log_odds_of_function(table) < log(CHANCE / tried)
            ):
                yield left, right


@compiled
def _rule_out(
    left: Any, rights: Any, n_left: int, n_rights: Any, most_cells: int, most: float, possible: Any
) -> None:
    """Mark the right columns as impossible of which more rows than `most` do not have the commonest right value of their left value.

    Rows without a value (-1) are left out, and columns whose tables have more cells than `most_cells` not looked at. Most columns are ruled out by their first rows.
    """
    table, common = np.zeros(most_cells, dtype=np.int64), np.zeros(n_left, dtype=np.int64)
    for j in range(rights.shape[0]):
        n_right = n_rights[j]
        if not possible[j] or n_left * n_right > most_cells:
            continue
        right, misses = rights[j], 0
        table[: n_left * n_right] = 0
        common[:] = 0
        for k in range(left.size):
            if left[k] >= 0 and right[k] >= 0:
                cell = left[k] * n_right + right[k]
                table[cell] += 1
                if table[cell] > common[left[k]]:
                    common[left[k]] += 1
                else:
                    misses += 1
                    if misses > most:
                        possible[j] = False
                        break


def log_odds_of_function(table: NDArray[np.int64]) -> float:
    """Return the logarithm of the chance that every row of a table of counts has one filled column only, if the two had nothing to do with each other."""
    shares = table.sum(axis=0) / max(table.sum(), 1)
    rows = table.sum(axis=1)
    sizes, many = np.unique(rows[rows > 1], return_counts=True)
    most = float(shares.max(initial=0.0)) or 1.0
    rest = shares[shares > 0] / most  # so that no power of a small share is 0
    logs = [size * log(most) + log(float(np.sum(rest**size))) for size in sizes.tolist()]
    return float(np.dot(many, logs)) if logs else 0.0
