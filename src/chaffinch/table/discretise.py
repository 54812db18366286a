"""Bins of a numeric column: atoms, edges and the in-bin sketch, from distinct values and their counts.

No number that fewer than ten records share is kept. Atoms, and values that come out as they are inside a bin, are those that at least ten records share; edges
and knots are means of at least ten records. In all these means the nine most extreme records at each end are not looked at:
expected values stand in for them (`tails`), so that no outlier shows through a mean; beyond them the column ends, unless bounds are declared. Codes that stand apart are levels of their own, or left out
where they are rare, and no bin reaches across a wide gap (`apart`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.masking import THRESHOLD
from .apart import apart, wide_gaps
from .codec import Intervals
from .grain import with_grains
from .grid import Numbers
from .schema import Column
from .sketch import sketch
from .tails import with_modelled_tails

MOST_MARKS = 1_000
"""Values at most that come out as they are inside bins: those that most records share."""

GROWN_LEVELS = 150
RECORDS_EACH = 1_000
"""A column with at most so many different values, and so many records for each, has a level for each."""

LARGEST = 1e290
"""Numbers beyond are taken for it, so that no sum of them overflows."""

Counts = NDArray[np.float64]


def fit_intervals(
    column: Column, values: Numbers, counts: Counts, *, whole: bool, single: bool = False
) -> Intervals:
    """Return the codec of a numeric column from its sorted distinct values and their counts.

    `whole`: integers, dates, times. `single`: of 32-bit floats, so that edges are numbers that such a float can hold.
    """
    if not whole:
        values = values.astype(np.float64)
        if len(values) and max(-values[0], values[-1]) > LARGEST:
            values, counts = _summed(np.clip(values, -LARGEST, LARGEST), counts)
    if column.bounds is not None:
        low, high = column.bounds
        values, counts = _summed(np.clip(values, _as(low, whole), _as(high, whole)), counts)
    atoms = _atoms(column, values, counts, whole=whole)
    rest = ~np.isin(values, atoms)
    values, counts = values[rest], counts[rest]
    signed = column.kind in ("integer", "float")
    gaps = np.empty(0, dtype=np.int64)
    if _is_free(column):
        beyond = apart(values, counts, signed=signed)
        atoms = np.union1d(atoms, beyond.codes)
        rest = ~(beyond.rare | np.isin(values, beyond.codes))
        values, counts = values[rest], counts[rest]
        gaps = wide_gaps(values, counts)
    marks = _marks(values, counts)
    smooth = ~np.isin(values, marks)
    smooth_values, smooth_counts = values[smooth], counts[smooth]
    splits = [0, *gaps.tolist(), len(values)]
    within = (
        (float(counts[: splits[1]].sum()), float(counts[splits[-2] :].sum()))
        if len(gaps)
        else (np.inf, np.inf)
    )
    after = values[gaps]
    tailed = with_modelled_tails(values, counts, atoms=atoms, signed=signed, within=within)
    values, counts = tailed.values, tailed.counts
    around = [_soft_gap(values, counts, at) for at in np.searchsorted(values, after).tolist()]
    if column.bounds is not None:
        values, counts = _summed(np.clip(values, _as(low, whole), _as(high, whole)), counts)
    starts = _starts(column, values, counts, len(atoms), whole=whole)
    if single:
        starts = starts.astype(np.float32).astype(np.float64)
    starts = np.unique(starts)
    if column.binning == "quantile":
        starts, around = _cut_at_gaps(starts, around, values, counts, column, whole=whole)
    kind = np.int64 if whole else np.float64
    starts = starts.astype(kind)
    knots = sketch(column, starts, tailed, values, counts, marks, around, whole=whole)
    middles = np.concatenate(
        [atoms.astype(np.float64), [float(np.interp(0.5, *knot)) for knot in knots]]
    )
    codes = np.empty(len(middles), dtype=np.int64)
    codes[np.argsort(middles, kind="stable")] = np.arange(len(middles))
    codec = Intervals(
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
    return with_grains(codec, column, smooth_values, smooth_counts)


def leaves_out(column: Column, values: Numbers, counts: Counts, *, whole: bool) -> bool:
    """Return whether records of a column stand so far apart, and are so few, that their values are never drawn."""
    if not _is_free(column):
        return False
    rest = ~np.isin(values, _atoms(column, values, counts, whole=whole))
    beyond = apart(values[rest], counts[rest], signed=column.kind in ("integer", "float"))
    return bool(beyond.rare.any() or beyond.few)


def _is_free(column: Column) -> bool:
    """Whether nobody said where a column ends or what its levels are, so that what stands apart in it is looked for."""
    return column.binning == "quantile" and column.bounds is None and column.atoms is None


def _as(bound: float, whole: bool) -> Any:
    return int(bound) if whole else float(bound)


def _summed(values: Numbers, counts: Counts) -> tuple[Numbers, Counts]:
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, weights=counts, minlength=len(distinct)).astype(
        np.float64
    )


def _atoms(column: Column, values: Numbers, counts: Counts, *, whole: bool) -> Numbers:
    """Return the values that are levels of their own.

    With few enough distinct values, or many records for each, all that ten records share. Otherwise a value that carries at least a bin's share
    of the records, then of the records left when it is taken out, and so on, for at most half of the levels.
    """
    if column.atoms is not None:
        return np.array(sorted(column.atoms), dtype=np.int64 if whole else np.float64)
    if column.binning != "quantile":
        return values[:0]
    if len(values) <= max(column.bins, _grown(column, values, counts)):
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


def _grown(column: Column, values: Numbers, counts: Counts) -> int:
    """The levels that a column's records bear: where nobody asked for a number of them, one for each of up to 150 values with a thousand records each."""
    bears = (
        column.bins == Column.bins
        and len(values) <= GROWN_LEVELS
        and float(counts.sum()) >= RECORDS_EACH * len(values)
    )
    return len(values) if bears else column.bins


