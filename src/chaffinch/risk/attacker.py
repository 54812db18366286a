"""An attacker in one place: what it scores people by, what it needs, its name, its sentences, and what it does not see.

It registers itself in `ATTACKERS`, and is then run by every study that has what it needs, in one family with all others, and found in
results, pages, comparisons and `--help`:

    ATTACKERS.register(Attacker(name="echo", attack=lambda attempt: [...], title="Echo", says="...", definition="..."))
    ATTACKERS.register(Attacker(name="same_age", score=lambda case: Scores(...), title="Same age", sentence="...", definition="..."))

One that has an `attack` guesses a sensitive column from keys. One that has a `score` is a memorisation test: it says of each person how well the released
table fits to them, and needs no keys. One that has a `learner` tells members from others by shadow modelling, one with `separate` distinguishes the runs of
a private method on neighbouring tables, and one with none of these evolves datasets from published outputs. `plan_attackers` says who can be run with what is there, and of the others why not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.registry import Registry
from .._base.results import THOROUGH, LeftOut
from .._base.text import display_name

if TYPE_CHECKING:
    from ..stats.rates import Scores
    from .attribution.attempt import AttackContext, AttackScores
    from .memorisation.protocol import ReleaseCase

By = Literal["value", "draw"]
"""Whether an answer is one value for everybody, or drawn."""

Direction = Literal["lower is safer", "higher is safer"]

Kind = Literal["matching", "learning", "memorisation", "membership", "audit", "outputs"]
"""What an attacker does: match people with rows by their keys, learn a column from the table, look for people in it, learn from shadow models, audit a promise,
evolve datasets from published outputs.
"""

Need = Literal["keys", "sensitive", "parts", "holdout", "releases", "shadows", "method", "outputs"]
"""What must be there: keys, sensitive columns, two parts of the columns (which stand in for keys), people who are not in the data, several releases of the
same people, models of subsets of the people, a method with a promise of privacy, or published outputs.
"""

NEEDS: dict[Need, tuple[str, str]] = {
    "keys": ("columns that an outsider knows", "--keys"),
    "sensitive": ("a sensitive column", "--sensitive"),
    "parts": ("two sets of columns to link", "--parts"),
    "holdout": ("people who are not in the data", "--holdout"),
    "releases": ("several releases of the same people", "several synthetic tables"),
    "shadows": ("the synthesiser, to fit it to subsets of the people", "chaffinch attack"),
    "method": ("the synthesiser and its promise of privacy", "chaffinch audit"),
    "outputs": ("published outputs", "chaffinch check"),
}
"""What each need is in words, and what provides it."""

KINDS: dict[Kind, str] = {
    "matching": "attacks by matching keys",
    "learning": "attacks by learning",
    "memorisation": "memorisation tests",
    "membership": "membership inference and singling out by shadow models",
    "audit": "an audit of a promise of privacy",
    "outputs": "datasets evolved from published outputs",
}
"""What each kind is called; its key is the word of `attackers` that asks for all of its kind."""

NEEDS_OF_KIND: dict[Kind, tuple[Need, ...]] = {
    "matching": ("keys", "sensitive"),
    "learning": ("keys", "sensitive"),
    "memorisation": (),
    "membership": ("shadows",),
    "audit": ("method",),
    "outputs": ("outputs",),
}
"""What attackers of each kind need, unless they say so themselves."""

WITH_COMMANDS: tuple[Kind, ...] = ("membership", "audit")
"""The kinds that have commands of their own."""

People = Literal["all", "matched", "right"]

MOST_SETS_FOR_LEARNERS = 3
"""Key sets above which attackers that learn are left out unless they are named."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacker:
    """An attacker, whole.

    Parameters
    ----------
    name
        In results, under `attacker`.
    attack
        Returns scores for each side of people of an attempt on a sensitive column. None for a memorisation test.
    score
        Returns a score for each person of a case: a numerator from 0 to the person's weight; weight 0 leaves the person out. It raises
        `NotApplicableError` where it has nothing to say. None for an attacker on a column.
    learner, sees, by_groups
        Of an attacker by shadow modelling: returns what learns an attacker from shadows, see `membership.attacker.Learner`; the groups of features it looks at;
        whether it is told which features are of which group. None for one that needs shadows and learns nothing.
    separate
        Of an audit: returns a score of features from those of training runs, whether each was on the table with the target, and a seed. None for one
        that needs the method and has more to go by than features.
    needs
        What must be there before it is run. Default: keys and sensitive columns for an attack on a column, nothing for a memorisation test, shadows or a
        method for the others. With "keys" and "parts" either will do.
    title, short
        What a page calls it, and where there is little room.
    definition, reference
        What its value is, and whose it is.
    says
        What someone does who knows the keys, with `{sensitive}`; "right for ..." follows.
    sentence
        Of what is on no column the value in words, with `{value}` and `{holdout}` in it (per cent or plain, see `share`); `{holdout}` stands after the last
        semicolon or comma, and that part is left out without a holdout. An audit has the sentence of its claim.
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
    group
        A word of `attackers` that asks for it beside its name and its kind.
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
    evidence
        What it goes by, in words for a sentence; empty where that is many things.
    stream_number
        The number of its random stream, where that is not from its name.
    level_share
        The share of the level of all attacks and tests together that it spends, however many they are (see `stats.familywise`); None for an equal
        part of what the others leave.
    """

    name: str
    title: str
    definition: str
    attack: Callable[[AttackContext], list[AttackScores]] | None = None
    score: Callable[[ReleaseCase], Scores] | None = None
    learner: Callable[..., Any] | None = None
    sees: tuple[str, ...] = ("table",)
    by_groups: bool = False
    separate: Callable[..., Any] | None = None
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
    group: str = ""
    conventions: tuple[tuple[str, str], ...] = ()
    own_stream: bool = True
    counted: bool = False
    singles_out: bool = False
    evidence: str = ""
    stream_number: int | None = None
    level_share: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "short", self.short or self.title)
        if self.needs is None:
            object.__setattr__(self, "needs", NEEDS_OF_KIND[self.kind])

    @property
    def kind(self) -> Kind:
        """What it does."""
        if self.attack is not None:
            return "learning" if self.learns else "matching"
        if self.score is not None:
            return "memorisation"
        if self.learner is not None or "shadows" in (self.needs or ()):
            return "membership"
        return "audit" if self.separate or "method" in (self.needs or ()) else "outputs"

    @property
    def on_column(self) -> bool:
        """Whether it guesses a sensitive column."""
        return self.attack is not None

    def missing(self, available: Collection[Need]) -> tuple[Need, ...]:
        """Return what it needs that is not there."""
        needs = self.needs or ()
        lacking = tuple(need for need in needs if need not in available)
        either = "parts" in needs and ("parts" in available or "keys" in available)
        return tuple(need for need in lacking if not (either and need in ("keys", "parts")))

    @property
    def stream(self) -> int:
        """The number of its own random stream."""
        if self.stream_number is not None:
            return self.stream_number
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")


