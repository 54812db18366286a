"""Ridge regression of membership on ranks of a few features: what released values show, whatever their units and tails.

Least squares, not logistic: all folds and ridges come from one product of the features with themselves, so 8,000 tables of 60 features take
some hundredths of a second, and calibration makes log-odds of what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._base.arrays import Floats, Ints, Mask, Singles
from ..._base.runtime import one_blas_thread
from ..attacker import ATTACKERS, Attacker
from .attacker import (
    DISTINGUISHED,
    Cleaner,
    CrossFitLearner,
    Kind,
    ScoreFit,
    TrainingShadows,
    out_of_fold,
)

RIDGES = (3.0, 0.3, 0.03, 0.003)
FLOOR = 0.05
"""The least standard deviation that ranks are divided by, where all go from -1 to 1: a value seen once in 1,600 tables has it."""
VALUE_GROUPS = ("exact", "extremes", "nearest", "density", "presence")
"""What is seen of released values, by group: `values.ValueFeatures` says what is in each."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Numbers as their mid-ranks among those of training, -1 to 1; ties share one. Values between two have a rank between theirs.

    Examples
    --------
    >>> ranks = Ranks.from_features(np.array([[1.0], [1.0], [5.0], [900.0]], dtype=np.float32))
    >>> ranks(np.array([[1.0], [5.0], [900.0], [2000.0]], dtype=np.float32)).ravel().tolist()
    [-0.5, 0.25, 0.75, 0.75]
    """

    cleaner: Cleaner
    values: tuple[Floats, ...] = field(repr=False)
    ranks: tuple[Floats, ...] = field(repr=False)

    @classmethod
    def from_features(cls, x: Singles) -> Ranks:
        """Return the ranks of training features (rows, features)."""
        cleaner = Cleaner.from_features(x)
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
class Ranked(CrossFitLearner):
    """Ridge regression on ranks, its ridge chosen by squared error out of fold; see `learner`."""

    kind: Kind = "real"

    def learn(self, shadows: TrainingShadows) -> ScoreFit:
        """Return a ridge regression on ranks; the ridge has the least squared error out of fold."""
        flat, inside = shadows.by_table[0], shadows.member
        ranks = Ranks.from_features(flat)
        ranked = ranks(flat).astype(np.float64)
        scale = 1 / np.maximum(ranked.std(axis=0), FLOOR)
        matrix = (ranked - ranked.mean(axis=0)) * scale
        side = np.where(
            inside, 0.5 / inside.mean(), -0.5 / (1 - inside.mean())
        )  # members and others weigh alike
        with one_blas_thread():  # more threads may add in another order
            unseen, weights, ridge = _ridge(
                matrix.reshape(shadows.features.shape), side, shadows.fold
            )
        weights = weights * scale
        return ScoreFit(
            ranks,
            lambda block: np.asarray(np.einsum("nd,d->n", block, weights), dtype=np.float64),
            unseen,
            {"learner": "ranked", "ridge": ridge},
            # What is subtracted from ranks before is the same for all, out of fold too.
            offset=float(ranked.mean(axis=0) @ weights),
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

    def fold_scores(ridge: float) -> tuple[float, float, Floats]:
        def predicted(number: int, outside: Mask) -> Floats:
            rows = tables * int((~outside).sum())
            return x[outside] @ _solve_ridge(
                gram - grams[number], total - sums[number], ridge * rows
            )

        unseen = out_of_fold(fold, predicted)
        return float(((unseen - side[:, None]) ** 2).mean()), ridge, unseen

    _, ridge, unseen = min(map(fold_scores, RIDGES), key=lambda choice: choice[0])
    return unseen, _solve_ridge(gram, total, ridge * tables * shadows), ridge


def _solve_ridge(gram: Floats, total: Floats, ridge: float) -> Floats:
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), total))


for name, title, evidence, definition, blindness, reference in (
    (
        "exact",
        "Rare values",
        "rare values that were released as they are",
        "Ranks of how often the target's rare values, alone and together, are released.",
        "Targets whose values are all frequent.",
        "",
    ),
    (
        "extremes",
        "Extreme values",
        "the largest and smallest values",
        "Ranks of the largest and smallest released numbers, and of how many lie beyond the target's.",
        "Targets in the middle of all numbers, and categories.",
        "",
    ),
    (
        "nearest",
        "Nearest rows",
        "the nearest rows",
        "Ranks of the distance to the nearest released rows.",
        "What is far from the target.",
        "Stadler et al. 2022",
    ),
    (
        "density",
        "Density of rows",
        "the density of rows at a target",
        "Ranks of the density of released rows at the target over that of the population.",
        "Single values that nobody else has, among many columns.",
        "van Breugel et al. 2023 (DOMIAS)",
    ),
    (
        "presence",
        "Released levels",
        "which levels are released",
        "Ranks of how often the target's levels are released.",
        "Numbers, and levels together.",
        "",
    ),
    (
        "values",
        "All released values",
        "",
        "Ridge regression on ranks of all that released values show.",
        "Counts of rows that match on several columns.",
        "",
    ),
):
    ATTACKERS.register(
        Attacker(
            name=name,
            title=title,
            definition=definition,
            sentence=f"By {evidence or 'all released values'} {DISTINGUISHED}",
            blindness=blindness,
            reference=reference,
            learner=Ranked,
            sees=VALUE_GROUPS if name == "values" else (name,),
            evidence=evidence,
            share=False,
        )
    )
