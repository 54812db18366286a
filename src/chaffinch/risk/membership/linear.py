"""The default meta-classifier: ridge logistic regression on roots of counts.

Counts of matching rows vary as counts do, so their fourth roots are about equally noisy; on those a ridge logistic regression tells members from
others. How strong the ridge is, and whether features are standardised, is what the log loss out of fold says. All folds, all ridges and the fits to
all shadows share each pass over the features, so 3,200 tables of 2,048 counts take about a second of one core, where the extra trees of the literature with their
random search take minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._base.arrays import Floats, Ints, Mask, Singles
from ..._base.checks import check_at_least
from ..._base.compiled import jit
from ..._base.runtime import one_blas_thread, thread_map
from ..attacker import ATTACKERS, Attacker
from .attacker import (
    DISTINGUISHED,
    Cleaner,
    CrossFitLearner,
    Kind,
    ScoreFit,
    TargetAttacker,
    TrainingShadows,
    blocks,
)

FLOOR = 0.02
"""The least standard deviation a fourth root of a count is divided by: a count that was 1 once in 2,500 tables has it."""
RIDGES: dict[str, tuple[tuple[bool, float], ...]] = {
    "counts": (
        (False, 0.3),
        (False, 0.03),
        (False, 5e-3),
        (False, 8e-4),
        (False, 1e-4),
        (True, 1e-4),
    ),
    "real": ((True, 1.0), (True, 0.1), (True, 0.01), (True, 1e-3), (True, 1e-4)),
}
"""Whether features are standardised, and the variance weights are thought to have beforehand (C of scikit-learn)."""


@dataclass(frozen=True)
class Linear(CrossFitLearner):
    """Ridge logistic regression, its ridge chosen out of fold (the module says why); see `learner`."""

    kind: Kind = "counts"
    steps: int = 12
    ridges: tuple[tuple[bool, float], ...] | None = None
    """Those to choose among; None for all of `RIDGES`."""

    def __post_init__(self) -> None:
        check_at_least("steps", self.steps, 1)

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> Linear:
        """Return the learner with no ridges but those that some attackers chose: for more targets of the same shadows, at less cost."""
        ridges = {
            (bool(a.settings["standardised"]), float(a.settings["variance"])) for a in attackers
        }
        return replace(self, ridges=tuple(ridge for ridge in RIDGES[self.kind] if ridge in ridges))

    def learn(self, shadows: TrainingShadows) -> ScoreFit:
        """Return a logistic regression; its ridge has the least log loss out of fold."""
        flat, label, fold = shadows.by_table
        width = flat.shape[1]
        prepared: Callable[[Singles], Singles] = (
            _fourth_root if self.kind == "counts" else Cleaner.from_features(flat)
        )
        matrix = prepared(flat)
        if np.may_share_memory(matrix, flat):  # it is centred in place
            matrix = matrix.copy()
        mean = matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
        matrix -= mean
        spread = np.sqrt(np.einsum("nd,nd->d", matrix, matrix, dtype=np.float64) / len(matrix))
        varying = np.flatnonzero(spread > 1e-6 * np.maximum(1.0, np.abs(mean)))
        first, copy_of, copies = _distinct(matrix, varying)
        if len(first) < width:
            matrix = matrix[:, first]
        standard = 1 / np.maximum(spread[first], FLOOR if self.kind == "counts" else 0.0)
        choices = RIDGES[self.kind] if self.ridges is None else self.ridges
        # To a ridge m equal features are one of sqrt(m) times the size: the same fit, in fewer columns.
        ridges = [
            ((standard if scaled else 1.0) * np.sqrt(copies), variance)
            for scaled, variance in choices
        ]
        # Products that spawn threads of their own may add in another order: blocks are the threads here.
        with one_blas_thread():
            unseen, fitted = _ridge_logistic(
                matrix, label, fold, ridges, steps=self.steps, threads=shadows.threads
            )
        best = int(
            (np.logaddexp(0.0, unseen) - label * unseen).mean(axis=1, dtype=np.float64).argmin()
        )
        weights = np.zeros(width, dtype=np.float32)
        weights[varying] = (fitted[0][:, best] / copies)[copy_of]
        constant = float(fitted[1][best]) - float(mean.astype(np.float64) @ weights)

        def score(block: Singles) -> Floats:
            # No matrix product: BLAS may add in another order with other threads.
            return np.asarray(np.einsum("nd,d->n", block, weights), dtype=np.float64) + constant

        standardised, variance = choices[best]
        settings = {"learner": "linear", "standardised": standardised, "variance": variance}
        return ScoreFit(prepared, score, unseen[best].astype(np.float64), settings)


def _distinct(x: Singles, columns: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the first of each set of equal columns among some of x, which of these every one of them equals, and how many do.

    Subsets of columns that never distinguish two rows have equal counts throughout: half of all, on many tables.
    """
    _, first, copy_of, copies = np.unique(
        _hashes(x)[columns], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)  # as they stood, not by what stands for them
    return (
        columns[first[order]],
        np.argsort(order)[copy_of.reshape(-1)],
        copies[order].astype(np.float64),
    )


