"""An attacker in one place: what it scores people by, what it needs, its name, its sentences, and what it does not see.

It registers itself in `ATTACKERS`, and is then run by every study that has what it needs, in one family with all others, and found in
results, pages, comparisons and `--help`:

    ATTACKERS.register(Attacker(name="echo", attack=lambda attempt: [...], title="Echo", says="...", definition="..."))
    ATTACKERS.register(Attacker(name="same_age", score=lambda case: Scores(...), title="Same age", sentence="...", definition="..."))

One that has an `attack` guesses a sensitive column from keys; one that has a `score` is a memorisation test: it says of each person how well the released
table fits to them, and needs no keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .._base.checks import check_name
from .._base.registry import Registry
from .._base.text import shown

if TYPE_CHECKING:
    from ..stats.rates import Scores
    from .attribution.attacker import Attempt, Outcome
    from .memorisation.protocol import ReleaseCase

By = Literal["value", "draw"]
"""Whether an answer is one value for everybody, or drawn."""

Direction = Literal["lower is safer", "higher is safer"]

Need = Literal["keys", "sensitive", "parts", "releases"]
"""What must be named: keys, sensitive columns, two parts of the columns (which stand in for keys), or several releases of the same people."""

People = Literal["all", "matched", "right"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacker:
    """An attacker, whole.

    Parameters
    ----------
    name
        In results, under `attacker`.
    attack
        Returns an outcome for each side of people of an attempt on a sensitive column. None for a memorisation test.
    score
        Returns a score for each person of a case: a numerator from 0 to the person's weight; weight 0 leaves the person out. It raises
        `NotApplicableError` where it has nothing to say. None for an attacker on a column.
    needs
        What must be named before it is run; unless given keys and sensitive columns for an attack on a column, and nothing for a memorisation test.
        With "keys" and "parts" either will do.
    title, short
        What a page calls it, and where there is little room.
    definition, reference
        What its value is, and whose it is.
    says
        What someone does who knows the keys, with `{sensitive}`; "right for ..." follows.
    sentence
        Of a memorisation test the value in words, with `{value}` and `{holdout}` in it (per cent or plain, see `share`); `{holdout}` stands after the last
        semicolon or comma, and that part is left out without a holdout.
    blindness
        What it is known not to see.
    direction
        Which way its value is safe. An excess is always towards risk: members less others, or others less members where higher is safer.
    share
        Whether its value is a share of people (or of their values), so that a small number of them is masked and it is shown in per cent.
    baseline
        What somebody reaches who does not look at the released values, where that is known.
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
    singles_out
        Whether it is a test of singling out: of predicates that are true of one person alone.
    level_share
        The share of the level of all attacks and tests together that it spends, however many they are (see `stats.familywise`); None for an equal
        part of what the others leave.
    """

    name: str
    title: str
    definition: str
    attack: Callable[[Attempt], list[Outcome]] | None = None
    score: Callable[[ReleaseCase], Scores] | None = None
    needs: tuple[Need, ...] | None = None
    says: str = ""
    sentence: str = ""
    blindness: str = ""
    reference: str = ""
    short: str = ""
    direction: Direction = "lower is safer"
    share: bool = True
    baseline: Callable[[ReleaseCase], float | None] | None = None
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
    singles_out: bool = False
    level_share: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "choice", self.name if self.choice is None else self.choice)
        object.__setattr__(self, "short", self.short or self.title)
        if self.needs is None:
            needs = () if self.attack is None else ("keys", "sensitive")
            object.__setattr__(self, "needs", needs)

    @property
    def on_column(self) -> bool:
        """Whether it guesses a sensitive column, and is no memorisation test."""
        return self.attack is not None

    @property
    def needs_releases(self) -> bool:
        """Whether it is about several releases of the same people: it is then run where they are attacked together, and not on one table."""
        return "releases" in (self.needs or ())

    def applies(self, keys: Sequence[str], parts: object) -> bool:
        """Return whether it says something where these columns are named."""
        needs = self.needs or ()
        return "keys" not in needs or bool(keys) or ("parts" in needs and parts is not None)

    @property
    def stream(self) -> int:
        """The number of its own random stream."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")


ATTACKERS: Registry[Attacker] = Registry("attacker")


def column_attackers() -> tuple[Attacker, ...]:
    """Return the attackers that guess a sensitive column, in the order of registration."""
    return tuple(attacker for attacker in ATTACKERS if attacker.on_column)


def memorisation_tests() -> tuple[Attacker, ...]:
    """Return the attackers that need no sensitive column, in the order of registration."""
    return tuple(attacker for attacker in ATTACKERS if not attacker.on_column)


def attacker_of(name: str) -> Attacker:
    """Return an attacker; one that says no more than its name where it is not registered."""
    if name in ATTACKERS:
        return ATTACKERS[name]
    title = shown(name, 40)
    return Attacker(
        name=name,
        title=title,
        definition="Not described here.",
        blindness="Not described here.",
        says=f"the attack “{title}” gets {{sensitive}}",
        sentence=f"The test “{title}” is at {{value}} for the people in the data, {{holdout}} for people who are not",
    )


def attacker_words() -> tuple[str, ...]:
    """Return the words that ask for attackers on a column, in order."""
    return tuple(
        dict.fromkeys(attacker.choice for attacker in column_attackers() if attacker.choice)
    )


def checked_names(what: str, names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return names that are all known."""
    out, every = tuple(names), tuple(known)
    for name in out:
        check_name(what, name, every)
    return out
