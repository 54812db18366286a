"""Bins of a numeric column: atoms, edges and the in-bin sketch, from distinct values and their counts.

No number that fewer than ten records share is kept. Atoms are values that at least ten records share; edges and knots are means
of at least ten records; the ends of the column are the means of its ten lowest and ten highest records,
unless bounds are declared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .codec import Intervals
from .grid import Numbers
from .schema import Column

__all__ = ["MIN_RECORDS", "fit_intervals"]

MIN_RECORDS = 10
MOST_KNOTS = 8
Counts = NDArray[np.float64]


def fit_intervals(column: Column, values: Numbers, counts: Counts, *, whole: bool, single: bool = False) -> Intervals:
    """Return the codec of a numeric column from its sorted distinct values and their counts.

    Parameters
    ----------
    whole
        Whether values are whole numbers (integers, dates, times).
    single
        Whether the column has 32-bit floats: edges are then numbers that such a float can hold.
    """
    if not whole:
        values = values.astype(np.float64)
    if column.bounds is not None:
        low, high = column.bounds
        values, counts = _summed(np.clip(values, _as(low, whole), _as(high, whole)), counts)
    atoms = _atoms(column, values, counts, whole=whole)
    rest = ~np.isin(values, atoms)
    starts = _starts(column, values[rest], counts[rest], len(atoms), whole=whole)
    if single:
        starts = starts.astype(np.float32).astype(np.float64)
    starts = np.unique(starts)
    if column.binning == "quantile":
        starts = _thick_enough(starts, values[rest], counts[rest])
    kind = np.int64 if whole else np.float64
    starts = starts.astype(kind)
    knots = _sketch(column, starts, values[rest], counts[rest], whole=whole)
    middles = np.concatenate([atoms.astype(np.float64), [float(np.median(knot)) for knot in knots]])
    codes = np.empty(len(middles), dtype=np.int64)
    codes[np.argsort(middles, kind="stable")] = np.arange(len(middles))
    return Intervals(
        atoms.astype(kind),
        starts,
        tuple(knots),
        codes[: len(atoms)],
        codes[len(atoms) :],
        whole,
        column.step if whole else 1,
        None if whole else column.decimals,
        column.nullable,
        column.missing,
        column.bounds,
    )


def _as(bound: float, whole: bool) -> Any:
    return int(bound) if whole else float(bound)


def _summed(values: Numbers, counts: Counts) -> tuple[Numbers, Counts]:
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, weights=counts, minlength=len(distinct))


def _atoms(column: Column, values: Numbers, counts: Counts, *, whole: bool) -> Numbers:
    """Return the values that are levels of their own.

    With few enough distinct values, all that ten records share. Otherwise a value that carries at least a bin's share
    of the records, then of the records left when it is taken out, and so on, for at most half of the levels.
    """
    if column.atoms is not None:
        return np.array(sorted(column.atoms), dtype=np.int64 if whole else np.float64)
    if column.binning != "quantile":
        return values[:0]
    if len(values) <= column.bins:
        return values[counts >= MIN_RECORDS]
    order = np.argsort(-counts, kind="stable")
    left, taken = float(counts.sum()), 0
    while taken < column.bins // 2:
        heaviest = counts[order[taken]]
        if heaviest < MIN_RECORDS or heaviest * (column.bins - taken) < left:
            break
        left -= heaviest
        taken += 1
    return np.sort(values[order[:taken]])


def _starts(column: Column, values: Numbers, counts: Counts, n_atoms: int, *, whole: bool) -> NDArray[Any]:
    """Return the starts of the bins for the values that are not atoms."""
    if column.edges is not None:
        starts = np.array(column.edges[:-1], dtype=np.float64)
        return np.ceil(starts) if whole else starts
    if not len(values) and column.bounds is None:
        return np.empty(0)
    low, high = (values[0], values[-1]) if column.bounds is None else column.bounds
    if column.binning == "width":
        low, high = (float(low), float(high)) if column.bounds else _soft_range(values, counts)
        edges = np.linspace(low, high, column.bins + 1)[:-1]
        return _round(edges, column, whole=whole)
    n = float(counts.sum())
    wanted = min(column.bins - n_atoms, int(n // MIN_RECORDS))
    if wanted < 1:
        # Fewer than ten records lie off the atoms: no bin of their own, they go to the nearest atom.
        alone = n_atoms == 0 and column.bounds is None and n > 0
        return np.array([low]) if alone or column.bounds is not None else np.empty(0)
    ends = np.cumsum(counts)
    cuts = [_mean_around(values, ends, n * i / wanted) for i in range(1, wanted)]
    return _round(np.array([float(low), *cuts]), column, whole=whole)


def _round(edges: NDArray[np.float64], column: Column, *, whole: bool) -> NDArray[np.float64]:
    if whole:
        base = np.floor(edges[0])
        return np.asarray(base + np.ceil((edges - base) / column.step) * column.step)
    return edges if column.decimals is None else np.round(edges, column.decimals)


def _mean_around(values: Numbers, ends: Counts, rank: float) -> float:
    """Return the mean of the ten records around a rank."""
    half = MIN_RECORDS / 2
    return _mean_between(values, ends, max(0.0, rank - half), min(float(ends[-1]), rank + half))


def _mean_between(values: Numbers, ends: Counts, first: float, last: float) -> float:
    """Return the mean of the records from one rank to another, sharing out those at the borders."""
    a, b = np.searchsorted(ends, [first, last], side="left")
    a, b = min(int(a), len(values) - 1), min(int(b), len(values) - 1)
    held = values[a : b + 1].astype(np.float64)
    upto = np.clip(ends[a : b + 1], first, last)
    share = np.diff(np.concatenate([[first], upto]))
    if share.sum() <= 0:
        return float(held[0])
    mean = float(held[0] + ((held - held[0]) * share).sum() / share.sum())
    return min(max(mean, float(held[0])), float(held[-1]))


def _soft_range(values: Numbers, counts: Counts) -> tuple[float, float]:
    """Return the means of the ten lowest and of the ten highest records."""
    ends = np.cumsum(counts)
    n = float(ends[-1])
    few = min(float(MIN_RECORDS), n)
    return _mean_between(values, ends, 0.0, few), _mean_between(values, ends, n - few, n)


def _thick_enough(starts: NDArray[Any], values: Numbers, counts: Counts) -> NDArray[Any]:
    """Drop starts until every bin holds at least ten records: a thin bin joins the one before it."""
    if not len(starts):
        return starts
    index = np.searchsorted(starts[1:], values, side="right")
    held = np.bincount(index, weights=counts, minlength=len(starts))
    keep, gathered = [0], 0.0
    for b in range(len(starts)):
        if gathered >= MIN_RECORDS and held[b:].sum() >= MIN_RECORDS:
            keep.append(b)
            gathered = 0.0
        gathered += held[b]
    return np.asarray(starts[keep])


def _sketch(
    column: Column, starts: NDArray[Any], values: Numbers, counts: Counts, *, whole: bool
) -> list[NDArray[np.float64]]:
    """Return for each bin the knots of its quantile function.

    Groups of at least ten records give one knot each, at their mean; between and outside them the function
    is straight, to the borders of the bin, or for the outermost bins to the soft ends of the column.
    """
    if not len(starts):
        return []
    unit = float(column.step) if whole else (0.0 if column.decimals is None else 10.0**-column.decimals)
    tops = np.append(starts[1:].astype(np.float64) - unit, np.nan)
    low, high = _column_ends(column, values, counts, starts)
    where = np.searchsorted(starts[1:], values, side="right")
    ends = np.searchsorted(where, np.arange(len(starts) + 1))
    knots = []
    for b in range(len(starts)):
        bottom = low if b == 0 else float(starts[b])
        top = high if b + 1 == len(starts) else max(float(tops[b]), bottom)
        inside, weights = values[ends[b] : ends[b + 1]], counts[ends[b] : ends[b + 1]]
        n = float(weights.sum())
        groups = int(min(MOST_KNOTS, n // MIN_RECORDS))
        upto = np.cumsum(weights)
        means = [_mean_between(inside, upto, n * g / groups, n * (g + 1) / groups) for g in range(groups)]
        # Ranks 0, then the middle of each group, then 1: resampled to even ranks so that a bin is one array.
        ranks = np.array([0.0, *((np.arange(groups) + 0.5) / groups if groups else []), 1.0])
        even = np.linspace(0.0, 1.0, 2 * groups + 1 if groups else 2)
        knots.append(np.maximum.accumulate(np.interp(even, ranks, np.clip([bottom, *means, top], bottom, top))))
    return knots


def _column_ends(column: Column, values: Numbers, counts: Counts, starts: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and the highest number to be drawn."""
    if column.edges is not None:
        return column.edges[0], column.edges[-1]
    if column.bounds is not None:
        return column.bounds
    low, high = _soft_range(values, counts)
    return low, max(high, float(starts[-1]))
