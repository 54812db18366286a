"""Attacks on people in several folds, each with a table of its own, taken together: everybody once a member and once not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.runtime import Progress, silent
from ...stats.rates import ClassStatistic
from ...stats.splits import child
from ...table.table import Table
from ..memorisation.battery import stacked
from .attack import Attack, mean_of
from .attacker import Outcome
from .attempt import Question
from .guess import pooled
from .run import Run
from .settings import RiskSettings
from .study import attacked_data, people_of


@dataclass(frozen=True, eq=False)
class AttackedFold:
    """Tables that were made of some people, these, and people they were not made of."""

    members: Table
    tables: Sequence[Any]
    others: Any


def fold_people(fold: AttackedFold, number: int, root: np.random.SeedSequence) -> tuple[Table, Any]:
    """Return whom the attacks of a fold are about: one row of each person where people have several."""
    return people_of(fold.members, fold.others, child(root, 10, number))


def attack_folds(
    folds: Sequence[AttackedFold],
    questions: Sequence[Question],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> Run:
    """Return one run of the attacks and tests on the first table of each fold, the people of all folds together; two folds at most."""
    runs = []
    for number, fold in enumerate(folds):
        members, others = fold_people(fold, number, root)
        data = attacked_data(members, fold.tables[:1], others, settings, child(root, 6, number))
        run = Run(data, child(root, 3), settings.resamples, threads, progress)
        for question in questions:
            run.attack(question, settings.label)
        run.test(settings)
        runs.append(run)
    joint, *more = runs
    for other in more:
        joint.attacks = [_joined(a, b) for a, b in zip(joint.attacks, other.attacks, strict=True)]
        joint.outcomes = [
            [_stacked(a[0], b[0])] for a, b in zip(joint.outcomes, other.outcomes, strict=True)
        ]
        joint.trials = [
            [stacked(a[0], b[0])] for a, b in zip(joint.trials, other.trials, strict=True)
        ]
    return joint


def _joined(first: Attack, second: Attack) -> Attack:
    """Return an attack whose references are the means over both halves."""
    sides = {
        name: mean_of([getattr(first, name), getattr(second, name)])
        for name in ("original", "marginals_only", "label_only")
    }
    matched = None if first.n_matched is None else int(first.n_matched) + int(second.n_matched or 0)
    return replace(
        first,
        n_records=int(first.n_records or 0) + int(second.n_records or 0),
        n_matched=matched,
        reason=first.reason or second.reason,
        **sides,  # type: ignore[arg-type]
    )


def _stacked(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of both halves as one: all people as members, and all people as others."""
    out = []
    for a, b in zip(first, second, strict=True):
        if isinstance(a.statistic, ClassStatistic) and isinstance(b.statistic, ClassStatistic):
            shift = len(a.statistic.weights)
            moved = np.where(b.group[0] >= 0, b.group[0] + shift, -1)
            statistic: Any = ClassStatistic(
                np.concatenate([a.statistic.weights, b.statistic.weights]), a.statistic.empty
            )
            group = (np.concatenate([a.group[0], moved]), np.concatenate([a.group[1], b.group[1]]))
            value = statistic.value(group)
        else:
            statistic = a.statistic
            group = tuple(np.concatenate(parts) for parts in zip(a.group, b.group, strict=True))  # type: ignore[assignment]
            total = float(group[1].sum())
            value = float(group[0].sum()) / total if total > 0 else None
        reason = "" if value is not None else a.reason or b.reason
        out.append(Outcome(statistic, group, value, pooled([a.guess, b.guess]), None, reason))
    return out
