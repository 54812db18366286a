"""Settings of a release as a search sees them: a method and what it is given, frozen, comparable, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from .._base.errors import InputError, listed
from .._base.text import count_noun, shown
from ..synth import BayesNet, FieldGroups, Independent, Settings

LEAF, RARE, BINS = 10, 3, 20
"""Records in a leaf of a tree, records below which levels are pooled, and bins of a number, where nobody says otherwise."""

METHODS = ("bayesnet", "independent", "fieldgroups")


@dataclass(frozen=True, kw_only=True)
class CandidateSettings:
    """Settings that a release could have.

    Parameters
    ----------
    method
        "bayesnet", "independent" or, under a promise, "fieldgroups".
    conditionals, parents, leaf, smoothing
        Of `BayesNet`: "trees" or "tables", the most parents, records in a leaf, and the weight of fewer parents; None: its default.
    rare, bins
        Records below which levels are pooled, and bins of numbers whose bins nobody declared.
    protected, protect
        Sensitive columns that keep their link to the label alone ("separate"), or to it and each other ("together").
    dropped
        Columns that are left out of the release.
    epsilon
        The budget of a promise; None for none.

    Examples
    --------
    >>> CandidateSettings(parents=2, protected=("job",)).words
    'trees, at most 2 parents, job protected'
    """

    method: str = "bayesnet"
    conditionals: str = "trees"
    parents: int | None = None
    leaf: int = LEAF
    smoothing: float | None = None
    rare: int = RARE
    bins: int = BINS
    protected: tuple[str, ...] = ()
    protect: str = "separate"
    dropped: tuple[str, ...] = ()
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(
                f"method must be one of {listed(METHODS)}. Got '{shown(self.method)}'."
            )

    def synthesiser(self, label: str | None = None) -> Settings:
        """Return the synthesiser of the settings."""
        if self.method == "independent":
            return Independent()
        if self.method == "fieldgroups":
            return FieldGroups(epsilon=self.epsilon)  # type: ignore[arg-type]
        promise: dict[str, Any] = {} if self.epsilon is None else {"epsilon": self.epsilon}
        own: dict[str, Any] = (
            {"conditionals": self.conditionals, "leaf": self.leaf} if self.epsilon is None else {}
        )
        hidden = (
            {"label": label, "sensitive": self.protected, "protect": self.protect}
            if self.protected
            else {"label": label}
        )
        return BayesNet(parents=self.parents, smoothing=self.smoothing, **own, **hidden, **promise)

    @property
    def key(self) -> str:
        """The settings in one line that is equal for equal settings: what random streams and files go by."""
        return ";".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))

    @property
    def words(self) -> str:
        """The settings in words; what is as by default is not said."""
        return ", ".join(self._words())

    def _words(self) -> Iterator[str]:
        if self.method == "independent":
            yield "independent columns"
        elif self.method == "fieldgroups":
            yield "groups of columns"
        else:
            yield "private network" if self.epsilon is not None else self.conditionals
        if self.parents is not None:
            yield f"at most {count_noun(self.parents, 'parent')}"
        if self.leaf != LEAF:
            yield f"leaves of {self.leaf}"
        if self.smoothing is not None:
            yield f"smoothing {self.smoothing:g}"
        if self.rare != RARE:
            yield f"levels under {self.rare} pooled"
        if self.bins != BINS:
            yield f"{self.bins} bins"
        if self.protected:
            yield f"{listed([shown(name, 30) for name in self.protected])} protected{' together' if self.protect == 'together' else ''}"
        if self.dropped:
            yield f"without {listed([shown(name, 30) for name in self.dropped])}"
        if self.epsilon is not None:
            yield f"epsilon {self.epsilon:g}"
