"""What is drawn inside the bins of a numeric column: a quantile function for each, of values that ten records share and means of ten others."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .grid import Numbers
from .schema import Column
from .tails import Tailed

__all__ = ["sketch"]

MOST_KNOTS = 8
"""Means of records between two values that stand for themselves at most, where that is not at an end of the column."""

Counts = NDArray[np.float64]


def sketch(
    column: Column, starts: NDArray[Any], tailed: Tailed, values: Numbers, counts: Counts, marks: Numbers, around: list[tuple[float, float]], *, whole: bool
) -> list[NDArray[np.float64]]:
    """Return for each bin the knots of its quantile function.

    A value that ten records share is level over their share of the ranks. Between such values groups of at least ten records give one knot each, at their mean, and expected values one each; between and outside them the function
    is straight, to the borders of the bin, the means beside a gap, or for the outermost bins to the ends of the column.
    """
    if not len(starts):
        return []
    unit = float(column.step) if whole else (0.0 if column.decimals is None else 10.0**-column.decimals)
    low, high = _column_ends(column, tailed, starts)
    bottoms = np.append(low, starts[1:].astype(np.float64))
    tops = np.append(starts[1:].astype(np.float64) - unit, high)
    for below, above in around:
        at = int(np.searchsorted(starts, above, side="right")) - 1
        bottoms[at], tops[at - 1] = max(above, bottoms[at]), min(below, tops[at - 1])
    tops[:-1] = np.maximum(tops[:-1], bottoms[:-1])
    bottoms = np.minimum(bottoms, tops)
    is_mark = np.isin(values, marks)
    ends = [0, *np.searchsorted(values, starts[1:]).tolist(), len(values)]  # where the values of each bin end
    alone = np.flatnonzero(is_mark)
    borders = np.unique(np.concatenate([ends, alone, alone + 1])).tolist()
    singles = 0 if column.bounds is not None or column.edges is not None else tailed.unseen
    groups = _group_means(values, counts, borders, is_mark, singles)
    starts_at = {start: i for i, start in enumerate(borders[:-1])}
    knots = []
    for b, (start, end) in enumerate(pairwise(ends)):
        pieces = range(starts_at[start], starts_at[start] + sum(start <= border < end for border in borders[:-1])) if end > start else range(0)
        knots.append(_quantile_function(values, counts, groups, borders, pieces, is_mark, (float(bottoms[b]), float(tops[b])), unit))
    return knots


def _quantile_function(
    values: Numbers, counts: Counts, groups: list[tuple[NDArray[np.float64], NDArray[np.float64]]], borders: list[int], pieces: range,
    is_mark: NDArray[np.bool_], ends: tuple[float, float], unit: float,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the knots of one bin, from its values that stand for themselves and the groups of those between."""
    bottom, top = ends
    mass = float(sum(counts[borders[p] : borders[p + 1]].sum() for p in pieces))
    if not mass:
        return np.array([[0.0, 1.0], [bottom, top]])
    ranks, numbers, gathered = list[float](), list[float](), 0.0
    for p in pieces:
        first, last = borders[p], borders[p + 1]
        own = float(counts[first:last].sum())
        if is_mark[first]:
            inner_ranks, inner = [0.0, 1.0], [float(values[first])] * 2
        else:
            left = float(values[first - 1]) + unit if p > pieces[0] else bottom
            right = float(values[last]) - unit if p < pieces[-1] else top
            own_ranks, means = groups[p]
            if len(means) > 1:  # as far beyond the last mean as from the one before: a value that stands alone may be far away
                left = max(left, 2 * means[0] - means[1]) if p > pieces[0] else left
                right = min(right, 2 * means[-1] - means[-2]) if p < pieces[-1] else right
            inner_ranks, inner = [0.0, *own_ranks.tolist(), 1.0], [left, *means.tolist(), right]
        ranks += [(gathered + rank * own) / mass for rank in inner_ranks]
        numbers += inner
        gathered += own
    ranks[0], ranks[-1] = 0.0, 1.0
    return np.stack([np.minimum(ranks, 1.0), np.maximum.accumulate(np.clip(numbers, bottom, top))])


def _group_means(
    values: Numbers, counts: Counts, ends: list[int], is_mark: NDArray[np.bool_], singles: int
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return for each run of values the ranks, 0 to 1, and the means of its groups of records; runs are short and many, so they are worked together.

    A value that stands for itself has no groups. `singles`: how many expected values at each end of the column are groups of their own.

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
        n = float(records[end] - records[start])
        cuts.append([] if is_mark[start] else _groups(n, singles, first=b == 0, last=b + 2 == len(ends)))
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
    width = (every[1:] - every[:-1])[inner]
    shown = (width >= THRESHOLD) | (width <= 1)
    ranks, means, of = ranks[shown], means[shown], of[shown]
    stops = np.searchsorted(of, np.arange(len(cuts) + 1)).tolist()
    return [(ranks[i:j], means[i:j]) for i, j in pairwise(stops)]


def _groups(n: float, singles: int, *, first: bool, last: bool) -> list[float]:
    """Return the ranks between which a run of records is averaged: up to eight even groups of ten or more.

    Towards an end of the column groups halve in size, down to ten records: tails are where the shape bends. The outermost are expected values, one each;
    what is left between those of both ends, if it is less than ten records, is a group that nobody looks at.
    """
    start = min(float(singles), n) if first else 0.0
    end = max(n - singles, start) if last else n
    few = int(min(MOST_KNOTS, (end - start) // THRESHOLD))
    cuts = [start + (end - start) * i / few for i in range(few + 1)] if few else [start, end]
    size = (end - start) / max(few, 1)
    while (first or last) and size >= 2 * THRESHOLD:
        size /= 2
        cuts += [start + size] * first + [end - size] * last
    ones = [float(one) for one in range(int(singles) + 1)]
    cuts += [one for one in ones if one < start] * first + [n - one for one in ones if n - one > end] * last
    return sorted(set(cuts))


def _column_ends(column: Column, tailed: Tailed, starts: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and the highest number to be drawn."""
    if column.edges is not None:
        return column.edges[0], column.edges[-1]
    if column.bounds is not None:
        return column.bounds
    low, high = tailed.ends
    if column.decimals is not None and column.kind == "float" and max(abs(low), abs(high)) < 2.0**53 / 10.0**column.decimals:
        scale = 10.0**column.decimals  # ends are drawn where they are met: numbers of the column's decimals
        low, high = math.ceil(low * scale) / scale, math.floor(high * scale) / scale
    return low, max(high, float(starts[-1]))
