"""How well scores tell members from others: AUC, true positives at few false ones, advantage, each with an interval.

A threshold is chosen on validation scores and judged on test scores. Trials of one shadow (its tables, and its targets where
they are pooled) share a fit, so they are not independent. Intervals therefore follow how much shadows differ:

- rates: Korn and Graubard (1998), which is Clopper and Pearson's exact interval with the trials divided by the design effect,
  the variance between shadows over that of independent trials, at least 1. With one trial a shadow it is the exact one. Where
  all trials agree (a rate of 0 or 1) no design effect can be found, and shadows are counted in place of trials: wide, but safe.
- AUC: Newcombe's score interval (2006, method 5), which also holds at 1, its variance raised to that of DeLong's components
  summed by shadow (Obuchowski, 1997) where that is larger.
- advantage: Newcombe's (1998) combination of the two rates' intervals, or the normal one by shadows where that is wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError
from ..._base.plain import from_plain, to_plain, without_none
from ...stats.intervals import Interval

__all__ = ["MOST_POINTS", "AtFpr", "Rates", "Trials", "auc_interval", "rate_interval", "rates", "roc"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class Trials:
    """Scores, whether each was of a member, and the shadow each came from: three lists of one length."""

    scores: Floats
    member: Bools
    shadow: Ints

    def __post_init__(self) -> None:
        if not self.scores.shape == self.member.shape == self.shadow.shape or self.scores.ndim != 1:
            raise InputError("Scores, member and shadow must be lists of one length.")
        if not np.isfinite(self.scores).all():
            raise InputError("Scores must be finite numbers. Some are not.")
        if not self.member.any() or self.member.all():
            raise InputError("Trials must be of members and of others: one kind is absent. Draw more shadows.")
        # Any numbers tell shadows apart; sums by shadow want them without gaps.
        object.__setattr__(self, "shadow", np.unique(self.shadow, return_inverse=True)[1])

    @classmethod
    def of(cls, scores: ArrayLike, member: ArrayLike) -> Trials:
        """Return trials from scores whose first axis is the shadow; `member` may lack the last axis, that of tables.

        One target: scores (shadows, tables), member (shadows,). Pooled: (shadows, targets, tables) and (shadows, targets).
        """
        values, inside = np.asarray(scores, dtype=np.float64), np.asarray(member)
        if inside.dtype != np.bool_ or inside.shape not in (values.shape, values.shape[:-1]) or not inside.ndim:
            raise InputError(
                f"member must be yes or no for scores of shape {values.shape}, or for all but the last axis. "
                f"Got shape {inside.shape}."
            )
        if inside.ndim < values.ndim:
            inside = np.broadcast_to(inside[..., None], values.shape)
        shadow = np.repeat(np.arange(len(values)), values[0].size if len(values) else 0)
        return cls(values.ravel(), inside.ravel(), shadow)

    @property
    def shadows(self) -> int:
        """How many shadows there are."""
        return int(self.shadow.max()) + 1

    def side(self, member: bool, threshold: float) -> tuple[Bools, Ints]:
        """Return for members, or others, whether each scores above a threshold, and its shadow."""
        side = self.member == member
        return self.scores[side] > threshold, self.shadow[side]


@dataclass(frozen=True)
class AtFpr:
    """True and false positives on test at the threshold that kept false ones to `level` on validation; None: see `reason`."""

    level: float
    threshold: float | None = None
    tpr: float | None = None
    fpr: float | None = None
    tpr_interval: Interval | None = None
    fpr_interval: Interval | None = None
    reason: str = ""


@dataclass(frozen=True)
class Rates:
    """How well an attack did on test shadows.

    Parameters
    ----------
    auc, auc_interval
        The chance that a member scores above another, ties half: 1 tells them apart, 0.5 is a guess.
    at
        True positives at given false positive levels.
    advantage, advantage_interval
        True less false positives at the threshold that was best on validation: 1 perfect, 0 a guess.
    fpr, tpr
        Points of the curve, from (0, 0) to (1, 1), at most 200.
    shadows, members, others
        How many shadows, trials of members and trials of others there were on test.
    confidence
        How often an interval covers.
    """

    auc: float
    auc_interval: Interval
    at: tuple[AtFpr, ...]
    advantage: float
    advantage_interval: Interval
    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    shadows: int
    members: int
    others: int
    confidence: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "at": to_plain(self.at),
            "advantage": self.advantage,
            "advantage_interval": list(self.advantage_interval),
            "roc": {"fpr": list(self.fpr), "tpr": list(self.tpr)},
            "trials": {"shadows": self.shadows, "members": self.members, "others": self.others},
            "confidence": self.confidence,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rates:
        """Return the rates that plain data hold; a curve that is not there is empty."""
        curve, trials = without_none(data.get("roc")), without_none(data.get("trials"))
        return from_plain(cls, {"fpr": (), "tpr": (), **data, **curve, **trials}, what="rates")


def rates(
    validation: Trials, test: Trials, *, levels: tuple[float, ...] = (0.01, 0.001), confidence: float = 0.95
) -> Rates:
    """Return the rates of test trials at thresholds chosen on validation trials.

    Examples
    --------
    >>> scores, member = np.arange(8.0), np.arange(8) >= 4
    >>> found = rates(Trials.of(scores, member), Trials.of(scores, member))
    >>> found.auc, found.advantage, found.at[0].reason
    (1.0, 1.0, '1 % needs at least 100 validation trials of non-members.')
    """
    value, ends = auc_interval(test, confidence=confidence)
    best = _best_threshold(validation)
    gain, gain_ends = _advantage(test, best, confidence)
    fpr, tpr = roc(test)
    inside = int(test.member.sum())
    return Rates(
        value,
        ends,
        tuple(_at(validation, test, level, confidence) for level in levels),
        gain,
        gain_ends,
        tuple(fpr.tolist()),
        tuple(tpr.tolist()),
        test.shadows,
        inside,
        len(test.member) - inside,
        confidence,
    )


def _at(validation: Trials, test: Trials, level: float, confidence: float) -> AtFpr:
    """The rates where validation has at most the share `level` of false positives."""
    if not 0 < level < 1:
        raise InputError(f"A level of false positives must lie between 0 and 1. Got {level}.")
    others = np.sort(validation.scores[~validation.member])[::-1]
    # A level of 0.01 is not quite 1/100 in binary; 100 trials are enough for it all the same.
    allowed = floor(level * len(others) + 1e-9)
    if allowed < 1:
        need = int(np.ceil(1 / level - 1e-9))
        return AtFpr(level, reason=f"{100 * level:g} % needs at least {need} validation trials of non-members.")
    threshold = float(others[min(allowed, len(others) - 1)])
    hits, falls = test.side(True, threshold), test.side(False, threshold)
    return AtFpr(
        level,
        threshold,
        float(hits[0].mean()),
        float(falls[0].mean()),
        rate_interval(*hits, confidence=confidence),
        rate_interval(*falls, confidence=confidence),
    )


def rate_interval(hits: NDArray[Any], shadow: NDArray[Any], *, confidence: float = 0.95) -> Interval:
    """Return Korn and Graubard's interval of the share of trials that hit, trials of one shadow not independent.

    Examples
    --------
    >>> [round(end, 6) for end in rate_interval(np.arange(100) < 85, np.arange(100))]  # Clopper and Pearson
    [0.764692, 0.913546]
    """
    from scipy.special import betaincinv, stdtrit

    n, rate = len(hits), float(np.mean(hits))
    _, cluster = np.unique(shadow, return_inverse=True)
    clusters = int(cluster.max()) + 1
    trials = float(n)
    if clusters < n:
        if rate in (0.0, 1.0) or clusters < 2:
            trials = float(clusters)
        else:
            off = np.bincount(cluster, weights=hits - rate)
            variance = clusters / (clusters - 1) * float(off @ off) / n**2
            effect = max(1.0, variance / (rate * (1 - rate) / n))
            tail = 0.5 + confidence / 2
            # Few shadows: the variance itself is uncertain.
            trials = n / effect * min(1.0, float(stdtrit(n - 1, tail) / stdtrit(clusters - 1, tail)) ** 2)
    tail, successes = (1 - confidence) / 2, rate * trials
    low = float(betaincinv(successes, trials - successes + 1, tail)) if rate > 0 else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if rate < 1 else 1.0
    return low, high


def auc_interval(trials: Trials, *, confidence: float = 0.95) -> tuple[float, Interval]:
    """Return the chance that a member scores above another, ties half, and its interval.

    Examples
    --------
    >>> value, (low, high) = auc_interval(Trials.of([0.1, 0.4, 0.4, 0.8], np.array([False, False, True, True])))
    >>> value, low < 0.5 < value < high <= 1
    (0.875, True)
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri
    from scipy.stats import rankdata

    inside = trials.member
    m, n = int(inside.sum()), int((~inside).sum())
    # DeLong's components: for each member the share of others below, for each other the share of members above.
    every = rankdata(trials.scores)
    below = (every[inside] - rankdata(trials.scores[inside])) / n
    above = 1 - (every[~inside] - rankdata(trials.scores[~inside])) / m
    value = float(below.mean())
    part = np.empty(len(inside))
    part[inside], part[~inside] = (below - value) / m, (above - value) / n
    # Components of one shadow are summed first. Members and others vary about means of their own: one correction for each
    # is that of DeLong where every trial is a shadow, and nearly so elsewhere.
    correction = max(_few(trials.shadow[side]) for side in (inside, ~inside))
    summed = np.bincount(trials.shadow, weights=part)
    variance = correction * float(summed @ summed)
    equal = (m + n) / 2 - 1

    def model(area: float) -> float:
        return area * (1 - area) * (1 + equal * ((1 - area) / (2 - area) + area / (1 + area))) / (m * n)

    raised = len(inside) / trials.shadows  # separation leaves no variance: shadows count, not trials
    if 0 < value < 1:
        raised = max(1.0, variance / model(value))
    z = float(ndtri(0.5 + confidence / 2))

    def off(area: float) -> float:
        return (value - area) ** 2 - z * z * raised * model(area)

    # The difference is positive at both ends and negative at the value; at 0 and 1 themselves the variance is 0.
    low = brentq(off, 0.0, min(value, 1 - 1e-12)) if value > 0 else 0.0
    high = brentq(off, max(value, 1e-12), 1.0) if value < 1 else 1.0
    return value, (float(low), float(high))


