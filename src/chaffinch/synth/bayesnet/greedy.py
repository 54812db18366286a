"""GreedyBayes: column after column, always the one whose best parents tell most of it (Hittmeir, Mayer and Ekelhart 2022, section III).

Only parent sets that contain the newest column are new in a round, so each remaining column keeps the best set
it has seen, and each family is scored once.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...counts.entropies import MOST_MASKED, masks_up_to
from ...counts.plan import Columns
from .rules import Rules, allowed_sets, columns_of
from .scores import FamilyScores, Score


def greedy_search(
    scores: FamilyScores, rules: Rules, rng: np.random.Generator, *, score: Score = "joint"
) -> list[Columns]:
    """Return the parents of each column. The first column of the first block is drawn at random, as published."""
    block_of = {i: b for b, block in enumerate(rules.blocks) for i in block}
    first = rules.blocks[0]
    free = [i for i in first if not rules.required[i]]
    root = first[0] if rules.fixed else int(rng.choice(free or list(first)))
    placed: list[int] = []
    parents: list[Columns] = [()] * rules.d
    best: dict[int, tuple[float, Columns]] = {}
    left = set(range(rules.d))
    family = getattr(scores, score)

    def place(column: int) -> None:
        placed.append(column)
        left.discard(column)
        if rules.d <= MOST_MASKED:
            _update(best, left, placed, rules, scores, score)
            return
        new = [(child, chosen) for child in left for chosen in _new_sets(child, placed, rules)]
        scores.ask(new)
        for child, chosen in new:
            value = family(child, chosen)
            if child not in best or value > best[child][0] + 1e-12:
                best[child] = (value, chosen)

    for child in left:
        if not rules.required[child]:
            best[child] = (0.0, ())
    place(root)
    while left:
        block = min(block_of[i] for i in left)
        ready = [i for i in sorted(left) if block_of[i] == block and i in best]
        if rules.fixed:
            ready = [next(i for i in rules.blocks[0] if i in left)]
        column = max(ready, key=lambda i: best[i][0])
        parents[column] = best[column][1]
        place(column)
    return parents


def _update(
    best: dict[int, tuple[float, Columns]],
    left: set[int],
    placed: list[int],
    rules: Rules,
    scores: FamilyScores,
    score: Score,
) -> None:
    """Weigh the new parent sets of every column that is left, as bit masks; the first of equal ones stays."""
    newest, before = 1 << placed[-1], sum(1 << p for p in placed)
    every = masks_up_to(rules.d, min(rules.most, rules.d - 1))
    new = every[(every & newest != 0) & (every & ~np.int64(before) == 0)]
    for child in left:
        sets = allowed_sets(new, child, rules)
        if len(sets):
            values = scores.masked(score, child, sets, most=rules.most)
            top = int(np.argmax(values))
            if child not in best or values[top] > best[child][0] + 1e-12:
                best[child] = (float(values[top]), columns_of(int(sets[top])))


def _new_sets(child: int, placed: list[int], rules: Rules) -> list[Columns]:
    """Return the parent sets of a column that the newest placed column makes possible."""
    newest = placed[-1]
    must = rules.required[child]
    if not rules.allowed[child, newest] or any(p not in placed for p in must):
        return []
    others = [p for p in placed[:-1] if rules.allowed[child, p] and p not in must]
    fixed = [p for p in must if p != newest]
    room = rules.most - 1 - len(fixed)
    return [
        tuple(sorted((newest, *fixed, *more)))
        for width in range(min(room, len(others)) + 1)
        for more in combinations(others, width)
    ]
