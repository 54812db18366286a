"""What a column's values allow of its means, sums, spreads and correlations: a number beyond that is of no dataset.

For n numbers between a and b, of which half lie at each end at most, sum (x - mean)^2 is at most (b - a)^2 floor(n/2) ceil(n/2) / n
(Popoviciu 1935, for whole n); if their mean is m, at most n (m - a)(b - m) (Bhatia and Davis 2000, The American Mathematical Monthly
107). The least that is not 0 has one number a step away from all others. Where n is not known the bound is that of the n which allows most.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from .._base.masking import SHOWN_FROM
from .columns import Floats
from .kinds.base import Frame, OutputSpec
from .kinds.summaries import CorrelationSpec, MomentSpec
from .precision import Interval

__all__ = ["correlation_reason", "least_variance", "moment_reason", "most_variance", "pair_reason"]

SLACK = 1e-7
"""What a number may lie beyond a bound, as a share of it (at least 1): numbers and bounds are rounded."""


def most_variance(width: float, n: int | None, *, ddof: int, most: int) -> float:
    """Return the largest variance of `n` numbers on a range of some width; of at most `most` numbers where `n` is None.

    Examples
    --------
    >>> most_variance(20.0, 2, ddof=0, most=2), most_variance(20.0, 2, ddof=1, most=2)
    (100.0, 200.0)
    """
    # Even and odd n fall (ddof 1) or stay and rise (ddof 0) on their own, so the first and the last two hold the largest.
    tried = [n] if n is not None else [ddof + 1, ddof + 2, most - 1, most]
    shares = [(k // 2) * ((k + 1) // 2) / (k * (k - ddof)) for k in tried if ddof < k <= (most if n is None else k)]
    return width**2 * max(shares, default=0.0)


def least_variance(gap: float, n: int, *, ddof: int) -> float:
    """Return the smallest variance above 0 of `n` numbers that differ by `gap` if they differ.

    Examples
    --------
    >>> least_variance(1.0, 4, ddof=0)
    0.1875
    """
    return gap**2 * (n - 1) / (n * (n - ddof)) if n > ddof else 0.0


def _room(number: float) -> float:
    return SLACK * max(1.0, abs(number))


def _bound(bound: float, n: int | None) -> str:
    """A bound as a message shows it, and a comma; nothing where a small number of records could be worked out from it."""
    return f"{bound:.6g}, " if n is None or n >= SHOWN_FROM else ""


def _values(of: str, output: OutputSpec, frame: Frame) -> Floats:
    """The values of a column that an output's filter leaves."""
    return frame.fields[of].values[output.filter(frame).levels(frame.fields.position(of))]


def _numbers(output: MomentSpec, frame: Frame) -> int | None:
    """How many numbers are behind a moment without groups, where that is known."""
    return None if output.by else output.known_n(frame)


def moment_reason(output: MomentSpec, frame: Frame) -> str | None:
    """Return why no values of its column have a published mean, sum, standard deviation or variance; None if some may.

    Parameters
    ----------
    output
        The output; numbers of its groups are looked at one by one.
    frame
        The columns with their values, and the number of records.
    """
    values, n = _values(output.of, output, frame), _numbers(output, frame)
    most = output.known_n(frame) or frame.rows
    column = f"column '{output.of}'"
    for interval in output.intervals(output.crossing(frame)).values():
        if not len(values):
            return f"its filter leaves no value of {column}"
        low, high = float(values[0]), float(values[-1])
        if output.kind == "mean" and (interval.hi < low - _room(low) or interval.lo > high + _room(high)):
            return f"a mean lies outside the values of {column}"
        if output.kind == "sum":
            least, largest = (low * n, high * n) if n is not None else (min(low, 0.0) * most, max(high, 0.0) * most)
            if interval.hi < least - _room(least) or interval.lo > largest + _room(largest):
                return f"a sum lies outside what so many values of {column} can add up to"
        if output.kind in ("sd", "variance"):
            if interval.hi < 0:
                return "a spread is below 0"
            if reason := _spread_reason(output, interval, values, n, most):
                return reason
    return None


