"""What to attack, with what, and how to count: the settings of a study of attribute disclosure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._base.errors import InputError, listed, unknown_name
from ...table.schema import Schema
from .attackers import ATTACKERS, LEARNERS
from .cap import check_tau
from .classes import count_subsets, key_subsets
from .outcomes import MEASURES, Question
from .scene import Missing, Numeric
from .tcap import CONVENTIONS, Convention

__all__ = ["RiskPlan"]

MOST_SETS_FOR_LEARNERS = 3
"""Key sets above which attackers that learn are left out unless they are named."""


@dataclass(frozen=True, kw_only=True)
class RiskPlan:
    """What an adversary knows and wants, and which attacks are tried.

    Parameters
    ----------
    keys, key_sizes
        The columns known, and the sizes of subsets of them to try, as (3, 6); all of them together unless given. A sensitive
        column may stand among the keys; it is left out of them where it is attacked itself.
    sensitive
        The columns wanted.
    label
        The column whose relation to the sensitive ones is meant to stay, for the label-only reference.
    measures
        Some of cap, dcap, tcap, disco, gcap_score, gcap_vote.
    attackers
        Some of gcap, nb, svm, knn, rf, lr; all unless there are more than three key sets (then gcap).
    convention, tau
        Of TCAP. "p1" is that of Elliot, Little and Allmendinger's appendix A, since their figures are what others will compare
        with: the mean over synthetic records that answer for certain, those that match nobody left out.
    numeric, tolerance, missing
        How numbers and missing values are compared, see `Scene`.
    resamples
        Draws of people for intervals and p-values.
    svm_rows
        The most records that the support vector machine learns from; None for all.
    """

    keys: Sequence[str]
    sensitive: Sequence[str]
    key_sizes: tuple[int, int] | None = None
    label: str | None = None
    measures: Sequence[str] = MEASURES
    attackers: Sequence[str] | None = None
    convention: Convention = "p1"
    tau: float = 1.0
    numeric: Numeric = "bins"
    tolerance: Mapping[str, float] = field(default_factory=dict)
    missing: Missing = "level"
    resamples: int = 1000
    svm_rows: int | None = 5000

    def __post_init__(self) -> None:
        for what, names in (("key", self.keys), ("sensitive column", self.sensitive)):
            if isinstance(names, str) or not names:
                raise InputError(f"Name at least one {what}, as a list of columns. Got {names!r}.")
            if len(set(names)) != len(names):
                raise InputError(f"Each {what} is named once. Got {listed(names)}.")
        for what, names, known in (
            ("measure", self.measures, MEASURES),
            ("attacker", self.attackers or (), ATTACKERS),
            ("convention", [self.convention], CONVENTIONS),
        ):
            for name in names:
                if name not in known:
                    raise unknown_name(what, name, known)
        if self.key_sizes is not None:
            count_subsets(len(self.keys), self.key_sizes)
        check_tau(self.tau)

    @property
    def columns(self) -> list[str]:
        """Every column that the attacks need."""
        return list(dict.fromkeys([*self.keys, *self.sensitive, *([self.label] if self.label else [])]))

    def check(self, schema: Schema) -> None:
        """Raise unless the schema has the columns, with codes."""
        for what, names in (("key", self.keys), ("sensitive column", self.sensitive), ("label", [self.label])):
            for name in names:
                if name is not None and name not in schema.names:
                    raise unknown_name(what, name, schema.names)

    def questions(self, seed: np.random.SeedSequence) -> list[Question]:
        """Return each set of keys with each sensitive column it is to attack; a column is never its own key.

        Where there are very many sets, `key_subsets` draws some of them by the seed.
        """
        chosen = [tuple(self.keys)]
        if self.key_sizes is not None:
            chosen = key_subsets(self.keys, self.key_sizes, seed=seed)
        pairs = [(tuple(k for k in subset if k != wanted), wanted) for wanted in self.sensitive for subset in chosen]
        kept = [pair for pair in dict.fromkeys(pairs) if pair[0]]
        if not kept:
            raise InputError(
                "Nothing is left to attack with: the only key is the sensitive column itself. Name other keys."
            )
        learners, counted = self._learners(len(kept)), self._counted()
        return [Question(k, s, counted, learners, self.convention, self.tau, self.svm_rows) for k, s in kept]

    def _learners(self, key_sets: int) -> tuple[str, ...]:
        if self.attackers is None:
            return tuple(LEARNERS) if key_sets <= MOST_SETS_FOR_LEARNERS else ()
        return tuple(name for name in self.attackers if name in LEARNERS)

    def _counted(self) -> tuple[str, ...]:
        with_gcap = self.attackers is None or "gcap" in self.attackers
        return tuple(name for name in self.measures if with_gcap or not name.startswith("gcap"))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {
            "measures": list(self._counted()),
            "attackers": None if self.attackers is None else list(self.attackers),
            "convention": self.convention,
            "tau": self.tau,
            "numeric": self.numeric,
            "tolerance": dict(self.tolerance),
            "missing": self.missing,
            "resamples": self.resamples,
            "svm_rows": self.svm_rows,
        }
