"""How well scores tell members from others: AUC, true positives at few false ones, advantage, each with an interval.

A threshold is chosen on validation scores and judged on test scores. Trials of one shadow (its tables, and its targets where
they are pooled) share a fit, so they are not independent. Intervals therefore follow how much shadows differ:

- rates and AUC: `stats.intervals.clustered_rate` and `clustered_auc`, clusters being shadows;
- advantage: Newcombe's (1998) combination of the two rates' intervals, or the normal one by shadows where that is wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, sqrt

import numpy as np
from numpy.typing import ArrayLike

from ..._base.arrays import Floats, Ints, Mask
from ..._base.errors import InputError
from ...stats.intervals import Interval, clustered_auc, clustered_rate, student_quantile

MAX_POINTS = 200


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores, whether each was of a member, the shadow each came from, and the target it was of: lists of one length.

    Without `target` all are of one. A design fixes how often each target is a member, so targets are strata of intervals.
    """

    scores: Floats
    member: Mask
    shadow: Ints
    target: Ints | None = None

    def __post_init__(self) -> None:
        if not self.scores.shape == self.member.shape == self.shadow.shape or self.scores.ndim != 1:
            raise InputError("Scores, member and shadow must be lists of one length.")
        if self.target is not None and self.target.shape != self.scores.shape:
            raise InputError("target must name one target for each score.")
        if not np.isfinite(self.scores).all():
            raise InputError("Scores must be finite numbers. Some are not.")
        if not self.member.any() or self.member.all():
            raise InputError(
                "Trials must be of members and of others: one kind is absent. Draw more shadows."
            )
        # Any numbers distinguish shadows; sums by shadow want them without gaps.
        object.__setattr__(self, "shadow", np.unique(self.shadow, return_inverse=True)[1])
        if self.target is not None:
            object.__setattr__(self, "target", np.unique(self.target, return_inverse=True)[1])

    @classmethod
    def from_arrays(cls, scores: ArrayLike, member: ArrayLike) -> LabelledScores:
        """Return trials from scores whose first axis is the shadow; `member` may lack the last axis, that of tables.

        One target: scores (shadows, tables), member (shadows,). Pooled: (shadows, targets, tables) and (shadows, targets).
        """
        values, inside = np.asarray(scores, dtype=np.float64), np.asarray(member)
        if (
            inside.dtype != np.bool_
            or inside.shape not in (values.shape, values.shape[:-1])
            or not inside.ndim
        ):
            raise InputError(
                f"member must be yes or no for scores of shape {values.shape}, or for all but the last axis. "
                f"Got shape {inside.shape}."
            )
        if inside.ndim < values.ndim:
            inside = np.broadcast_to(inside[..., None], values.shape)
        shadow = np.repeat(np.arange(len(values)), values[0].size if len(values) else 0)
        target = None
        if values.ndim > 2:
            target = np.broadcast_to(np.arange(values.shape[1])[:, None], values.shape).ravel()
        return cls(values.ravel(), inside.ravel(), shadow, target)

    @property
    def shadows(self) -> int:
        """How many shadows there are."""
        return int(self.shadow.max()) + 1

    def side(self, member: bool, threshold: float) -> tuple[Mask, Ints]:
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
        The chance that a member scores above another, ties half: 1 distinguishes them, 0.5 is a guess.
    at_fpr
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
    at_fpr: tuple[AtFpr, ...]
    advantage: float
    advantage_interval: Interval
    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    shadows: int
    members: int
    others: int
    confidence: float = 0.95


def rates(
    validation: LabelledScores,
    test: LabelledScores,
    *,
    levels: tuple[float, ...] = (0.01, 0.001),
    confidence: float = 0.95,
) -> Rates:
    """Return the rates of test trials at thresholds chosen on validation trials.

    Examples
    --------
    >>> scores, member = np.arange(8.0), np.arange(8) >= 4
    >>> found = rates(LabelledScores.from_arrays(scores, member), LabelledScores.from_arrays(scores, member))
    >>> found.auc, found.advantage, found.at_fpr[0].reason
    (1.0, 1.0, '1 % needs at least 100 validation trials of non-members.')
    """
    value, ends = clustered_auc(
        test.scores, test.member, test.shadow, stratum=test.target, level=confidence
    )
    # The threshold above which true less false positives are most on validation, the highest of equals.
    threshold, fpr, tpr = _curve(validation)
    best = float(threshold[int(np.argmax(tpr - fpr))])
    gain, gain_ends = _advantage(test, best, confidence)
    fpr, tpr = roc(test)
    inside = int(test.member.sum())
    return Rates(
        value,
        ends,
        tuple(_rate_at_level(validation, test, level, confidence) for level in levels),
        gain,
        gain_ends,
        tuple(fpr.tolist()),
        tuple(tpr.tolist()),
        test.shadows,
        inside,
        len(test.member) - inside,
        confidence,
    )


