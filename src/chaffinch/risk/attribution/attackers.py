"""Attackers that learn: models trained on a source's keys to say the sensitive value, asked about people.

As Hittmeir, Mayer and Ekelhart (2022) and Niederhametner and Mayer (2023) have them: integer codes (numbers as they are), standard
scaling fitted on the source, scikit-learn's defaults.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import unknown_name
from ..._base.progress import Progress, silent
from ...stats.features import standardised
from ...stats.learners import chosen_models, fit, is_svm, work
from ...stats.splits import subsample
from .classes import class_ids
from .scene import Scene

__all__ = ["ATTACKERS", "LEARNERS", "guesses"]

LEARNERS = {"nb": "nb", "svm": "svc", "knn": "knn", "rf": "rf", "lr": "lr"}
"""Attackers that learn, and the models they are."""
ATTACKERS = ("gcap", *LEARNERS)

Ints = NDArray[np.int64]


def guesses(
    scene: Scene,
    source: str,
    people: Sequence[str],
    keys: Sequence[str],
    sensitive: str,
    *,
    attackers: Sequence[str],
    svm_rows: int | None = 5000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> dict[str, dict[str, NDArray[np.bool_]]]:
    """Return whether each attacker says each person's sensitive value: by attacker, then by side of people.

    Models answer once for each distinct key. The support vector machine learns from at most `svm_rows` records of the source, a
    stratified subsample. Where the source has one sensitive value, every attacker says it.
    """
    for name in attackers:
        if name not in LEARNERS:
            raise unknown_name("attacker", name, ATTACKERS)
    sides = [source, *people]
    matrices = [
        np.column_stack([scene.grids[name].numbers[scene.sides[side].codes[name]] for name in keys]) for side in sides
    ]
    ids = class_ids(*(scene.keys(side, keys) for side in people))
    pooled = np.concatenate(ids)
    _, first, place = np.unique(pooled, return_index=True, return_inverse=True)
    asked = np.concatenate(matrices[1:])[first]
    train, tested = standardised(matrices[0], asked)
    labels = scene.values(source, sensitive)
    few = subsample(labels, len(labels), svm_rows, np.random.default_rng(seed))
    models, _ = chosen_models([LEARNERS[name] for name in attackers], task="classification")

    def one(name: str) -> Ints:
        rows = few if is_svm(models[LEARNERS[name]]) else slice(None)
        found = fit(models[LEARNERS[name]], train[rows], labels[rows], [tested], seed=seed)
        return found.answers[0].predicted

    said = work(one, list(attackers), threads=threads, progress=progress, doing=f"attacking {sensitive}")
    ends = np.cumsum([len(found) for found in ids])[:-1]
    out: dict[str, dict[str, NDArray[np.bool_]]] = {}
    for name, predicted in zip(attackers, said, strict=True):
        answers = np.split(predicted[place.ravel()], ends)
        out[name] = {
            side: answer == scene.values(side, sensitive) for side, answer in zip(people, answers, strict=True)
        }
    return out
