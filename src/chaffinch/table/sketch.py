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

MOST_KNOTS = 8
"""Means of records between two values that stand for themselves at most, where that is not at an end of the column."""

Counts = NDArray[np.float64]
Group = tuple[NDArray[np.float64], NDArray[np.float64]]
Piece = tuple[float, float, float, float, NDArray[np.float64], NDArray[np.float64]]


def sketch(
    column: Column,
    starts: NDArray[Any],
    tailed: Tailed,
    values: Numbers,
    counts: Counts,
    marks: Numbers,
    around: list[tuple[float, float]],
    *,
    whole: bool,
) -> list[NDArray[np.float64]]:
    """Return for each bin the knots of its quantile function.

    A value that ten records share is level over their share of the ranks. Between such values groups of at least ten records give one knot each, at their mean, and expected values one each; between and outside them the function
    is straight, to the borders of the bin, the means beside a gap, or for the outermost bins to the ends of the column.
    """
    if not len(starts):
        return []
    unit = (
        float(column.step)
        if whole
        else (0.0 if column.decimals is None else 10.0**-column.decimals)
    )
    low, high = _column_ends(column, tailed, starts)
    bottoms = np.append(low, starts[1:].astype(np.float64))
    tops = np.append(starts[1:].astype(np.float64) - unit, high)
    for below, above in around:
        at = int(np.searchsorted(starts, above, side="right")) - 1
        bottoms[at], tops[at - 1] = max(above, bottoms[at]), min(below, tops[at - 1])
    tops[:-1] = np.maximum(tops[:-1], bottoms[:-1])
    bottoms = np.minimum(bottoms, tops)
    is_mark = np.isin(values, marks)
    ends = [
        0,
        *np.searchsorted(values, starts[1:]).tolist(),
        len(values),
    ]  # where the values of each bin end
    alone = np.flatnonzero(is_mark)
    borders = np.unique(np.concatenate([ends, alone, alone + 1])).tolist()
    singles = 0 if column.bounds is not None or column.edges is not None else tailed.unseen
    groups = _group_means(values, counts, borders, is_mark, singles)
    records = np.concatenate([[0.0], np.cumsum(counts)])[borders]
    firsts = np.searchsorted(borders, ends).tolist()  # the first piece of each bin
    knots = []
    for b, (first, last) in enumerate(pairwise(firsts)):
        bottom, top = float(bottoms[b]), float(tops[b])
        if last == first:
            knots.append(np.array([[0.0, 1.0], [bottom, top]]))
        elif last == first + 1 and not is_mark[borders[first]]:  # most bins
            knots.append(_quantile_function([(0.0, 1.0, bottom, top, *groups[first])], bottom, top))
        else:
            knots.append(
                _quantile_function(
                    _pieces(
                        values,
                        groups,
                        borders,
                        records,
                        range(first, last),
                        is_mark,
                        bottom,
                        top,
                        unit,
                    ),
                    bottom,
                    top,
                )
            )
    return knots


def _pieces(
    values: Numbers,
    groups: list[Group],
    borders: list[int],
    records: Counts,
    pieces: range,
    is_mark: NDArray[np.bool_],
    bottom: float,
    top: float,
    unit: float,
) -> list[Piece]:
    """Return the pieces of a bin with values that stand for themselves: from and to which rank, from and to which number, and the groups between."""
    out = list[Piece]()
    before, mass = float(records[pieces[0]]), float(records[pieces[-1] + 1] - records[pieces[0]])
    for p in pieces:
        first, last = borders[p], borders[p + 1]
        start, end = (float(records[q] - before) / mass for q in (p, p + 1))
        if is_mark[first]:
            out.append(
                (start, end, float(values[first]), float(values[first]), np.empty(0), np.empty(0))
            )
            continue
        left = float(values[first - 1]) + unit if p > pieces[0] else bottom
        right = float(values[last]) - unit if p < pieces[-1] else top
        ranks, means = groups[p]
        if (
            len(means) > 1
        ):  # as far beyond the last mean as from the one before: a value that stands alone may be far away
            left = max(left, 2 * means[0] - means[1]) if p > pieces[0] else left
            right = min(right, 2 * means[-1] - means[-2]) if p < pieces[-1] else right
        out.append((start, end, left, right, ranks, means))
    return out


def _quantile_function(pieces: list[Piece], bottom: float, top: float) -> NDArray[np.float64]:
    """Return the knots of one bin from its pieces."""
    knots = np.empty((2, sum(len(piece[4]) + 2 for piece in pieces)))
    at = 0
    for start, end, left, right, ranks, means in pieces:
        until = at + len(ranks) + 2
        knots[:, at], knots[:, until - 1] = (start, left), (end, right)
        knots[0, at + 1 : until - 1], knots[1, at + 1 : until - 1] = (
            start + ranks * (end - start),
            means,
        )
        at = until
    knots[0, 0], knots[0, -1] = 0.0, 1.0
    np.maximum.accumulate(np.minimum(np.maximum(knots[1], bottom), top), out=knots[1])
    return knots


def _group_means(
    values: Numbers, counts: Counts, ends: list[int], is_mark: NDArray[np.bool_], singles: int
) -> list[Group]:
    """Return for each run of values the ranks, 0 to 1, and the means of its groups of records; runs are short and many, so they are worked together.

    A value that stands for itself has no groups. `singles`: how many expected values at each end of the column are groups of their own.

    Sums up to a rank are straight lines between those at the borders of values, as in `discretise`. Counts are whole, so a rank lies between the
    same borders as the whole number below it, and one search finds them all.
    """
    if not len(values):
        return [(np.empty(0), np.empty(0))] * (len(ends) - 1)
    numbers = values.astype(np.float64)
    sizes = np.diff(ends)
    base = numbers[np.minimum(ends[:-1], len(values) - 1)]
    above = (
        numbers - np.repeat(base, sizes)
    ) * counts  # differences: timestamps are large and close together
    records = np.concatenate([[0.0], np.cumsum(counts)])
    sums = np.zeros(len(values) + 1)
    cuts = []
    for b, (start, end) in enumerate(pairwise(ends)):
        np.cumsum(above[start:end], out=sums[start + 1 : end + 1])
        n = float(records[end] - records[start])
        cuts.append(
            [] if is_mark[start] else _groups(n, singles, first=b == 0, last=b + 2 == len(ends))
        )
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
    cuts += [one for one in ones if one < start] * first + [
        n - one for one in ones if n - one > end
    ] * last
    return sorted(set(cuts))


def _column_ends(column: Column, tailed: Tailed, starts: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and the highest number to be drawn."""
    if column.edges is not None:
        return column.edges[0], column.edges[-1]
    if column.bounds is not None:
        return column.bounds
    low, high = tailed.ends
    if (
        column.decimals is not None
        and column.kind == "float"
        and max(abs(low), abs(high)) < 2.0**53 / 10.0**column.decimals
    ):
        scale = (
            10.0**column.decimals
        )  # ends are drawn where they are met: numbers of the column's decimals
        low, high = math.ceil(low * scale) / scale, math.floor(high * scale) / scale
    return low, max(high, float(starts[-1]))
