"""What an attack on a sensitive column is asked, and what it answers: its context, the scores of the attack, and the guess beside them.

An attempt asks all attackers of a question from one source; what they share is worked out once. The guess is what somebody without keys would score, were
they scored as the attack is. An attack answers with a value, or draws one, and its measure says whom it is about and how answers count. The guess is for the same
people and counts in the same way, but its answer is the same for everybody: the value that scores most; or, where the attack draws, a
draw from the distribution of the value among those people (for DCAP the baseline of Taub, Elliot, Pampaka and Smith 2018, which Raab,
Nowok and Dibben 2024 call baseCAPd).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.runtime import Progress, SharedWork, silent
from ...stats.rates import ClassStatistic, Group, Ratio, Scores, Statistic
from ..attacker import ATTACKERS, By
from .attack_data import AttackData
from .matching import Match, WholeCounts, match, match_counts


@dataclass(frozen=True)
class AttackSpec:
    """What is attacked and with what: keys, the sensitive column, which attackers, and what they are told about how to count."""

    keys: tuple[str, ...]
    sensitive: str
    attackers: tuple[str, ...]
    convention: str = "matched_rows"
    tau: float = 1.0
    svm_rows: int | None = 5000


@dataclass(frozen=True, eq=False)
class AttackContext(SharedWork):
    """One question asked from one source about sides of people.

    `source`, `people`: names of sides of the data: the table that is attacked, and whose people are asked about. `seed`: of what
    attackers draw; the same for all.
    """

    data: AttackData
    source: str
    people: Sequence[str]
    question: AttackSpec
    seed: int = 0
    threads: int | None = None
    progress: Progress = silent

    @cached_property
    def values(self) -> list[NDArray[np.int64]]:
        """The sensitive values of each side of people."""
        return [self.data.values(side, self.question.sensitive) for side in self.people]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where sides end that stand one after the other."""
        return np.cumsum([len(values) for values in self.values])[:-1]

    @cached_property
    def matches(self) -> list[Match]:
        """What each side's people share with the source."""
        return [self.match([side]) for side in self.people]

    @cached_property
    def whole_matches(self) -> list[Match]:
        """The same for all people of each side, where the sides hold some of them only; equal people share an entry."""
        return (
            self.matches
            if self.counts is None
            else [self._counted((side,))[0] for side in self.people]
        )

    @property
    def counts(self) -> WholeCounts | None:
        """The counts of all records of files, where the sides hold samples of them."""
        return self.data.all_counts

    def _counted(self, people: Sequence[str]) -> tuple[Match, Match]:
        """Return the matches of all people, and of those in the sample, with all rows of the source."""
        assert self.counts is not None
        question, counts, persons = self.question, self.counts, self.rows(people)
        columns = (question.keys, question.sensitive)
        return self.once(
            f"counted {' '.join(people)}",
            lambda: match_counts(
                counts.counts_of(people, *columns),
                counts.counts_of([self.source], *columns),
                *persons,
            ),
        )

    def match(self, people: Sequence[str]) -> Match:
        """Return what the people of sides, taken together, share with the source."""
        if self.counts is not None:
            return self._counted(tuple(people))[1]
        return match(*self.rows(people), *self.rows([self.source]))

    def rows(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        """Return the keys and the sensitive values of sides joined."""
        keys = zip(*(self.data.keys(side, self.question.keys) for side in names), strict=True)
        values = [self.data.values(side, self.question.sensitive) for side in names]
        return [np.concatenate(parts) for parts in keys], np.concatenate(values)


def run_attackers(attempt: AttackContext) -> dict[str, list[AttackScores]]:
    """Return for each attacker of the question its scores on each side of people, in the order of registration."""
    asked = set(attempt.question.attackers)
    return {
        attacker.name: attacker.attack(attempt)
        for attacker in ATTACKERS
        if attacker.attack is not None and attacker.name in asked
    }


@dataclass(frozen=True)
class Guess:
    """What is scored without keys, None where nobody counts: with the one best `value` for all, and with a `draw` for each; over how many.

    Which of the two stands beside an attack is the attacker's to say, once: `guess_by`. `counted` is what the attack's own value divides by:
    people, or for TCAP over source rows these.
    """

    value: float | None
    draw: float | None
    counted: float

    def by(self, by: By) -> float | None:
        """Return what is scored in one of the ways."""
        return self.draw if by == "draw" else self.value


def guess(
    values: NDArray[np.integer[Any]],
    *,
    credit: NDArray[Any] | None = None,
    counted: float | None = None,
) -> Guess:
    """Return the guess at values, of people as they count.

    `values`: each person's sensitive value, as a code. `credit`: what each person adds to the score of an answer that is the person's
    value; 1 unless given. `counted`: what the sum is divided by; the summed credit unless given.

    Examples
    --------
    Four people, three of whom count, with values 0, 0 and 1:

    >>> guess(np.array([0, 0, 1, 1]), credit=np.array([1, 1, 1, 0]))
    Guess(value=0.6666666666666666, draw=0.5555555555555556, counted=3.0)
    """
    added = np.bincount(values, weights=credit).astype(np.float64)
    total = float(added.sum()) if counted is None else float(counted)
    if not total > 0:
        return Guess(None, None, 0.0)
    shares = added / total
    return Guess(float(shares.max(initial=0.0)), float((shares**2).sum()), total)


def pool_guesses(guesses: Sequence[Guess]) -> Guess:
    """Return the guess over groups of people who are each guessed at by themselves: the mean over all who count."""
    counting = [group for group in guesses if group.counted > 0]
    total = sum(group.counted for group in counting)

    def mean(by: By) -> float | None:
        known = [
            (score, group.counted) for group in counting if (score := group.by(by)) is not None
        ]
        if not known or len(known) < len(counting):
            return None
        return sum(score * counted for score, counted in known) / total

    return Guess(mean("value"), mean("draw"), total)


@dataclass(frozen=True, eq=False, repr=False)
class AttackScores:
    """One attack on one side of people: two numbers for each person and the rule that makes a value of them, and the guess beside it.

    `n_people`: people behind the value, where the two numbers are of some of them only. `is_reversed`: whether the numbers are towards risk and the value
    is not. `about_nobody`: whether no excess is possible, whoever was in the data.
    """

    statistic: Statistic
    group: Group
    value: float | None
    guess: Guess
    n_matched: int | None = None
    reason: str = ""
    n_people: int | None = None
    is_reversed: bool = False
    about_nobody: bool = False

    def with_persons(self, scores: Scores, n_people: int) -> AttackScores:
        """Return these with the scores of some persons, for intervals; the value stays that of all people."""
        return replace(self, group=(scores.numerator, scores.weight), n_people=n_people)

    def towards_value(self, risk: float | None) -> float | None:
        """Return a value in the attacker's own direction, from one towards risk."""
        return 1.0 - risk if self.is_reversed and risk is not None else risk

    def stacked(self, other: AttackScores) -> AttackScores:
        """Return the scores of the same attack on two halves of the people as one: all people together."""
        statistic, shift = self.statistic, 0
        if isinstance(statistic, ClassStatistic) and isinstance(other.statistic, ClassStatistic):
            shift = len(statistic.weights)
            weights = np.concatenate([statistic.weights, other.statistic.weights])
            statistic = ClassStatistic(weights, statistic.empty)
        # Classes of the second half are numbered after those of the first.
        first = (
            np.where(other.group[0] >= 0, other.group[0] + shift, -1) if shift else other.group[0]
        )
        group = (
            np.concatenate([self.group[0], first]),
            np.concatenate([self.group[1], other.group[1]]),
        )
        if isinstance(statistic, ClassStatistic):
            value = statistic.value(group)
        else:
            total = float(group[1].sum())
            value = self.towards_value(float(group[0].sum()) / total) if total > 0 else None
        matched = [side.n_matched for side in (self, other) if side.n_matched is not None]
        return replace(
            self,
            statistic=statistic,
            group=group,
            value=value,
            guess=pool_guesses([self.guess, other.guess]),
            n_matched=sum(matched) if len(matched) == 2 else None,
            reason="" if value is not None else self.reason or other.reason,
            about_nobody=self.about_nobody and other.about_nobody,
        )


def attack_scores(
    scores: Scores, values: NDArray[Any], *, n_matched: int, reason: str
) -> AttackScores:
    """Return what an attack scores on people, some of whom may not count; `reason` is why there is no value where there is none."""
    baseline = guess(values, credit=scores.weight)
    group = (scores.numerator, scores.weight)
    return AttackScores(
        Ratio(),
        group,
        scores.value,
        baseline,
        n_matched,
        "" if scores.value is not None else reason,
    )


def answer_scores(right: NDArray[Any], values: NDArray[Any], reason: str = "") -> AttackScores:
    """Return what answers about everybody score: whether (or how far) each is right; `reason` is why there are none."""
    scores = right.astype(np.float64)
    value = float(scores.mean()) if len(scores) and not reason else None
    weight = np.zeros(len(scores)) if reason else np.ones(len(scores))
    return AttackScores(Ratio(), (scores, weight), value, guess(values), None, reason)
