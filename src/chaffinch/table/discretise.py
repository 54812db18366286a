"""Bins of a numeric column: atoms, edges and the in-bin sketch, from distinct values and their counts.

No number that fewer than ten records share is kept. Atoms are values that at least ten records share; edges
and knots are means of at least ten records; the ends of the column are the means of its ten lowest and ten
highest records, unless bounds are declared. In all these means the nine most extreme records at each end are not looked at:
expected values stand in for them (`tails`), so that no outlier shows through a mean.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.masking import THRESHOLD
from .codec import Intervals
from .grid import Numbers
from .schema import Column
from .tails import with_modelled_tails

__all__ = ["fit_intervals"]

MOST_KNOTS = 8
Counts = NDArray[np.float64]


def fit_intervals(column: Column, values: Numbers, counts: Counts, *, whole: bool, single: bool = False) -> Intervals:
    """Return the codec of a numeric column from its sorted distinct values and their counts.

    `whole`: integers, dates, times. `single`: of 32-bit floats, so that edges are numbers that such a float can hold.
    """
    if not whole:
        values = values.astype(np.float64)
    if column.bounds is not None:
        low, high = column.bounds
        values, counts = _summed(np.clip(values, _as(low, whole), _as(high, whole)), counts)
    atoms = _atoms(column, values, counts, whole=whole)
    rest = ~np.isin(values, atoms)
    signed = column.kind in ("integer", "float")
    values, counts = with_modelled_tails(values[rest], counts[rest], atoms=atoms, signed=signed)
    if column.bounds is not None:
        values, counts = _summed(np.clip(values, _as(low, whole), _as(high, whole)), counts)
    starts = _starts(column, values, counts, len(atoms), whole=whole)
    if single:
        starts = starts.astype(np.float32).astype(np.float64)
    starts = np.unique(starts)
    if column.binning == "quantile":
        starts = _thick_enough(starts, values, counts)
    kind = np.int64 if whole else np.float64
    starts = starts.astype(kind)
    knots = _sketch(column, starts, values, counts, whole=whole)
    middles = np.concatenate([atoms.astype(np.float64), [float(np.interp(0.5, *knot)) for knot in knots]])
    codes = np.empty(len(middles), dtype=np.int64)
    codes[np.argsort(middles, kind="stable")] = np.arange(len(middles))
    return Intervals(
        atoms.astype(kind), starts, tuple(knots), codes[: len(atoms)], codes[len(atoms) :], whole,
        column.step if whole else 1, None if whole else column.decimals, column.nullable, column.missing, column.bounds,
    )  # fmt: skip


def _as(bound: float, whole: bool) -> Any:
    return int(bound) if whole else float(bound)


def _summed(values: Numbers, counts: Counts) -> tuple[Numbers, Counts]:
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, weights=counts, minlength=len(distinct)).astype(np.float64)


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
        return values[counts >= THRESHOLD]
    order = np.argsort(-counts, kind="stable")
    left, taken = float(counts.sum()), 0
    while taken < column.bins // 2:
        heaviest = counts[order[taken]]
        if heaviest < THRESHOLD or heaviest * (column.bins - taken) < left:
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
    low, high = _soft_range(values, counts) if column.bounds is None else column.bounds
    if column.binning == "width":
        edges = np.linspace(low, high, column.bins + 1)[:-1]
        return _round(edges, column, whole=whole)
    n = float(counts.sum())
    wanted = min(column.bins - n_atoms, int(n // THRESHOLD))
    if wanted < 1:
        # Fewer than ten records lie off the atoms: no bin of their own, they go to the nearest atom.
        alone = n_atoms == 0 and column.bounds is None and n > 0
        one = _round(np.array([float(low)]), column, whole=whole)
        return one if alone or column.bounds is not None else np.empty(0)
    ranks = n * np.arange(1, wanted) / wanted
    half = THRESHOLD / 2  # each cut is the mean of the ten records around its rank
    cuts = _means(values, counts, np.maximum(ranks - half, 0.0), np.minimum(ranks + half, n))
    return _round(np.array([low, *cuts]), column, whole=whole)


def _round(edges: NDArray[np.float64], column: Column, *, whole: bool) -> NDArray[np.float64]:
    if whole:
        steps = np.ceil(edges / column.step)
        steps[0] = np.floor(edges[0] / column.step)
        return np.asarray(steps * column.step)
    return edges if column.decimals is None else np.round(edges, column.decimals)


def _means(values: Numbers, counts: Counts, first: ArrayLike, last: ArrayLike) -> NDArray[np.float64]:
    """Return the means of the records from one rank to another, sharing out those at the borders.

    Sums up to a rank are straight lines between those at the borders of values: two look-ups for each mean.
    """
    first, last = np.asarray(first, dtype=np.float64), np.asarray(last, dtype=np.float64)
    if not len(values):
        return np.empty(0)
    ends, sums = _running(values, counts)
    base = float(values[0])
    means = base + (np.interp(last, ends, sums) - np.interp(first, ends, sums)) / (last - first)
    return np.asarray(np.clip(means, base, float(values[-1])))


def _running(values: Numbers, counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many records there are up to each border of values, and the sums of what they are above the lowest."""
    ends, sums = np.zeros(len(values) + 1), np.zeros(len(values) + 1)
    np.cumsum(counts, out=ends[1:])
    # Sums of differences: timestamps are large and close together.
    np.cumsum((values.astype(np.float64) - float(values[0])) * counts, out=sums[1:])
    return ends, sums


