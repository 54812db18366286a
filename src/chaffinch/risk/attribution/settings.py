"""What to attack, with what, and how to count: the settings of a study of attribute disclosure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._base.checks import check_at_least
from ..._base.errors import InputError, listed, unknown_name
from ..._base.masking import THRESHOLD
from ..._base.results import THOROUGH, LeftOut
from ...stats.sampled import SAMPLE_ROWS, check_sample_rows
from ...table.compare.values import Numeric, Rare
from ...table.schema import Schema
from ..attacker import Attacker, attacker_words, checked_names, column_attackers, memorisation_tests
from ..memorisation.protocol import Parts
from .attacker import Question
from .classes import count_subsets, key_subsets
from .matching import check_tau
from .tcap import Convention, check_convention

MOST_SETS_FOR_LEARNERS = 3
"""Key sets above which attackers that learn are left out unless they are named."""


@dataclass(frozen=True, kw_only=True)
class RiskSettings:
    """What an adversary knows and wants, and which attacks are tried.

    Parameters
    ----------
    keys, key_sizes
        The columns known, and the sizes of subsets of them to try, as (3, 6); all of them together unless given. A sensitive
        column may stand among the keys; it is left out of them where it is attacked itself.
    sensitive
        The columns wanted. Without keys and sensitive columns nothing is attacked, and the memorisation tests alone are run.
    label
        The column whose relation to the sensitive ones is meant to stay, for the label-only reference.
    measures
        Some of the attackers that do not learn, by name; all unless named.
    attackers
        Some of the words that ask for attackers; unless named those that do not learn and, up to three key sets, those that learn quickly.
    tests
        Some of the memorisation tests, by name; all unless named, and none for an empty list.
    parts
        Two sets of columns that somebody has in two files about the same people, for linkability; unless given the keys and all other columns.
    convention, tau
        Of TCAP. "matched_rows" is that of Elliot, Little and Allmendinger's appendix A, since their figures are what others will compare
        with: the mean over synthetic records that answer for certain, those that match nobody left out.
    numeric, rare, tolerance
        How values are compared, see `AttackData`: by default as whoever holds the file can compare them, numbers as they are and rare levels
        by name, whatever bins and pools the synthesiser had.
    resamples
        Draws of people for intervals and p-values.
    svm_rows
        The most records that the support vector machine learns from; None for all.
    threshold
        People who must share a number before it may show.
    thorough
        Attack with all attackers but those that run by name only, up to three key sets, where none are named.
    sample_rows
        Where tables are in files that are read part by part: about how many records of the largest table go to attackers that learn or look for near
        rows, and to memorisation tests. CAP, DCAP, DiSCO and TCAP are of all records.
    """

    keys: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    key_sizes: tuple[int, int] | None = None
    label: str | None = None
    measures: Sequence[str] | None = None
    attackers: Sequence[str] | None = None
    tests: Sequence[str] | None = None
    parts: Parts | None = None
    convention: Convention = "matched_rows"
    tau: float = 1.0
    numeric: Numeric = "values"
    rare: Rare = "keep"
    tolerance: Mapping[str, float] = field(default_factory=dict)
    resamples: int = 1000
    svm_rows: int | None = 5000
    threshold: int = THRESHOLD
    thorough: bool = False
    sample_rows: int = SAMPLE_ROWS

    def __post_init__(self) -> None:
        attacks = bool(self.keys or self.sensitive or (self.tests is not None and not self.tests))
        for what, names in (("key", self.keys), ("sensitive column", self.sensitive)):
            if isinstance(names, str) or (attacks and not names):
                raise InputError(f"Name at least one {what}, as a list of columns. Got {names!r}.")
            if len(set(names)) != len(names):
                raise InputError(f"Each {what} is named once. Got {listed(names)}.")
        checked_names(
            "measure",
            self.measures or (),
            (one.name for one in column_attackers() if not one.learns),
        )
        checked_names("attacker", self.attackers or (), attacker_words())
        checked_names(
            "memorisation test", self.tests or (), (test.name for test in memorisation_tests())
        )
        if self.parts is not None:
            _check_parts(self.parts)
        check_convention(self.convention)
        check_sample_rows(self.sample_rows)
        if self.key_sizes is not None:
            count_subsets(len(self.keys), self.key_sizes)
        check_tau(self.tau)
        check_at_least("threshold", self.threshold, 1)

    @property
    def columns(self) -> list[str]:
        """Every column that the attacks need."""
        return list(
            dict.fromkeys([*self.keys, *self.sensitive, *([self.label] if self.label else [])])
        )

    @property
    def memorisation_tests(self) -> tuple[str, ...]:
        """The memorisation tests of one table that are run, in their order; unless named, those that need keys only where there are some."""
        return tuple(
            test.name
            for test in memorisation_tests()
            if not test.needs_releases and self._tests(test)
        )

    @property
    def joint_tests(self) -> tuple[str, ...]:
        """The memorisation tests that are about several releases, in their order."""
        return tuple(
            test.name for test in memorisation_tests() if test.needs_releases and self._tests(test)
        )

    def _tests(self, test: Attacker) -> bool:
        return (
            test.applies(self.keys, self.parts) if self.tests is None else test.name in self.tests
        )

    def check(self, schema: Schema) -> None:
        """Raise unless the schema has the columns."""
        for what, names in (
            ("key", self.keys),
            ("sensitive column", self.sensitive),
            ("label", [self.label]),
            ("column of a part", sum(map(tuple, self.parts or ()), ())),
        ):
            for name in names:
                if name is not None and name not in schema.names:
                    raise unknown_name(what, name, schema.names)

    def questions(self, seed: np.random.SeedSequence) -> list[Question]:
        """Return each set of keys with each sensitive column it is to attack; a column is never its own key.

        Where there are very many sets, `key_subsets` draws some of them by the seed.
        """
        if not self.keys:
            return []
        chosen = [tuple(self.keys)]
        if self.key_sizes is not None:
            chosen = key_subsets(self.keys, self.key_sizes, seed=seed)
        pairs = [
            (tuple(k for k in subset if k != wanted), wanted)
            for wanted in self.sensitive
            for subset in chosen
        ]
        attacked = [pair for pair in dict.fromkeys(pairs) if pair[0]]
        if not attacked:
            raise InputError(
                "Nothing is left to attack with: the only key is the sensitive column itself. Name other keys."
            )
        names = tuple(one.name for one in column_attackers() if self._asks_for(one, len(attacked)))
        return [
            Question(keys, s, names, self.convention, self.tau, self.svm_rows)
            for keys, s in attacked
        ]

    def _asks_for(self, attacker: Attacker, key_sets: int) -> bool:
        if attacker.named_only and self.attackers is None:
            return False
        if attacker.learns and self.attackers is None:
            return key_sets <= MOST_SETS_FOR_LEARNERS and (self.thorough or not attacker.thorough)
        named = self.attackers is None or not attacker.choice or attacker.choice in self.attackers
        return named and (
            attacker.learns or self.measures is None or attacker.name in self.measures
        )

    def left_out(self, questions: Sequence[Question]) -> tuple[LeftOut, ...]:
        """Return the attackers that were not named and are left out of questions: to be quick, or because there are many key sets."""
        if not questions or self.attackers is not None:
            return ()
        many = len(questions) > MOST_SETS_FOR_LEARNERS
        slow = [
            one
            for one in column_attackers()
            if one.learns and not one.named_only and one.name not in questions[0].attackers
        ]
        words = listed([one.name for one in slow])
        return (
            (LeftOut(f"attackers {words}", f"--attackers {slow[0].name}" if many else THOROUGH),)
            if slow
            else ()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {
            "measures": [
                one.name for one in column_attackers() if not one.learns and self._asks_for(one, 1)
            ],
            "attackers": None if self.attackers is None else list(self.attackers),
            "tests": list(self.memorisation_tests),
            **({} if self.parts is None else {"parts": [list(part) for part in self.parts]}),
            "convention": self.convention,
            "tau": self.tau,
            "numeric": self.numeric,
            "rare": self.rare,
            "tolerance": dict(self.tolerance),
            "resamples": self.resamples,
            "svm_rows": self.svm_rows,
            **({} if self.threshold == THRESHOLD else {"threshold": self.threshold}),
            **({"thorough": True} if self.thorough else {}),
        }


def _check_parts(parts: Parts) -> None:
    if len(parts) != 2 or any(isinstance(part, str) or not part for part in parts):
        raise InputError(
            f"parts must be two lists of columns, as (['age', 'sex'], ['income']). Got {parts!r}."
        )
    both = [name for name in parts[0] if name in parts[1]]
    if both:
        raise InputError(f"parts must have no column in common. In both: {listed(both)}.")
