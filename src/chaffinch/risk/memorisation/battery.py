"""The tests on one released table: every person scored by every test, then members held against others.

The scores are worked out without knowing who is a member: people are put in a random order first. So members and others can be exchanged
for the p-value, in one family with attacks on the same people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.seeds import child
from ...stats.excess import NO_HOLDOUT, Excess, combine, excess
from ...stats.familywise import Family
from ...stats.rates import Group, Scores
from ...table.compare.values import CodedTables
from ..attacker import ATTACKERS, Attacker
from ..finding import Finding
from .protocol import (
    NobodyConcernedError,
    NotApplicableError,
    Parts,
    ReleaseCase,
)


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """One test of one released table: the scores of members and of others towards risk, or why there are none."""

    test: Attacker
    members: Group
    others: Group | None
    reason: str = ""
    baseline: float | None = None
    about_nobody: bool = False

    @property
    def n_people(self) -> int:
        """People whom the test counts."""
        groups = [self.members] if self.others is None else [self.members, self.others]
        return int(sum(np.count_nonzero(weight) for _, weight in groups))

    def value(self, group: Group | None) -> float | None:
        """Return the value of a group as the test defines it."""
        if group is None or not float(group[1].sum()) > 0:
            return None
        towards_risk = float(group[0].sum() / group[1].sum())
        return towards_risk if self.test.direction == "lower is safer" else 1.0 - towards_risk

    def __repr__(self) -> str:
        return f"Trial({self.test.name})"


def trials(
    coded: CodedTables,
    released: Sequence[str],
    names: Sequence[str],
    *,
    keys: Sequence[str] = (),
    parts: Parts | None = None,
    seed: np.random.SeedSequence,
    threads: int | None = None,
) -> list[Trial]:
    """Return what some tests of released tables score the people of the `original` by, and those of the `holdout` where there is one."""
    people = [side for side in ("original", "holdout") if side in coded.tables]
    case = ReleaseCase.of(
        coded, released, people, keys=keys, parts=parts, seed=child(seed, 1), threads=threads
    )
    order = np.random.default_rng(child(seed, 0)).permutation(case.n_people)
    n_members = coded.tables["original"].n_rows
    return trials_of(
        case.take(order), np.argsort(order), n_members, names, alone="holdout" not in people
    )


def trials_of(
    case: ReleaseCase, place: NDArray[Any], n_members: int, names: Sequence[str], *, alone: bool
) -> list[Trial]:
    """Return the scores of a case whose person i of the tables stands at `place[i]`; without others where members are `alone`."""
    out = []
    for test in (ATTACKERS[name] for name in names):
        reason, about_nobody = "", False
        try:
            if not test.applies(case.keys, case.parts):
                raise NotApplicableError(
                    "It is about columns that an outsider knows. Name them as keys."
                )
            assert test.score is not None  # tests alone are named here
            scores = test.score(case)
        except NotApplicableError as none:
            scores, reason = Scores(np.zeros(case.n_people), np.zeros(case.n_people)), str(none)
            about_nobody = isinstance(none, NobodyConcernedError)
        weight = scores.weight[place]
        numerator = scores.numerator[place]
        if test.direction == "higher is safer":
            numerator = weight - numerator
        first, second = (
            (numerator[part], weight[part]) for part in (slice(n_members), slice(n_members, None))
        )
        baseline = None if test.baseline is None or reason else test.baseline(case)
        out.append(Trial(test, first, None if alone else second, reason, baseline, about_nobody))
    return out


def stacked(first: Trial, second: Trial) -> Trial:
    """Return two trials of the same test as one: all their members, and all their others."""

    def both(one: Group | None, other: Group | None) -> Group | None:
        if one is None or other is None:
            return None
        return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])

    members = both(first.members, second.members)
    assert members is not None
    return Trial(
        first.test,
        members,
        both(first.others, second.others),
        first.reason or second.reason,
        first.baseline,
        first.about_nobody and second.about_nobody,
    )


def findings(
    every: Sequence[Sequence[Trial]],
    root: np.random.SeedSequence,
    *,
    resamples: int,
    threads: int | None = None,
) -> tuple[Finding, ...]:
    """Return what each test found, from its trial on each of several tables made alike."""
    return tuple(
        _finding(tables, child(root, tables[0].test.stream), resamples, threads) for tables in every
    )


def with_family(
    plain: Sequence[Finding],
    family: Family,
    first: int,
    every: Sequence[Sequence[Trial]],
    threshold: int,
) -> tuple[Finding, ...]:
    """Return findings with what the family says of them (the tests stand in it from number `first` on), as they may leave."""
    out = []
    for number, (one, tables) in enumerate(zip(plain, every, strict=True), start=first):
        if family.adjusted:
            one = replace(
                one,
                p_family=family.adjusted[number],
                lower_bound=family.lower[number],
                upper_bound=family.upper[number],
            )
        sums = [
            [_people(group) for group in (t.members, t.others) if group is not None] for t in tables
        ]
        members, others = (
            min((side[k] for side in sums if len(side) > k), default=0) for k in (0, 1)
        )
        out.append(one.masked(threshold, members, others))
    return tuple(out)


def _people(group: Group) -> float:
    """Return the people that a share is made of: those who score, or as many as their scores add up to where that is less."""
    return min(float(np.count_nonzero(group[0])), float(group[0].sum()))


def _finding(
    tables: Sequence[Trial], stream: np.random.SeedSequence, resamples: int, threads: int | None
) -> Finding:
    first = tables[0]
    value = _mean([trial.value(trial.members) for trial in tables])
    out = Finding(
        attacker=first.test.name,
        value=value,
        holdout=_mean([trial.value(trial.others) for trial in tables]),
        direction=first.test.direction,
        guess=first.baseline,
        n_people=first.n_people,
        reason=first.reason or None,
    )
    if first.others is None:
        return replace(out, reason=out.reason or NO_HOLDOUT)
    if value is None:
        return replace(out, reason=out.reason or "Nobody counts.")
    excesses: list[Excess] = [
        excess(
            trial.members,
            trial.others,
            resamples=resamples,
            seed=child(stream, number),
            threads=threads,
        )
        for number, trial in enumerate(tables)
        if trial.others is not None
    ]
    both, one = combine(excesses), excesses[0]
    return replace(
        out,
        excess=both.value,
        excess_interval=both.interval,
        p_value=one.p_value,
        detectable=one.detectable,
        reason=out.reason or one.reason or None,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