@jit
def _hashes(x):  # type: ignore[no-untyped-def]
    """Return 64 bits of each column: equal for equal columns, and for others with odds of one in 10^12 for 4,000 columns."""
    out = np.full(x.shape[1], np.uint64(0x9E3779B97F4A7C15))
    bits = x.view(np.uint32)
    for r in range(x.shape[0]):
        for j in range(x.shape[1]):
            mixed = (out[j] ^ np.uint64(bits[r, j])) * np.uint64(0xBF58476D1CE4E5B9)
            out[j] = mixed ^ (mixed >> np.uint64(29))
    return out


def _ridge_logistic(
    x: Singles,
    member: Mask,
    fold: Ints,
    ridges: Sequence[tuple[Floats, float]],
    *,
    steps: int,
    threads: int | None,
) -> tuple[Singles, tuple[Singles, Floats]]:
    """Return scores out of fold (ridges, rows), and weights (features, ridges) and constants of the fits to all rows.

    Conjugate gradients (Polak and Ribière's, never negative) on the log loss plus |v|^2 / (2 variance), where v are weights of
    scaled features; each step goes to the lowest point of its line, the constant free. Columns of all arrays here are fits:
    for each ridge the rows outside each fold, then all rows.
    """
    n_folds, n_ridges = int(fold.max()) + 1, len(ridges)
    used = np.column_stack(
        [fold != number for number in range(n_folds)] + [np.ones(len(fold), dtype=bool)]
    )
    used = np.tile(used, (1, n_ridges)).astype(np.float32)
    scale = np.repeat(np.stack([s for s, _ in ridges], axis=1), n_folds + 1, axis=1).astype(
        np.float32
    )
    penalty = np.repeat([1 / variance for _, variance in ridges], n_folds + 1)
    y = member.astype(np.float32)[:, None]
    rows = list(blocks(len(x)))

    def forward(weights: Singles) -> Singles:
        return np.concatenate(thread_map(lambda block: x[block] @ weights, rows, threads=threads))

    def descent(score: Singles, weights: Singles) -> Singles:
        residual = used * (y - _logistic(score))
        parts = thread_map(lambda block: x[block].T @ residual[block], rows, threads=threads)
        return (
            scale * np.asarray(sum(parts), dtype=np.float32) - penalty.astype(np.float32) * weights
        )

    share = _dots(used, np.broadcast_to(y, used.shape)) / used.sum(axis=0, dtype=np.float64)
    constant = np.log(share / (1 - share))
    score = np.tile(constant.astype(np.float32), (len(x), 1))
    weights = np.zeros_like(scale)
    down = direction = descent(score, weights)
    for _ in range(steps):
        move = forward(scale * direction)
        ridge = penalty * _dots(weights, direction), penalty * _dots(direction, direction)
        along, shift = _lowest(score, move, y, used, ridge)
        weights = weights + along.astype(np.float32) * direction
        score = score + along.astype(np.float32) * move + shift.astype(np.float32)
        constant = constant + shift
        before, down = down, descent(score, weights)
        size = _dots(before, before)
        momentum = np.divide(
            _dots(down, down - before), size, out=np.zeros_like(size), where=size > 0
        )
        direction = down + np.maximum(momentum, 0.0).astype(np.float32) * direction
    fit_starts = np.arange(n_ridges) * (n_folds + 1)
    unseen = score[np.arange(len(fold))[:, None], fold[:, None] + fit_starts].T
    return unseen, ((scale * weights)[:, fit_starts + n_folds], constant[fit_starts + n_folds])


