"""Meta-classifiers: from features of synthetic tables to the chance that a target was in the data, by name.

"linear" is the default. Counts of matching rows vary as counts do, so their fourth roots are about equally noisy; on those
a ridge logistic regression tells members from others. How strong the ridge is, and whether features are standardised, is what
the log loss out of fold says. All folds, all ridges and the fits to all shadows share each pass over the features, so 3,200
tables of 2,048 counts take about half a second, where the extra trees of P3 with their random search ("extra-trees") take minutes.

The tables of one shadow share a fit and are not independent: folds are of shadows, never of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...._base.errors import InputError, unknown_name
from ...._base.seeds import Seed, generator
from ...._base.threads import thread_count, thread_map
from ...scoring import auc

__all__ = [
    "LEARNERS",
    "Attacker",
    "Calibration",
    "ExtraTrees",
    "Learner",
    "Linear",
    "calibrated",
    "chosen",
    "exclude_weak",
]
__all__ += ["learner", "weights_by_auc"]

Kind = Literal["counts", "real"]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LEARNERS = ("linear", "extra-trees")
KINDS = ("counts", "real")
FOLDS = 5
BLOCK = 1024
"""Rows of features worked at a time. Sums are taken block by block, so that threads change no result."""
FLOOR = 0.02
"""The least standard deviation a fourth root of a count is divided by: a count that was 1 once in 2,500 tables has it."""
RIDGES: dict[str, tuple[tuple[bool, float], ...]] = {
    "counts": ((False, 0.3), (False, 0.03), (False, 5e-3), (False, 8e-4), (False, 1e-4), (True, 1e-4)),
    "real": ((True, 1.0), (True, 0.1), (True, 0.01), (True, 1e-3), (True, 1e-4)),
}
"""Whether features are standardised, and the variance weights are thought to have beforehand (C of scikit-learn)."""
P3_SEARCH = {
    "n_estimators": [50, 100, 200],
    # P3's list is auto, sqrt, log2, and "auto" meant sqrt for classifiers until scikit-learn dropped the word.
    "max_features": ["sqrt", "sqrt", "log2"],
    "min_samples_split": [2, 5, 10, 20],
    "min_samples_leaf": [1, 2, 4, 8],
    "bootstrap": [True, False],
}


class Attacker(Protocol):
    """What was learnt about one target. `checked` are the training shadows' log-odds out of fold, (shadows, tables)."""

    @property
    def checked(self) -> Floats: ...

    @property
    def auc(self) -> float: ...

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand, (...), of features (..., d)."""
        ...

    def chance(self, features: ArrayLike) -> Floats:
        """Return the chance of membership at even odds beforehand, (...), of features (..., d): 0 to 1."""
        ...


class Learner(Protocol):
    """A way to learn an attacker from shadows: features (shadows, tables, d) and whether the target was in each shadow."""

    def fit(
        self, features: ArrayLike, member: ArrayLike, *, seed: Seed = None, threads: int | None = None
    ) -> Attacker: ...


def learner(name: str = "linear", *, kind: Kind = "counts", steps: int = 12, draws: int = 50) -> Learner:
    """Return a learner by name: "linear", or "extra-trees" as in P3.

    Parameters
    ----------
    kind
        "counts" (at least 0), or "real" numbers such as log-probabilities, of which those that are not finite are replaced.
    steps
        Linear: steps of conjugate gradients; with 12 more bring nothing.
    draws
        Extra trees: how many settings the random search tries; 50 in P3.

    Examples
    --------
    >>> x = np.array([5, 6, 5, 0, 1, 0, 6, 1])[:, None, None]  # eight shadows, one table each, one count
    >>> attacker = learner().fit(x, x[:, 0, 0] > 2, seed=1)
    >>> attacker.auc, (attacker.chance([[7], [0]]) > 0.5).tolist()
    (1.0, [True, False])
    """
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    if name == "linear":
        return Linear(kind, steps)
    if name == "extra-trees":
        return ExtraTrees(kind, draws)
    raise unknown_name("learner", name, LEARNERS)


@dataclass(frozen=True)
class Calibration:
    """Log-odds as a rising line of a score: slope x (score - middle), at even odds beforehand."""

    slope: float
    middle: float

    def log_odds(self, score: NDArray[Any]) -> Floats:
        """Return the log-odds of scores."""
        return np.asarray(self.slope * (np.asarray(score, dtype=np.float64) - self.middle), dtype=np.float64)


def calibrated(score: NDArray[Any], member: Bools) -> Calibration:
    """Return Platt's calibration of scores (shadows, tables) that the learner was not fitted to; slope 0 where they say nothing.

    Logistic regression of one number (Platt, 1999, with its smoothed labels: perfect separation has a finite slope), members
    and others weighed alike: the line is for a prior of one half whatever their shares. The smoothing counts shadows, as
    tables of one shadow are no new evidence. Scores that fall with membership out of fold are noise: their slope is set to 0.

    Examples
    --------
    >>> calibrated(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([False, True, False, True])).middle
    1.5
    >>> calibrated(np.ones((4, 2)), np.array([False, True, False, True]))
    Calibration(slope=0.0, middle=0.0)
    """
    values = np.asarray(score, dtype=np.float64)
    inside, outside = int(member.sum()), int((~member).sum())
    spread, centre = float(values.std()), float(values.mean())
    if not inside or not outside or not np.isfinite(spread) or spread <= 1e-12 * max(1.0, abs(centre)):
        return Calibration(0.0, 0.0)
    x = ((values - centre) / spread).ravel()
    label = np.repeat(np.where(member, (inside + 1) / (inside + 2), 1 / (outside + 2)), values.shape[1])
    weight = np.repeat(np.where(member, 0.5 / inside, 0.5 / outside), values.shape[1]) / values.shape[1]
    design = np.column_stack([x, np.ones_like(x)])

    def loss(line: Floats) -> float:
        z = design @ line
        return float(weight @ (np.logaddexp(0.0, z) - label * z))

    line, at = np.zeros(2), loss(np.zeros(2))
    for _ in range(100):  # Newton's steps, halved until they help: the loss is convex
        p = 1 / (1 + np.exp(-np.clip(design @ line, -500, 500)))
        slope = design.T @ (weight * (p - label))
        curve = (design * (weight * p * (1 - p))[:, None]).T @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        while loss(line - step) > at and np.abs(step).max() > 1e-10:
            step = step / 2
        line = line - step
        at = loss(line)
        if np.abs(step).max() <= 1e-9:
            break
    if line[0] <= 1e-9:
        return Calibration(0.0, 0.0)
    return Calibration(float(line[0] / spread), centre - spread * float(line[1] / line[0]))


@dataclass(frozen=True)
class _Cleaner:
    """Finite numbers from any: not a number becomes the mean of the column, infinities one beyond its ends."""

    low: Singles
    middle: Singles
    high: Singles

    @classmethod
    def of(cls, x: Singles) -> _Cleaner:
        known = np.isfinite(x)
        some = known.any(axis=0)
        low = np.where(some, np.where(known, x, np.inf).min(axis=0), 0.0)
        high = np.where(some, np.where(known, x, -np.inf).max(axis=0), 0.0)
        total = np.where(known, x, 0.0).sum(axis=0, dtype=np.float64)
        middle = total / np.maximum(known.sum(axis=0), 1)
        return cls(*(part.astype(np.float32) for part in (low - 1, middle, high + 1)))

    def __call__(self, x: Singles) -> Singles:
        if np.isfinite(x).all():
            return x
        x = np.where(np.isnan(x), self.middle, x)
        return np.where(np.isposinf(x), self.high, np.where(np.isneginf(x), self.low, x))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """An attacker: a score of features, and its calibration."""

    width: int
    prepared: Callable[[Singles], Singles] = field(repr=False)
    score: Callable[[Singles], Floats] = field(repr=False)
    calibration: Calibration
    checked: Floats = field(repr=False)
    member: Bools = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def auc(self) -> float:
        """The AUC of `checked`: 1 tells members from others, 0.5 is a guess."""
        found = auc(self.checked.ravel(), np.repeat(self.member, self.checked.shape[1]))
        assert found is not None
        return found

    def log_odds(self, features: ArrayLike) -> Floats:
        """Return the log-odds of membership at even odds beforehand."""
        x = np.asarray(features, dtype=np.float32)
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise InputError(f"Features must have {self.width} numbers each, as in training. Got shape {x.shape}.")
        flat = x.reshape(-1, self.width)
        parts = [self.score(self.prepared(flat[rows])) for rows in _blocks(len(flat))]
        score = np.concatenate(parts) if parts else np.empty(0)
        return self.calibration.log_odds(score).reshape(x.shape[:-1])

    def chance(self, features: ArrayLike) -> Floats:
        """Return the chance of membership at even odds beforehand: 0 to 1."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.log_odds(features), -500, 500))))


