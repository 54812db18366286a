"""The default attacker: others side by side, and their log-odds as the inputs of a regularised logistic regression.

No attacker is the best against every synthesiser: largest values tell where knots are means, exact matches where values are copied, counts of
matching rows where only a model is. Each part learns from the same shadows with the same folds. Weights of parts start from how well each
did out of fold (all but equal where they are hard to tell apart, the best alone where it is clear) and move from there as far as the log loss out
of fold says, never below 0. Where nothing is to be learnt all calibrations are flat, and so is what is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..._base.arrays import Floats, Ints, Mask
from ..._base.checks import check_name
from ..._base.errors import InputError
from ..._base.seeds import Seed, generator, seed_sequence
from ..attacker import ATTACKERS, Attacker
from .attacker import (
    DISTINGUISHED,
    CalibratedAttacker,
    Kind,
    Learner,
    TargetAttacker,
    calibrate,
    folds,
    learners,
    out_of_fold,
)
from .layout import TABLE, FeatureLayout, FocusedAttacker, learner_for, sees_something
from .ranked import VALUE_GROUPS

PARTS = ("linear", "kernel", "exact", "extremes", "nearest", "density", "presence", "values")
"""The attackers that are combined, where their features are there."""
VARIANCES = (0.0, 0.003, 0.03, 0.3)
"""How far weights may be from where they start: the variance they are thought to have beforehand."""
STEPS = 50
"""The most of Newton's steps that weights are sought with; about five are enough."""
MARGIN = 0.5
"""Standard errors by which the log loss out of fold must fall for more freedom to be given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CombinedAttacker(CalibratedAttacker):
    """Attackers and their weights. `checked` are the training shadows' log-odds out of fold, of parts and of the weights."""

    parts: dict[str, TargetAttacker]
    weights: Floats

    def part_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of every part, (parts, ...)."""
        x = self.features_of(features)
        return np.stack([attacker.log_odds(x) for attacker in self.parts.values()])

    def together(self, odds: Floats) -> Floats:
        """Return the log-odds that the parts' (parts, ...) amount to."""
        return self.calibration.log_odds(np.einsum("p,p...->...", self.weights, odds))

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand."""
        return self.together(self.part_odds(features))


def combined_of(attacker: TargetAttacker) -> CombinedAttacker | None:
    """Return the attacker with parts that an attacker is, or is all of; None for others."""
    inner = attacker.inner if isinstance(attacker, FocusedAttacker) else attacker
    return inner if isinstance(inner, CombinedAttacker) else None


@dataclass(frozen=True)
class CombinedLearner:
    """Several attackers and weights for them; see `learner`."""

    kind: Kind = "counts"
    layout: FeatureLayout | None = None
    parts: tuple[str, ...] = PARTS
    learners: Mapping[str, Learner] | None = None
    """The parts, where what they choose among was narrowed."""

    def __post_init__(self) -> None:
        for name in self.parts:
            if name == "combined":
                raise InputError("The combined attacker cannot be a part of itself.")
            check_name("learner", name, learners())

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> CombinedLearner:
        """Return the learner whose parts have less to choose."""
        each = [inner for inner in map(combined_of, attackers) if inner is not None]
        learners = self._learners(each[0].width)
        return replace(
            self,
            learners={
                name: learner.narrowed([attacker.parts[name] for attacker in each])
                for name, learner in learners.items()
            },
        )

    def fit(
        self,
        features: ArrayLike,
        member: ArrayLike,
        *,
        seed: Seed = None,
        threads: int | None = None,
    ) -> TargetAttacker:
        """Return the attacker learnt from shadows."""
        x, inside = np.asarray(features, dtype=np.float32), np.asarray(member)
        root = seed_sequence(seed)
        learners = self._learners(x.shape[-1])
        # With one seed all parts have the same folds, so that a shadow's log-odds come from parts that have not seen it.
        parts = {
            name: learner.fit(x, inside, seed=root, threads=threads)
            for name, learner in learners.items()
        }
        odds = np.stack([attacker.checked for attacker in parts.values()])
        fold = folds(inside, generator(root))
        weights, unseen, variance = stack(odds, inside, fold)
        calibration = calibrate(unseen, inside)
        settings = {
            "learner": "combined",
            "variance": variance,
            "weights": {
                name: round(float(weight), 4) for name, weight in zip(parts, weights, strict=True)
            },
        }
        return CombinedAttacker(
            width=x.shape[-1],
            parts=parts,
            weights=weights,
            calibration=calibration,
            checked=calibration.log_odds(unseen),
            member=inside,
            settings=settings,
        )

    def _learners(self, width: int) -> Mapping[str, Learner]:
        if self.learners is not None:
            return self.learners
        layout = self.layout or FeatureLayout({TABLE: width}, self.kind)
        return {
            name: learner_for(name, layout) for name in self.parts if sees_something(name, layout)
        }


def stack(odds: Floats, member: Mask, fold: Ints) -> tuple[Floats, Floats, float]:
    """Return weights of parts, their sum out of fold (shadows, tables), and the variance that was chosen, from log-odds (parts, shadows, tables).

    The weights minimise the log loss of their sum plus |w - w0|^2 / (2 variance), over shadows, none below 0. w0 is each part's share of
    exp(-d / max(1, e)): d is by how much its losses, summed over shadows as if tables were one, are above those of the best part, and e the standard
    error of that sum. With e = 1 that is what Bayes' rule gives parts that are equally likely beforehand; but losses of two attackers
    differ by several by chance alone, and the one that chance favours is not to have it all.
    """
    shadows = odds.shape[1]

    def losses(total: Floats) -> Floats:
        """The log loss of each shadow, members and others weighed alike."""
        weight = np.where(member, 0.5 / member.mean(), 0.5 / (1 - member.mean()))
        return np.asarray(
            weight
            * (
                np.maximum(total, 0.0) + np.log1p(np.exp(-np.abs(total))) - member[:, None] * total
            ).mean(axis=1)
        )

    all_shadows = np.ones(shadows, dtype=bool)
    of_parts = np.stack([losses(part_log_odds) for part_log_odds in odds])

    def start(used: Mask) -> Floats:
        best_part = int(of_parts[:, used].sum(axis=1).argmin())
        apart = of_parts[:, used] - of_parts[best_part, used]
        errors = apart.std(axis=1) * np.sqrt(apart.shape[1])
        share = np.exp(-apart.sum(axis=1) / np.maximum(errors, 1.0))
        return np.asarray(share / share.sum())

    best: tuple[float, Floats, Floats] | None = None
    for variance in VARIANCES:

        def weighted(_: int, outside: Mask, variance: float = variance) -> Floats:
            used = ~outside
            weights = _weights(odds[:, used], member[used], start(used), variance)
            return np.asarray(np.einsum("p,pst->st", weights, odds[:, outside]))

        unseen = out_of_fold(fold, weighted)
        loss = losses(unseen)
        if best is not None:
            gain = best[1] - loss
            if gain.mean() <= MARGIN * float(gain.std(ddof=1)) / np.sqrt(shadows):
                continue
        best = variance, loss, unseen
    assert best is not None
    variance, _, unseen = best
    return _weights(odds, member, start(all_shadows), variance), unseen, variance


def _weights(odds: Floats, member: Mask, start: Floats, variance: float) -> Floats:
    """The weights that minimise the penalised log loss: Newton's steps over the weights that are free to move, cut off at 0 (Bertsekas 1982)."""
    if variance == 0.0 or len(odds) == 1:
        return start
    tables = odds.shape[2]
    z = np.ascontiguousarray(odds.reshape(len(odds), -1))
    label = np.repeat(member, tables).astype(np.float64)
    weight = (
        np.repeat(np.where(member, 0.5 / member.mean(), 0.5 / (1 - member.mean())), tables) / tables
    )

    def loss(weights: Floats) -> tuple[float, Floats]:
        """The penalised loss, and the sums that it is of."""
        total = weights @ z
        apart = weights - start
        each = np.maximum(total, 0.0) + np.log1p(np.exp(-np.abs(total))) - label * total
        return float(weight @ each) + float(apart @ apart) / (2 * variance), total

    weights = start
    value, total = loss(weights)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(total, -500, 500)))
        slope = z @ (weight * (chance - label)) + (weights - start) / variance
        free = (weights > 0) | (slope < 0)
        free_odds = z[free]
        curve = (free_odds * (weight * chance * (1 - chance))) @ free_odds.T + np.eye(
            len(free_odds)
        ) / variance
        step = np.zeros_like(weights)
        step[free] = np.linalg.solve(curve, slope[free])
        for _ in range(30):
            moved = np.maximum(weights - step, 0.0)
            after, sums = loss(moved)
            if after <= value:
                break
            step /= 4
        else:
            return weights
        size = float(np.abs(moved - weights).max())
        weights, value, total = moved, after, sums
        if size < 1e-6:
            break
    return weights


ATTACKERS.register(
    Attacker(
        name="combined",
        title="All attackers combined",
        definition="Logistic regression, and what the table and released values show alone, weighted by how well each does out of fold.",
        sentence=f"By all attackers together {DISTINGUISHED}",
        blindness="What none of its parts looks at.",
        learner=CombinedLearner,
        sees=(TABLE, *VALUE_GROUPS),
        by_groups=True,
        share=False,
    )
)
