"""Likelihood ratios of a few scores by kernel density: LiRA (Carlini et al., 2022) with kernels in place of normal distributions.

Each score of a release is compared with its density over shadows with the target and over those without. Scores are ranks first, so one width
fits all, ties are atoms, and a release beyond all shadows counts as the outermost of them. The ratios of several scores are added as if they were
independent; the calibration out of fold takes back what that overstates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Floats, Mask, Singles
from ..attacker import ATTACKERS, Attacker
from .attacker import (
    DISTINGUISHED,
    CrossFitLearner,
    Kind,
    ScoreFit,
    TrainingShadows,
    blocks,
    out_of_fold,
)
from .layout import TABLE, FeatureLayout
from .ranked import Ranks

GRID = 201
WIDTHS = (0.06, 0.15, 0.4)
"""Standard deviations of kernels, where ranks go from -1 to 1; the one with the least log loss out of fold is used."""
PRIOR = 4.0
"""Shadows that both densities are thought to share beforehand: where few shadows lie, the ratio is near 1."""
MOST = 12
"""Features above which two summaries stand for all: the mean of roots, and the share that is not 0."""


@dataclass(frozen=True)
class Kernel(CrossFitLearner):
    """Sums of log likelihood ratios of scores, by kernel densities; see `learner`."""

    kind: Kind = "counts"
    layout: FeatureLayout | None = None
    """Which features are of the table: those many are summarised, the others are scores each. None: all are of the table."""

    def learn(self, shadows: TrainingShadows) -> ScoreFit:
        """Return sums of log likelihood ratios; the width of kernels has the least log loss out of fold."""
        x, inside = shadows.features, shadows.member
        width = x.shape[2]
        layout = self.layout or FeatureLayout({TABLE: width}, self.kind)
        of_table, others = (
            layout.selector((TABLE,)),
            layout.selector([name for name in layout.sizes if name != TABLE]),
        )

        def scores_of(block: Singles) -> Singles:
            return np.concatenate([_summaries(block[:, of_table]), block[:, others]], axis=1)

        scores = scores_of(x.reshape(-1, width))
        ranks = Ranks.from_features(scores)
        places = _places(ranks(scores)).reshape(*x.shape[:2], -1)

        def fold_scores(spread: float) -> tuple[float, float, Floats]:
            unseen = out_of_fold(
                shadows.fold,
                lambda _, outside: _sum_at(
                    _ratios(places[~outside], inside[~outside], spread), places[outside]
                ),
            )
            loss = (np.logaddexp(0.0, unseen) - inside[:, None] * unseen).mean()
            return float(loss), spread, unseen

        _, spread, unseen = min(map(fold_scores, WIDTHS), key=lambda choice: choice[0])
        table = _ratios(places, inside, spread)
        return ScoreFit(
            lambda block: ranks(scores_of(block)),
            lambda block: _sum_at(table, _places(block)),
            unseen,
            {"learner": "kernel", "width": spread},
        )


def _summaries(x: Singles) -> Singles:
    """Features of the table themselves where they are few, else what stands for them."""
    if x.shape[1] <= MOST:
        return x
    out = np.empty((len(x), 2), dtype=np.float32)
    for rows in blocks(len(x)):  # what is in between stays in the processor's cache
        positive = np.maximum(x[rows], 0.0)
        out[rows, 1] = (positive > 0).mean(axis=1)
        np.sqrt(positive, out=positive)
        out[rows, 0] = np.sqrt(positive, out=positive).mean(axis=1)
    return out


def _places(ranks: Singles) -> Floats:
    """Ranks as places on the grid, 0 to GRID - 1."""
    return np.asarray((np.asarray(ranks, dtype=np.float64) + 1) * ((GRID - 1) / 2))


def _ratios(places: Floats, member: Mask, spread: float) -> Floats:
    """The log of the density of members over that of others on the grid, (scores, grid), from places (shadows, tables, scores)."""
    grid = np.arange(GRID)
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / (spread * (GRID - 1) / 2)) ** 2)
    tables = places.shape[1]
    out = np.empty((places.shape[2], GRID))
    for j in range(len(out)):
        near = np.rint(places[:, :, j]).astype(np.int64)
        inside, outside = (
            kernel @ np.bincount(near[side].ravel(), minlength=GRID) / tables
            for side in (member, ~member)
        )
        n, m = int(member.sum()), int((~member).sum())
        shared = PRIOR * (inside + outside) / (n + m) + 1e-300
        out[j] = np.log((inside + shared) / (n + PRIOR)) - np.log((outside + shared) / (m + PRIOR))
    return out


def _sum_at(table: Floats, places: Floats) -> Floats:
    grid = np.arange(GRID)
    return np.asarray(
        sum(np.interp(places[..., j], grid, row) for j, row in enumerate(table)), dtype=np.float64
    )


ATTACKERS.register(
    Attacker(
        name="kernel",
        title="Likelihood ratio",
        definition="Likelihood ratios of nearness, density and counts of matching rows, by kernel densities over shadows with and without the target.",
        sentence=f"By likelihood ratios {DISTINGUISHED}",
        blindness="How its scores depend on each other: their ratios are multiplied.",
        reference="Carlini et al. 2022 (LiRA)",
        learner=Kernel,
        sees=(TABLE, "nearest", "density"),
        by_groups=True,
        share=False,
    )
)
