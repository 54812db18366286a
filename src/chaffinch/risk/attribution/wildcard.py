"""Counts of matches where a missing key value matches anything, on either side, exactly.

Two rows match where they agree on every key that both have. This is no equivalence (a row without any key matches all,
yet those do not match each other), so there are no classes over all rows. But rows with the same pattern of missing
keys behave alike: for people of one pattern, source rows are put together by the set of keys that both sides have, each
such lot is matched by classes of those keys, and the counts add. With d keys there are at most 3^d lots and usually a
handful; each costs as much as an exact match of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from .classes import Ints, KeyCells, Keys, KeySpace, squeeze, top_of, zero_based

__all__ = ["MatchCounts", "WildTable", "wild_counts", "wild_sums", "wild_tables"]

CHUNK = 1 << 22
"""Entries that are merged at a time where counts of a value come from several lots."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class WildTable:
    """Key codes, missingness of each key, and sensitive values of a table; codes of missing keys mean nothing."""

    keys: tuple[Ints, ...]
    missing: Bools
    values: Ints


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
    values, _ = zero_based([people_values, source_values])
    if len(people_values) != n_people or len(source_values) != n_source:
        raise InputError("Each row needs its keys and one sensitive value. Got arrays of different lengths.")
    masks = [_mask(given, n, space.n_keys) for given, n in ((people_missing, n_people), (source_missing, n_source))]
    return (
        WildTable(tuple(c[:n_people] for c in space.codes), masks[0], values[:n_people]),
        WildTable(tuple(c[n_people:] for c in space.codes), masks[1], values[n_people:]),
    )


def wild_counts(rows: WildTable, other: WildTable, *, top: bool = True) -> MatchCounts:
    """Return for each row how many rows of the other table match it; without `top`, `n_top` stays 0."""
    n_key, n_both, n_top = (np.zeros(len(rows.values), dtype=np.int64) for _ in range(3))
    for present, who in _patterns(~rows.missing):
        runs: list[CellRuns] = []
        leaders, leader_of = _leaders(rows, present, who) if top else (who[:0], who[:0])
        for shared, others in _patterns(~other.missing & present):
            cells, ids = _cells(rows, who, other, others, np.flatnonzero(shared))
            n_key[who] += cells.source_of_class[ids]
            n_both[who] += cells.source[cells.people_cell]
            if top:
                runs.append(CellRuns.of(cells, other.values[others], ids[leaders]))
        if runs:
            n_top[who] = _merged_top(runs, len(leaders))[leader_of]
    return MatchCounts(n_key, n_both, n_top)


def wild_sums(rows: WildTable, other: WildTable, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the summed weights of the rows of the other table that match it."""
    out = np.zeros(len(rows.values))
    for present, who in _patterns(~rows.missing):
        for shared, others in _patterns(~other.missing & present):
            columns = np.flatnonzero(shared)
            found = KeySpace.of(_matrix(rows, who, columns), _matrix(other, others, columns)).classes()
            first, second = found.ids
            out[who] += np.bincount(second, weights=weights[others], minlength=found.n_classes)[first]
    return out


@dataclass(frozen=True, eq=False, repr=False)
class CellRuns:
    """The filled (value, count) cells of each class, one run after the other, and where each asked-for run lies."""

    start: Ints
    length: Ints
    value: Ints
    count: Ints

    @classmethod
    def of(cls, cells: KeyCells, source_values: Ints, asked: Ints) -> CellRuns:
        """Return the runs of source rows for the classes asked for."""
        filled = cells.source > 0
        values = np.zeros(len(filled), dtype=np.int64)
        values[cells.source_cell] = source_values
        lengths = np.bincount(cells.cell_class[filled], minlength=cells.n_classes)
        starts = np.cumsum(lengths) - lengths
        return cls(starts[asked], lengths[asked], values[filled], cells.source[filled])


def _patterns(present: Bools) -> Iterator[tuple[Bools, Ints]]:
    """Yield each row that occurs in a boolean matrix, with the positions at which it does."""
    found = KeySpace.of(present).classes()
    ids = found.ids[0]
    order = np.argsort(ids, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(ids, minlength=found.n_classes))[:-1]):
        if len(rows):
            yield present[rows[0]], rows


def _leaders(rows: WildTable, present: Bools, who: Ints) -> tuple[Ints, Ints]:
    """Return one place in `who` for each distinct key of these rows, and for each row the number of its key."""
    found = KeySpace.of(_matrix(rows, who, np.flatnonzero(present))).classes()
    leaders = np.zeros(found.n_classes, dtype=np.int64)
    leaders[found.ids[0]] = np.arange(len(who))
    return leaders, found.ids[0]


def _cells(rows: WildTable, who: Ints, other: WildTable, others: Ints, shared: Ints) -> tuple[KeyCells, Ints]:
    """Return the cells of some rows of both tables by classes of the shared keys, and the class of each of `who`."""
    found = KeySpace.of(_matrix(rows, who, shared), _matrix(other, others, shared)).classes()
    first, second = found.ids
    return KeyCells.of(first, rows.values[who], second, other.values[others], n_classes=found.n_classes), first


def _matrix(table: WildTable, rows: Ints, columns: Ints) -> Ints:
    out = np.empty((len(rows), len(columns)), dtype=np.int64, order="F")
    for j, column in enumerate(columns):
        out[:, j] = table.keys[column][rows]
    return out


def _merged_top(runs: list[CellRuns], n_keys: int) -> Ints:
    """Return for each key the largest count of a value, summed over its runs."""
    top = np.zeros(n_keys, dtype=np.int64)
    ends = np.cumsum(sum(run.length for run in runs))
    low = 0
    while low < n_keys:
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        top[low:high] = _top_of_chunk(runs, low, high)
        low = high
    return top


def _top_of_chunk(runs: list[CellRuns], low: int, high: int) -> Ints:
    owners, values, counts = [], [], []
    for run in runs:
        length = run.length[low:high]
        owner = np.repeat(np.arange(high - low), length)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
        at = run.start[low:high][owner] + within
        owners.append(owner)
        values.append(run.value[at])
        counts.append(run.count[at])
    codes, size = zero_based(values)
    ids, filled = squeeze(np.concatenate(owners) * size + codes, (high - low) * size)
    summed = np.bincount(ids, weights=np.concatenate(counts), minlength=len(filled)).astype(np.int64)
    return top_of(filled // size, summed, high - low)


def _mask(given: Keys | None, n_rows: int, n_keys: int) -> Bools:
    if given is None:
        return np.zeros((n_rows, n_keys), dtype=bool)
    mask = given if isinstance(given, np.ndarray) else np.stack([np.asarray(column) for column in given], axis=1)
    if mask.shape != (n_rows, n_keys) or mask.dtype != np.bool_:
        raise InputError(
            "A mask of missing keys must be boolean with one entry for each row and key. "
            f"Got {mask.dtype} of {mask.ndim} dimensions, {mask.shape[-1] if mask.ndim else 0} keys for {n_keys}."
        )
    return mask