def _rate_at_level(
    validation: LabelledScores, test: LabelledScores, level: float, confidence: float
) -> AtFpr:
    """The rates where validation has at most the share `level` of false positives."""
    if not 0 < level < 1:
        raise InputError(f"A level of false positives must lie between 0 and 1. Got {level}.")
    others = np.sort(validation.scores[~validation.member])[::-1]
    # A level of 0.01 is not quite 1/100 in binary; 100 trials are enough for it all the same.
    allowed = floor(level * len(others) + 1e-9)
    if allowed < 1:
        need = int(np.ceil(1 / level - 1e-9))
        return AtFpr(
            level,
            reason=f"{100 * level:g} % needs at least {need} validation trials of non-members.",
        )
    threshold = float(others[min(allowed, len(others) - 1)])
    hits, falls = test.side(True, threshold), test.side(False, threshold)
    return AtFpr(
        level,
        threshold,
        float(hits[0].mean()),
        float(falls[0].mean()),
        clustered_rate(*hits, level=confidence),
        clustered_rate(*falls, level=confidence),
    )


def _advantage(
    trials: LabelledScores, threshold: float, confidence: float
) -> tuple[float, Interval]:
    """True less false positives above a threshold, and an interval."""
    hits, falls = trials.side(True, threshold), trials.side(False, threshold)
    tpr, fpr = float(hits[0].mean()), float(falls[0].mean())
    value = tpr - fpr
    (low1, high1), (low0, high0) = (
        clustered_rate(*side, level=confidence) for side in (hits, falls)
    )
    down, up = (
        sqrt((tpr - low1) ** 2 + (high0 - fpr) ** 2),
        sqrt((high1 - tpr) ** 2 + (fpr - low0) ** 2),
    )
    # Both rates of a shadow may move together, or apart: that shows in the sums by shadow.
    influence = np.empty(len(trials.member))
    influence[trials.member] = (hits[0] - tpr) / len(hits[0])
    influence[~trials.member] = -(falls[0] - fpr) / len(falls[0])
    summed = np.bincount(trials.shadow, weights=influence)
    count = max(len(summed), 2)
    half = student_quantile(0.5 + confidence / 2, count - 1) * sqrt(
        count / (count - 1) * float(summed @ summed)
    )
    return value, (max(-1.0, value - max(down, half)), min(1.0, value + max(up, half)))


def _curve(trials: LabelledScores) -> tuple[Floats, Floats, Floats]:
    """Thresholds, falling, and the false and true positives above each; the first is above all scores, the last below."""
    order = np.argsort(-trials.scores, kind="stable")
    scores, member = trials.scores[order], trials.member[order]
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    tpr = np.concatenate([[0.0], np.cumsum(member)[last] / member.sum()])
    fpr = np.concatenate([[0.0], np.cumsum(~member)[last] / (~member).sum()])
    return np.concatenate([scores[:1], scores[last[:-1] + 1], [-np.inf]]), fpr, tpr


def roc(trials: LabelledScores, *, max_points: int = MAX_POINTS) -> tuple[Floats, Floats]:
    """Return false and true positives of the curve, from (0, 0) to (1, 1): at most so many points, evenly by log of the false.

    Examples
    --------
    >>> fpr, tpr = roc(LabelledScores.from_arrays([0.1, 0.4, 0.4, 0.8], np.array([False, False, True, True])))
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    _, fpr, tpr = _curve(trials)
    # Points in the middle of a straight rise or run add nothing.
    inner = ((fpr[1:-1] == fpr[:-2]) & (fpr[1:-1] == fpr[2:])) | (
        (tpr[1:-1] == tpr[:-2]) & (tpr[1:-1] == tpr[2:])
    )
    keep = np.concatenate([[True], ~inner, [True]])
    fpr, tpr = fpr[keep], tpr[keep]
    if len(fpr) > max_points:
        grid = np.geomspace(fpr[fpr > 0].min(), 1.0, max_points - 2)
        # The highest point at or left of each: the curve is a stair, and is never shown above itself.
        kept_points = np.unique(
            np.concatenate([[0, len(fpr) - 1], np.searchsorted(fpr, grid, side="right") - 1])
        )
        fpr, tpr = fpr[kept_points], tpr[kept_points]
    return fpr, tpr
