"""The ends of a numeric column: what stands in for its most extreme records, so that none of them
can be read off.

The nine highest and the nine lowest records are counted and not looked at. In their place come
expected values under a smooth tail, whose scale and shape are those of the next seventy records
inwards. So every number that is worked out from the column (cuts, knots, ends, and whatever is
drawn from them) is a function of the records from the tenth on, of how many there are, and of
values that ten records share: making the highest record ten or a thousand times as large changes
nothing at all.

What one record can still do is push the others one rank outwards by being there. Let the other
records be independent draws and F(x) the share of them above x. All that is worked out depends on
the k-th highest value x_(k) and, given that, on records which are independent draws from below it,
whether or not one higher record was added. So the best attacker is one who looks at x_(k) alone: n
F(x_(k)) has about a gamma distribution of order k without the record, and of order k - 1 with it.
The area under the ROC curve is P(G_{k-1} < G_k), the odds of at least k - 1 heads in 2k - 2 throws
of a coin (`largest_auc`): 0.59 for k = 10. It is larger for an attacker who knows many of the
others: if a share f of a known population is in the table, the spread of the rank shrinks by the
root of 1 - f.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .types import LARGEST, Numbers

REACH = 8
"""A tail is fitted to the ranks up to this many times the first rank looked at: the 10th to the
80th record, at most a quarter of all.
"""

SHAPES = np.linspace(-1.5, 1.0, 21)
"""Shapes of a tail (extreme value indices) that are weighed by their likelihoods: more than those
taken, so that their mean is not drawn inwards at either end.
"""

HARDEST, HEAVIEST = -1.0, 0.75
"""Shapes that are taken: from an even spread up to a hard end, over an exponential tail, 0, to a
heavy one, such as a lognormal one of sigma 2 has.
"""

ENOUGH = 30
"""Gaps between records looked at, below which the shape is the most likely one, and no heavy
one.
"""

LIGHT = 0.25
"""The heaviest shape for which few records are enough, or a column whose middle is that of no heavy
tail.
"""

LIGHT_SPREAD, HEAVY_SPREAD = 8.0, 14.0
"""How many times as far from the median the last fortieth of a column begins as the last quarter,
where no heavy shape is taken, and where any is.
"""


def n_unseen(n: float) -> int:
    """Return how many records at each end of a column are counted and not looked at.

    Nine, or a third of a short column: the records in the middle then speak for all. Of three
    records none can be left out, since the one in the middle would come out as it is.

    Examples
    --------
    >>> [n_unseen(n) for n in (3, 4, 12, 30, 400)]
    [0, 1, 4, 9, 9]
    """
    return 0 if n < 4 else min(THRESHOLD - 1, int(n) // 3)


def largest_auc(unseen: int) -> float:
    """Return the most that an attacker's area under the ROC curve can be who asks, from one column,
    whether its highest record is in it.

    For the best attacker who knows the distribution of the column, and none of the records that are
    in it.

    Examples
    --------
    >>> [round(largest_auc(unseen), 3) for unseen in (0, 1, 9)]  # 0: the record itself is looked at
    [1.0, 0.75, 0.593]
    """
    return 0.5 + 0.5 * math.comb(2 * unseen, unseen) / 4**unseen


@dataclass(frozen=True)
class TrimmedTails:
    """Sorted distinct values and their counts, expected values standing in for the most extreme
    records; how many there are of these at each end, and where the column ends.
    """

    values: Numbers
    counts: NDArray[np.float64]
    unseen: int
    ends: tuple[float, float]


def with_modelled_tails(
    values: Numbers,
    counts: NDArray[np.float64],
    *,
    point_masses: Numbers | None = None,
    signed: bool = True,
    within: tuple[float, float] = (np.inf, np.inf),
) -> TrimmedTails:
    """Return sorted distinct values and their counts with expected values in place of the most
    extreme records at both ends.

    There are as many records as before. `point_masses`: values that many records share and that are
    not among `values`; a tail ends before the next one, as it does at a pile of its own. `signed`:
    0 divides the values in kind (amounts, not dates), so expected values stay on the side of it on
    which the records are that they are worked out from. `within`: how many records from below, and
    from above, hang together: beyond them is a wide gap, and a tail is that of these records alone.

    Examples
    --------
    Of eight records two at each end are not looked at. The others are evenly spread, so the spread
    goes on.

    >>> tailed = with_modelled_tails(np.array([-9, 1, 10, 12, 14, 16, 17, 999]), np.ones(8))
    >>> tailed.values.tolist()
    [6, 8, 10, 12, 14, 16, 18, 20]
    """
    n = float(counts.sum())
    unseen = n_unseen(n)
    if not unseen:
        mean = (
            float(np.average(values, weights=counts)) if len(values) else 0.0
        )  # so few records have no shape to keep
        return TrimmedTails(values, counts, 0, (mean, mean))
    ranks = np.cumsum(counts)
    middle = np.diff(np.clip(ranks, unseen, n - unseen), prepend=unseen)
    reach = int(min(REACH * (unseen + 1), max(n // 4, 2 * (unseen + 1)), n - unseen))
    from_below, from_above = (
        np.arange(unseen, int(max(min(reach, n_records), unseen + 1))) for n_records in within
    )
    below, above = (
        np.searchsorted(ranks, from_below, side="right"),
        np.searchsorted(ranks, n - 1 - from_above, side="right"),
    )
    fences = np.empty(0) if point_masses is None else point_masses.astype(np.float64)
    if signed:
        fences = np.append(fences, 0.0)
    piled = counts[below[0]] >= THRESHOLD, counts[above[0]] >= THRESHOLD
    low, first = _expected_values(
        values[below],
        unseen,
        -1,
        fences,
        piled=bool(piled[0]),
        heaviest=_heaviest(values, ranks, -1),
    )
    high, last = _expected_values(
        values[above], unseen, 1, fences, piled=bool(piled[1]), heaviest=_heaviest(values, ranks, 1)
    )
    ones = np.ones(unseen)
    distinct, summed = summed_counts(
        [(low, ones), (values[middle > 0], middle[middle > 0]), (high, ones)]
    )
    return TrimmedTails(
        distinct, summed, unseen, (min(first, float(distinct[0])), max(last, float(distinct[-1])))
    )


def summed_counts(
    pairs: Sequence[tuple[Numbers, NDArray[np.float64]]],
) -> tuple[Numbers, NDArray[np.float64]]:
    """Return the numbers of all parts, each once and sorted, with their counts added up."""
    values, inverse = np.unique(np.concatenate([pair[0] for pair in pairs]), return_inverse=True)
    return values, np.bincount(inverse, weights=np.concatenate([pair[1] for pair in pairs])).astype(
        np.float64
    )


def _expected_values(
    ranked: NDArray[Any],
    unseen: int,
    side: int,
    fences: NDArray[np.float64],
    *,
    piled: bool,
    heaviest: float,
) -> tuple[NDArray[Any], float]:
    """Return expected values of the unseen records of one end, from those looked at, outermost
    first; and the end itself.

    The gap between the record of rank r and the next one inwards, times r, is about exponential
    with the mean c r^-s, where s is the shape of the tail (Renyi 1953 for s = 0; Beirlant, Dierckx,
    Goegebeur and Matthys 1999). The shape is a mean over likely ones, so that no record tips it
    from one to the next; the scale c is that of the largest likelihood, and the unseen records are
    c r^-s / r apart. The end is where the tail is at rank one half: about the median of the most
    extreme of as many records.

    Where ten records share the outermost value looked at (`piled`), it is taken for the end of the
    scale, and there is no tail. Nor does a tail cross a fence.
    """
    anchor, numbers = ranked[0], ranked.astype(np.float64)
    ranks = np.arange(unseen + 1, unseen + len(ranked), dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = ranks * np.abs(np.diff(numbers))
        widest = float(gaps.max(initial=0.0))
        beyond = np.zeros(unseen + 1)
        if widest > 0 and math.isfinite(widest) and not piled:
            shape = min(_shape(gaps / widest, unseen), heaviest)
            scale = widest * float((ranks**shape * (gaps / widest)).mean())
            steps = np.arange(unseen, 0, -1.0) ** (-1.0 - shape)
            half = math.log(2) if abs(shape) < 1e-9 else (2.0**shape - 1) / shape
            beyond = scale * np.cumsum(np.append(steps, half))
    outwards = (fences - numbers[0]) * side
    beyond = np.minimum(beyond, outwards[outwards >= 0].min(initial=np.inf))
    if ranked.dtype.kind == "i":
        room = max(float(LARGEST) - side * float(anchor), 0.0)
        out = np.asarray(anchor + side * np.rint(np.minimum(beyond, room)).astype(np.int64))
    else:
        largest = float(np.finfo(np.float64).max)
        with np.errstate(over="ignore"):
            out = np.asarray(np.clip(anchor + side * beyond, -largest, largest))
    return out[:-1], float(out[-1])


def _heaviest(values: Numbers, ranks: NDArray[np.float64], side: int) -> float:
    """Return the heaviest shape that a tail may have, from the middle of its column: how much
    farther from the median the last fortieth begins than the last quarter.

    That is 2.9 times as far in a normal distribution, 4.3 in an exponential one, 6.3 in a lognormal
    one of sigma 1 and 17 of sigma 2. Seventy records of a tail alone take chance for a heavy tail
    now and then, and half of a table is not moved by it.
    """
    shares = (0.5, 0.75, 0.975) if side > 0 else (0.5, 0.25, 0.025)
    median, quarter, fortieth = (
        float(values[min(np.searchsorted(ranks, share * ranks[-1]), len(values) - 1)])
        for share in shares
    )
    with np.errstate(over="ignore", invalid="ignore"):
        near, far = abs(quarter - median), abs(fortieth - median)
    if not near > 0 or not math.isfinite(far):
        return LIGHT
    return LIGHT + (HEAVIEST - LIGHT) * min(
        max((far / near - LIGHT_SPREAD) / (HEAVY_SPREAD - LIGHT_SPREAD), 0.0), 1.0
    )


def _shape(gaps: NDArray[np.float64], unseen: int) -> float:
    """Return the shape of a tail from ranks times gaps: the mean of `SHAPES` by their likelihoods,
    each with its best scale; of few gaps the most likely one.
    """
    powers, logs = _powers(unseen, len(gaps) + 1)
    likelihood = len(gaps) * (logs - np.log((powers * gaps).mean(axis=1)))
    if len(gaps) < ENOUGH:
        return float(
            SHAPES[
                np.argmax(np.where((SHAPES >= HARDEST) & (SHAPES <= LIGHT), likelihood, -np.inf))
            ]
        )
    weights = np.exp(likelihood - likelihood.max())
    return float(np.clip(weights @ SHAPES / weights.sum(), HARDEST, HEAVIEST))


@lru_cache(maxsize=32)
def _powers(unseen: int, looked_at: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ranks between records looked at to the power of each shape, (shapes, ranks), and
    the means of their logarithms: the same for all columns.
    """
    logs = np.log(np.arange(unseen + 1, unseen + looked_at, dtype=np.float64))
    return np.exp(np.outer(SHAPES, logs)), np.asarray(SHAPES * logs.mean())
