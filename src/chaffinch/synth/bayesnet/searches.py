"""Searches for the structure of a network, and how good a family is: a child with its parents.

*Ordering*: over orders only; given an order, each column's best parents are found exactly. Up to `EXACT` columns the best order itself is exact, by dynamic programming over sets of columns (Silander and
Myllymaki, 2006). Beyond, orders are improved by moving one column at a time to its best place, from several starts and after kicks.

*Greedy* (GreedyBayes; Hittmeir, Mayer and Ekelhart 2022, section III): column after column, always the one whose best parents tell most of it.
Only parent sets that contain the newest column are new in a round, so each remaining column keeps the best set it has seen, and each family is scored once.

*Genetic*: the algorithm of the same paper, as printed: an order and lists of k parents. Initialization, Crossover, Order Flip, Swap and Next Generation are named as there. Fitness is the sum of pairwise mutual
information over valid parents; a listed parent that does not precede its child, or that the rules
do not allow, is ignored. Blocks (their section IV; Niederhametner and Mayer 2023, section III): columns only flip places inside their block.
Where the published code differs from the paper (a clique over the first k columns), the paper is followed.

Scores, all in nats per record:

`pairwise`   the sum of I(child; parent) over parents: the fitness of the genetic algorithm.
`joint`      I(child; all parents): what GreedyBayes maximises. Never falls when a parent is added.
`penalised`  joint, less a price for each free cell: a parent with many levels has to tell more. The default price is
             what held-out data chose; at one or two nats noise gets no parents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import jit
from ...counts.counter import Counter
from ...counts.entropies import MAX_MASKED_COLUMNS, JointEntropies, every_entropy, masks_up_to
from ...counts.plan import Columns
from ..options import Evolution
from .network import Rules, allowed_sets, columns_of, parents_first

EXACT = MAX_MASKED_COLUMNS
"""Columns up to which the best order is found exactly."""

MOST_FAMILIES = 300
"""Sets of parents, about, that are weighed for each of many columns."""

STARTS, KICKS = 4, 30
"""Orders that a search begins with, and how often the best of them is shaken."""

_DIGITS = 12
"""Digits of a score: engines differ in the last bits, and ties between equivalent networks must not hang on them."""

Score = Literal["pairwise", "joint", "penalised"]


class FamilyScores:
    """Scores of families from a counter; entropies are counted once and kept."""

    def __init__(self, counter: Counter, *, penalty: float = 0.5) -> None:
        self.known = JointEntropies(counter)
        self.counter = counter
        self.d = len(counter.schema.names)
        self.n_rows = (
            getattr(counter, "total", None) or counter.n_rows
        )  # of weighted records those that tell as much
        self.penalty = penalty
        self._pairs: NDArray[np.float64] | None = None
        self._masked: tuple[int, NDArray[np.float64], NDArray[np.int64]] | None = None

    def pairs(self) -> NDArray[np.float64]:
        """Return the mutual information of all pairs: symmetric, the diagonal 0."""
        if self._pairs is None:
            self._pairs = self._all_pairs()
        return self._pairs

    def _all_pairs(self) -> NDArray[np.float64]:
        if self.d <= MAX_MASKED_COLUMNS:
            bits = 1 << np.arange(self.d)
            values, _ = self._by_mask(2)
            out = (
                values[bits][:, None]
                + values[bits][None, :]
                - values[bits[:, None] | bits[None, :]]
            )
            np.fill_diagonal(out, 0.0)
            return np.round(np.maximum(out, 0.0), _DIGITS)
        self.known.ask([(i,) for i in range(self.d)])
        alone, both = (
            np.array([self.known.entropy((i,)) for i in range(self.d)]),
            self.known.ask_pairs(),
        )
        out, first = np.zeros((self.d, self.d)), 0
        for i in range(self.d):
            others = slice(i + 1, self.d)
            joint = both[first : first + self.d - i - 1]
            out[i, others] = out[others, i] = np.round(
                np.maximum(alone[i] + alone[others] - joint, 0.0), _DIGITS
            )
            first += self.d - i - 1
        return out

    def masked(
        self, score: Score, child: int, parents: NDArray[np.int64], *, max_parents: int
    ) -> NDArray[np.float64]:
        """Return the scores of a child with many parent sets, given as bit masks; for at most 16 columns.

        `max_parents` is the largest number of parents that will be asked for.
        """
        if score == "pairwise":
            return (parents[:, None] >> np.arange(self.d) & 1) @ self.pairs()[child]
        values, filled = self._by_mask(max_parents + 1)
        both = parents | (1 << child)
        gain = np.round(
            np.maximum(values[1 << child] + values[parents] - values[both], 0.0), _DIGITS
        )
        if score == "joint":
            return gain
        return gain - self._cost((filled[1 << child] - 1) * (filled[parents] - 1))

    def total(self, score: Score, parents: Sequence[Columns]) -> float:
        """Return the score of a whole network, given the parents of each column."""
        if self.d > MAX_MASKED_COLUMNS:
            family = getattr(self, score)
            self.ask(enumerate(parents))
            return float(sum(family(child, chosen) for child, chosen in enumerate(parents)))
        max_parents = max(len(chosen) for chosen in parents)
        masks = [np.array([sum(1 << p for p in chosen)]) for chosen in parents]
        return float(
            sum(
                self.masked(score, child, mask, max_parents=max_parents)[0]
                for child, mask in enumerate(masks)
            )
        )

    def _by_mask(self, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        width = min(width, self.d)
        if self._masked is None or self._masked[0] < width:
            self._masked = (width, *every_entropy(self.counter, width))
        return self._masked[1], self._masked[2]

    def _cost(self, free: Any) -> Any:
        """Return the penalty for free cells: x + x^2 / 2 times the price of one, for x free cells a record.

        What chance gives, and more where cells are as many as records.
        """
        share = free / max(self.n_rows, 1)
        return self.penalty * share * (1 + share / 2)

    def ask(self, families: Iterable[tuple[int, Columns]]) -> None:
        """Count what the scores of these families need, together."""
        wanted: set[Columns] = set()
        for child, parents in families:
            wanted |= {(child,), parents, tuple(sorted((*parents, child)))}
        self.known.ask(wanted)

    def joint(self, child: int, parents: Columns) -> float:
        """Return I(child; parents)."""
        return round(self.known.information(child, parents), _DIGITS)

    def penalised(self, child: int, parents: Columns) -> float:
        """Return I(child; parents) less the penalty for the free cells of the family.

        Free cells: the levels of the child less one, times the combinations of parents that occur less one. (Counting
        only the cells that occur lets families through whose every combination is unique.)
        """
        free = (self.known.filled((child,)) - 1) * (self.known.filled(parents) - 1)
        return self.joint(child, parents) - float(self._cost(free))

    def pairwise(self, child: int, parents: Columns) -> float:
        """Return the sum of I(child; parent) over the parents."""
        return sum(self.joint(child, (parent,)) for parent in parents)


def default_penalty(n_rows: int, parents: int) -> float:
    """Return what a free cell of a family costs, in nats: what held-out data chose, see docs/design/0005.

    Half a nat, as much as chance gives, for networks of one or two parents. With three or more a lower price, dearer
    where records are few: the third parent is worth more to marginals than to likelihood.

    Examples
    --------
    >>> default_penalty(10_000, 2), round(default_penalty(10_000, 3), 4)
    (0.5, 0.2782)
    """
    return 0.5 if parents <= 2 else 0.26 * (1 + 7 / max(n_rows, 1) ** 0.5)


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
        room = rules.max_parents - len(must)
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
    masks = masks_up_to(d, min(rules.max_parents, d - 1))
    for child in range(d):
        sets = allowed_sets(masks, child, rules)
        best[child, sets] = scores.masked(score, child, sets, max_parents=rules.max_parents)
        choice[child, sets] = sets
    last = np.full(1 << d, -1, dtype=np.int64)
    _best_order(best, choice, last)
    chosen: list[Columns] = [()] * d
    total, remaining = 0.0, (1 << d) - 1
    while remaining:
        child = int(last[remaining])
        remaining ^= 1 << child
        total += float(best[child, remaining])
        chosen[child] = columns_of(int(choice[child, remaining]))
    return chosen, total


@jit
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
    for child, parent_sets in enumerate(families):
        near[child, sorted({parent for parents in parent_sets for parent in parents})] = True
    block = np.empty(d, dtype=np.int64)
    for b, columns in enumerate(rules.blocks):
        block[list(columns)] = b
    starts = [_tree_order(pairs, rules)]
    for _ in range(STARTS - 1):
        parts = [columns if rules.fixed else rng.permutation(columns) for columns in rules.blocks]
        starts.append(np.concatenate(parts).astype(np.int64))
    best_order, best_value = starts[0], -np.inf
    for attempt in range(STARTS if rules.fixed else STARTS + KICKS):
        order = starts[attempt].copy() if attempt < STARTS else _swap_pairs(best_order, block, rng)
        value = _climb(order, block, sets, values, near, rules.fixed)
        if value > best_value:
            best_order, best_value = order, value
    position = np.empty(d, dtype=np.int64)
    position[best_order] = np.arange(d)
    return [int(rank[child][_first_fit(child, position, sets, values)]) for child in range(d)]


def _tree_order(pairs: NDArray[np.float64], rules: Rules) -> NDArray[np.int64]:
    """Return the columns as a maximum spanning tree grows, block by block: the optimum for one parent."""
    order: list[int] = []
    links = np.full(rules.d, -1.0)  # how much the best of those that are there tells of each column
    for columns in rules.blocks:
        if rules.fixed:
            order += columns
            continue
        unplaced = np.array(columns)
        while unplaced.size:
            links_to_placed = links[unplaced]
            strongest = int(
                np.argmax(
                    links_to_placed if links_to_placed.max() >= 0 else pairs.sum(axis=1)[unplaced]
                )
            )
            new = int(unplaced[strongest])
            order.append(new)
            unplaced = np.delete(unplaced, strongest)
            links = np.where(rules.allowed[:, new], np.maximum(links, pairs[:, new]), links)
    return np.array(order, dtype=np.int64)


def _swap_pairs(
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


@jit
def _first_fit(child, position, sets, values):  # type: ignore[no-untyped-def]
    """Return the best listed parent set of which every member stands before the child; -1 if none fits."""
    for row in range(sets.shape[1]):
        if values[child, row] == -np.inf:
            return -1
        fits = True
        for c in range(sets.shape[2]):
            parent = sets[child, row, c]
            if parent < 0:
                break
            if position[parent] >= position[child]:
                fits = False
                break
        if fits:
            return row
    return -1


@jit
def _worth(child, position, sets, values):  # type: ignore[no-untyped-def]
    row = _first_fit(child, position, sets, values)
    return values[child, row] if row >= 0 else -1e9


@jit
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
        offset = starts[column]
        for other in range(d):
            if other != column and (near[column, other] or near[other, column]):
                linked[offset] = other
                offset += 1
    return starts, linked


@jit
def _climb(order, block, sets, values, near, fixed):  # type: ignore[no-untyped-def]
    """Move single columns to their best place, in turn, until none gains; return the total. Changes `order`.

    A column is tried behind, or before, each of those only that it has to do with: passing others changes nothing. Places are twice their number while it is tried,
    so that there is room between two.
    """
    d = order.size
    position = np.empty(d, dtype=np.int64)
    for i in range(d):
        position[order[i]] = 2 * i
    worth = np.empty(d)
    for child in range(d):
        worth[child] = _worth(child, position, sets, values)
    starts, linked = _links(near)
    improved = not fixed
    while improved:
        improved = False
        for column in range(d):
            start, n = position[column] // 2, 0
            linked_spots = np.empty(starts[column + 1] - starts[column], dtype=np.int64)
            for k in range(starts[column], starts[column + 1]):
                if block[linked[k]] == block[column]:
                    linked_spots[n] = position[linked[k]] // 2
                    n += 1
            spots = np.sort(linked_spots[:n])
            before = np.searchsorted(spots, start)
            best_gain, best_place = 1e-9, start
            for step in (-1, 1):
                gain, value = 0.0, worth[column]
                k = before - 1 if step < 0 else before
                while 0 <= k < n:
                    other = order[spots[k]]
                    position[column] = 2 * spots[k] + step
                    if near[column, other]:
                        new = _worth(column, position, sets, values)
                        gain += new - value
                        value = new
                    if near[other, column]:
                        gain += _worth(other, position, sets, values) - worth[other]
                    if gain > best_gain:
                        best_gain, best_place = gain, spots[k]
                    k += step
                position[column] = 2 * start
            if best_place != start:
                step = 1 if best_place > start else -1
                spot = start
                while spot != best_place:
                    order[spot] = order[spot + step]
                    position[order[spot]] = 2 * spot
                    spot += step
                order[best_place], position[column] = column, 2 * best_place
                k = before - 1 if step < 0 else before
                while 0 <= k < n and (spots[k] - best_place) * step <= 0:
                    other = order[
                        spots[k] - step
                    ]  # passed: it stands one nearer to where the column came from
                    if near[other, column]:
                        worth[other] = _worth(other, position, sets, values)
                    k += step
                worth[column] = _worth(column, position, sets, values)
                improved = True
    return worth.sum()


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
    unplaced = set(range(rules.d))
    family = getattr(scores, score)

    def add(column: int) -> None:
        placed.append(column)
        unplaced.discard(column)
        if rules.d <= MAX_MASKED_COLUMNS:
            _update(best, unplaced, placed, rules, scores, score)
            return
        new = [(child, chosen) for child in unplaced for chosen in _new_sets(child, placed, rules)]
        scores.ask(new)
        for child, chosen in new:
            value = family(child, chosen)
            if child not in best or value > best[child][0] + 1e-12:
                best[child] = (value, chosen)

    for child in unplaced:
        if not rules.required[child]:
            best[child] = (0.0, ())
    add(root)
    while unplaced:
        block = min(block_of[i] for i in unplaced)
        ready = [i for i in sorted(unplaced) if block_of[i] == block and i in best]
        if rules.fixed:
            ready = [next(i for i in rules.blocks[0] if i in unplaced)]
        column = max(ready, key=lambda i: best[i][0])
        parents[column] = best[column][1]
        add(column)
    return parents


def _update(
    best: dict[int, tuple[float, Columns]],
    unplaced: set[int],
    placed: list[int],
    rules: Rules,
    scores: FamilyScores,
    score: Score,
) -> None:
    """Weigh the new parent sets of every column that is left, as bit masks; the first of equal ones stays."""
    newest, before = 1 << placed[-1], sum(1 << p for p in placed)
    masks = masks_up_to(rules.d, min(rules.max_parents, rules.d - 1))
    new = masks[(masks & newest != 0) & (masks & ~np.int64(before) == 0)]
    for child in unplaced:
        sets = allowed_sets(new, child, rules)
        if len(sets):
            values = scores.masked(score, child, sets, max_parents=rules.max_parents)
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
    room = rules.max_parents - 1 - len(fixed)
    return [
        tuple(sorted((newest, *fixed, *more)))
        for width in range(min(room, len(others)) + 1)
        for more in combinations(others, width)
    ]


def genetic_search(
    pairs: NDArray[np.float64],
    rules: Rules,
    rng: np.random.Generator,
    evolution: Evolution | None = None,
) -> tuple[list[Columns], NDArray[np.float64]]:
    """Return the parents of each column and the best fitness of each generation."""
    evolution = evolution or Evolution()
    d = rules.d
    k = min(rules.max_parents, d - 1)
    block = np.zeros(d, dtype=np.int64)  # of each place in the order
    members = np.zeros(d, dtype=np.int64)
    index = 0
    for b, columns in enumerate(rules.blocks):
        for column in columns:
            block[index], members[index] = b, column
            index += 1
    gains = np.where(rules.allowed, pairs, 0.0)
    must = np.zeros((d, d), dtype=np.bool_)
    for child, parents in enumerate(rules.required):
        must[child, list(parents)] = True
    rate = 1.0 / d if evolution.mutation_rate is None else evolution.mutation_rate
    if k == 0:
        return [()] * d, np.zeros(evolution.generations + 1)
    sizes = (evolution.population_size, evolution.selection_size, evolution.generations)
    order, lists, history = _evolve(
        (gains, rules.allowed, must), (block, members, rules.fixed), k, sizes, rate, rng
    )
    position = np.empty(d, dtype=np.int64)
    # Required parents come first, also where evolution has not got there.
    position[parents_first(order.tolist(), dict(enumerate(rules.required)))] = np.arange(d)
    out: list[Columns] = []
    for child in range(d):
        chosen = list(
            rules.required[child]
        )  # the parents that count in `_fitness`: required ones, then as listed
        for p in map(int, lists[child]):
            if (
                position[p] < position[child]
                and rules.allowed[child, p]
                and p not in chosen
                and len(chosen) < k
            ):
                chosen.append(p)
        out.append(tuple(sorted(chosen)))
    return out, history


@jit
def _evolve(edges, places, k, sizes, rate, rng):  # type: ignore[no-untyped-def]
    gains, allowed, must = edges
    block, members, fixed = places
    population, selected, generations = sizes
    d = gains.shape[0]
    orders = np.empty((population, d), dtype=np.int64)
    lists = np.empty((population, d, k), dtype=np.int64)
    fitness = np.empty(population)
    position = np.empty(d, dtype=np.int64)
    for i in range(population):
        _initialise(orders[i], lists[i], position, block, members, fixed, rng)
        fitness[i] = _fitness(orders[i], lists[i], position, gains, allowed, must)
    history = np.empty(generations + 1)
    new_orders, new_lists, new_fitness = (
        np.empty_like(orders),
        np.empty_like(lists),
        np.empty_like(fitness),
    )
    for e in range(generations):  # Next Generation
        elite = np.argsort(-fitness, kind="mergesort")[:selected]
        history[e] = fitness[elite[0]]
        for i in range(population):
            chosen = elite[i] if i < selected else elite[rng.integers(0, selected)]
            new_orders[i] = orders[chosen]
            new_lists[i] = lists[chosen]
            new_fitness[i] = fitness[chosen]
            if i >= selected:
                if rng.random() < rate:  # Crossover: the order of the first, lists of both
                    other = elite[rng.integers(0, selected)]
                    cut = rng.integers(0, d + 1)
                    new_lists[i, cut:] = lists[other, cut:]
                if not fixed:
                    _order_flip(new_orders[i], block, rate, rng)
                _swap(new_orders[i], new_lists[i], position, rate, rng)
                new_fitness[i] = _fitness(
                    new_orders[i], new_lists[i], position, gains, allowed, must
                )
        orders, new_orders = new_orders, orders
        lists, new_lists = new_lists, lists
        fitness, new_fitness = new_fitness, fitness
    best = np.argmax(fitness)
    history[generations] = fitness[best]
    return orders[best], lists[best], history


@jit
def _initialise(order, lists, position, block, members, fixed, rng):  # type: ignore[no-untyped-def]
    """Initialization: a random order (inside blocks), and for each column k parents, predecessors first."""
    d, k = lists.shape
    order[:] = members
    if not fixed:
        for i in range(d - 1, 0, -1):
            low = i
            while low > 0 and block[low - 1] == block[i]:
                low -= 1
            j = rng.integers(low, i + 1)
            order[i], order[j] = order[j], order[i]
    for i in range(d):
        position[order[i]] = i
    pool = np.empty(d, dtype=np.int64)
    for child in range(d):
        before = position[child]
        pool[:] = order
        for taken in range(k):
            # Distinct random predecessors while there are any, then distinct random columns that come later.
            low, high = (taken, before) if taken < before else (taken + 1, d)
            j = rng.integers(low, high)
            pool[low], pool[j] = pool[j], pool[low]
            lists[child, taken] = pool[low]


@jit
def _fitness(order, lists, position, gains, allowed, must):  # type: ignore[no-untyped-def]
    """The sum of pairwise mutual information over valid parents; required parents always count, or the order is unfit."""
    d, k = lists.shape
    for i in range(d):
        position[order[i]] = i
    total = 0.0
    for child in range(d):
        room = k
        for parent in range(d):
            if must[child, parent]:
                if position[parent] > position[child]:
                    total -= 1e6
                total += gains[child, parent]
                room -= 1
        for c in range(k):
            parent = lists[child, c]
            if (
                position[parent] < position[child]
                and allowed[child, parent]
                and not must[child, parent]
                and room > 0
            ):
                total += gains[child, parent]
                room -= 1
    return total


@jit
def _order_flip(order, block, rate, rng):  # type: ignore[no-untyped-def]
    """Order Flip: each column, with probability r, changes places with a random one of its block."""
    d = order.size
    for i in range(d):
        if rng.random() < rate:
            low, high = i, i
            while low > 0 and block[low - 1] == block[i]:
                low -= 1
            while high + 1 < d and block[high + 1] == block[i]:
                high += 1
            j = rng.integers(low, high + 1)
            order[i], order[j] = order[j], order[i]


@jit
def _swap(order, lists, position, rate, rng):  # type: ignore[no-untyped-def]
    """Swap: parents that come later are exchanged for predecessors, then each parent with probability r."""
    d, k = lists.shape
    for i in range(d):
        position[order[i]] = i
    for child in range(d):
        for c in range(k):
            if position[lists[child, c]] > position[child]:
                _exchange(lists[child], c, order, position[child], rng)
        for c in range(k):
            if rng.random() < rate:
                _exchange(lists[child], c, order, position[child], rng)


@jit
def _exchange(parents, c, order, before, rng):  # type: ignore[no-untyped-def]
    """Put a random predecessor that is not yet listed in place of parent c, if there is one."""
    free = 0
    for i in range(before):
        free += order[i] not in parents
    if free == 0:
        return
    pick = rng.integers(0, free)
    for i in range(before):
        if order[i] not in parents:
            if pick == 0:
                parents[c] = order[i]
                return
            pick -= 1
