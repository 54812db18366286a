"""What stands apart from a numeric column: codes at its ends that mean something else (-8, 999), and gaps inside it that nothing is drawn in.

A value that ten records share is a level of its own, with its own share, where the gap to the next one inwards is wider than from there to the median; so is a negative one among few. Values that fewer records share are never drawn where the gap is
ten times as wide, which numbers that go on smoothly never do with ten records beyond it, however long their tail is: the column goes on as if these records were not there, unless a person declares the values as missing codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .grid import Numbers

MOST_CODES = 10
"""Values that stand apart at one end of a column at most: more of them are no codes, but a part of the column."""

MOST_NEGATIVE = 5
"""Negative values of a column that is otherwise not negative, up to which they are codes."""

MOST_SHARE = 0.2
"""The share of records at most that may stand apart at one end."""

FAR = 10
"""Values that few records share are left out beyond a gap of so many times the distance from there to the median."""

GAP_SHARE = 4
"""A gap is wide if it is more than one in so many parts of what lies between the tenth record from below and the tenth from above."""

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Apart:
    """Values that stand apart from a column.

    `codes`: those that ten records or more share. `rare`: which values (a mask) fewer records share, where they are ten or more together, so that they would be looked at.
    `few`: whether fewer than ten records stand very far from all others; they are not looked at anyway.
    """

    codes: Numbers
    rare: NDArray[np.bool_]
    few: bool = False


def apart(values: Numbers, counts: Counts, *, signed: bool) -> Apart:
    """Return what stands apart from sorted distinct values.

    `signed`: 0 divides the values in kind (amounts, not dates), so that a few negative ones among others are codes.

    Examples
    --------
    >>> ages = np.array([-8, *range(20, 90), 998, 999])
    >>> found = apart(ages, np.array([30.0, *[12.0] * 70, 5, 6]), signed=True)
    >>> found.codes.tolist(), ages[found.rare].tolist()
    ([-8], [998, 999])
    """
    n = float(counts.sum())
    rare = np.zeros(len(values), dtype=bool)
    if len(values) < 3 or n < 4 * THRESHOLD:
        return Apart(values[:0], rare)
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
    return Apart(values[outside & (counts >= THRESHOLD)], rare, few)


def _n_outside(distances: NDArray[np.float64], counts: Counts, times: int) -> int:
    """How many values stand apart at one end, outermost first: beyond the innermost gap that is as wide as so many times the distance from there to the median."""
    most = min(MOST_CODES, len(distances) - 1)
    within = np.cumsum(counts[:most]) <= MOST_SHARE * counts.sum()
    inner = distances[1 : most + 1]
    gaps = distances[:most] - inner
    wide = np.flatnonzero(within & (gaps > times * inner) & (gaps > 0))
    return int(wide[-1]) + 1 if len(wide) else 0


def wide_gaps(values: Numbers, counts: Counts) -> NDArray[np.int64]:
    """Return where sorted distinct values go on after a wide gap: twenty records or more lie on both sides of it, up to the next.

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
    for at in np.flatnonzero((gaps * GAP_SHARE > high - low) & (gaps > 0)).tolist():
        if ranks[at] - last >= 2 * THRESHOLD and n - ranks[at] >= 2 * THRESHOLD:
            chosen.append(at + 1)
            last = float(ranks[at])
    return np.array(chosen, dtype=np.int64)
