"""Last digits: which cents, minutes, round thousands or weekdays the numbers of a column end in,
kept where its records have them.

Numbers fall into classes that take turns: the cents 00 to 99, the minutes of an hour, the days of a
week. What is drawn inside a bin is smooth, and has each class with about the same share; where
records differ from that beyond doubt, a drawn number moves to the nearest one of another class, as
often as it takes and no more. Only shares of classes are looked at that ten records or more of
different values have, the others have their part of the rest: a record shows as one of ten at
least, and which number of a class is drawn is as smooth as before.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .domain import Intervals
from .drawing import DigitPreference
from .schema import Column
from .types import PER_SECOND, Numbers, parse_type

FEWEST = 100
"""The number of records below which no digit preference is fitted."""

LEAST_MOVED = 0.05
"""The smallest share of drawn numbers that a digit preference has to move to be kept."""

SMOOTH_CYCLES = 4
"""A linear piece over this many cycles of the classes has all of them with equal shares."""

NARROW, PIECES = 256, 2048
"""Classes that a straight piece runs over at most to be worked out together with others, and how
many such are at a time.
"""

Counts = NDArray[np.float64]


def with_digit_preferences(
    codec: Intervals, column: Column, values: Numbers, counts: Counts
) -> Intervals:
    """Return the codec with the digit preferences of its records: at most one of the calendar's and
    one of digits.

    `values`, `counts`: those that are drawn smoothly, without point masses and without values that
    ten records share.

    Examples
    --------
    >>> from chaffinch.table.bins import fit_intervals
    >>> prices, column = np.arange(20.99, 400), Column("price", "float", decimals=2)
    >>> codec = fit_intervals(column, prices, np.ones(len(prices)), integral=False)
    >>> drawn = codec.decode(codec.encode(prices), np.random.default_rng(1))
    >>> np.unique(np.rint(drawn * 100) % 100).tolist()
    [99.0]
    """
    n = float(counts.sum())
    if n < FEWEST or not len(codec.starts) or (not codec.integral and codec.decimals is None):
        return codec
    positions = _positions(codec, values)
    ranks = np.cumsum(counts) / n
    span = float(positions[np.searchsorted(ranks, 0.95)] - positions[np.searchsorted(ranks, 0.05)])
    preferences = []
    for family in _families(column, codec):
        best: tuple[float, DigitPreference] | None = None
        for width, classes in family:
            if 3 * width * classes > span:
                continue
            fitted = _fit_preference(codec, values, positions, counts, width, classes)
            if fitted is not None and (best is None or fitted[0] > best[0]):
                best = fitted
        if best is not None:
            preferences.append(best[1])
    return replace(codec, grains=tuple(preferences)) if preferences else codec


def _positions(codec: Intervals, values: Numbers) -> NDArray[np.int64]:
    """Numbers in units of the column: steps, or units of the last decimal."""
    if codec.integral:
        return np.asarray(values // codec.step).astype(np.int64)
    return np.rint(np.asarray(values, dtype=np.float64) * 10.0 ** (codec.decimals or 0)).astype(
        np.int64
    )


def _families(column: Column, codec: Intervals) -> list[list[tuple[int, int]]]:
    """Widths of classes, in units of the column, and how many there are: of the calendar first,
    then of digits.
    """
    if not codec.integral:
        return (
            [[(1, 10), (1, 100)][: 1 if codec.decimals == 1 else 2]]
            if codec.decimals
            else [[(1, 10), (1, 100), (1, 1000)]]
        )
    kind = (
        parse_type(column.type)
        if column.kind in ("date", "datetime") or column.type.startswith("time")
        else None
    )
    if kind is None or not pa.types.is_temporal(kind):
        return [[(1, 10), (1, 100), (1, 1000)]] if codec.step == 1 else []
    second = (
        1 / 86_400
        if pa.types.is_date32(kind)
        else 1000
        if pa.types.is_date64(kind)
        else PER_SECOND[kind.unit]
    )

    def units(seconds: int) -> int:
        """How many units of the column a time is; 0 where it is none or not whole."""
        n_units = seconds * second / codec.step
        return round(n_units) if n_units >= 1 and abs(n_units - round(n_units)) < 1e-9 else 0

    calendar = [(units(86_400), 7), (units(3600), 24), (units(3600), 168)]
    digits = [(units(60), 60), (units(1), 60)]
    if pa.types.is_time(kind):
        calendar = []
    return [
        [(width, classes) for width, classes in family if width] for family in (calendar, digits)
    ]


def _fit_preference(
    codec: Intervals,
    values: Numbers,
    positions: NDArray[np.int64],
    counts: Counts,
    width: int,
    classes: int,
) -> tuple[float, DigitPreference] | None:
    """The penalised gain in log-likelihood of a digit preference over classes, and the preference;
    None where there is no gain, or hardly a number moves.
    """
    class_counts: Counts = np.bincount(
        positions // width % classes, weights=counts, minlength=classes
    ).astype(np.float64)
    # Ten records of different values: a class that one value stands for would be that value.
    common = np.bincount(positions // width % classes, minlength=classes) >= THRESHOLD
    if not common.any() or _gain(class_counts, common, np.full(classes, 1 / classes))[0] <= 0:
        return None  # most columns
    smooth = _smooth_shares(codec, values, counts, width, classes)
    gain, shares = _gain(class_counts, common, smooth)
    if gain <= 0 or np.abs(shares - smooth).sum() / 2 < LEAST_MOVED:
        return None
    return gain, DigitPreference(width, shares, smooth)


def _gain(
    class_counts: Counts, common: NDArray[np.bool_], smooth: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The penalised gain in log-likelihood of class shares over smooth ones, and the shares: rare
    classes share the rest in proportion to the smooth shares.
    """
    n = float(class_counts.sum())
    rest = float(smooth[~common].sum())
    shares = np.where(common, class_counts / n, 0.0)
    if rest > 0:
        shares[~common] = smooth[~common] * (float(class_counts[~common].sum()) / n / rest)
    elif class_counts[~common].sum():
        shares = shares / shares.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(class_counts > 0, class_counts * np.log(shares / smooth), 0.0)
    price = (common.sum() + 1) * (0.5 * math.log(n) + 1)
    return float(np.nan_to_num(each, posinf=0.0).sum() - price), shares