def _lowest(
    score: Singles, move: Singles, y: Singles, used: Singles, ridge: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return how far along its line each fit goes, and the change of its constant: Newton's steps, taken back if they harm."""
    along, shift = np.zeros(score.shape[1]), np.zeros(score.shape[1])

    def line_scores(a: Floats, c: Floats) -> Singles:
        return score + a.astype(np.float32) * move + c.astype(np.float32)

    def loss(a: Floats, c: Floats, fits: slice | Ints = slice(None)) -> Floats:
        z = score[:, fits] + a[fits].astype(np.float32) * move[:, fits] + c[fits].astype(np.float32)
        return _dots(used[:, fits], _softplus(z) - y * z) + a[fits] * (
            ridge[0][fits] + a[fits] * ridge[1][fits] / 2
        )

    start = loss(along, shift)
    for _ in range(4):
        p = _logistic(line_scores(along, shift))
        residual, curve = used * (p - y), used * p * (1 - p)
        bent = curve * move
        slope_a, slope_c = (
            _dots(residual, move) + ridge[0] + along * ridge[1],
            residual.sum(axis=0, dtype=np.float64),
        )
        aa, ac, cc = (
            _dots(bent, move) + ridge[1],
            bent.sum(axis=0, dtype=np.float64),
            curve.sum(axis=0, dtype=np.float64),
        )
        volume = aa * cc - ac * ac
        sound = volume > 1e-10 * aa * cc
        volume = np.where(sound, volume, 1.0)
        along = along - np.where(sound, (cc * slope_a - ac * slope_c) / volume, 0.0)
        shift = shift - np.where(sound, (aa * slope_c - ac * slope_a) / volume, 0.0)
    worse = np.flatnonzero(~(loss(along, shift) <= start))
    for _ in range(20):
        if not len(worse):
            return along, shift
        along[worse] /= 4
        shift[worse] /= 4
        worse = worse[~(loss(along, shift, worse) <= start[worse])]
    along[worse] = shift[worse] = 0.0
    return along, shift


def _dots(a: Singles, b: Singles) -> Floats:
    """The products of columns."""
    return np.asarray(np.einsum("ij,ij->j", a, b, dtype=np.float64))


def _logistic(z: Singles) -> Singles:
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -30, 30))), dtype=np.float32)


def _softplus(z: Singles) -> Singles:
    """log(1 + exp(z)), right to the last digits of a float of 32 bits: numpy's `logaddexp` takes ten times as long."""
    return np.asarray(np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))), dtype=np.float32)


def _fourth_root(x: Singles) -> Singles:
    root = np.sqrt(x)
    return np.sqrt(root, out=root)


ATTACKERS.register(
    Attacker(
        name="linear",
        title="Regression on matching rows",
        definition="Ridge logistic regression on roots of counts, its ridge chosen by cross-validation.",
        sentence=f"By a regression on how many rows match the target {DISTINGUISHED}",
        blindness="Values inside levels and bins, and counts that tell only together.",
        learner=Linear,
        share=False,
    )
)
