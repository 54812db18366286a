"""Counts of matches where a missing key value matches anything, on either side, exactly.

Two rows match where they agree on every key that both have. This is no equivalence (a row without any key matches all,
yet those do not match each other), so there are no classes over all rows. But rows with the same pattern of missing
keys behave alike: for people of one pattern, source rows are put together by the set of keys that both sides have, each
such lot is matched by classes of those keys, and the counts add. With d keys there are at most 3^d lots and usually a
handful; each costs as much as an exact match of its rows. It is the search for the nearest rows (`hamming`), at distance 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from .classes import Ints, Keys, KeySpace, zero_based
from .grouping import Distinct, distinct
from .hamming import find_nearest

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class WildTable:
    """Key codes and the size of each key, missingness, and sensitive values of a table; codes of missing keys mean nothing."""

    keys: tuple[Ints, ...]
    sizes: tuple[int, ...]
    missing: Bools
    values: Ints
    n_levels: int

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct keys, and the values that go with them."""
        return distinct(self.keys, self.values, self.missing.T)


@dataclass(frozen=True, eq=False, repr=False)
class MatchCounts:
    """For each row: matching rows of the other table, those with the row's value, those with the most frequent value."""

    n_key: Ints
    n_both: Ints
    n_top: Ints


def wild_tables(
    people_keys: Keys,
    people_values: NDArray[np.integer],
    people_missing: Keys | None,
    source_keys: Keys,
    source_values: NDArray[np.integer],
    source_missing: Keys | None,
) -> tuple[WildTable, WildTable]:
    """Return people and source with common codes; a mask that is None means nothing is missing there."""
    space = KeySpace.of(people_keys, source_keys)
    n_people, n_source = space.lengths
    values, n_levels = zero_based([people_values, source_values])
    if len(people_values) != n_people or len(source_values) != n_source:
        raise InputError(
            "Each row needs its keys and one sensitive value. Got arrays of different lengths."
        )
    masks = [
        _mask(mask, n, space.n_keys)
        for mask, n in ((people_missing, n_people), (source_missing, n_source))
    ]
    return (
        WildTable(
            tuple(c[:n_people] for c in space.codes),
            space.sizes,
            masks[0],
            values[:n_people],
            n_levels,
        ),
        WildTable(
            tuple(c[n_people:] for c in space.codes),
            space.sizes,
            masks[1],
            values[n_people:],
            n_levels,
        ),
    )


def wild_counts(rows: WildTable, other: WildTable) -> MatchCounts:
    """Return for each row how many rows of the other table match it."""
    if not len(rows.values) or not len(other.values):
        return MatchCounts(*(np.zeros(len(rows.values), dtype=np.int64) for _ in range(3)))
    nearest = find_nearest(
        rows.distinct,
        other.distinct,
        rows.sizes,
        n_levels=rows.n_levels,
        by="classes",
        threads=1,
        farthest=0,
    )
    key = nearest.key
    return MatchCounts(nearest.near[key], nearest.right[rows.distinct.inverse], nearest.top[key])


def wild_sums(
    rows: WildTable, other: WildTable, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each row the summed weights of the rows of the other table that match it."""
    out = np.zeros(len(rows.values))
    for present, who in _patterns(~rows.missing):
        for shared, others in _patterns(~other.missing & present):
            columns = np.flatnonzero(shared)
            codes = tuple(
                np.concatenate([rows.keys[j][who], other.keys[j][others]]) for j in columns
            )
            classes = KeySpace(
                codes, tuple(rows.sizes[j] for j in columns), (len(who), len(others))
            ).classes()
            first, second = classes.ids
            out[who] += np.bincount(second, weights=weights[others], minlength=classes.n_classes)[
                first
            ]
    return out


def _patterns(present: Bools) -> Iterator[tuple[Bools, Ints]]:
    """Yield each row that occurs in a boolean matrix, with the positions at which it does."""
    classes = KeySpace.of(present).classes()
    ids = classes.ids[0]
    order = np.argsort(ids, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(ids, minlength=classes.n_classes))[:-1]):
        if len(rows):
            yield present[rows[0]], rows


def _mask(missing: Keys | None, n_rows: int, n_keys: int) -> Bools:
    if missing is None:
        return np.zeros((n_rows, n_keys), dtype=bool)
    mask = (
        missing
        if isinstance(missing, np.ndarray)
        else np.stack([np.asarray(column) for column in missing], axis=1)
    )
    if mask.shape != (n_rows, n_keys) or mask.dtype != np.bool_:
        raise InputError(
            "A mask of missing keys must be boolean with one entry for each row and key. "
            f"Got {mask.dtype} of {mask.ndim} dimensions, {mask.shape[-1] if mask.ndim else 0} keys for {n_keys}."
        )
    return mask
