"""Without a holdout, but with the generator at hand: fit it on half of the people and attack both halves, then the reverse.

Each person is once a member, attacked from the table of their own half, and once not, attacked from the other half's. What is
found is the excess of models of half the size, which see each person more closely than a model of all: a careful figure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._base.errors import InputError
from ..._base.results import RunFacts
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, generator, seed_sequence
from ...stats.splits import child
from ...synth.generator import TableGenerator
from ...synth.protocol import promises_privacy
from ...table.table import Table
from .folds import AttackedFold, attack_folds, fold_people
from .pooling import pool_of, together
from .result import RiskResult
from .settings import RiskSettings
from .study import ONE_ROW_EACH, about_risk, attacked_data, without_small

HALF_SIZE = (
    "No holdout was given: the generator was fitted on each half of the people in turn, and the other half stood for people who are "
    "not in the data. The figures are for models of half the size."
)
"""What is said of figures that were found so."""

LEAST_ROWS = 4
"""Records that a cross-fit needs: two for each half."""


def cross_fit(
    original: Table,
    generate: Any,
    settings: RiskSettings | None = None,
    *,
    copies: int = 1,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> RiskResult:
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
    halves = halves_of(original, generator(child(root, 4)))
    folds = []
    for h, (half, other) in enumerate((halves, halves[::-1])):
        progress("fitting half of the people", h / 2)
        number = int(child(root, 5, h).generate_state(1)[0] % (1 << 31))
        folds.append(AttackedFold(half, maker.syntheses(half, number, number + 1, copies), other))
    joint = attack_folds(folds, questions, chosen, root, threads=threads, progress=progress)
    pools = []
    for h, fold in enumerate(folds) if copies > 1 else ():
        members, others = fold_people(fold, h, root)
        data = attacked_data(members, fold.tables, others, chosen, child(root, 6, h))
        pools.append(pool_of(data, questions, chosen, child(root, 8, h), threads=threads))
    attacks, family = joint.finished()
    attacks = tuple(
        replace(
            a,
            value=sides[0][0].value,
            holdout=sides[0][1].value,
            guess=sides[0][0].guess.by(a.guess_by),
        )
        for a, sides in zip(attacks, joint.outcomes, strict=True)
    )
    n_rows = original.n_persons
    about = about_risk(
        chosen,
        questions,
        seed,
        original=n_rows,
        synthetic=[half.n_rows for half in halves],
        holdout=n_rows,
        data=joint.data,
        notes=[HALF_SIZE, *[ONE_ROW_EACH] * (original.person_of is not None)],
    )
    seconds = {} if promises_privacy(generate) else joint.seconds
    joint_findings = None
    if pools:
        both = pools[0].stacked(pools[1])
        joint_findings = together(
            both,
            child(root, 9),
            resamples=chosen.resamples,
            threshold=chosen.threshold,
            threads=threads,
        )
    result = RiskResult(
        about=about,
        attacks=attacks,
        family=family,
        memorisation_tests=joint.tested(family, chosen.threshold),
        together=joint_findings,
        run=RunFacts(seconds=seconds),
    )
    return without_small(result, chosen.threshold)


def halves_of(original: Table, rng: np.random.Generator) -> list[Table]:
    """Return the rows of each half of the people."""
    parts = np.array_split(rng.permutation(original.n_persons), 2)
    if original.person_of is None:
        return [original.take(np.sort(part)) for part in parts]
    persons = np.unique(original.person_of, return_inverse=True)[1]
    return [original.take(np.flatnonzero(np.isin(persons, part))) for part in parts]
