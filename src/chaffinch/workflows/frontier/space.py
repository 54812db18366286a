"""Which settings can be tried: a grid to start with, and what differs from given settings in one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ...report.candidate import LEAF, CandidateSettings

LADDERS: dict[str, tuple[Any, ...]] = {
    "parents": (1, 2, 3, 4, None, 8),
    "leaf": (5, 10, 30, 100, 300),
    "smoothing": (None, 10.0, 30.0, 100.0),
    "rare": (3, 10, 30),
    "bins": (20, 10, 5),
}
"""The values of settings that have an order. No parents named are 6 in trees and 3 in tables."""

MOST_SUBSETS = 3
"""Sensitive columns up to which every subset of them is in the grid; with more, each alone, all but each, and all."""


@dataclass(frozen=True, kw_only=True)
class Space:
    """The settings that can be tried.

    Parameters
    ----------
    sensitive
        The columns that can be protected.
    droppable
        The columns that can be left out: keys that no purpose needs.
    epsilons
        Budgets, None for no promise.
    recode
        Whether numbers can be cut into other bins and levels pooled otherwise: not under a promise, whose domain is declared.
    trees
        Whether networks can have trees: not where people have several rows, of which sequences are drawn.
    """

    sensitive: tuple[str, ...] = ()
    droppable: tuple[str, ...] = ()
    epsilons: tuple[float | None, ...] = (None,)
    recode: bool = True
    trees: bool = True

    @property
    def plain(self) -> bool:
        """Whether settings without a promise are tried."""
        return None in self.epsilons

    def grid(self) -> list[CandidateSettings]:
        """Return the settings to start with, those that span the front first: a few of them make a front that can be used."""
        out: list[CandidateSettings] = []
        if self.plain:
            hidden = self.sensitive
            pooled = {"rare": LADDERS["rare"][-1]} if self.recode else {}
            out += [
                CandidateSettings(),
                CandidateSettings(protected=hidden, **pooled),
                CandidateSettings(method="independent", **pooled),
                CandidateSettings(**pooled),
            ]
            out += [
                CandidateSettings(conditionals="tables", parents=1, **pooled),
                CandidateSettings(leaf=100, **pooled),
                CandidateSettings(protected=hidden),
                CandidateSettings(method="independent"),
            ]
            out += [CandidateSettings(protected=subset, **pooled) for subset in self.subsets()]
            if self.recode:
                out += [
                    CandidateSettings(rare=10),
                    CandidateSettings(bins=5, **pooled),
                    CandidateSettings(rare=10, bins=10),
                ]
            out += [
                CandidateSettings(leaf=100),
                CandidateSettings(parents=2, **pooled),
                CandidateSettings(conditionals="tables", parents=2),
                CandidateSettings(smoothing=30.0, **pooled),
            ]
            out += (
                [CandidateSettings(protected=hidden, protect="together", **pooled)]
                if len(hidden) > 1
                else []
            )
            out += [CandidateSettings(dropped=(name,), **pooled) for name in self.droppable]
        for epsilon in (e for e in self.epsilons if e is not None):
            out += [
                CandidateSettings(epsilon=epsilon),
                CandidateSettings(method="fieldgroups", epsilon=epsilon),
                CandidateSettings(epsilon=epsilon, protected=self.sensitive),
            ]
        return list(dict.fromkeys(map(self._possible, out)))

    def _possible(self, candidate: CandidateSettings) -> CandidateSettings:
        """Return settings without trees where there can be none."""
        return candidate if self.trees else replace(candidate, conditionals="tables", leaf=LEAF)

    def subsets(self) -> Iterator[tuple[str, ...]]:
        """Yield sets of sensitive columns to protect, small ones first."""
        names = self.sensitive
        sizes: Sequence[int] = (
            range(1, len(names) + 1)
            if len(names) <= MOST_SUBSETS
            else sorted({1, len(names) - 1, len(names)})
        )
        for size in sizes:
            yield from combinations(names, size)

    def neighbours(self, candidate: CandidateSettings) -> list[CandidateSettings]:
        """Return the settings that differ from given ones in one step of one setting, always in the same order.

        Examples
        --------
        >>> [one.words for one in Space(recode=False).neighbours(CandidateSettings(conditionals="tables", parents=2))][:3]
        ['tables, at most 1 parent', 'tables, at most 3 parents', 'tables, at most 2 parents, smoothing 10']
        """
        out: list[CandidateSettings] = []
        for name in self._ladders(candidate):
            ladder = LADDERS[name]
            value = getattr(candidate, name)
            at = ladder.index(value) if value in ladder else 0
            out += [
                replace(candidate, **{name: ladder[place]})
                for place in (at - 1, at + 1)
                if 0 <= place < len(ladder)
            ]
        if candidate.method == "bayesnet":
            for column in self.sensitive:
                protected = tuple(
                    name
                    for name in self.sensitive
                    if (name in candidate.protected) != (name == column)
                )
                protect = candidate.protect if len(protected) > 1 else "separate"
                out.append(replace(candidate, protected=protected, protect=protect))
            if len(candidate.protected) > 1:
                out.append(
                    replace(
                        candidate,
                        protect="separate" if candidate.protect == "together" else "together",
                    )
                )
            if candidate.epsilon is None:
                out.append(
                    replace(
                        candidate,
                        conditionals="tables" if candidate.conditionals == "trees" else "trees",
                    )
                )
        if candidate.epsilon is None:
            for column in self.droppable:
                out.append(
                    replace(
                        candidate,
                        dropped=tuple(
                            name
                            for name in self.droppable
                            if (name in candidate.dropped) != (name == column)
                        ),
                    )
                )
        budgets = [epsilon for epsilon in self.epsilons if epsilon is not None]
        if candidate.epsilon in budgets:
            at = budgets.index(candidate.epsilon)
            out += [
                replace(candidate, epsilon=budgets[place])
                for place in (at - 1, at + 1)
                if 0 <= place < len(budgets)
            ]
        return [one for one in dict.fromkeys(map(self._possible, out)) if one != candidate]

    def _ladders(self, candidate: CandidateSettings) -> Iterator[str]:
        if candidate.method == "bayesnet":
            yield "parents"
            if candidate.epsilon is None:
                if candidate.conditionals == "trees":
                    yield "leaf"
                yield "smoothing"
        if self.recode and candidate.epsilon is None:
            yield from ("rare", "bins")

    def path(self, start: CandidateSettings, end: CandidateSettings) -> list[CandidateSettings]:
        """Return settings from one to another, each different from the one before in one setting that counts.

        Another method brings its own network settings at once, and so do tables and trees the size of leaves: varied apart, they would move nothing.
        """
        out, at = [start], start
        if at.method != end.method:
            at = replace(
                end,
                rare=at.rare,
                bins=at.bins,
                dropped=at.dropped,
                epsilon=at.epsilon if "fieldgroups" not in (at.method, end.method) else end.epsilon,
            )
            out.append(at)
        if at.conditionals != end.conditionals:
            at = replace(at, conditionals=end.conditionals, leaf=end.leaf)
            out.append(at)
        for name in (
            "protected",
            "protect",
            "dropped",
            "epsilon",
            "parents",
            "leaf",
            "smoothing",
            "rare",
            "bins",
        ):
            if getattr(at, name) != getattr(end, name):
                at = replace(at, **{name: getattr(end, name)})
                out.append(at)
        return out

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the values over which a setting is varied."""
        return (
            tuple(e for e in self.epsilons if e is not None) if name == "epsilon" else LADDERS[name]
        )