ATTACKERS: Registry[Attacker] = Registry(
    "attacker",
    __package__,
    "attribution.cap",
    "attribution.tcap",
    "attribution.gcap",
    "attribution.learners",
    "memorisation.whole_rows",
    "memorisation.rare_values",
    "memorisation.distances",
    "memorisation.key_matches",
    "memorisation.linkability",
    "memorisation.predicates",
    "memorisation.repeated",
    "attribution.*",
    "memorisation.*",
    "membership.attacker",
    "membership.ranked",
    "membership.combined",
    "membership.linear",
    "membership.forests",
    "membership.kernel",
    "singling_out",
    "auditing.attacker",
)


def attackers_of_kind(*kinds: Kind) -> tuple[Attacker, ...]:
    """Return the attackers of some kinds, in the order of registration."""
    return tuple(attacker for attacker in ATTACKERS if attacker.kind in kinds)


def attacker_of(name: str) -> Attacker:
    """Return an attacker; one that says no more than its name where it is not registered."""
    if name in ATTACKERS:
        return ATTACKERS[name]
    title = display_name(name, 40)
    return Attacker(
        name=name,
        title=title,
        definition="Not described here.",
        blindness="Not described here.",
        says=f"the attack “{title}” gets {{sensitive}}",
        sentence=f"The test “{title}” is at {{value}} for the people in the data, {{holdout}} for people who are not",
    )


