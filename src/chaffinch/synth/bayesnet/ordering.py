"""Search over orders only: given an order, each column's best parents are found exactly.

Up to `EXACT` columns the best order itself is exact, by dynamic programming over sets of columns (Silander and
Myllymaki, 2006). Beyond, orders are improved by moving one column at a time to its best place, from several starts
and after kicks.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled
from ...counts.entropies import MOST_MASKED, masks_up_to
from ...counts.plan import Columns
from .rules import Rules, allowed_sets, columns_of
from .scores import FamilyScores, Score

EXACT = MOST_MASKED
MOST_FAMILIES = 300
STARTS = 4
KICKS = 30


def ordering_search(
    scores: FamilyScores, rules: Rules, rng: np.random.Generator, *, score: Score = "penalised"
) -> tuple[list[Columns], float]:
    """Return the parents of each column and the total score.

    With few columns every parent set is weighed. With many, each column chooses among the sets of its
    closest columns by mutual information, so that about 300 sets are weighed for each.
    """
    if rules.d <= EXACT:
        return _exact(scores, rules, score)
    pairs = scores.pairs()
    families = _families(rules, pairs)
    if score != "pairwise":
        scores.ask((child, parents) for child, sets in enumerate(families) for parents in sets)
    value = _values(scores, pairs, score)
    weighed = [
        np.array([value(child, parents) for parents in sets]) for child, sets in enumerate(families)
    ]
    chosen = _local(families, weighed, rules, pairs, rng)
    return [families[i][c] for i, c in enumerate(chosen)], float(
        sum(weighed[i][c] for i, c in enumerate(chosen))
    )


def _values(
    scores: FamilyScores, pairs: NDArray[np.float64], score: Score
) -> Callable[[int, Columns], float]:
    if score == "pairwise":
        return lambda child, parents: float(pairs[child, list(parents)].sum())
    function: Callable[[int, Columns], float] = getattr(scores, score)
    return function


def _families(rules: Rules, pairs: NDArray[np.float64]) -> list[list[Columns]]:
    """Return for each column the parent sets to weigh; the smallest that the rules ask for is always one."""
    out = []
    for child in range(rules.d):
        must = rules.required[child]
        nearest = np.argsort(-pairs[child], kind="stable")
        free = [p for p in nearest[rules.allowed[child, nearest]].tolist() if p not in must]
        room = rules.most - len(must)
        if (
            room > 1
        ):  # single parents are few: with all of them, one parent gives the maximum spanning tree
            free = free[: _closest(room)]
        sets = [
            tuple(sorted((*must, *more)))
            for width in range(min(room, len(free)) + 1)
            for more in combinations(free, width)
        ]
        out.append(sets)
    return out


def _closest(room: int) -> int:
    """Return how many closest columns give no more than about 300 sets of at most `room`."""
    n = 1
    while sum(comb(n + 1, width) for width in range(room + 1)) <= MOST_FAMILIES:
        n += 1
    return n


def _exact(scores: FamilyScores, rules: Rules, score: Score) -> tuple[list[Columns], float]:
    """Return the best network of all that the rules allow, and its score."""
    d = rules.d
    best = np.full((d, 1 << d), -np.inf)
    choice = np.zeros((d, 1 << d), dtype=np.int64)
    every = masks_up_to(d, min(rules.most, d - 1))
    for child in range(d):
        sets = allowed_sets(every, child, rules)
        best[child, sets] = scores.masked(score, child, sets, most=rules.most)
        choice[child, sets] = sets
    last = np.full(1 << d, -1, dtype=np.int64)
    _best_order(best, choice, last)
    chosen: list[Columns] = [()] * d
    total, left = 0.0, (1 << d) - 1
    while left:
        child = int(last[left])
        left ^= 1 << child
        total += float(best[child, left])
        chosen[child] = columns_of(int(choice[child, left]))
    return chosen, total


@compiled
def _best_order(best, choice, last):  # type: ignore[no-untyped-def]
    """Spread each column's best parent set to all larger sets of predecessors, then find the best last column of each set."""
    d = best.shape[0]
    full = best.shape[1]
    for child in range(d):
        for bit in range(d):
            if bit == child:
                continue
            for mask in range(full):
                if mask >> bit & 1:
                    fewer = mask ^ (1 << bit)
                    if best[child, fewer] > best[child, mask]:
                        best[child, mask] = best[child, fewer]
                        choice[child, mask] = choice[child, fewer]
    total = np.full(full, -np.inf)
    total[0] = 0.0
    for mask in range(1, full):
        for child in range(d):
            if mask >> child & 1:
                before = mask ^ (1 << child)
                value = total[before] + best[child, before]
                if value > total[mask]:
                    total[mask] = value
                    last[mask] = child


def _local(
    families: list[list[Columns]],
    weighed: list[NDArray[np.float64]],
    rules: Rules,
    pairs: NDArray[np.float64],
    rng: np.random.Generator,
) -> list[int]:
    """Return the best choice found by moving one column at a time, from several starts and after kicks."""
    d = rules.d
    width = max(max((len(parents) for parents in sets), default=0) for sets in families)
    longest = max(len(sets) for sets in families)
    sets = np.full((d, longest, max(width, 1)), -1, dtype=np.int64)
    values = np.full((d, longest), -np.inf)
    rank = [np.argsort(-weights, kind="stable") for weights in weighed]
    for child in range(d):
        for row, index in enumerate(rank[child]):
            values[child, row] = weighed[child][index]
            sets[child, row, : len(families[child][index])] = families[child][index]
    near = np.zeros((d, d), dtype=bool)  # whose place a column's choice hangs on
    for child, some in enumerate(families):
        near[child, sorted({parent for parents in some for parent in parents})] = True
    block = np.empty(d, dtype=np.int64)
    for b, columns in enumerate(rules.blocks):
        block[list(columns)] = b
    starts = [_tree_order(pairs, rules)] + [_random_order(rules, rng) for _ in range(STARTS - 1)]
    best_order, best_value = starts[0], -np.inf
    for attempt in range(STARTS if rules.fixed else STARTS + KICKS):
        order = starts[attempt].copy() if attempt < STARTS else _kicked(best_order, block, rng)
        value = _climb(order, block, sets, values, near, rules.fixed)
        if value > best_value:
            best_order, best_value = order, value
    place = np.empty(d, dtype=np.int64)
    place[best_order] = np.arange(d)
    return [int(rank[child][_first_fit(child, place, sets, values)]) for child in range(d)]


