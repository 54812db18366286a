"""What may be asked of any method where it is named by a word: the options of the command line, as one value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

__all__ = ["MethodOptions"]

Edge = tuple[str, str]


@dataclass(frozen=True)
class MethodOptions:
    """Options by the names that `BayesNet`, `PrivBayes` and `FieldGroups` give them; a method takes those it has a setting for.

    `variant` is the word after the colon, as in privbayes:dpart. None and empty mean: the method's own default.
    """

    parents: int = 3
    search: str = "ordering"
    score: str | None = None
    label: str | None = None
    sensitive: tuple[str, ...] = ()
    protect: str = "separate"
    keep: tuple[str, ...] = ()
    require: tuple[Edge, ...] = ()
    forbid: tuple[Edge, ...] = ()
    root: str | None = None
    smoothing: float | None = None
    generations: int = 400
    epsilon: float | None = None
    delta: float | None = None
    neighbours: str | None = None
    rows_per_person: int = 1
    groups: tuple[tuple[str, ...], ...] | None = None
    variant: str = ""

    @property
    def promise(self) -> dict[str, Any]:
        """The settings of a promise; nothing without epsilon, and no relation where the method's own is meant."""
        if self.epsilon is None:
            return {}
        relation = {} if self.neighbours is None else {"neighbours": self.neighbours}
        return {"epsilon": self.epsilon, "delta": self.delta, "rows_per_person": self.rows_per_person, **relation}

    @property
    def changed(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}
