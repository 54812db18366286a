"""What to try next: the grid first, then one step from settings near the limit, or where the front has its widest gap.

Successive halving would try candidates on fewer people first. What a table gives away depends on how many people it is made of, so a ranking on a quarter of
them is one of another quantity: it was left out for that. Bayesian optimisation needs a model of two noisy outcomes over settings that are mostly names; with
tens of evaluations its guess is its prior. One step from the settings that matter needs neither, and every evaluation is of the quantity that is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...report.candidate import CandidateSettings
from ...report.frontier_result import Evaluation
from ...report.frontier_rules import Limits, pareto, ranked
from .space import Space

BATCH = 4
"""Candidates that are chosen at once, whatever the number of threads: so that no result depends on that."""


def next_candidates(
    space: Space, evaluations: Sequence[Evaluation], limits: Limits, worth: str, most: int = BATCH
) -> list[CandidateSettings]:
    """Return what to try next, nothing where all that could be was: always the same for the same evaluations.

    1. The grid, in its order.
    2. One step from each of the settings that matter in turn (`promising`), until there are enough.
    """
    tried = {one.candidate for one in evaluations}
    grid = [one for one in space.grid() if one not in tried]
    if grid:
        return grid[:most]
    out: list[CandidateSettings] = []
    steps = [
        [one for one in space.neighbours(parent.candidate) if one not in tried]
        for parent in promising(evaluations, limits, worth)
    ]
    while len(out) < most and any(steps):
        for some in steps:
            while some and some[0] in out:
                some.pop(0)
            if some and len(out) < most:
                out.append(some.pop(0))
    return out


def promising(evaluations: Sequence[Evaluation], limits: Limits, worth: str) -> list[Evaluation]:
    """Return the settings to go on from, the most promising first.

    Under a limit on the excess: the settings that would be chosen now, then those of the front and those whose bounds lie on both sides of the limit, the nearest to it
    first. Without: those of the front, ends of wide gaps in worth first.
    """
    front = pareto(evaluations, worth)
    limit = limits.max_excess
    if limit is None:
        gaps = {one.candidate: gap for one, gap in zip(front, _gaps(front, worth), strict=True)}
        return sorted(front, key=lambda one: -gaps[one.candidate])
    best = ranked(evaluations, Limits(max_excess=limit), worth)[:1]
    floor = -float("inf") if not best else best[0].worth_of(worth).rank or 0.0
    unsure = [
        one
        for one in evaluations
        if one.risk.lower is not None
        and one.risk.upper is not None
        and one.risk.lower <= limit <= one.risk.upper
        and (one.worth_of(worth).rank or floor) > floor
    ]
    near = sorted((*front, *unsure), key=lambda one: abs((one.risk.estimate or 0.0) - limit))
    return list({one.candidate: one for one in (*best, *near)}.values())


def _gaps(front: Sequence[Evaluation], worth: str) -> list[float]:
    ranks = [one.worth_of(worth).rank or 0.0 for one in front]
    steps = [0.0, *(b - a for a, b in pairwise(ranks)), 0.0]
    return [max(a, b) for a, b in pairwise(steps)]
