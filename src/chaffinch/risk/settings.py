"""What to attack, with what, and how to count: the settings of a study of attribute disclosure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.checks import check_at_least
from .._base.errors import InputError, listed, unknown_name
from .._base.masking import THRESHOLD
from ..stats.sampled import SAMPLE_ROWS, check_sample_rows
from ..table.compare.values import Numeric, Rare
from ..table.schema import Schema
from .attacker import AttackPlan, Need, plan_attackers
from .attribution.attempt import Question
from .attribution.classes import count_subsets, key_subsets
from .attribution.matching import check_tau
from .attribution.tcap import Convention, check_convention
from .memorisation.protocol import Parts


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
    attackers
        Words that ask for attackers: their names, groups of them, or kinds ("matching", "learning", "memorisation"). Default: all that match, all memorisation
        tests and, up to three key sets, those that learn quickly.
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
        Attack with all attackers but those that run by name only, up to three key sets, where none is named.
    sample_rows
        Where tables are in files that are read part by part: about how many records of the largest table go to attackers that learn or look for near
        rows, and to memorisation tests. CAP, DCAP, DiSCO and TCAP are of all records.
    """

    keys: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    key_sizes: tuple[int, int] | None = None
    label: str | None = None
    attackers: Sequence[str] | None = None
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
        attacks = bool(self.keys or self.sensitive)
        for what, names in (("key", self.keys), ("sensitive column", self.sensitive)):
            if isinstance(names, str) or (attacks and not names):
                raise InputError(f"Name at least one {what}, as a list of columns. Got {names!r}.")
            if len(set(names)) != len(names):
                raise InputError(f"Each {what} is named once. Got {listed(names)}.")
        if not self.plan(n_releases=2).attackers:
            raise InputError(
                "No attacker is left to run: name keys and sensitive columns, or attackers that need none, as memorisation."
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

    def plan(
        self, *, n_key_sets: int = 1, n_releases: int = 1, has_holdout: bool = True
    ) -> AttackPlan:
        """Return who attacks, and of the others why they do not."""
        is_there: dict[Need, bool] = {
            "keys": bool(self.keys),
            "sensitive": bool(self.sensitive),
            "parts": self.parts is not None,
            "holdout": has_holdout,
            "releases": n_releases > 1,
        }
        available = [need for need, is_there in is_there.items() if is_there]
        return plan_attackers(
            available, self.attackers, n_key_sets=n_key_sets, thorough=self.thorough
        )

    def memorisation_tests(
        self, *, n_releases: int = 1, has_holdout: bool = True
    ) -> tuple[str, ...]:
        """Return the memorisation tests of released tables, those that are about several releases last."""
        plan = self.plan(n_releases=n_releases, has_holdout=has_holdout)
        tests = [a for a in plan.attackers if a.kind == "memorisation"]
        return tuple(a.name for a in sorted(tests, key=lambda a: "releases" in (a.needs or ())))

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

    def questions(
        self, seed: np.random.SeedSequence, *, has_holdout: bool = True
    ) -> list[Question]:
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
        plan = self.plan(n_key_sets=len(attacked), has_holdout=has_holdout)
        names = tuple(attacker.name for attacker in plan.attackers if attacker.on_column)
        return [
            Question(keys, sensitive, names, self.convention, self.tau, self.svm_rows)
            for keys, sensitive in attacked
            if names
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {
            "attackers": [attacker.name for attacker in self.plan().attackers],
            **({} if self.parts is None else {"parts": [list(columns) for columns in self.parts]}),
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
    if len(parts) != 2 or any(isinstance(columns, str) or not columns for columns in parts):
        raise InputError(
            f"parts must be two lists of columns, as (['age', 'sex'], ['income']). Got {parts!r}."
        )
    both = [name for name in parts[0] if name in parts[1]]
    if both:
        raise InputError(f"parts must have no column in common. In both: {listed(both)}.")
