"""Sedlmeyr's (2024) meta-classifier: extremely randomised trees with a random search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._base.errors import InputError
from ..._base.seeds import Seed, generator
from ..._base.threads import thread_count
from .attacker import (
    ATTACKERS,
    Cleaner,
    FittedAttacker,
    Floats,
    Kind,
    MembershipAttacker,
    Singles,
    TargetAttacker,
    calibrated,
    checked,
    folds,
)  # fmt: skip

__all__ = ["ExtraTrees"]

SEARCH = {
    "n_estimators": [50, 100, 200],
    # The paper's list is auto, sqrt, log2, and "auto" meant sqrt for classifiers until scikit-learn dropped the word.
    "max_features": ["sqrt", "sqrt", "log2"],
    "min_samples_split": [2, 5, 10, 20],
    "min_samples_leaf": [1, 2, 4, 8],
    "bootstrap": [True, False],
}


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

    def fit(self, features: ArrayLike, member: ArrayLike, *, seed: Seed = None, threads: int | None = None) -> TargetAttacker:
        """Return the attacker learnt from shadows."""
        from sklearn.ensemble import ExtraTreesClassifier
        from sklearn.model_selection import ParameterSampler

        x, inside = checked(features, member, self.kind)
        rng = generator(seed)
        fold = np.repeat(folds(inside, rng), x.shape[1])
        flat = x.reshape(-1, x.shape[2])
        prepared: Callable[[Singles], Singles] = _as_it_is if self.kind == "counts" else Cleaner.of(flat)
        rows, label = prepared(flat), np.repeat(inside, x.shape[1])

        def grown(settings: dict[str, Any], used: Any) -> Any:
            forest = ExtraTreesClassifier(**settings, n_jobs=thread_count(threads), random_state=int(rng.integers(2**31)))
            # One thread asks the trees: with more they are added up in the order in which they answer.
            return forest.fit(rows[used], label[used]).set_params(n_jobs=1)

        best, accuracy = {}, -1.0
        unseen: Floats = np.empty(len(rows))
        for settings in ParameterSampler(SEARCH, self.draws, random_state=int(rng.integers(2**31))):
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

        odds = calibration.log_odds(unseen)
        return FittedAttacker(x.shape[2], prepared, score, calibration, odds, inside, {"learner": "extra-trees", **best})


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
