"""Which settings can be tried, and which to try next: the grid first, then one step from settings near the limit, or where the front has its widest gap.

Successive halving would try candidates on fewer people first. What a table gives away depends on how many people it is made of, so a ranking on a quarter of
them is one of another quantity: it was left out for that. Bayesian optimisation needs a model of two noisy outcomes over settings that are mostly names; with
tens of evaluations its guess is its prior. One step from the settings that matter needs neither, and every evaluation is of the quantity that is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from ...report.frontier_result import (
    LEAF,
    CandidateSettings,
    Evaluation,
    Limits,
    pareto,
    rank_evaluations,
)

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
        >>> [settings.description for settings in Space(recode=False).neighbours(CandidateSettings(conditionals="tables", parents=2))][:3]
        ['tables, at most 1 parent', 'tables, at most 3 parents', 'tables, at most 2 parents, smoothing 10']
        """
        out: list[CandidateSettings] = []
        for name in self._ladders(candidate):
            ladder = LADDERS[name]
            value = getattr(candidate, name)
            index = ladder.index(value) if value in ladder else 0
            out += [
                replace(candidate, **{name: ladder[position]})
                for position in (index - 1, index + 1)
                if 0 <= position < len(ladder)
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
            index = budgets.index(candidate.epsilon)
            out += [
                replace(candidate, epsilon=budgets[position])
                for position in (index - 1, index + 1)
                if 0 <= position < len(budgets)
            ]
        return [
            neighbour
            for neighbour in dict.fromkeys(map(self._possible, out))
            if neighbour != candidate
        ]

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
        out, current = [start], start
        if current.method != end.method:
            current = replace(
                end,
                rare=current.rare,
                bins=current.bins,
                dropped=current.dropped,
                epsilon=current.epsilon
                if "fieldgroups" not in (current.method, end.method)
                else end.epsilon,
            )
            out.append(current)
        if current.conditionals != end.conditionals:
            current = replace(current, conditionals=end.conditionals, leaf=end.leaf)
            out.append(current)
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
            if getattr(current, name) != getattr(end, name):
                current = replace(current, **{name: getattr(end, name)})
                out.append(current)
        return out


BATCH = 4
"""Candidates that are chosen at once, whatever the number of threads: so that no result depends on that."""


def next_candidates(
    space: Space,
    evaluations: Sequence[Evaluation],
    limits: Limits,
    worth: str,
    max_candidates: int = BATCH,
) -> list[CandidateSettings]:
    """Return what to try next, nothing where all that could be was: always the same for the same evaluations.

    1. The grid, in its order.
    2. One step from each of the settings that matter in turn (`promising`), until there are enough.
    """
    tried = {evaluation.candidate for evaluation in evaluations}
    grid = [candidate for candidate in space.grid() if candidate not in tried]
    if grid:
        return grid[:max_candidates]
    out: list[CandidateSettings] = []
    steps = [
        [candidate for candidate in space.neighbours(parent.candidate) if candidate not in tried]
        for parent in promising(evaluations, limits, worth)
    ]
    while len(out) < max_candidates and any(steps):
        for candidates in steps:
            while candidates and candidates[0] in out:
                candidates.pop(0)
            if candidates and len(out) < max_candidates:
                out.append(candidates.pop(0))
    return out


def promising(evaluations: Sequence[Evaluation], limits: Limits, worth: str) -> list[Evaluation]:
    """Return the settings to go on from, the most promising first.

    Under a limit on the excess: the settings that would be chosen now, then those of the front and those whose bounds lie on both sides of the limit, the nearest to it
    first. Without: those of the front, ends of wide gaps in worth first.
    """
    front = pareto(evaluations, worth)
    limit = limits.max_excess
    if limit is None:
        gaps = {
            evaluation.candidate: gap
            for evaluation, gap in zip(front, _gaps(front, worth), strict=True)
        }
        return sorted(front, key=lambda evaluation: -gaps[evaluation.candidate])
    best = rank_evaluations(evaluations, Limits(max_excess=limit), worth)[:1]
    floor = -float("inf") if not best else best[0].worth_of(worth).rank or 0.0
    unsure = [
        evaluation
        for evaluation in evaluations
        if evaluation.risk.lower is not None
        and evaluation.risk.upper is not None
        and evaluation.risk.lower <= limit <= evaluation.risk.upper
        and (evaluation.worth_of(worth).rank or floor) > floor
    ]
    near = sorted(
        (*front, *unsure), key=lambda evaluation: abs((evaluation.risk.estimate or 0.0) - limit)
    )
    return list({evaluation.candidate: evaluation for evaluation in (*best, *near)}.values())


def _gaps(front: Sequence[Evaluation], worth: str) -> list[float]:
    ranks = [evaluation.worth_of(worth).rank or 0.0 for evaluation in front]
    steps = [0.0, *(b - a for a, b in pairwise(ranks)), 0.0]
    return [max(a, b) for a, b in pairwise(steps)]