def attacker_words(*kinds: Kind) -> tuple[str, ...]:
    """Return the words that ask for attackers of some kinds: the kinds, groups and names, in order."""
    chosen = attackers_of_kind(*kinds)
    return tuple(
        dict.fromkeys(
            [
                *kinds,
                *(attacker.group for attacker in chosen if attacker.group),
                *(attacker.name for attacker in chosen),
            ]
        )
    )


STUDIED: tuple[Kind, ...] = ("matching", "learning", "memorisation")
"""The kinds that a study of released tables runs; others have commands of their own."""


@dataclass(frozen=True)
class AttackPlan:
    """Who attacks, in the order of registration, and who does not and why."""

    attackers: tuple[Attacker, ...]
    left_out: tuple[LeftOut, ...]


def plan_attackers(
    available: Collection[Need],
    named: Sequence[str] | None = None,
    *,
    n_key_sets: int = 1,
    thorough: bool = False,
) -> AttackPlan:
    """Return who attacks released tables with what is there, and of the others why they do not.

    `named`: words that ask for attackers. Default: all that match, all memorisation tests, and up to three key sets those that learn quickly; with
    `thorough` those that learn slowly too.

    Raises
    ------
    InputError
        If a word asks for no attacker, or a name for one that cannot be run.

    Examples
    --------
    >>> import chaffinch.risk
    >>> [attacker.name for attacker in plan_attackers(("keys", "sensitive"), ["gcap", "exact_row"]).attackers]
    ['gcap_score', 'gcap_vote', 'exact_row']
    """
    for word in named or ():
        check_name("attacker", word, attacker_words(*STUDIED))
    chosen: list[Attacker] = []
    reasons: dict[tuple[str, str], list[Attacker]] = {}
    for attacker in attackers_of_kind(*STUDIED):
        missing = attacker.missing(available)
        needed = " and ".join(NEEDS[need][0] for need in missing)
        if named is not None and attacker.name in named and missing and "releases" not in missing:
            raise InputError(
                f"Attacker '{attacker.name}' needs {needed}. Name them, or leave it out."
            )
        if missing:
            why: tuple[str, str] | None = (
                f"needs {needed}",
                ", ".join(NEEDS[need][1] for need in missing),
            )
        elif attacker.named_only and attacker.name not in (named or ()):
            continue
        else:
            why = _why_not(attacker, named, n_key_sets, thorough)
        if why is None:
            chosen.append(attacker)
        else:
            reasons.setdefault(why, []).append(attacker)
    left_out = [_left_out(*why, group) for why, group in reasons.items()]
    for kind in WITH_COMMANDS:
        needed, flag = NEEDS[NEEDS_OF_KIND[kind][0]]
        left_out.append(LeftOut(KINDS[kind], flag, f"needs {needed}", unmet=True))
    return AttackPlan(tuple(chosen), tuple(left_out))


def _why_not(
    attacker: Attacker, named: Sequence[str] | None, n_key_sets: int, thorough: bool
) -> tuple[str, str] | None:
    """Return why an attacker that could run is left out, and the option that would have it; None where it runs."""
    if named is not None:
        asked = {attacker.name, attacker.group, attacker.kind} & set(named)
        return None if asked else ("was not named", "--attackers")
    if attacker.learns and n_key_sets > MOST_SETS_FOR_LEARNERS:
        return "is left out with many sets of keys", f"--attackers {attacker.kind}"
    if attacker.thorough and not thorough:
        return "takes long", THOROUGH
    return None


def _left_out(reason: str, flag: str, attackers: Sequence[Attacker]) -> LeftOut:
    """Return attackers that are not run: by their names where few are, whole kinds by what these are called."""
    titles, names = [], []
    for kind, title in KINDS.items():
        of_kind = [attacker.name for attacker in attackers if attacker.kind == kind]
        if of_kind and len(of_kind) == len(attackers_of_kind(kind)):
            titles.append(title)
        else:
            names += of_kind
    phrases = [*titles, *([f"attackers {', '.join(names)}"] if names else [])]
    return LeftOut(", ".join(phrases), flag, reason, unmet=reason.startswith("needs "))
