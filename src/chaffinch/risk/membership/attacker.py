"""Meta-classifiers, from features of synthetic tables to the chance that a target was in the data: log-odds of membership, calibrated on shadows that they were
not fitted to, and the parts that all of them share.

The tables of one shadow share a fit and are not independent: folds are of shadows, never of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.arrays import Floats, Ints, Mask, Singles
from ..._base.checks import check_name
from ..._base.errors import InputError
from ..._base.seeds import Seed, generator
from ...stats.learners import auc
from ..attacker import ATTACKERS, Attacker, attackers_of_kind

Kind = Literal["counts", "real"]


KINDS = ("counts", "real")


FOLDS = 5


BLOCK = 1024
"""Rows of features worked at a time. Sums are taken block by block, so that threads change no result."""


class TargetAttacker(Protocol):
    """What was learnt about one target. `checked` are the training shadows' log-odds out of fold, (shadows, tables)."""

    @property
    def checked(self) -> Floats: ...

    @property
    def auc(self) -> float: ...

    @property
    def settings(self) -> dict[str, Any]:
        """What was chosen out of fold."""
        ...

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand, (...), of features (..., d)."""
        ...

    def chance(self, features: ArrayLike) -> Floats:
        """Return the chance of membership at even odds beforehand, (...), of features (..., d): 0 to 1."""
        ...


class Learner(Protocol):
    """A way to learn an attacker from shadows: features (shadows, tables, d) and whether the target was in each shadow."""

    def fit(
        self,
        features: ArrayLike,
        member: ArrayLike,
        *,
        seed: Seed = None,
        threads: int | None = None,
    ) -> TargetAttacker: ...

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> Learner:
        """Return a learner that has less to choose, from what attackers of other targets chose on the same shadows."""
        ...


DISTINGUISHED = "members are distinguished from others with AUC {value}"
"""What the value of an attacker that learns from shadows says; its sentence begins with what it goes by."""


def learners() -> dict[str, Callable[..., Learner]]:
    """Return what learns an attacker from shadows, by the name of the attacker."""
    return {
        attacker.name: attacker.learner
        for attacker in attackers_of_kind("membership")
        if attacker.learner is not None
    }


ATTACKERS.register(
    Attacker(
        name="closest",
        needs=("shadows",),
        title="Closest row alone",
        definition="On how many columns the closest released row matches the target. Nothing is learnt.",
        sentence=f"By the closest row alone {DISTINGUISHED}",
        blindness="What many rows show together, and how near a number is that does not match.",
        share=False,
    )
)


@dataclass(frozen=True)
class Calibration:
    """Log-odds as a rising line of a score: slope x (score - middle), at even odds beforehand."""

    slope: float
    middle: float

    def log_odds(self, score: NDArray[Any]) -> Floats:
        """Return the log-odds of scores."""
        return np.asarray(
            self.slope * (np.asarray(score, dtype=np.float64) - self.middle), dtype=np.float64
        )


def calibrate(score: NDArray[Any], member: Mask) -> Calibration:
    """Return Platt's calibration of scores (shadows, tables) that the learner was not fitted to; slope 0 where they say nothing.

    Logistic regression of one number (Platt, 1999, with its smoothed labels: perfect separation has a finite slope), members
    and others weighed alike: the line is for a prior of one half whatever their shares. The smoothing counts shadows, as
    tables of one shadow are no new evidence. Scores that fall with membership out of fold are noise: their slope is set to 0.

    Examples
    --------
    >>> calibrate(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([False, True, False, True])).middle
    1.5
    >>> calibrate(np.ones((4, 2)), np.array([False, True, False, True]))
    Calibration(slope=0.0, middle=0.0)
    """
    values = np.asarray(score, dtype=np.float64)
    inside, outside = int(member.sum()), int((~member).sum())
    spread, centre = float(values.std()), float(values.mean())
    if (
        not inside
        or not outside
        or not np.isfinite(spread)
        or spread <= 1e-12 * max(1.0, abs(centre))
    ):
        return Calibration(0.0, 0.0)
    x = ((values - centre) / spread).ravel()
    label = np.repeat(
        np.where(member, (inside + 1) / (inside + 2), 1 / (outside + 2)), values.shape[1]
    )
    weight = (
        np.repeat(np.where(member, 0.5 / inside, 0.5 / outside), values.shape[1]) / values.shape[1]
    )
    design = np.column_stack([x, np.ones_like(x)])

    def loss(line: Floats) -> float:
        z = design @ line
        return float(weight @ (np.logaddexp(0.0, z) - label * z))

    line, current_loss = np.zeros(2), loss(np.zeros(2))
    for _ in range(100):  # Newton's steps, halved until they help: the loss is convex
        p = 1 / (1 + np.exp(-np.clip(design @ line, -500, 500)))
        slope = design.T @ (weight * (p - label))
        curve = (design * (weight * p * (1 - p))[:, None]).T @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        while loss(line - step) > current_loss and np.abs(step).max() > 1e-10:
            step = step / 2
        line = line - step
        current_loss = loss(line)
        if np.abs(step).max() <= 1e-9:
            break
    if line[0] <= 1e-9:
        return Calibration(0.0, 0.0)
    return Calibration(float(line[0] / spread), centre - spread * float(line[1] / line[0]))


@dataclass(frozen=True)
class Cleaner:
    """Finite numbers from any: not a number becomes the mean of the column, infinities one beyond its ends."""

    low: Singles
    middle: Singles
    high: Singles

    @classmethod
    def from_features(cls, x: Singles) -> Cleaner:
        known = np.isfinite(x)
        has_finite = known.any(axis=0)
        low = np.where(has_finite, np.where(known, x, np.inf).min(axis=0), 0.0)
        high = np.where(has_finite, np.where(known, x, -np.inf).max(axis=0), 0.0)
        total = np.where(known, x, 0.0).sum(axis=0, dtype=np.float64)
        middle = total / np.maximum(known.sum(axis=0), 1)
        return cls(*(bound.astype(np.float32) for bound in (low - 1, middle, high + 1)))

    def __call__(self, x: Singles) -> Singles:
        if np.isfinite(x).all():
            return x
        x = np.where(np.isnan(x), self.middle, x)
        return np.where(np.isposinf(x), self.high, np.where(np.isneginf(x), self.low, x))


class OddsAttacker:
    """What attackers have in common, whatever their log-odds come from: features of the width they learnt from, and chances."""

    width: int

    def features_of(self, features: ArrayLike) -> Singles:
        """Return features as an array, if they are as many as in training."""
        x = np.asarray(features, dtype=np.float32)
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise InputError(
                f"Features must have {self.width} numbers each, as in training. Got shape {x.shape}."
            )
        return x

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand."""
        raise NotImplementedError

    def chance(self, features: ArrayLike) -> Floats:
        """Return the chance of membership at even odds beforehand: 0 to 1."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.log_odds(features), -500, 500))))


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibratedAttacker(OddsAttacker):
    """An attacker who was calibrated out of fold: `checked` are the training shadows' log-odds there, (shadows, tables)."""

    width: int
    calibration: Calibration
    checked: Floats = field(repr=False)
    member: Mask = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def auc(self) -> float:
        """The AUC of `checked`: 1 tells members from others, 0.5 is a guess, or calibration found that scores say nothing."""
        area = auc(self.checked.ravel(), np.repeat(self.member, self.checked.shape[1]))
        assert area is not None
        return area


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedAttacker(CalibratedAttacker):
    """An attacker: a score of features, and its calibration."""

    prepared: Callable[[Singles], Singles] = field(repr=False)
    score: Callable[[Singles], Floats] = field(repr=False)

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand."""
        x = self.features_of(features)
        flat = x.reshape(-1, self.width)
        parts = [self.score(self.prepared(flat[rows])) for rows in blocks(len(flat))]
        score = np.concatenate(parts) if parts else np.empty(0)
        return self.calibration.log_odds(score).reshape(x.shape[:-1])


@dataclass(frozen=True, eq=False)
class TrainingShadows:
    """What a learner is shown: features (shadows, tables, d), whether the target was in each shadow, and its fold."""

    features: Singles
    member: Mask
    fold: Ints
    rng: np.random.Generator
    threads: int | None

    @property
    def by_table(self) -> tuple[Singles, Mask, Ints]:
        """Features (shadows x tables, d), and the membership and fold of each table."""
        _, tables, width = self.features.shape
        return (
            self.features.reshape(-1, width),
            np.repeat(self.member, tables),
            np.repeat(self.fold, tables),
        )


@dataclass(frozen=True, eq=False)
class ScoreFit:
    """What a learner makes of shadows: how features are prepared and scored, the scores of shadows out of fold, and what was chosen.

    `offset`: how far scores of new tables lie above those out of fold.
    """

    prepared: Callable[[Singles], Singles]
    score: Callable[[Singles], Floats]
    unseen: Floats
    settings: dict[str, Any]
    offset: float = 0.0


class CrossFitLearner:
    """A learner by `learn` alone: what goes in is checked and dealt into folds, what comes out is calibrated out of fold."""

    kind: Kind

    def learn(self, shadows: TrainingShadows) -> ScoreFit:
        """Return a score that was learnt from all shadows, and the scores of shadows out of fold."""
        raise NotImplementedError

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> Learner:
        """Return the same: nothing is chosen, or it is chosen for every target anew."""
        return self

    def fit(
        self,
        features: ArrayLike,
        member: ArrayLike,
        *,
        seed: Seed = None,
        threads: int | None = None,
    ) -> TargetAttacker:
        """Return the attacker learnt from shadows."""
        x, inside = check_features(features, member, self.kind)
        rng = generator(seed)
        fitted = self.learn(TrainingShadows(x, inside, folds(inside, rng), rng, threads))
        unseen = fitted.unseen.reshape(x.shape[:2])
        line = calibrate(unseen, inside)
        calibration = Calibration(line.slope, line.middle + fitted.offset)
        return FittedAttacker(
            width=x.shape[2],
            prepared=fitted.prepared,
            score=fitted.score,
            calibration=calibration,
            checked=calibration.log_odds(unseen + fitted.offset),
            member=inside,
            settings=fitted.settings,
        )


def out_of_fold(fold: Ints, scores: Callable[[int, Mask], Floats]) -> Floats:
    """Return scores in the order of records, where `scores(number, outside)` are those of one fold by a fit to all others.

    Examples
    --------
    >>> values = np.array([1.0, 5.0, 3.0])
    >>> out_of_fold(np.array([0, 1, 0]), lambda number, outside: values[outside] + 10 * number).tolist()
    [1.0, 15.0, 3.0]
    """
    parts = [fold == number for number in range(int(fold.max()) + 1)]
    order = np.argsort(np.concatenate([np.flatnonzero(outside) for outside in parts]))
    return np.concatenate([scores(number, outside) for number, outside in enumerate(parts)])[order]


def check_features(features: ArrayLike, member: ArrayLike, kind: Kind) -> tuple[Singles, Mask]:
    x, inside = np.asarray(features, dtype=np.float32), np.asarray(member)
    if x.ndim != 3 or 0 in x.shape:
        raise InputError(
            f"Features of shadows have three axes: shadows, tables, numbers. Got shape {x.shape}."
        )
    if inside.dtype != np.bool_ or inside.shape != x.shape[:1]:
        raise InputError(
            f"member must say yes or no for each of {len(x)} shadows. Got shape {inside.shape}."
        )
    few = min(int(inside.sum()), int((~inside).sum()))
    if few < 2:
        raise InputError(
            "A target must be in at least 2 training shadows and missing from 2. Draw more shadows."
        )
    if kind == "counts" and not (np.isfinite(x).all() and x.min() >= 0):
        raise InputError('Counts must be finite and at least 0. For other numbers use kind="real".')
    return x, inside


def folds(member: Mask, rng: np.random.Generator) -> Ints:
    """A fold for each shadow: members and others are dealt out apart, so that every fold has its share of both.

    Shadows that come in pairs, one with the target and then one without (the design `neighbours`), share all records but one, and stay together: a
    learner that has seen the one would take the other for it, and be wrong out of fold though it is right about releases.
    """
    count = min(FOLDS, int(member.sum()), int((~member).sum()))
    if len(member) % 2 == 0 and member[::2].all() and not member[1::2].any():
        return np.repeat(rng.permutation(len(member) // 2) % count, 2)
    fold = np.empty(len(member), dtype=np.int64)
    for side in (True, False):
        rows = rng.permutation(np.flatnonzero(member == side))
        # The two are dealt in opposite directions, or the first folds would be the larger ones twice.
        fold[rows] = (
            np.arange(len(rows)) % count if side else (count - 1) - np.arange(len(rows)) % count
        )
    return fold


def blocks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))


def learner(name: str = "linear", *, kind: Kind = "counts", **options: Any) -> Learner:
    """Return a learner by the name under which it is registered.

    Parameters
    ----------
    kind
        "counts" (at least 0), or "real" numbers such as log-probabilities, of which those that are not finite are replaced.
    options
        Of linear: `steps` of conjugate gradients; with 12 more bring nothing. Of extra-trees: `draws`, how many settings the random
        search tries; 50 in the literature.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([5, 6, 5, 0, 1, 0, 6, 1])[:, None, None]  # eight shadows, one table each, one count
    >>> attacker = learner().fit(x, x[:, 0, 0] > 2, seed=1)
    >>> attacker.auc, (attacker.chance([[7], [0]]) > 0.5).tolist()
    (1.0, [True, False])
    """
    check_name("kind", kind, KINDS)
    check_name("learner", name, learners())
    return learners()[name](kind, **options)