def _soft_range(values: Numbers, counts: Counts) -> tuple[float, float]:
    """Return the means of the ten lowest and of the ten highest records, expected values standing in for the nine outermost."""
    n = float(counts.sum())
    few = min(float(THRESHOLD), n)
    low, high = _means(values, counts, [0.0, n - few], [few, n])
    return float(low), float(high)


def _thick_enough(starts: NDArray[Any], values: Numbers, counts: Counts) -> NDArray[Any]:
    """Drop starts until every bin holds at least ten records: a thin bin joins the one before it."""
    if not len(starts):
        return starts
    index = np.searchsorted(starts[1:], values, side="right")
    masses = np.bincount(index, weights=counts, minlength=len(starts))
    keep, gathered = [0], 0.0
    for b in range(len(starts)):
        if gathered >= THRESHOLD and masses[b:].sum() >= THRESHOLD:
            keep.append(b)
            gathered = 0.0
        gathered += masses[b]
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
    ends = np.searchsorted(values, starts[1:]).tolist()  # where the values of each bin end
    groups = _group_means(values, counts, [0, *ends, len(values)])
    knots = []
    for b, (ranks, means) in enumerate(groups):
        bottom = low if b == 0 else float(starts[b])
        top = high if b + 1 == len(starts) else max(float(tops[b]), bottom)
        bottom = min(bottom, top)
        knot = np.empty((2, len(ranks) + 2))
        knot[:, 0], knot[0, 1:-1], knot[:, -1] = (0.0, bottom), ranks, (1.0, top)
        np.maximum.accumulate(np.minimum(np.maximum(means, bottom), top), out=knot[1, 1:-1])
        knots.append(knot)
    return knots


def _group_means(values: Numbers, counts: Counts, ends: list[int]) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return for each bin the ranks, 0 to 1, and the means of its groups of records; bins are short and many, so they are worked together.

    Sums up to a rank are straight lines between those at the borders of values, as in `_means`. Counts are whole, so a rank lies between the
    same borders as the whole number below it, and one search finds them all.
    """
    if not len(values):
        return [(np.empty(0), np.empty(0))] * (len(ends) - 1)
    numbers = values.astype(np.float64)
    sizes = np.diff(ends)
    base = numbers[np.minimum(ends[:-1], len(values) - 1)]
    above = (numbers - np.repeat(base, sizes)) * counts  # differences: timestamps are large and close together
    records = np.concatenate([[0.0], np.cumsum(counts)])
    sums = np.zeros(len(values) + 1)
    cuts = []
    for b, (start, end) in enumerate(pairwise(ends)):
        np.cumsum(above[start:end], out=sums[start + 1 : end + 1])
        cuts.append(_groups(float(records[end] - records[start]), first=b == 0, last=b + 2 == len(ends)))
    every = np.array([cut for one in cuts for cut in one])
    bins = np.repeat(np.arange(len(cuts)), [len(one) for one in cuts])
    first, last = np.array(ends[:-1])[bins], np.array(ends[1:])[bins]
    before = records[first]
    border = np.searchsorted(records, before + np.floor(every), side="right") - 1
    border = np.clip(border, first, last)
    after = np.minimum(border + 1, last)
    low, high = records[border] - before, records[after] - before
    bottom = np.where(border > first, sums[border], 0.0)
    slope = np.divide(sums[after] - bottom, high - low, out=np.zeros_like(every), where=high > low)
    at = np.where(every == low, bottom, slope * (every - low) + bottom)
    inner = bins[1:] == bins[:-1]
    of = bins[1:][inner]
    means = base[of] + (at[1:] - at[:-1])[inner] / (every[1:] - every[:-1])[inner]
    means = np.minimum(np.maximum(means, base[of]), numbers[np.array(ends[1:]) - 1][of])
    mass = np.maximum(records[ends[1:]] - records[ends[:-1]], 1.0)
    ranks = ((every[1:] + every[:-1]) / 2)[inner] / mass[of]
    stops = np.searchsorted(of, np.arange(len(cuts) + 1)).tolist()
    return [(ranks[i:j], means[i:j]) for i, j in pairwise(stops)]


def _groups(n: float, *, first: bool, last: bool) -> list[float]:
    """Return the ranks between which a bin's records are averaged: up to eight even groups of ten or more.

    Towards an end of the column groups halve in size, down to ten records: tails are where the shape bends.
    """
    few = int(min(MOST_KNOTS, n // THRESHOLD))
    if not few:
        return []
    cuts = [n * i / few for i in range(few + 1)]
    size = n / few
    while (first or last) and size >= 2 * THRESHOLD:
        size /= 2
        cuts += [size] * first + [n - size] * last
    return sorted(set(cuts))


def _column_ends(column: Column, values: Numbers, counts: Counts, starts: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and the highest number to be drawn."""
    if column.edges is not None:
        return column.edges[0], column.edges[-1]
    if column.bounds is not None:
        return column.bounds
    low, high = _soft_range(values, counts)
    return low, max(high, float(starts[-1]))
