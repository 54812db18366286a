"""Bins of a numeric column: point masses, edges and the in-bin sketch, from distinct values and
their counts.

No number that fewer than ten records share is kept. Point masses, and values that come out as they
are inside a bin, are those that at least ten records share; edges and knots are means of at least
ten records. In all these means the nine most extreme records at each end are not looked at:
expected values stand in for them (`tails`), so that no outlier shows through a mean; beyond them
the column ends, unless bounds are declared.

Codes at the ends that mean something else (-8, 999) stand apart. A value that ten records share is
a level of its own, with its own share, where the gap to the next one inwards is wider than from
there to the median; so is a negative one among few. Values that fewer records share are never drawn
where the gap is ten times as wide, which numbers that go on smoothly never do with ten records
beyond it, however long their tail is: the column goes on as if these records were not there, unless
a person declares the values as missing codes. No bin reaches across a wide gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.masking import THRESHOLD
from .digit_preference import with_digit_preferences
from .domain import Intervals, codes_by_value
from .schema import Column
from .tails import TrimmedTails, summed_counts, with_modelled_tails
from .types import Numbers

MOST_MARKS = 1_000
"""The largest number of repeated values inside bins that are drawn as they are: the most frequent
ones.
"""

GROWN_LEVELS = 150
RECORDS_EACH = 1_000
"""A column with at most `GROWN_LEVELS` distinct values and `RECORDS_EACH` records for each has a
level for each.
"""

LARGEST = 1e290
"""Larger numbers are clipped to it, so that no sum of them overflows."""

Counts = NDArray[np.float64]
MOST_CODES = 10
"""The largest number of outlying codes at one end of a column: more of them are a part of the
distribution.
"""

MOST_NEGATIVE = 5
"""Negative values of a column that is otherwise not negative, up to which they are codes."""

MOST_SHARE = 0.2
"""The largest share of records that may be outlying at one end."""

FAR = 10
"""Rare values are left out beyond a gap of this many times the distance from there to the
median.
"""

GAP_SHARE = 4
"""A gap is wide if it is more than 1 / `GAP_SHARE` of the range between the tenth record from below
and the tenth from above.
"""

MOST_KNOTS = 8
"""The largest number of knots between two repeated values, away from the ends of the column."""

Group = tuple[NDArray[np.float64], NDArray[np.float64]]
Piece = tuple[float, float, float, float, NDArray[np.float64], NDArray[np.float64]]


def fit_intervals(
    column: Column, values: Numbers, counts: Counts, *, integral: bool, single: bool = False
) -> Intervals:
    """Return the codec of a numeric column from its sorted distinct values and their counts.

    `integral`: integers, dates, times. `single`: of 32-bit floats, so that edges are numbers that
    such a float can hold.
    """
    if not integral:
        values = values.astype(np.float64)
        if len(values) and max(-values[0], values[-1]) > LARGEST:
            values, counts = summed_counts([(np.clip(values, -LARGEST, LARGEST), counts)])
    if column.bounds is not None:
        low, high = ((int(end) if integral else float(end)) for end in column.bounds)
        values, counts = summed_counts([(np.clip(values, low, high), counts)])
    point_masses = _find_point_masses(column, values, counts, integral=integral)
    rest = ~np.isin(values, point_masses)
    values, counts = values[rest], counts[rest]
    signed = column.kind in ("integer", "float")
    gaps = np.empty(0, dtype=np.int64)
    if _is_free(column):
        beyond = find_outlying_codes(values, counts, signed=signed)
        point_masses = np.union1d(point_masses, beyond.codes)
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
    tailed = with_modelled_tails(
        values, counts, point_masses=point_masses, signed=signed, within=within
    )
    values, counts = tailed.values, tailed.counts
    around = [_soft_gap(values, counts, index) for index in np.searchsorted(values, after).tolist()]
    if column.bounds is not None:
        values, counts = summed_counts([(np.clip(values, low, high), counts)])
    starts = _starts(column, values, counts, len(point_masses), integral=integral)
    if single:
        starts = starts.astype(np.float32).astype(np.float64)
    starts = np.unique(starts)
    if column.binning == "quantile":
        starts, around = _cut_at_gaps(starts, around, values, counts, column, integral=integral)
    kind = np.int64 if integral else np.float64
    starts = starts.astype(kind)
    knots = sketch(column, starts, tailed, values, counts, marks, around, integral=integral)
    atom_codes, bin_codes = codes_by_value(point_masses, knots)
    codec = Intervals(
        point_masses.astype(kind),
        starts,
        tuple(knots),
        atom_codes,
        bin_codes,
        integral,
        column.step if integral else 1,
        None if integral else column.decimals,
        column.nullable,
        column.missing,
        column.bounds,
    )
    return with_digit_preferences(codec, column, smooth_values, smooth_counts)


def leaves_out(column: Column, values: Numbers, counts: Counts, *, integral: bool) -> bool:
    """Return whether a column has outlying values of so few records that they are never drawn."""
    if not _is_free(column):
        return False
    rest = ~np.isin(values, _find_point_masses(column, values, counts, integral=integral))
    beyond = find_outlying_codes(
        values[rest], counts[rest], signed=column.kind in ("integer", "float")
    )
    return bool(beyond.rare.any() or beyond.few)


def _is_free(column: Column) -> bool:
    """Whether a column has neither declared bounds nor declared levels, so that outlying codes are
    searched for.
    """
    return column.binning == "quantile" and column.bounds is None and column.atoms is None


def _find_point_masses(
    column: Column, values: Numbers, counts: Counts, *, integral: bool
) -> Numbers:
    """Return the values that are levels of their own.

    With few enough distinct values, or many records for each, all that ten records share. Otherwise
    a value that carries at least a bin's share of the records, then of the records left when it is
    taken out, and so on, for at most half of the levels.
    """
    if column.atoms is not None:
        return np.array(sorted(column.atoms), dtype=np.int64 if integral else np.float64)
    if column.binning != "quantile":
        return values[:0]
    # Without a declared number of bins up to 150 values with a thousand records each are levels.
    is_grown = (
        column.bins == Column.bins
        and len(values) <= GROWN_LEVELS
        and float(counts.sum()) >= RECORDS_EACH * len(values)
    )
    if is_grown or len(values) <= column.bins:
        return values[counts >= THRESHOLD]
    order = np.argsort(-counts, kind="stable")
    remaining, taken = float(counts.sum()), 0
    while taken < column.bins // 2:
        heaviest = counts[order[taken]]
        if heaviest < THRESHOLD or heaviest * (column.bins - taken) < remaining:
            break
        remaining -= heaviest
        taken += 1
    return np.sort(values[order[:taken]])


def _marks(values: Numbers, counts: Counts) -> Numbers:
    """Return the values inside bins that come out as they are: those that ten records share, of
    more than a thousand those of most records.
    """
    heavy = np.flatnonzero(counts >= THRESHOLD)
    if len(heavy) > MOST_MARKS:
        heavy = np.sort(heavy[np.argsort(-counts[heavy], kind="stable")[:MOST_MARKS]])
    return np.asarray(values[heavy])


def _soft_gap(values: Numbers, counts: Counts, index: int) -> tuple[float, float]:
    """Return the means of the ten records below a gap and of the ten above it; a value that ten
    share is its own mean.
    """
    below, above = float(counts[:index].sum()), float(counts[index:].sum())
    low = _means(values[:index], counts[:index], [below - THRESHOLD], [below])
    high = _means(values[index:], counts[index:], [0.0], [min(float(THRESHOLD), above)])
    return float(low[0]), float(high[0])


def _cut_at_gaps(
    starts: NDArray[Any],
    around: list[tuple[float, float]],
    values: Numbers,
    counts: Counts,
    column: Column,
    *,
    integral: bool,
) -> tuple[NDArray[Any], list[tuple[float, float]]]:
    """Return starts of bins of ten records or more, of which none reaches across a gap, and the
    gaps that this holds of.

    A bin starts in the middle between the means of ten records on both sides, if that is in the
    gap.
    """
    if not len(starts):
        return starts, []
    cuts, gaps = list[float](), list[tuple[float, float]]()
    for low, high in around:
        cut = float(_round(np.array([0.0, (low + high) / 2]), column, integral=integral)[1])
        inner = np.searchsorted(values, cut)
        if (
            0 < inner < len(values)
            and low < cut <= high
            and not ((values > low) & (values < cut)).sum() > THRESHOLD
        ):
            cuts.append(cut)
            gaps.append((low, high))
    pieces, borders = [], [-np.inf, *cuts, np.inf]
    for first, last in pairwise(borders):
        inside = (values >= first) & (values < last)
        bin_starts = starts[(starts > first) & (starts < last)]
        if np.isfinite(first):
            bin_starts = np.append(first, bin_starts)
        elif not len(bin_starts):
            bin_starts = starts[:1]
        pieces.append(_thick_enough(bin_starts, values[inside], counts[inside]))
    return np.concatenate(pieces), gaps


def _starts(
    column: Column, values: Numbers, counts: Counts, n_point_masses: int, *, integral: bool
) -> NDArray[Any]:
    """Return the starts of the bins for the values that are not point masses."""
    if column.edges is not None:
        starts = np.array(column.edges[:-1], dtype=np.float64)
        return np.ceil(starts) if integral else starts
    if not len(values) and column.bounds is None:
        return np.empty(0)
    low, high = _soft_range(values, counts) if column.bounds is None else column.bounds
    if column.binning == "width":
        edges = np.linspace(low, high, column.bins + 1)[:-1]
        return _round(edges, column, integral=integral)
    n = float(counts.sum())
    wanted = min(column.bins - n_point_masses, int(n // THRESHOLD))
    if wanted < 1:
        # Fewer than ten records lie off the point masses: no bin of their own, they go to the nearest one.
        alone = n_point_masses == 0 and column.bounds is None and n > 0
        start = _round(np.array([float(low)]), column, integral=integral)
        return start if alone or column.bounds is not None else np.empty(0)
    ranks = n * np.arange(1, wanted) / wanted
    half = THRESHOLD / 2  # each cut is the mean of the ten records around its rank
    cuts = _means(values, counts, np.maximum(ranks - half, 0.0), np.minimum(ranks + half, n))
    return _round(np.array([low, *cuts]), column, integral=integral)


def _round(edges: NDArray[np.float64], column: Column, *, integral: bool) -> NDArray[np.float64]:
    if integral:
        steps = np.ceil(edges / column.step)
        steps[0] = np.floor(edges[0] / column.step)
        return np.asarray(steps * column.step)
    return edges if column.decimals is None else np.round(edges, column.decimals)


def _means(
    values: Numbers, counts: Counts, first: ArrayLike, last: ArrayLike
) -> NDArray[np.float64]:
    """Return the means of the records from one rank to another, sharing out those at the borders.

    Sums up to a rank are straight lines between those at the borders of values: two look-ups for
    each mean.
    """
    first, last = np.asarray(first, dtype=np.float64), np.asarray(last, dtype=np.float64)
    if not len(values):
        return np.empty(0)
    base = float(values[0])
    ends, sums = np.zeros(len(values) + 1), np.zeros(len(values) + 1)
    np.cumsum(counts, out=ends[1:])
    # Sums of differences: timestamps are large and close together.
    np.cumsum((values.astype(np.float64) - base) * counts, out=sums[1:])
    means = base + (np.interp(last, ends, sums) - np.interp(first, ends, sums)) / (last - first)
    return np.asarray(np.clip(means, base, float(values[-1])))


def _soft_range(values: Numbers, counts: Counts) -> tuple[float, float]:
    """Return the means of the ten lowest and of the ten highest records, expected values standing
    in for the nine outermost.
    """
    n = float(counts.sum())
    few = min(float(THRESHOLD), n)
    low, high = _means(values, counts, [0.0, n - few], [few, n])
    return float(low), float(high)


def _thick_enough(starts: NDArray[Any], values: Numbers, counts: Counts) -> NDArray[Any]:
    """Drop starts until every bin holds at least ten records: a thin bin joins the one before
    it.
    """
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


@dataclass(frozen=True)
class OutlyingCodes:
    """Outlying values of a column, such as codes for missing.

    `codes`: those that ten records or more share. `rare`: which values (a mask) fewer records
    share, where they are ten or more together, so that they would be looked at. `few`: whether
    fewer than ten records stand very far from all others; they are not looked at anyway.
    """

    codes: Numbers
    rare: NDArray[np.bool_]
    few: bool = False


def find_outlying_codes(values: Numbers, counts: Counts, *, signed: bool) -> OutlyingCodes:
    """Return the outlying codes among sorted distinct values.

    `signed`: 0 divides the values in kind (amounts, not dates), so that a few negative ones among
    others are codes.

    Examples
    --------
    >>> ages = np.array([-8, *range(20, 90), 998, 999])
    >>> found = find_outlying_codes(ages, np.array([30.0, *[12.0] * 70, 5, 6]), signed=True)
    >>> found.codes.tolist(), ages[found.rare].tolist()
    ([-8], [998, 999])
    """
    n = float(counts.sum())
    rare = np.zeros(len(values), dtype=bool)
    if len(values) < 3 or n < 4 * THRESHOLD:
        return OutlyingCodes(values[:0], rare)
    numbers = values.astype(np.float64)
    median = numbers[np.searchsorted(np.cumsum(counts), n / 2)]
    outside, few = np.zeros(len(values), dtype=bool), False
    for turned in (False, True):
        order = slice(None, None, -1) if turned else slice(None)
        near, far = (
            _n_outside(np.abs(numbers[order] - median), counts[order], times) for times in (1, FAR)
        )
        outside[order][:near] = True
        beyond = (counts[order] < THRESHOLD) & (np.arange(len(values)) < far)
        many = counts[order][beyond].sum() >= THRESHOLD
        rare[order] |= beyond & many
        few = few or bool(beyond.any() and not many)
    if signed:
        negative = numbers < 0
        usual = 0 < negative.sum() <= MOST_NEGATIVE and counts[negative].sum() <= MOST_SHARE * n
        outside |= negative & usual
    return OutlyingCodes(values[outside & (counts >= THRESHOLD)], rare, few)


def _n_outside(distances: NDArray[np.float64], counts: Counts, times: int) -> int:
    """The number of outlying values at one end: those beyond the innermost gap that is wider than
    `times` the distance from there to the median.
    """
    n_codes = min(MOST_CODES, len(distances) - 1)
    within = np.cumsum(counts[:n_codes]) <= MOST_SHARE * counts.sum()
    inner = distances[1 : n_codes + 1]
    gaps = distances[:n_codes] - inner
    wide = np.flatnonzero(within & (gaps > times * inner) & (gaps > 0))
    return int(wide[-1]) + 1 if len(wide) else 0


def wide_gaps(values: Numbers, counts: Counts) -> NDArray[np.int64]:
    """Return where sorted distinct values go on after a wide gap: twenty records or more lie on
    both sides of it, up to the next.

    Examples
    --------
    >>> wide_gaps(np.array([*range(100), *range(900, 1000)]), np.ones(200)).tolist()
    [100]
    """
    if len(values) < 2:
        return np.empty(0, dtype=np.int64)
    ranks = np.cumsum(counts)
    n = float(ranks[-1])
    if n < 4 * THRESHOLD:
        return np.empty(0, dtype=np.int64)
    low, high = (
        float(values[np.searchsorted(ranks, rank, side="right")])
        for rank in (THRESHOLD - 1, n - THRESHOLD)
    )
    gaps = np.diff(values.astype(np.float64))
    chosen, last = list[int](), 0.0
    for index in np.flatnonzero((gaps * GAP_SHARE > high - low) & (gaps > 0)).tolist():
        if ranks[index] - last >= 2 * THRESHOLD and n - ranks[index] >= 2 * THRESHOLD:
            chosen.append(index + 1)
            last = float(ranks[index])
    return np.array(chosen, dtype=np.int64)


def sketch(
    column: Column,
    starts: NDArray[Any],
    tailed: TrimmedTails,
    values: Numbers,
    counts: Counts,
    marks: Numbers,
    around: list[tuple[float, float]],
    *,
    integral: bool,
) -> list[NDArray[np.float64]]:
    """Return for each bin the knots of its quantile function.

    A value that ten records share is level over their share of the ranks. Between such values
    groups of at least ten records give one knot each, at their mean, and expected values one each;
    between and outside them the function is straight, to the borders of the bin, the means beside a
    gap, or for the outermost bins to the ends of the column.
    """
    if not len(starts):
        return []
    unit = (
        float(column.step)
        if integral
        else (0.0 if column.decimals is None else 10.0**-column.decimals)
    )
    low, high = _column_ends(column, tailed, starts)
    bottoms = np.append(low, starts[1:].astype(np.float64))
    tops = np.append(starts[1:].astype(np.float64) - unit, high)
    for below, above in around:
        index = int(np.searchsorted(starts, above, side="right")) - 1
        bottoms[index], tops[index - 1] = max(above, bottoms[index]), min(below, tops[index - 1])
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
    """Return the linear pieces of the quantile function of a bin with repeated values: ranks and
    numbers at both ends, and the groups between.
    """
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
        low = float(values[first - 1]) + unit if p > pieces[0] else bottom
        high = float(values[last]) - unit if p < pieces[-1] else top
        ranks, means = groups[p]
        if (
            len(means) > 1
        ):  # as far beyond the last mean as from the one before: a value that stands alone may be far away
            low = max(low, 2 * means[0] - means[1]) if p > pieces[0] else low
            high = min(high, 2 * means[-1] - means[-2]) if p < pieces[-1] else high
        out.append((start, end, low, high, ranks, means))
    return out


def _quantile_function(pieces: list[Piece], bottom: float, top: float) -> NDArray[np.float64]:
    """Return the knots of one bin from its pieces."""
    knots = np.empty((2, sum(len(piece[4]) + 2 for piece in pieces)))
    offset = 0
    for start, end, low, high, ranks, means in pieces:
        until = offset + len(ranks) + 2
        knots[:, offset], knots[:, until - 1] = (start, low), (end, high)
        knots[0, offset + 1 : until - 1], knots[1, offset + 1 : until - 1] = (
            start + ranks * (end - start),
            means,
        )
        offset = until
    knots[0, 0], knots[0, -1] = 0.0, 1.0
    np.maximum.accumulate(np.minimum(np.maximum(knots[1], bottom), top), out=knots[1])
    return knots


def _group_means(
    values: Numbers, counts: Counts, ends: list[int], is_mark: NDArray[np.bool_], singles: int
) -> list[Group]:
    """Return for each run of values the ranks, 0 to 1, and the means of its groups of records; runs
    are short and many, so they are worked together.

    A value that stands for itself has no groups. `singles`: how many expected values at each end of
    the column are groups of their own.

    Sums up to a rank are straight lines between those at the borders of values, as in `_means`.
    Counts are whole, so a rank lies between the same borders as the whole number below it, and one
    search finds them all.
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
    all_cuts = np.array([cut for run_cuts in cuts for cut in run_cuts])
    bins = np.repeat(np.arange(len(cuts)), [len(run_cuts) for run_cuts in cuts])
    first, last = np.array(ends[:-1])[bins], np.array(ends[1:])[bins]
    before = records[first]
    border = np.searchsorted(records, before + np.floor(all_cuts), side="right") - 1
    border = np.clip(border, first, last)
    after = np.minimum(border + 1, last)
    low, high = records[border] - before, records[after] - before
    bottom = np.where(border > first, sums[border], 0.0)
    slope = np.divide(
        sums[after] - bottom, high - low, out=np.zeros_like(all_cuts), where=high > low
    )
    partial_sums = np.where(all_cuts == low, bottom, slope * (all_cuts - low) + bottom)
    inner = bins[1:] == bins[:-1]
    runs = bins[1:][inner]
    means = (
        base[runs]
        + (partial_sums[1:] - partial_sums[:-1])[inner] / (all_cuts[1:] - all_cuts[:-1])[inner]
    )
    means = np.minimum(np.maximum(means, base[runs]), numbers[np.array(ends[1:]) - 1][runs])
    mass = np.maximum(records[ends[1:]] - records[ends[:-1]], 1.0)
    ranks = ((all_cuts[1:] + all_cuts[:-1]) / 2)[inner] / mass[runs]
    width = (all_cuts[1:] - all_cuts[:-1])[inner]
    shown = (width >= THRESHOLD) | (width <= 1)
    ranks, means, runs = ranks[shown], means[shown], runs[shown]
    stops = np.searchsorted(runs, np.arange(len(cuts) + 1)).tolist()
    return [(ranks[i:j], means[i:j]) for i, j in pairwise(stops)]


def _groups(n: float, singles: int, *, first: bool, last: bool) -> list[float]:
    """Return the ranks between which a run of records is averaged: up to eight even groups of ten
    or more.

    Towards an end of the column groups halve in size, down to ten records: tails are where the
    shape bends. The outermost are expected values, one each; what is left between those of both
    ends, if it is less than ten records, is a group that nobody looks at.
    """
    start = min(float(singles), n) if first else 0.0
    end = max(n - singles, start) if last else n
    few = int(min(MOST_KNOTS, (end - start) // THRESHOLD))
    cuts = [start + (end - start) * i / few for i in range(few + 1)] if few else [start, end]
    size = (end - start) / max(few, 1)
    while (first or last) and size >= 2 * THRESHOLD:
        size /= 2
        cuts += [start + size] * first + [end - size] * last
    single_ranks = [float(rank) for rank in range(int(singles) + 1)]
    cuts += [rank for rank in single_ranks if rank < start] * first + [
        n - rank for rank in single_ranks if n - rank > end
    ] * last
    return sorted(set(cuts))


def _column_ends(column: Column, tailed: TrimmedTails, starts: NDArray[Any]) -> tuple[float, float]:
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