def _few(shadow: Ints) -> float:
    count = len(np.unique(shadow))
    return count / (count - 1) if count > 1 else 2.0


def _best_threshold(trials: Trials) -> float:
    """The threshold above which true less false positives are most, the highest of equals."""
    threshold, fpr, tpr = _curve(trials)
    return float(threshold[int(np.argmax(tpr - fpr))])


def _advantage(trials: Trials, threshold: float, confidence: float) -> tuple[float, Interval]:
    """True less false positives above a threshold, and an interval."""
    from scipy.special import stdtrit

    hits, falls = trials.side(True, threshold), trials.side(False, threshold)
    tpr, fpr = float(hits[0].mean()), float(falls[0].mean())
    value = tpr - fpr
    (low1, high1), (low0, high0) = (rate_interval(*side, confidence=confidence) for side in (hits, falls))
    down, up = sqrt((tpr - low1) ** 2 + (high0 - fpr) ** 2), sqrt((high1 - tpr) ** 2 + (fpr - low0) ** 2)
    # Both rates of a shadow may move together, or apart: that shows in the sums by shadow.
    part = np.empty(len(trials.member))
    part[trials.member] = (hits[0] - tpr) / len(hits[0])
    part[~trials.member] = -(falls[0] - fpr) / len(falls[0])
    summed = np.bincount(trials.shadow, weights=part)
    count = max(len(summed), 2)
    half = float(stdtrit(count - 1, 0.5 + confidence / 2)) * sqrt(count / (count - 1) * float(summed @ summed))
    return value, (max(-1.0, value - max(down, half)), min(1.0, value + max(up, half)))


