"""Sedlmeyr's (2024) meta-classifier: extremely randomised trees with a random search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError
from ..._base.runtime import thread_map
from ..._base.seeds import Seed, generator
from .attacker import (
    ATTACKERS,
    Bools,
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
from .forest_kernels import add_votes, grow_forest

SEARCH = {
    "n_estimators": [50, 100, 200],
    # The paper's list is auto, sqrt, log2, and "auto" meant sqrt for classifiers until scikit-learn dropped the word.
    "max_features": ["sqrt", "sqrt", "log2"],
    "min_samples_split": [2, 5, 10, 20],
    "min_samples_leaf": [1, 2, 4, 8],
    "bootstrap": [True, False],
}
PIECE = 25
"""Trees that are grown at a time. Votes are added piece by piece, so that threads change no result."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Extremely randomised trees, some at a time, as `forest_kernels.grow_forest` returns them."""

    pieces: tuple[Any, ...] = field(repr=False)
    n_trees: int

    def chances(self, columns: NDArray[Any], rows: Ints | None = None) -> Floats:
        """Return the mean share of members in the leaves that records come to; features are (features, records)."""
        wanted = np.arange(columns.shape[1]) if rows is None else rows
        out = np.zeros(len(wanted))
        for piece in self.pieces:
            add_votes(piece, columns, wanted, out)
        return out / self.n_trees


def grown(
    columns: NDArray[Any],
    member: Bools,
    rows: Ints,
    settings: Mapping[str, Any],
    *,
    seed: int,
    threads: int | None = None,
) -> Forest:
    """Return trees grown from some records of features (features, records), with settings that have the names of `SEARCH`."""
    n_trees, width = int(settings["n_estimators"]), len(columns)
    visited = max(1, isqrt(width) if settings["max_features"] == "sqrt" else width.bit_length() - 1)
    label = member.astype(np.uint8)
    streams = np.random.SeedSequence(seed).generate_state(-(-n_trees // PIECE), np.uint64)

    def piece(number: int) -> Any:
        trees = min(PIECE, n_trees - number * PIECE)
        split, leaf = int(settings["min_samples_split"]), int(settings["min_samples_leaf"])
        return grow_forest(
            columns,
            label,
            rows,
            trees,
            bool(settings["bootstrap"]),
            visited,
            split,
            leaf,
            streams[number],
        )

    return Forest(tuple(thread_map(piece, range(len(streams)), threads=threads)), n_trees)


def chances_out_of_fold(
    columns: NDArray[Any],
    member: Bools,
    fold: Ints,
    settings: Mapping[str, Any],
    *,
    seed: int,
    threads: int | None = None,
) -> Floats:
    """Return the chance of each record from trees grown without its fold."""
    out = np.empty(len(fold))
    for number in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        forest = grown(columns, member, inside, settings, seed=seed + number, threads=threads)
        out[outside] = forest.chances(columns, outside)
    return out


def searched(
    columns: NDArray[Any],
    member: Bools,
    fold: Ints,
    draws: int,
    rng: np.random.Generator,
    *,
    threads: int | None = None,
) -> tuple[dict[str, Any], Floats]:
    """Return the settings, out of some drawn from `SEARCH`, that are right most often out of fold, and their chances there."""
    from sklearn.model_selection import ParameterSampler

    best: dict[str, Any] = {}
    unseen, most = np.empty(len(fold)), -1.0
    for settings in ParameterSampler(SEARCH, draws, random_state=int(rng.integers(2**31))):
        chances = chances_out_of_fold(
            columns, member, fold, settings, seed=int(rng.integers(2**62)), threads=threads
        )
        right = (chances > 0.5) == member
        accuracy = float(
            np.mean([right[fold == number].mean() for number in range(int(fold.max()) + 1)])
        )
        if accuracy > most:
            best, unseen, most = settings, chances, accuracy
    return best, unseen


def in_columns(features: Singles, kind: Kind) -> NDArray[Any]:
    """Return features (records, features) with a row for each feature, counts as narrow whole numbers where they fit."""
    narrow = (
        kind == "counts"
        and len(features)
        and features.max() < 1 << 16
        and (features == np.rint(features)).all()
    )
    return np.ascontiguousarray(features.T, dtype=np.uint16 if narrow else np.float32)


@dataclass(frozen=True)
class ExtraTrees:
    """Extremely randomised trees whose settings a random search chooses by accuracy out of fold; see `learner`."""

    kind: Kind = "counts"
    draws: int = 50

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"draws must be at least 1. Got {self.draws}.")

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> ExtraTrees:
        """Return the same: settings are searched for every target anew."""
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
        rng = generator(seed)
        fold = np.repeat(folds(inside, rng), x.shape[1])
        flat = x.reshape(-1, x.shape[2])
        prepared: Callable[[Singles], Singles] = (
            _as_it_is if self.kind == "counts" else Cleaner.of(flat)
        )
        columns, label = in_columns(prepared(flat), self.kind), np.repeat(inside, x.shape[1])
        best, unseen = searched(columns, label, fold, self.draws, rng, threads=threads)
        forest = grown(
            columns,
            label,
            np.arange(len(label)),
            best,
            seed=int(rng.integers(2**62)),
            threads=threads,
        )
        unseen = unseen.reshape(x.shape[:2])
        calibration = calibrated(unseen, inside)

        def score(block: Singles) -> Floats:
            return forest.chances(in_columns(block, self.kind))

        odds = calibration.log_odds(unseen)
        return FittedAttacker(
            x.shape[2],
            prepared,
            score,
            calibration,
            odds,
            inside,
            {"learner": "extra-trees", **best},
        )


def _as_it_is(x: Singles) -> Singles:
    return x


ATTACKERS.register(
    MembershipAttacker(
        name="extra-trees",
        definition="Extremely randomised trees whose settings a random search chooses by accuracy out of fold.",
        reference="Sedlmeyr 2024",
        learner=ExtraTrees,
    )
)
