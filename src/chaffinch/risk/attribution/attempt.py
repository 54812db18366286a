"""An attempt: every attack on people from one source with one set of keys; what attacks share is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._base.runtime import Progress, silent
from .attack_data import AttackData
from .attacker import ATTACKERS, Outcome
from .key_counts import WholeCounts
from .matching import Match, match, match_counts

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """What is attacked and with what: keys, the sensitive column, which attackers, and what they are told about how to count."""

    keys: tuple[str, ...]
    sensitive: str
    attackers: tuple[str, ...]
    convention: str = "matched_rows"
    tau: float = 1.0
    svm_rows: int | None = 5000


@dataclass(frozen=True, eq=False)
class Attempt:
    """One question asked from one source about sides of people.

    `source`, `people`: names of sides of the data: the table that is attacked, and whose people are asked about. `seed`: of what
    attackers draw; the same for all.
    """

    data: AttackData
    source: str
    people: Sequence[str]
    question: Question
    seed: int = 0
    threads: int | None = None
    progress: Progress = silent
    _shared: dict[str, Any] = field(default_factory=dict, repr=False)

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return what several attackers share, worked out when the first asks for it."""
        if name not in self._shared:
            self._shared[name] = work()
        shared: T = self._shared[name]
        return shared

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
        return self.data.whole

    def _counted(self, people: Sequence[str]) -> tuple[Match, Match]:
        """Return the matches of all people, and of those in the sample, with all rows of the source."""
        assert self.counts is not None
        question, counts, persons = self.question, self.counts, self.rows(people)
        columns = (question.keys, question.sensitive)
        return self.once(
            f"counted {' '.join(people)}",
            lambda: match_counts(
                counts.of(people, *columns), counts.of([self.source], *columns), *persons[:2]
            ),
        )

    def match(self, people: Sequence[str]) -> Match:
        """Return what the people of sides, taken together, share with the source."""
        if self.counts is not None:
            return self._counted(tuple(people))[1]
        people_rows, source_rows = self.rows(people), self.rows([self.source])
        return match(
            *people_rows[:2],
            *source_rows[:2],
            people_missing=people_rows[2],
            source_missing=source_rows[2],
        )

    def rows(
        self, sides: Sequence[str]
    ) -> tuple[list[NDArray[Any]], NDArray[Any], NDArray[np.bool_] | None]:
        """Return the keys, the sensitive values, and where keys are missing if that matches anything, of sides joined."""

        def joined(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
            return [np.concatenate(columns) for columns in zip(*parts, strict=True)]

        keys = joined([self.data.keys(side, self.question.keys) for side in sides])
        values = np.concatenate([self.data.values(side, self.question.sensitive) for side in sides])
        gaps = [
            absent
            for side in sides
            if (absent := self.data.gaps(side, self.question.keys)) is not None
        ]
        return keys, values, np.column_stack(joined(gaps)) if gaps else None


def outcomes(attempt: Attempt) -> dict[str, list[Outcome]]:
    """Return for each attacker of the question its outcome on each side of people, in the order of registration."""
    asked = set(attempt.question.attackers)
    return {
        attacker.name: attacker.attack(attempt) for attacker in ATTACKERS if attacker.name in asked
    }