def _curve(trials: Trials) -> tuple[Floats, Floats, Floats]:
    """Thresholds, falling, and the false and true positives above each; the first is above all scores, the last below."""
    order = np.argsort(-trials.scores, kind="stable")
    scores, member = trials.scores[order], trials.member[order]
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    tpr = np.concatenate([[0.0], np.cumsum(member)[last] / member.sum()])
    fpr = np.concatenate([[0.0], np.cumsum(~member)[last] / (~member).sum()])
    return np.concatenate([scores[:1], scores[last[:-1] + 1], [-np.inf]]), fpr, tpr


def roc(trials: Trials, *, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Return false and true positives of the curve, from (0, 0) to (1, 1): at most so many points, evenly by log of the false.

    Examples
    --------
    >>> fpr, tpr = roc(Trials.of([0.1, 0.4, 0.4, 0.8], np.array([False, False, True, True])))
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    _, fpr, tpr = _curve(trials)
    # Points in the middle of a straight rise or run add nothing.
    inner = ((fpr[1:-1] == fpr[:-2]) & (fpr[1:-1] == fpr[2:])) | ((tpr[1:-1] == tpr[:-2]) & (tpr[1:-1] == tpr[2:]))
    keep = np.concatenate([[True], ~inner, [True]])
    fpr, tpr = fpr[keep], tpr[keep]
    if len(fpr) > most:
        grid = np.geomspace(fpr[fpr > 0].min(), 1.0, most - 2)
        # The highest point at or left of each: the curve is a stair, and is never shown above itself.
        at = np.unique(np.concatenate([[0, len(fpr) - 1], np.searchsorted(fpr, grid, side="right") - 1]))
        fpr, tpr = fpr[at], tpr[at]
    return fpr, tpr