@dataclass(frozen=True)
class Linear:
    """Ridge logistic regression, its ridge chosen out of fold (the module says why); see `learner`."""

    kind: Kind = "counts"
    steps: int = 12

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"steps must be at least 1. Got {self.steps}.")

    def fit(self, features: ArrayLike, member: ArrayLike, *, seed: Seed = None, threads: int | None = None) -> Attacker:
        """Return the attacker learnt from shadows."""
        from threadpoolctl import threadpool_limits

        x, inside = _checked(features, member, self.kind)
        shadows, tables, width = x.shape
        fold = np.repeat(_folds(inside, generator(seed)), tables)
        flat, label = x.reshape(-1, width), np.repeat(inside, tables)
        prepared: Callable[[Singles], Singles] = _fourth_root if self.kind == "counts" else _Cleaner.of(flat)
        matrix = np.array(prepared(flat), dtype=np.float32)  # a copy: it is centred in place
        mean = matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
        matrix -= mean
        spread = np.sqrt(np.einsum("nd,nd->d", matrix, matrix, dtype=np.float64) / len(matrix))
        told = spread > 1e-6 * np.maximum(1.0, np.abs(mean))
        if not told.all():
            matrix = matrix[:, told]
        standard = 1 / np.maximum(spread[told], FLOOR if self.kind == "counts" else 0.0)
        ridges = [(standard if scaled else np.ones_like(standard), variance) for scaled, variance in RIDGES[self.kind]]
        # Products that spawn threads of their own may add in another order: blocks are the threads here.
        with threadpool_limits(1, user_api="blas"):
            unseen, fitted = _ridge_logistic(matrix, label, fold, ridges, steps=self.steps, threads=threads)
        best = int((np.logaddexp(0.0, unseen) - label * unseen).mean(axis=1, dtype=np.float64).argmin())
        weights = np.zeros(width, dtype=np.float32)
        weights[told] = fitted[0][:, best]
        constant = float(fitted[1][best]) - float(mean.astype(np.float64) @ weights)
        outside = unseen[best].reshape(shadows, tables).astype(np.float64)
        calibration = calibrated(outside, inside)

        def score(block: Singles) -> Floats:
            # No matrix product: BLAS may add in another order with other threads.
            return np.asarray(np.einsum("nd,d->n", block, weights), dtype=np.float64) + constant

        standardised, variance = RIDGES[self.kind][best]
        settings = {"learner": "linear", "standardised": standardised, "variance": variance}
        return _Fitted(width, prepared, score, calibration, calibration.log_odds(outside), inside, settings)


