"""An attacker on a sensitive column in one place: what it scores people by, the guess beside it, its name, its sentences.

It registers itself in `ATTACKERS`, and is then found by results, pages, comparisons and `--help`:

    ATTACKERS.register(Attacker(name="echo", attack=lambda attempt: attempt.answered([...]), title="Echo", ...))

An attempt asks all attackers of a question from one source; what they share is worked out once. The guess is what somebody without keys would score, were
they scored as the attack is. An attack answers with a value, or draws one, and its measure says whom it is about and how answers count. The guess is for the same
people and counts in the same way, but its answer is the same for everybody: the value that scores most; or, where the attack draws, a
draw from the distribution of the value among those people (for DCAP the baseline of Taub, Elliot, Pampaka and Smith 2018, which Raab,
Nowok and Dibben 2024 call baseCAPd).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import unknown_name
from ..._base.registry import Registry
from ..._base.runtime import Progress, silent
from ..._base.text import shown
from ...stats.rates import Ratio, Scores, Statistic
from .attack_data import AttackData
from .matching import Match, WholeCounts, match, match_counts

if TYPE_CHECKING:
    pass


By = Literal["value", "draw"]
"""Whether an answer is one value for everybody, or drawn."""


People = Literal["all", "matched", "right"]


@dataclass(frozen=True)
class Question:
    """What is attacked and with what: keys, the sensitive column, which attackers, and what they are told about how to count."""

    keys: tuple[str, ...]
    sensitive: str
    attackers: tuple[str, ...]
    convention: str = "matched_rows"
    tau: float = 1.0
    svm_rows: int | None = 5000


T = TypeVar("T")


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
                counts.of(people, *columns), counts.of([self.source], *columns), *persons
            ),
        )

    def match(self, people: Sequence[str]) -> Match:
        """Return what the people of sides, taken together, share with the source."""
        if self.counts is not None:
            return self._counted(tuple(people))[1]
        return match(*self.rows(people), *self.rows([self.source]))

    def rows(self, sides: Sequence[str]) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        """Return the keys and the sensitive values of sides joined."""
        keys = zip(*(self.data.keys(side, self.question.keys) for side in sides), strict=True)
        values = [self.data.values(side, self.question.sensitive) for side in sides]
        return [np.concatenate(parts) for parts in keys], np.concatenate(values)


def outcomes(attempt: Attempt) -> dict[str, list[Outcome]]:
    """Return for each attacker of the question its outcome on each side of people, in the order of registration."""
    asked = set(attempt.question.attackers)
    return {
        attacker.name: attacker.attack(attempt) for attacker in ATTACKERS if attacker.name in asked
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


def pooled(guesses: Sequence[Guess]) -> Guess:
    """Return the guess over groups of people who are each guessed at by themselves: the mean over all who count."""
    total = sum(one.counted for one in guesses)
    if not total > 0:
        return Guess(None, None, 0.0)

    def mean(by: By) -> float:
        return sum((one.by(by) or 0.0) * one.counted for one in guesses) / total

    return Guess(mean("value"), mean("draw"), total)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """One attack on one side of people: two numbers for each person and the rule that makes a value of them, and the guess beside it."""

    statistic: Statistic
    group: tuple[NDArray[Any], NDArray[Any]]
    value: float | None
    guess: Guess
    n_matched: int | None = None
    reason: str = ""
    n_people: int | None = None
    """People behind the value, where the two numbers are of some of them only."""

    def with_persons(self, scores: Scores, n_people: int) -> Outcome:
        """Return the outcome with the scores of some persons, for intervals; the value stays that of all people."""
        return replace(self, group=(scores.numerator, scores.weight), n_people=n_people)


def outcome_of_scores(
    scores: Scores, values: NDArray[Any], *, n_matched: int, reason: str
) -> Outcome:
    """Return the outcome of scores of people, some of whom may not count; `reason` is why there is no value where there is none."""
    beside = guess(values, credit=scores.weight)
    group = (scores.numerator, scores.weight)
    return Outcome(
        Ratio(), group, scores.value, beside, n_matched, "" if scores.value is not None else reason
    )


def outcome_of_answers(right: NDArray[Any], values: NDArray[Any], reason: str = "") -> Outcome:
    """Return the outcome of answers about everybody: whether (or how far) each is right; `reason` is why there are none."""
    scores = right.astype(np.float64)
    value = float(scores.mean()) if len(scores) and not reason else None
    weight = np.zeros(len(scores)) if reason else np.ones(len(scores))
    return Outcome(Ratio(), (scores, weight), value, guess(values), None, reason)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacker:
    """An attacker, whole.

    Parameters
    ----------
    name
        In results, under `measure`.
    attack
        Returns an outcome for each side of people of an attempt.
    title, short
        What a page calls it, and where there is little room.
    says
        What someone does who knows the keys, with `{sensitive}`; "right for ..." follows.
    definition, reference
        What its value is, and whose it is.
    guess_by
        Whether the guess that fits it is one value for all, or drawn. This is the one that terminal, JSON and page show.
    people
        Of whom there must be enough before its value may show: of "all" people, of those it has a "matched" source row for (its value, and
        the guess beside it, are about these alone), or of those whom it gets "right".
    answers
        Whether it says a value, so that it is counted among attackers that do.
    learns
        Whether it trains a model: left out where there are many key sets.
    thorough
        Whether it takes long, and runs where it is named or where all attackers are asked for.
    named_only
        Whether it runs where it is named and nowhere else: a variant that repeats printed figures.
    choice
        The word of `attackers` that asks for it; its name unless given. Without any it always runs.
    conventions
        How its value may count, by name, with what each counts.
    own_stream
        Whether its random draws are from a stream of its own, so that it comes and goes without moving those of others; attackers
        that came with Chaffinch share one, in their order.
    counted
        Whether numbers of people and rows by keys and value are all it needs: it is then run on all records of files that are read part by
        part, others on a sample.
    """

    name: str
    attack: Callable[[Attempt], list[Outcome]]
    title: str
    says: str
    definition: str
    reference: str = ""
    short: str = ""
    guess_by: By = "value"
    people: People = "all"
    answers: bool = False
    learns: bool = False
    thorough: bool = False
    named_only: bool = False
    choice: str | None = None
    conventions: tuple[tuple[str, str], ...] = ()
    own_stream: bool = True
    counted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "choice", self.name if self.choice is None else self.choice)
        object.__setattr__(self, "short", self.short or self.title)

    @property
    def stream(self) -> int:
        """The number of its own random stream."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")


ATTACKERS: Registry[Attacker] = Registry("attacker")


def attacker_of(name: str) -> Attacker:
    """Return an attacker; one that says no more than its name where it is not registered."""
    if name in ATTACKERS:
        return ATTACKERS[name]
    title = shown(name, 40)
    says = f"the attack “{title}” gets {{sensitive}}"
    return Attacker(
        name=name,
        attack=lambda _: [],
        title=title,
        short=f"{title}",
        says=says,
        definition="Not described here.",
    )


def attacker_words() -> tuple[str, ...]:
    """Return the words that ask for attackers, in order."""
    return tuple(dict.fromkeys(attacker.choice for attacker in ATTACKERS if attacker.choice))


def checked_names(what: str, names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return names that are all known."""
    out, every = tuple(names), tuple(known)
    for name in out:
        if name not in every:
            raise unknown_name(what, name, every)
    return out