def _tree_order(pairs: NDArray[np.float64], rules: Rules) -> NDArray[np.int64]:
    """Return the columns as a maximum spanning tree grows, block by block: the optimum for one parent."""
    order: list[int] = []
    links = np.full(rules.d, -1.0)  # how much the best of those that are there tells of each column
    for columns in rules.blocks:
        if rules.fixed:
            order += columns
            continue
        left = np.array(columns)
        while left.size:
            told = links[left]
            at = int(np.argmax(told if told.max() >= 0 else pairs.sum(axis=1)[left]))
            new = int(left[at])
            order.append(new)
            left = np.delete(left, at)
            links = np.where(rules.allowed[:, new], np.maximum(links, pairs[:, new]), links)
    return np.array(order, dtype=np.int64)


def _random_order(rules: Rules, rng: np.random.Generator) -> NDArray[np.int64]:
    parts = [
        np.array(columns) if rules.fixed else rng.permutation(columns) for columns in rules.blocks
    ]
    return np.concatenate(parts).astype(np.int64)


def _kicked(
    order: NDArray[np.int64], block: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the order with three pairs of columns of one block in each other's place."""
    out = order.copy()
    for _ in range(3):
        i = int(rng.integers(len(out)))
        same = np.flatnonzero(block[out] == block[out[i]])
        j = int(rng.choice(same))
        out[i], out[j] = out[j], out[i]
    return out


@compiled
def _first_fit(child, place, sets, values):  # type: ignore[no-untyped-def]
    """Return the best listed parent set of which every member stands before the child; -1 if none fits."""
    for row in range(sets.shape[1]):
        if values[child, row] == -np.inf:
            return -1
        fits = True
        for c in range(sets.shape[2]):
            parent = sets[child, row, c]
            if parent < 0:
                break
            if place[parent] >= place[child]:
                fits = False
                break
        if fits:
            return row
    return -1


@compiled
def _worth(child, place, sets, values):  # type: ignore[no-untyped-def]
    row = _first_fit(child, place, sets, values)
    return values[child, row] if row >= 0 else -1e9


@compiled
def _links(near):  # type: ignore[no-untyped-def]
    """Return, one column after the other, those on whose place its choice hangs or that hang on its own, and where each column's begin."""
    d = near.shape[0]
    starts = np.zeros(d + 1, dtype=np.int64)
    for column in range(d):
        starts[column + 1] = starts[column]
        for other in range(d):
            starts[column + 1] += other != column and (near[column, other] or near[other, column])
    linked = np.empty(starts[d], dtype=np.int64)
    for column in range(d):
        at = starts[column]
        for other in range(d):
            if other != column and (near[column, other] or near[other, column]):
                linked[at] = other
                at += 1
    return starts, linked


@compiled
def _climb(order, block, sets, values, near, fixed):  # type: ignore[no-untyped-def]
    """Move single columns to their best place, in turn, until none gains; return the total. Changes `order`.

    A column is tried behind, or before, each of those only that it has to do with: passing others changes nothing. Places are twice their number while it is tried,
    so that there is room between two.
    """
    d = order.size
    place = np.empty(d, dtype=np.int64)
    for i in range(d):
        place[order[i]] = 2 * i
    worth = np.empty(d)
    for child in range(d):
        worth[child] = _worth(child, place, sets, values)
    starts, linked = _links(near)
    improved = not fixed
    while improved:
        improved = False
        for column in range(d):
            start, n = place[column] // 2, 0
            some = np.empty(starts[column + 1] - starts[column], dtype=np.int64)
            for k in range(starts[column], starts[column + 1]):
                if block[linked[k]] == block[column]:
                    some[n] = place[linked[k]] // 2
                    n += 1
            spots = np.sort(some[:n])
            before = np.searchsorted(spots, start)
            best_gain, best_place = 1e-9, start
            for step in (-1, 1):
                gain, own = 0.0, worth[column]
                k = before - 1 if step < 0 else before
                while 0 <= k < n:
                    other = order[spots[k]]
                    place[column] = 2 * spots[k] + step
                    if near[column, other]:
                        new = _worth(column, place, sets, values)
                        gain += new - own
                        own = new
                    if near[other, column]:
                        gain += _worth(other, place, sets, values) - worth[other]
                    if gain > best_gain:
                        best_gain, best_place = gain, spots[k]
                    k += step
                place[column] = 2 * start
            if best_place != start:
                step = 1 if best_place > start else -1
                at = start
                while at != best_place:
                    order[at] = order[at + step]
                    place[order[at]] = 2 * at
                    at += step
                order[best_place], place[column] = column, 2 * best_place
                k = before - 1 if step < 0 else before
                while 0 <= k < n and (spots[k] - best_place) * step <= 0:
                    other = order[
                        spots[k] - step
                    ]  # passed: it stands one nearer to where the column came from
                    if near[other, column]:
                        worth[other] = _worth(other, place, sets, values)
                    k += step
                worth[column] = _worth(column, place, sets, values)
                improved = True
    return worth.sum()
