"""The memorisation tests of a released table: every person scored by every test.

The scores are worked out without knowing who is a member: people are put in a random order first. So members and others can be exchanged
for the p-value, in one family with attacks on the same people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.seeds import child
from ...stats.rates import Group, Ratio, Scores
from ...table.compare.values import CodedTables
from ..attacker import ATTACKERS, Attacker
from ..attribution.attempt import AttackScores, Guess
from ..settings import Parts
from .protocol import NobodyConcernedError, NotApplicableError, ReleaseCase


def memorisation_scores(
    coded: CodedTables,
    released: Sequence[str],
    names: Sequence[str],
    *,
    keys: Sequence[str] = (),
    parts: Parts | None = None,
    seed: np.random.SeedSequence,
    threads: int | None = None,
) -> dict[str, list[AttackScores]]:
    """Return for each test of released tables its scores on the people of the `original`, and on those of the `holdout` where there is one."""
    people = [side for side in ("original", "holdout") if side in coded.tables]
    case = ReleaseCase.from_tables(
        coded, released, people, keys=keys, parts=parts, seed=child(seed, 1), threads=threads
    )
    order = np.random.default_rng(child(seed, 0)).permutation(case.n_people)
    ends = np.cumsum([coded.tables[side].n_rows for side in people])[:-1]
    shuffled, position = case.take(order), np.argsort(order)
    return {name: case_scores(ATTACKERS[name], shuffled, position, ends) for name in names}


def case_scores(
    test: Attacker, case: ReleaseCase, position: NDArray[Any], ends: NDArray[np.integer]
) -> list[AttackScores]:
    """Return the scores of a test of a case whose person i of the tables stands at `position[i]`, of each side of people; these end at `ends`."""
    reason, about_nobody = "", False
    assert test.score is not None  # tests alone are named here
    try:
        scores = test.score(case)
    except NotApplicableError as error:
        scores, reason = Scores(np.zeros(case.n_people), np.zeros(case.n_people)), str(error)
        about_nobody = isinstance(error, NobodyConcernedError)
    baseline = None if test.baseline is None or reason else test.baseline(case)
    is_reversed = test.direction == "higher is safer"
    weight = scores.weight[position]
    numerator = scores.numerator[position]
    if is_reversed:
        numerator = weight - numerator

    def group_scores(group: Group) -> AttackScores:
        total = float(group[1].sum())
        risk = float(group[0].sum() / group[1].sum()) if total > 0 else None
        value = 1.0 - risk if is_reversed and risk is not None else risk
        return AttackScores(
            Ratio(),
            group,
            value,
            Guess(baseline, None, total),
            reason=reason,
            is_reversed=is_reversed,
            about_nobody=about_nobody,
        )

    groups = zip(np.split(numerator, ends), np.split(weight, ends), strict=True)
    return [group_scores(group) for group in groups]