def _spread_reason(output: MomentSpec, interval: Interval, values: Floats, n: int | None, most: int) -> str | None:
    """Why a spread is too large for the range of some values, or too small for their steps."""
    largest = most_variance(float(values[-1] - values[0]), n, ddof=output.ddof, most=most)
    shown = math.sqrt(largest) if output.kind == "sd" else largest
    what = "a standard deviation" if output.kind == "sd" else "a variance"
    if interval.lo > shown + _room(shown):
        return (
            f"{what} is above {_bound(shown, n)}the largest that values on the range of column '{output.of}' can have"
        )
    if n is not None and len(values) > 1 and interval.lo > 0:
        least = least_variance(float(np.diff(values).min()), n, ddof=output.ddof)
        shown = math.sqrt(least) if output.kind == "sd" else least
        if interval.hi < shown * (1.0 - SLACK):
            return f"{what} is above 0 and below {_bound(shown, n)}the smallest that values with the steps of column '{output.of}' can have"
    return None


def pair_reason(one: OutputSpec, other: OutputSpec, frame: Frame) -> str | None:
    """Return why a mean (or a sum) and a spread of the same numbers cannot both hold; None if they may, or are of other numbers.

    The mean decides how far apart numbers on a range can lie: the variance is at most (m - a)(b - m) n / (n - ddof).
    """
    if not isinstance(one, MomentSpec) or not isinstance(other, MomentSpec):
        return None
    spread, centre = (one, other) if one.kind in ("sd", "variance") else (other, one)
    same = (one.of, one.by, one.groups, one.where) == (other.of, other.by, other.groups, other.where)
    if not same or spread.kind not in ("sd", "variance") or centre.kind not in ("mean", "sum"):
        return None
    counts = {n for n in (_numbers(one, frame), _numbers(other, frame)) if n is not None}
    n = counts.pop() if len(counts) == 1 else None
    values, means = _values(one.of, one, frame), centre.intervals(centre.crossing(frame))
    if not len(values) or (centre.kind == "sum" and n is None):
        return None
    low, high = float(values[0]), float(values[-1])
    for group, interval in spread.intervals(spread.crossing(frame)).items():
        if group not in means:
            continue
        mean = (
            means[group] if centre.kind == "mean" else Interval(means[group].lo / (n or 1), means[group].hi / (n or 1))
        )
        # The mean of the interval, and of the range, that leaves most room: the one nearest to the middle.
        nearest = min(max(0.5 * (low + high), max(mean.lo, low)), min(mean.hi, high))
        fewest = n if n is not None else spread.ddof + 1
        largest = max(nearest - low, 0.0) * max(high - nearest, 0.0) * fewest / max(fewest - spread.ddof, 1)
        shown = math.sqrt(largest) if spread.kind == "sd" else largest
        if interval.lo > shown + _room(shown):
            what = "standard deviation" if spread.kind == "sd" else "variance"
            return f"with that {centre.kind}, the {what} is above {_bound(shown, n)}the largest that values on the range of column '{one.of}' can have"
    return None


def correlation_reason(output: CorrelationSpec, frame: Frame) -> str | None:
    """Return why no numbers have the published correlations; None if some may.

    A column needs two values to have a correlation at all. Of three columns, the angles arccos r obey the triangle inequality and add up
    to at most a full turn: else their correlation matrix has a negative eigenvalue.
    """
    found = output.intervals()
    for pair in found:
        for k in pair:
            if len(_values(output.of[k], output, frame)) < 2:
                return f"column '{output.of[k]}' has one value only, so that nothing is correlated with it"
    n = output.known_n(frame)
    if n is not None and n < 2:
        return "one record has no correlation"
    # Angles fall as correlations rise. Ends that were rounded beyond 1 are taken back.
    angles = {
        pair: (math.acos(min(max(r.hi, -1.0), 1.0)), math.acos(min(max(r.lo, -1.0), 1.0))) for pair, r in found.items()
    }
    for three in combinations(range(len(output.of)), 3):
        pairs = list(combinations(three, 2))
        if not all(pair in angles for pair in pairs):
            continue
        least, most = [angles[pair][0] for pair in pairs], [angles[pair][1] for pair in pairs]
        apart = any(least[k] > sum(most) - most[k] + SLACK for k in range(3))
        if apart or sum(least) > 2.0 * math.pi + SLACK:
            names = ", ".join(f"'{output.of[k]}'" for k in three)
            return f"the correlations of {names} contradict each other: no three columns have all of them"
    return None
