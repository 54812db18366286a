"""An attacker on a sensitive column in one place: what it scores people by, its guess, its name, its sentences.

It registers itself in `ATTACKERS`, and is then found by results, pages, comparisons and `--help`:

    ATTACKERS.register(Attacker(name="echo", attack=lambda attempt: attempt.answered([...]), title="Echo", ...))
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import unknown_name
from ..._base.registry import Registry
from ..._base.text import shown
from ...stats.rates import Ratio, Statistic
from ...stats.scores import Scores
from .guess import By, Guess, guess

if TYPE_CHECKING:
    from .attempt import Attempt


People = Literal["all", "matched", "right"]


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