def _ridge_logistic(
    x: Singles,
    member: Bools,
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
    used = np.column_stack([fold != number for number in range(n_folds)] + [np.ones(len(fold), dtype=bool)])
    used = np.tile(used, (1, n_ridges)).astype(np.float32)
    scale = np.repeat(np.stack([s for s, _ in ridges], axis=1), n_folds + 1, axis=1).astype(np.float32)
    penalty = np.repeat([1 / variance for _, variance in ridges], n_folds + 1)
    y = member.astype(np.float32)[:, None]
    rows = list(_blocks(len(x)))

    def forward(weights: Singles) -> Singles:
        return np.concatenate(thread_map(lambda part: x[part] @ weights, rows, threads=threads))

    def descent(score: Singles, weights: Singles) -> Singles:
        residual = used * (y - _logistic(score))
        parts = thread_map(lambda part: x[part].T @ residual[part], rows, threads=threads)
        return scale * np.asarray(sum(parts), dtype=np.float32) - penalty.astype(np.float32) * weights

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
        turn = np.divide(_dots(down, down - before), size, out=np.zeros_like(size), where=size > 0)
        direction = down + np.maximum(turn, 0.0).astype(np.float32) * direction
    every = np.arange(n_ridges) * (n_folds + 1)
    unseen = score[np.arange(len(fold))[:, None], fold[:, None] + every].T
    return unseen, ((scale * weights)[:, every + n_folds], constant[every + n_folds])


def _lowest(
    score: Singles, move: Singles, y: Singles, used: Singles, ridge: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return how far along its line each fit goes, and the change of its constant: Newton's steps, taken back if they harm."""
    along, shift = np.zeros(score.shape[1]), np.zeros(score.shape[1])

    def at(a: Floats, c: Floats) -> Singles:
        return score + a.astype(np.float32) * move + c.astype(np.float32)

    def loss(a: Floats, c: Floats) -> Floats:
        z = at(a, c)
        return _dots(used, np.logaddexp(np.float32(0), z) - y * z) + a * (ridge[0] + a * ridge[1] / 2)

    start = loss(along, shift)
    for _ in range(4):
        p = _logistic(at(along, shift))
        residual, curve = used * (p - y), used * p * (1 - p)
        bent = curve * move
        slope_a, slope_c = _dots(residual, move) + ridge[0] + along * ridge[1], residual.sum(axis=0, dtype=np.float64)
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
    for _ in range(20):
        worse = ~(loss(along, shift) <= start)
        if not worse.any():
            return along, shift
        along, shift = np.where(worse, along / 4, along), np.where(worse, shift / 4, shift)
    return np.where(worse, 0.0, along), np.where(worse, 0.0, shift)


def _dots(a: Singles, b: Singles) -> Floats:
    """The products of columns."""
    return np.asarray(np.einsum("ij,ij->j", a, b, dtype=np.float64))


def _logistic(z: Singles) -> Singles:
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -30, 30))), dtype=np.float32)


