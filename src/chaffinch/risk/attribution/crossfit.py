"""Without a holdout, but with the generator at hand: fit it on half of the people and attack both halves, then the reverse.

Each person is once a member, attacked from the table of their own half, and once not, attacked from the other half's. What is
found is the excess of models of half the size, which see each person more closely than a model of all: a careful figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._base.errors import InputError
from ..._base.progress import Progress, silent
from ..._base.runs import RunFacts
from ..._base.seeds import Seed, generator, seed_sequence
from ...stats.rates import ClassStatistic
from ...stats.splits import child
from ...synth.generator import TableGenerator
from ...synth.protocol import promises_privacy
from ...table.table import Table
from ..memorisation.battery import stacked
from .attack import Attack, mean_of
from .attacker import Outcome
from .guess import pooled
from .pooling import pool_of, together
from .result import RiskResult
from .run import Run
from .settings import RiskSettings
from .study import ONE_ROW_EACH, about_risk, attacked_data, people_of, without_small

__all__ = ["HALF_SIZE", "LEAST_ROWS", "cross_fit"]

HALF_SIZE = (
    "No holdout was given: the generator was fitted on each half of the people in turn, and the other half stood for people who are "
    "not in the data. The figures are for models of half the size."
)
"""What is said of figures that were found so."""

LEAST_ROWS = 4
"""Records that a cross-fit needs: two for each half."""


def cross_fit(
    original: Table, generate: Any, settings: RiskSettings | None = None, *, copies: int = 1, seed: Seed = None,
    threads: int | None = None, progress: Progress = silent, **options: Any,
) -> RiskResult:  # fmt: skip
    """Return what a generator gives away about the people it learns from, beyond what it tells about others.

    Parameters
    ----------
    generate
        A synthesiser (`fit(table, seed=...)` gives a model with `sample(n_rows, seed=...)`), or a function `(table, seed) -> table`.
    settings, options
        A `RiskSettings`, or its options by name.
    copies
        Tables that are released of one model: where there are several, `together` says what all of them add.
    """
    chosen = RiskSettings(**options) if settings is None else settings
    chosen.check(original.schema)
    if original.n_persons < LEAST_ROWS:
        raise InputError("Cross-fitting needs at least four records: two for each half.")
    maker = TableGenerator(generate)
    root = seed_sequence(seed)
    questions = chosen.questions(child(root, 0))
    halves = _halves(original, generator(child(root, 4)))
    runs, pools = [], []
    for h, (half, other) in enumerate((halves, halves[::-1])):
        progress("fitting half of the people", h / 2)
        number = int(child(root, 5, h).generate_state(1)[0] % (1 << 31))
        tables = maker.syntheses(half, number, number + 1, copies)
        members, others = people_of(half, other, child(root, 10, h))
        data = attacked_data(members, tables[:1], others, chosen, child(root, 6, h))
        run = Run(data, child(root, 3), chosen.resamples, threads, progress)
        for question in questions:
            run.attack(question, chosen.label)
        run.test(chosen)
        runs.append(run)
        if copies > 1:
            data = attacked_data(members, tables, others, chosen, child(root, 6, h))
            pools.append(pool_of(data, questions, chosen, child(root, 8, h), threads=threads))
    joint = runs[0]
    joint.attacks = [_joined(a, b) for a, b in zip(runs[0].attacks, runs[1].attacks, strict=True)]
    joint.outcomes = [[_stacked(a[0], b[0])] for a, b in zip(runs[0].outcomes, runs[1].outcomes, strict=True)]
    joint.trials = [[stacked(a[0], b[0])] for a, b in zip(runs[0].trials, runs[1].trials, strict=True)]
    attacks, family = joint.finished()
    attacks = tuple(
        replace(a, value=sides[0][0].value, holdout=sides[0][1].value, guess=sides[0][0].guess.by(a.guess_by))
        for a, sides in zip(attacks, joint.outcomes, strict=True)
    )
    n_rows = original.n_persons
    about = about_risk(
        chosen, questions, seed, original=n_rows, synthetic=[half.n_rows for half in halves], holdout=n_rows, data=joint.data, notes=[HALF_SIZE, *[ONE_ROW_EACH] * (original.person_of is not None)]
    )  # fmt: skip
    seconds = {} if promises_privacy(generate) else joint.seconds
    joint_findings = None
    if pools:
        both = pools[0].stacked(pools[1])
        joint_findings = together(both, child(root, 9), resamples=chosen.resamples, threshold=chosen.threshold, threads=threads)
    result = RiskResult(
        about=about, attacks=attacks, family=family, memorisation_tests=joint.tested(family, chosen.threshold), together=joint_findings,
        run=RunFacts(seconds=seconds),
    )  # fmt: skip
    return without_small(result, chosen.threshold)


def _halves(original: Table, rng: np.random.Generator) -> list[Table]:
    """Return the rows of each half of the people."""
    parts = np.array_split(rng.permutation(original.n_persons), 2)
    if original.person_of is None:
        return [original.take(np.sort(part)) for part in parts]
    persons = np.unique(original.person_of, return_inverse=True)[1]
    return [original.take(np.flatnonzero(np.isin(persons, part))) for part in parts]


def _joined(first: Attack, second: Attack) -> Attack:
    """Return an attack whose references are the means over both halves."""
    sides = {
        name: mean_of([getattr(first, name), getattr(second, name)])
        for name in ("original", "marginals_only", "label_only")
    }
    matched = None if first.n_matched is None else int(first.n_matched) + int(second.n_matched or 0)
    return replace(
        first, n_records=int(first.n_records or 0) + int(second.n_records or 0), n_matched=matched, reason=first.reason or second.reason,
        **sides,  # type: ignore[arg-type]
    )  # fmt: skip


def _stacked(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of both halves as one: all people as members, and all people as others."""
    out = []
    for a, b in zip(first, second, strict=True):
        if isinstance(a.statistic, ClassStatistic) and isinstance(b.statistic, ClassStatistic):
            shift = len(a.statistic.weights)
            moved = np.where(b.group[0] >= 0, b.group[0] + shift, -1)
            statistic: Any = ClassStatistic(np.concatenate([a.statistic.weights, b.statistic.weights]), a.statistic.empty)
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