def _smooth_shares(
    codec: Intervals, values: Numbers, counts: Counts, width: int, classes: int
) -> NDArray[np.float64]:
    """The shares of classes in what is drawn smoothly: pieces of the bins' quantile functions, each
    even over its numbers.
    """
    in_bin = np.bincount(
        np.searchsorted(codec.starts[1:], values, side="right"),
        weights=counts,
        minlength=len(codec.starts),
    )
    masses, lows, highs = [np.empty(0)], [np.empty(0)], [np.empty(0)]
    for knots, records in zip(codec.knots, in_bin.tolist(), strict=True):
        ranks, numbers = knots
        steps, ends = ranks[1:] - ranks[:-1], _positions(codec, numbers) / width
        sloped = (steps > 0) & (numbers[1:] > numbers[:-1])
        if not sloped.any() or not records:
            continue
        steps = np.where(sloped, steps, 0.0)
        masses.append((steps * (records / steps.sum()))[sloped])
        lows.append(ends[:-1][sloped])
        highs.append(ends[1:][sloped])
    mass, low, high = (np.concatenate(arrays) for arrays in (masses, lows, highs))
    out: NDArray[np.float64] = np.zeros(classes)
    even = high - low >= SMOOTH_CYCLES * classes
    kind = np.where(even, classes > NARROW, 2 * (high - low > NARROW))
    borders = np.flatnonzero(np.diff(kind, prepend=-1))  # where a run of pieces of one kind starts
    for first, last in pairwise([*borders.tolist(), len(mass)]):
        for start in range(first, last, PIECES):
            run = slice(start, min(start + PIECES, last))
            if kind[first] == 1:
                for share in (mass[run] / classes).tolist():
                    out += share
            elif kind[first] == 2:
                for piece in zip(
                    mass[run].tolist(), low[run].tolist(), high[run].tolist(), strict=True
                ):
                    _add_piece(out, *piece)
            else:
                _add_narrow(out, mass[run], low[run], high[run], even[run], integral=width == 1)
    total = out.sum()
    return (
        np.asarray(np.maximum(out / total, 1e-6 / classes))
        if total
        else np.full(classes, 1 / classes)
    )


def _add_piece(out: NDArray[np.float64], mass: float, low: float, high: float) -> None:
    """Add the mass of a linear piece, uniform from `low` to `high` in widths of a class, to the
    classes.
    """
    edges = np.concatenate([[low], np.arange(math.floor(low) + 1, math.ceil(high)), [high]])
    pieces = edges[1:] - edges[:-1]
    out += np.bincount(
        np.floor(edges[:-1]).astype(np.int64) % len(out),
        weights=pieces * (mass / pieces.sum()),
        minlength=len(out),
    )


def _add_narrow(
    out: NDArray[np.float64],
    mass: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    even: NDArray[np.bool_],
    *,
    integral: bool,
) -> None:
    """Add many pieces as `_add_piece` does each, in their order and to the last bit: a column of
    values that many records share has ten thousands.

    Those that are `even` over all classes add as much to each.
    """
    start = np.floor(low).astype(np.int64)
    cells = np.where(even, len(out), np.maximum(np.ceil(high).astype(np.int64) - start, 1))
    begin = np.cumsum(cells) - cells
    piece = np.repeat(np.arange(len(mass)), cells)
    offset = np.arange(len(piece)) - begin[piece]
    lengths: NDArray[np.float64] = np.ones(len(piece))
    ragged = (high > low) & ~even
    lengths[begin[ragged]] = np.minimum(start[ragged] + 1, high[ragged]) - low[ragged]
    ragged &= cells > 1
    lengths[(begin + cells - 1)[ragged]] = high[ragged] - (start + cells - 1)[ragged]
    if integral:
        total = np.where(even, len(out), np.where(high > low, high - low, 1.0))
    else:
        total = np.array(
            [lengths[a : a + n].sum() for a, n in zip(begin.tolist(), cells.tolist(), strict=True)]
        )
    weights = lengths * (mass / total)[piece]
    for cycle in range(1, -(-int(cells.max()) // len(out))):  # a class that the piece meets again
        again = np.flatnonzero(offset // len(out) == cycle)
        weights[again - cycle * len(out)] += weights[again]
    once = offset < len(out)
    np.add.at(out, (start[piece] + offset)[once] % len(out), weights[once])