@dataclass(frozen=True)
class ExtraTrees:
    """P3's learner: extremely randomised trees whose settings a random search chooses by accuracy out of fold; see `learner`."""

    kind: Kind = "counts"
    draws: int = 50

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"draws must be at least 1. Got {self.draws}.")

    def fit(self, features: ArrayLike, member: ArrayLike, *, seed: Seed = None, threads: int | None = None) -> Attacker:
        """Return the attacker learnt from shadows."""
        from sklearn.ensemble import ExtraTreesClassifier
        from sklearn.model_selection import ParameterSampler

        x, inside = _checked(features, member, self.kind)
        rng = generator(seed)
        fold = np.repeat(_folds(inside, rng), x.shape[1])
        flat = x.reshape(-1, x.shape[2])
        prepared: Callable[[Singles], Singles] = _as_it_is if self.kind == "counts" else _Cleaner.of(flat)
        rows, label = prepared(flat), np.repeat(inside, x.shape[1])

        def grown(settings: dict[str, Any], used: Any) -> Any:
            forest = ExtraTreesClassifier(
                **settings, n_jobs=thread_count(threads), random_state=int(rng.integers(2**31))
            )
            # One thread asks the trees: with more they are added up in the order in which they answer.
            return forest.fit(rows[used], label[used]).set_params(n_jobs=1)

        best, accuracy = {}, -1.0
        unseen: Floats = np.empty(len(rows))
        for settings in ParameterSampler(P3_SEARCH, self.draws, random_state=int(rng.integers(2**31))):
            chance, right = np.empty(len(rows)), []
            for number in range(int(fold.max()) + 1):
                out = fold == number
                chance[out] = grown(settings, ~out).predict_proba(rows[out])[:, 1]
                right.append(float(((chance[out] > 0.5) == label[out]).mean()))
            if np.mean(right) > accuracy:
                best, accuracy, unseen = settings, float(np.mean(right)), chance
        forest = grown(best, slice(None))
        unseen = unseen.reshape(x.shape[:2])
        calibration = calibrated(unseen, inside)

        def score(block: Singles) -> Floats:
            return np.asarray(forest.predict_proba(block)[:, 1])

        checked = calibration.log_odds(unseen)
        return _Fitted(x.shape[2], prepared, score, calibration, checked, inside, {"learner": "extra-trees", **best})