def _marks(values: Numbers, counts: Counts) -> Numbers:
    """Return the values inside bins that come out as they are: those that ten records share, of more than a thousand those of most records."""
    heavy = np.flatnonzero(counts >= THRESHOLD)
    if len(heavy) > MOST_MARKS:
        heavy = np.sort(heavy[np.argsort(-counts[heavy], kind="stable")[:MOST_MARKS]])
    return np.asarray(values[heavy])


def _soft_gap(values: Numbers, counts: Counts, at: int) -> tuple[float, float]:
    """Return the means of the ten records below a gap and of the ten above it; a value that ten share is its own mean."""
    below, above = float(counts[:at].sum()), float(counts[at:].sum())
    low = _means(values[:at], counts[:at], [below - THRESHOLD], [below])
    high = _means(values[at:], counts[at:], [0.0], [min(float(THRESHOLD), above)])
    return float(low[0]), float(high[0])


def _cut_at_gaps(
    starts: NDArray[Any],
    around: list[tuple[float, float]],
    values: Numbers,
    counts: Counts,
    column: Column,
    *,
    whole: bool,
) -> tuple[NDArray[Any], list[tuple[float, float]]]:
    """Return starts of bins of ten records or more, of which none reaches across a gap, and the gaps that this holds of.

    A bin starts in the middle between the means of ten records on both sides, if that is in the gap.
    """
    if not len(starts):
        return starts, []
    cuts, kept = list[float](), list[tuple[float, float]]()
    for low, high in around:
        cut = float(_round(np.array([0.0, (low + high) / 2]), column, whole=whole)[1])
        inner = np.searchsorted(values, cut)
        if (
            0 < inner < len(values)
            and low < cut <= high
            and not ((values > low) & (values < cut)).sum() > THRESHOLD
        ):
            cuts.append(cut)
            kept.append((low, high))
    pieces, borders = [], [-np.inf, *cuts, np.inf]
    for first, last in pairwise(borders):
        inside = (values >= first) & (values < last)
        own = starts[(starts > first) & (starts < last)]
        if np.isfinite(first):
            own = np.append(first, own)
        elif not len(own):
            own = starts[:1]
        pieces.append(_thick_enough(own, values[inside], counts[inside]))
    return np.concatenate(pieces), kept


def _starts(
    column: Column, values: Numbers, counts: Counts, n_atoms: int, *, whole: bool
) -> NDArray[Any]:
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


def _means(
    values: Numbers, counts: Counts, first: ArrayLike, last: ArrayLike
) -> NDArray[np.float64]:
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
