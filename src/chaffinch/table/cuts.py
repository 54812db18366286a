"""Bins cut at public numbers, so that each lies wholly on one side of them: what a bin is drawn as then keeps what is said of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .codec import Intervals


def at_or_above(codec: Intervals, number: float) -> float:
    """Return the least number that values of a column may have and that is not below a number."""
    if codec.whole:
        return float(np.ceil(number / codec.step) * codec.step)
    return (
        number
        if codec.decimals is None
        else float(
            np.round(
                np.ceil(np.round(number * 10.0**codec.decimals, 6)) / 10.0**codec.decimals,
                codec.decimals,
            )
        )
    )


def above(codec: Intervals, number: float) -> float:
    """Return the least number that values of a column may have and that is above a number.

    Examples
    --------
    >>> from .schema import Column
    >>> from .discretise import fit_intervals
    >>> ages = fit_intervals(Column("age", "integer", bounds=(0, 99), bins=2, binning="width"), np.empty(0, np.int64), np.empty(0), whole=True)
    >>> at_or_above(ages, 15.5), above(ages, 15), above(ages, 15.5)
    (16.0, 16.0, 16.0)
    """
    if codec.whole:
        return float((np.floor(number / codec.step) + 1) * codec.step)
    if codec.decimals is None:
        return float(np.nextafter(number, np.inf))
    unit = 10.0**codec.decimals
    return float(np.round((np.floor(np.round(number * unit, 6)) + 1) / unit, codec.decimals))


def cut_intervals(codec: Intervals, cuts: Iterable[float]) -> Intervals:
    """Return the codec with a new bin from each cut on that lies inside a bin; what is drawn from both together is as before.

    The quantile function of a bin is cut where it passes the number. Codes are given anew, in order of value.
    """
    starts, knots = list(codec.starts.tolist()), list(codec.knots)
    atoms = set(codec.atoms.tolist())
    for cut in sorted({_past(codec, cut, atoms) for cut in cuts}):
        if starts and knots[0][1, 0] < starts[0]:  # numbers below the first start are drawn too
            starts[0] = int(np.floor(knots[0][1, 0])) if codec.whole else float(knots[0][1, 0])
        b = int(np.searchsorted(np.array(starts, dtype=np.float64), cut, side="right")) - 1
        if b < 0 or not starts[b] < cut:
            continue
        if b + 1 == len(starts) and cut > knots[b][1, -1]:
            continue  # beyond the last number that is drawn
        low, high = _halves(codec, knots[b], float(cut), first=float(starts[b]))
        knots[b : b + 1] = [low, high]
        starts.insert(b + 1, int(cut) if codec.whole else float(cut))
    if len(starts) == len(codec.starts):
        return codec
    new_starts = np.array(starts, dtype=codec.starts.dtype)
    middles = np.concatenate(
        [codec.atoms.astype(np.float64), [float(np.interp(0.5, *knot)) for knot in knots]]
    )
    codes = np.empty(len(middles), dtype=np.int64)
    codes[np.argsort(middles, kind="stable")] = np.arange(len(middles))
    return replace(
        codec,
        starts=new_starts,
        knots=tuple(knots),
        atom_codes=codes[: len(codec.atoms)],
        bin_codes=codes[len(codec.atoms) :],
    )


def drawn_ranges(codec: Intervals) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lowest and the highest number of each value code, atoms at the ends of a bin left out: they are codes of their own."""
    low, high = (ends.copy() for ends in codec.ranges())
    atoms = set(codec.atoms.tolist())
    for code in codec.bin_codes.tolist():
        while low[code] in atoms and low[code] < high[code]:
            low[code] = above(codec, float(low[code]))
        while high[code] in atoms and low[code] < high[code]:
            high[code] = (
                high[code] - codec.step if codec.whole else _before(codec, float(high[code]))
            )
    return low, high


def _before(codec: Intervals, number: float) -> float:
    return (
        float(np.nextafter(number, -np.inf))
        if codec.decimals is None
        else float(np.round(number - 10.0**-codec.decimals, codec.decimals))
    )


def _past(codec: Intervals, cut: float, atoms: set[Any]) -> float:
    """A cut, moved past numbers that are atoms: a bin that begins with them begins after them."""
    while cut in atoms:
        cut = above(codec, cut)
    return cut


def _halves(
    codec: Intervals, knots: NDArray[np.float64], cut: float, first: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The quantile functions below and from a cut on, each over ranks from 0 to 1."""
    ranks, values = knots
    below = (
        cut - float(codec.step)
        if codec.whole
        else cut
        if codec.decimals is None
        else cut - 10.0**-codec.decimals
    )
    k = int(np.searchsorted(values, cut))  # knots from here on are not below the cut
    if k == 0 or k == len(values):
        rank = float(ranks[0] if k == 0 else ranks[-1])
    else:
        rank = float(np.interp(cut, values[k - 1 : k + 1], ranks[k - 1 : k + 1]))
    leaps = 0 < k < len(values) and ranks[k - 1] == ranks[k]
    left, right = (
        (ranks[:k], np.minimum(values[:k], below)),
        (ranks[k:], np.maximum(values[k:], cut)),
    )
    if not leaps:
        left = np.append(left[0], rank), np.append(left[1], max(below, first))
        right = np.append(rank, right[0]), np.append(cut, right[1])
    return _stretched(*left, min(first, below), max(below, first)), _stretched(
        *right, cut, max(float(values[-1]), cut)
    )


def _stretched(
    ranks: NDArray[Any], values: NDArray[Any], bottom: float, top: float
) -> NDArray[np.float64]:
    """A quantile function, its ranks stretched to run from 0 to 1; straight from bottom to top where there is nothing between."""
    span = float(ranks[-1] - ranks[0]) if len(ranks) else 0.0
    if not span > 1e-12:
        return np.array([[0.0, 1.0], [bottom, max(top, bottom)]])
    scaled = (ranks - ranks[0]) / span
    scaled[-1] = 1.0
    return np.stack([scaled, np.maximum.accumulate(values)])