def weights_by_auc(aucs: ArrayLike) -> Floats:
    """Return a weight from 0 (no better than a guess) to 1 for each classifier, 2 AUC - 1: tried and dropped in P3.

    Examples
    --------
    >>> weights_by_auc([0.4, 0.5, 0.75, 1.0]).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    return np.clip(2 * np.asarray(aucs, dtype=np.float64) - 1, 0.0, 1.0)


def exclude_weak(aucs: ArrayLike, share: float) -> Bools:
    """Return which classifiers stay when the share with the lowest AUC goes (rounded down; one stays): tried and dropped in P3.

    Examples
    --------
    >>> exclude_weak([0.6, 0.5, 0.9, 0.7], 0.5).tolist()
    [False, False, True, True]
    """
    if not 0 <= share <= 1:
        raise InputError(f"The share of weak classifiers to exclude must lie between 0 and 1. Got {share}.")
    values = np.asarray(aucs, dtype=np.float64)
    keep = np.ones(len(values), dtype=bool)
    keep[np.argsort(values, kind="stable")[: min(int(share * len(values)), len(values) - 1)]] = False
    return keep


def chosen(log_odds: ArrayLike, *, weights: ArrayLike | None = None, keep: ArrayLike | None = None) -> Ints:
    """Return for each release (row) the target (column) whose chance, times its weight, is highest; the first of equals.

    Without options that is the largest log-odds. Weights multiply chances: log-odds have two signs, and a weak classifier's
    "no" would become less of a no.

    Examples
    --------
    >>> chosen([[0.1, 2.0, 1.9]]).tolist(), chosen([[0.1, 2.0, 1.9]], weights=[1, 0.5, 1]).tolist()
    ([1], [2])
    """
    values = np.asarray(log_odds, dtype=np.float64)
    score = values
    if weights is not None:
        with np.errstate(divide="ignore"):
            score = np.log(np.asarray(weights, dtype=np.float64)) - np.logaddexp(0.0, -values)
    if keep is not None:
        score = np.where(np.asarray(keep, dtype=bool), score, -np.inf)
    return np.asarray(score.argmax(axis=-1), dtype=np.int64)


def _checked(features: ArrayLike, member: ArrayLike, kind: Kind) -> tuple[Singles, Bools]:
    x, inside = np.asarray(features, dtype=np.float32), np.asarray(member)
    if x.ndim != 3 or 0 in x.shape:
        raise InputError(f"Features of shadows have three axes: shadows, tables, numbers. Got shape {x.shape}.")
    if inside.dtype != np.bool_ or inside.shape != x.shape[:1]:
        raise InputError(f"member must say yes or no for each of {len(x)} shadows. Got shape {inside.shape}.")
    few = min(int(inside.sum()), int((~inside).sum()))
    if few < 2:
        raise InputError("A target must be in at least 2 training shadows and missing from 2. Draw more shadows.")
    if kind == "counts" and not (np.isfinite(x).all() and x.min() >= 0):
        raise InputError('Counts must be finite and at least 0. For other numbers use kind="real".')
    return x, inside


def _folds(member: Bools, rng: np.random.Generator) -> Ints:
    """A fold for each shadow: members and others are dealt out apart, so that every fold has its share of both."""
    count = min(FOLDS, int(member.sum()), int((~member).sum()))
    fold = np.empty(len(member), dtype=np.int64)
    for side in (True, False):
        rows = rng.permutation(np.flatnonzero(member == side))
        # The two are dealt in opposite directions, or the first folds would be the larger ones twice.
        fold[rows] = np.arange(len(rows)) % count if side else (count - 1) - np.arange(len(rows)) % count
    return fold


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))


def _fourth_root(x: Singles) -> Singles:
    return np.sqrt(np.sqrt(x))


def _as_it_is(x: Singles) -> Singles:
    return x
