"""A random forest with settings that need no search: what a linear score of features misses, at a cost of a second or so for a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._base.errors import InputError
from ..._base.runtime import thread_count
from ..._base.seeds import Seed, generator
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
)


@dataclass(frozen=True)
class RandomForest:
    """A random forest on features as they are; see `learner`. `trees`: how many; `rows`: the most tables that one tree grows from."""

    kind: Kind = "counts"
    trees: int = 100
    rows: int = 2_000

    def __post_init__(self) -> None:
        for name in ("trees", "rows"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1. Got {getattr(self, name)}.")

    def narrowed(self, attackers: Sequence[TargetAttacker]) -> RandomForest:
        """Return the same: nothing is chosen."""
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
        from sklearn.ensemble import RandomForestClassifier

        x, inside = checked(features, member, self.kind)
        rng = generator(seed)
        fold = np.repeat(folds(inside, rng), x.shape[1])
        flat = x.reshape(-1, x.shape[2])
        prepared: Callable[[Singles], Singles] = Cleaner.of(flat)
        rows, label = prepared(flat), np.repeat(inside, x.shape[1])

        def grown(used: Any) -> Any:
            some, mine = rows[used], label[used]
            forest = RandomForestClassifier(
                self.trees,
                min_samples_leaf=5,
                max_samples=min(self.rows, len(some)),
                n_jobs=thread_count(threads),
                random_state=int(rng.integers(2**31)),
            )
            # One thread asks the trees: with more they are added up in the order in which they answer.
            return forest.fit(some, mine).set_params(n_jobs=1)

        unseen: Floats = np.empty(len(rows))
        for number in range(int(fold.max()) + 1):
            out = fold == number
            unseen[out] = _log_odds(grown(~out).predict_proba(rows[out])[:, 1])
        forest = grown(slice(None))
        scores = unseen.reshape(x.shape[:2])
        calibration = calibrated(scores, inside)

        def score(block: Singles) -> Floats:
            return _log_odds(forest.predict_proba(block)[:, 1])

        settings = {"learner": "random-forest", "trees": self.trees}
        return FittedAttacker(
            x.shape[2], prepared, score, calibration, calibration.log_odds(scores), inside, settings
        )


def _log_odds(chance: Floats) -> Floats:
    clipped = np.clip(np.asarray(chance, dtype=np.float64), 0.005, 0.995)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


ATTACKERS.register(
    MembershipAttacker(
        name="random-forest",
        definition="A random forest on what is seen of the table.",
        reference="Houssiau et al. 2022 (TAPAS); Meeus et al. 2023",
        learner=RandomForest,
    )
)
