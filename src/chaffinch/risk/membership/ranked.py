"""Ridge regression of membership on ranks of a few features: what released values show, whatever their units and tails.

Least squares, not logistic: all folds and ridges come from one product of the features with themselves, so 8,000 tables of 60 features take
some hundredths of a second, and calibration makes log-odds of what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..._base.runtime import one_blas_thread
from ..._base.seeds import Seed, generator
from .attacker import (
    ATTACKERS,
    Calibration,
    Cleaner,
    FittedAttacker,
    Floats,
    Ints,
    Kind,
    MembershipAttacker,
    Singles,
    TargetAttacker,
    calibrated,
    checked,
    folds,
)

RIDGES = (3.0, 0.3, 0.03, 0.003)
FLOOR = 0.05
"""The least standard deviation that ranks are divided by, where all go from -1 to 1: a value seen once in 1,600 tables has it."""
VALUE_GROUPS = ("exact", "extremes", "nearest", "density", "presence")
"""What is seen of released values, by group: `values.ValueSight` says what is in each."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Numbers as their mid-ranks among those of training, -1 to 1; ties share one. Values between two have a rank between theirs.

    Examples
    --------
    >>> ranks = Ranks.of(np.array([[1.0], [1.0], [5.0], [900.0]], dtype=np.float32))
    >>> ranks(np.array([[1.0], [5.0], [900.0], [2000.0]], dtype=np.float32)).ravel().tolist()
    [-0.5, 0.25, 0.75, 0.75]
    """

    cleaner: Cleaner
    values: tuple[Floats, ...] = field(repr=False)
    ranks: tuple[Floats, ...] = field(repr=False)

    @classmethod
    def of(cls, x: Singles) -> Ranks:
        """Return the ranks of training features (rows, features)."""
        cleaner = Cleaner.of(x)
        values, ranks = [], []
        for column in cleaner(x).T:
            distinct, counts = np.unique(column.astype(np.float64), return_counts=True)
            values.append(distinct)
            ranks.append((2 * np.cumsum(counts) - counts) / len(column) - 1)
        return cls(cleaner, tuple(values), tuple(ranks))

    def __call__(self, x: Singles) -> Singles:
        clean = self.cleaner(x)
        out = np.empty(clean.shape, dtype=np.float32)
        for j, (values, ranks) in enumerate(zip(self.values, self.ranks, strict=True)):
            out[:, j] = np.interp(clean[:, j], values, ranks)
        return out


@dataclass(frozen=True)
class Ranked:
    """Ridge regression on ranks, its ridge chosen by squared error out of fold; see `learner`."""

    kind: Kind = "real"

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> Ranked:
        """Return the same: nothing costs much."""
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
        x, inside = checked(features, member, self.kind)
        shadows, tables, width = x.shape
        ranks = Ranks.of(x.reshape(-1, width))
        ranked = ranks(x.reshape(-1, width)).astype(np.float64)
        scale = 1 / np.maximum(ranked.std(axis=0), FLOOR)
        matrix = (ranked - ranked.mean(axis=0)) * scale
        side = np.where(
            inside, 0.5 / inside.mean(), -0.5 / (1 - inside.mean())
        )  # members and others weigh alike
        with one_blas_thread():  # more threads may add in another order
            unseen, weights, ridge = _ridge(
                matrix.reshape(shadows, tables, width), side, folds(inside, generator(seed))
            )
        weights = weights * scale
        calibration = calibrated(unseen, inside)

        def score(block: Singles) -> Floats:
            return np.asarray(np.einsum("nd,d->n", block, weights), dtype=np.float64)

        # What is subtracted from ranks before is the same for all, out of fold too.
        calibration = Calibration(
            calibration.slope, calibration.middle + float(ranked.mean(axis=0) @ weights)
        )
        odds = calibration.log_odds(unseen + float(ranked.mean(axis=0) @ weights))
        return FittedAttacker(
            width, ranks, score, calibration, odds, inside, {"learner": "ranked", "ridge": ridge}
        )


def _ridge(x: Floats, side: Floats, fold: Ints) -> tuple[Floats, Floats, float]:
    """Return scores out of fold (shadows, tables), weights of the fit to all, and the ridge: times the rows, on standardised features."""
    shadows, tables, width = x.shape
    n_folds = int(fold.max()) + 1
    grams, sums = np.empty((n_folds, width, width)), np.empty((n_folds, width))
    for number in range(n_folds):
        rows = x[fold == number].reshape(-1, width)
        grams[number] = rows.T @ rows
        sums[number] = rows.T @ np.repeat(side[fold == number], tables)
    gram, total = grams.sum(axis=0), sums.sum(axis=0)
    best: tuple[float, float, Floats] | None = None
    for ridge in RIDGES:
        unseen = np.empty((shadows, tables))
        for number in range(n_folds):
            out = fold == number
            weights = _solved(
                gram - grams[number], total - sums[number], ridge * tables * int((~out).sum())
            )
            unseen[out] = x[out] @ weights
        loss = float(((unseen - side[:, None]) ** 2).mean())
        if best is None or loss < best[0]:
            best = loss, ridge, unseen
    assert best is not None
    return best[2], _solved(gram, total, best[1] * tables * shadows), best[1]


def _solved(gram: Floats, total: Floats, ridge: float) -> Floats:
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), total))


for name, evidence, definition, reference in (
    (
        "exact",
        "rare values that were released as they are",
        "Ranks of how often the target's rare values, alone and together, are released.",
        "",
    ),
    (
        "extremes",
        "the largest and smallest values",
        "Ranks of the largest and smallest released numbers, and of how many lie beyond the target's.",
        "",
    ),
    (
        "nearest",
        "the nearest rows",
        "Ranks of the distance to the nearest released rows.",
        "Stadler et al. 2022",
    ),
    (
        "density",
        "the density of rows at a target",
        "Ranks of the density of released rows at the target over that of the population.",
        "van Breugel et al. 2023 (DOMIAS)",
    ),
    (
        "presence",
        "which levels are released",
        "Ranks of how often the target's levels are released.",
        "",
    ),
):
    ATTACKERS.register(
        MembershipAttacker(
            name=name,
            definition=definition,
            reference=reference,
            learner=Ranked,
            sees=(name,),
            evidence=evidence,
        )
    )
ATTACKERS.register(
    MembershipAttacker(
        name="values",
        definition="Ridge regression on ranks of all that released values show.",
        reference="",
        learner=Ranked,
        sees=VALUE_GROUPS,
    )
)
