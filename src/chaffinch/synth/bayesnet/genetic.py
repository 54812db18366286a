"""The genetic algorithm of Hittmeir, Mayer and Ekelhart (2022), section III, as printed: an order and lists of k parents.

Initialization, Crossover, Order Flip, Swap and Next Generation are named as there. Fitness is the sum of pairwise mutual
information over valid parents; a listed parent that does not precede its child, or that the rules
do not allow, is ignored. Blocks (their section IV; Niederhametner and Mayer 2023, section III): columns only flip places inside their block.
Where the published code differs from the paper (a clique over the first k columns), the paper is followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled
from ..._base.errors import InputError
from ...counts.plan import Columns
from .network import parents_first
from .rules import Rules


@dataclass(frozen=True)
class Evolution:
    """The four parameters of the paper: population size P, selection pressure S, mutation rate r (None: 1/d), iterations e."""

    population: int = 200
    selected: int = 10
    mutation: float | None = None
    generations: int = 400

    def __post_init__(self) -> None:
        if not 1 <= self.selected <= self.population:
            raise InputError(
                f"selected must lie between 1 and population = {self.population}. Got {self.selected}."
            )
        if self.mutation is not None and not 0 <= self.mutation <= 1:
            raise InputError(f"mutation must lie between 0 and 1. Got {self.mutation}.")
        if self.generations < 0:
            raise InputError(f"generations must be at least 0. Got {self.generations}.")


def genetic_search(
    pairs: NDArray[np.float64],
    rules: Rules,
    rng: np.random.Generator,
    evolution: Evolution | None = None,
) -> tuple[list[Columns], NDArray[np.float64]]:
    """Return the parents of each column and the best fitness of each generation."""
    evolution = evolution or Evolution()
    d = rules.d
    k = min(rules.most, d - 1)
    block = np.zeros(d, dtype=np.int64)  # of each place in the order
    members = np.zeros(d, dtype=np.int64)
    at = 0
    for b, columns in enumerate(rules.blocks):
        for column in columns:
            block[at], members[at] = b, column
            at += 1
    gains = np.where(rules.allowed, pairs, 0.0)
    must = np.zeros((d, d), dtype=np.bool_)
    for child, parents in enumerate(rules.required):
        must[child, list(parents)] = True
    rate = 1.0 / d if evolution.mutation is None else evolution.mutation
    if k == 0:
        return [()] * d, np.zeros(evolution.generations + 1)
    sizes = (evolution.population, evolution.selected, evolution.generations)
    order, lists, history = _evolve(
        (gains, rules.allowed, must), (block, members, rules.fixed), k, sizes, rate, rng
    )
    place = np.empty(d, dtype=np.int64)
    # Required parents come first, also where evolution has not got there.
    place[parents_first(order.tolist(), dict(enumerate(rules.required)))] = np.arange(d)
    out: list[Columns] = []
    for child in range(d):
        chosen = list(
            rules.required[child]
        )  # the parents that count in `_fitness`: required ones, then as listed
        for p in map(int, lists[child]):
            if (
                place[p] < place[child]
                and rules.allowed[child, p]
                and p not in chosen
                and len(chosen) < k
            ):
                chosen.append(p)
        out.append(tuple(sorted(chosen)))
    return out, history


@compiled
def _evolve(edges, places, k, sizes, rate, rng):  # type: ignore[no-untyped-def]
    gains, allowed, must = edges
    block, members, fixed = places
    population, selected, generations = sizes
    d = gains.shape[0]
    orders = np.empty((population, d), dtype=np.int64)
    lists = np.empty((population, d, k), dtype=np.int64)
    fitness = np.empty(population)
    place = np.empty(d, dtype=np.int64)
    for i in range(population):
        _initialise(orders[i], lists[i], place, block, members, fixed, rng)
        fitness[i] = _fitness(orders[i], lists[i], place, gains, allowed, must)
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
                _swap(new_orders[i], new_lists[i], place, rate, rng)
                new_fitness[i] = _fitness(new_orders[i], new_lists[i], place, gains, allowed, must)
        orders, new_orders = new_orders, orders
        lists, new_lists = new_lists, lists
        fitness, new_fitness = new_fitness, fitness
    best = np.argmax(fitness)
    history[generations] = fitness[best]
    return orders[best], lists[best], history


@compiled
def _initialise(order, lists, place, block, members, fixed, rng):  # type: ignore[no-untyped-def]
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
        place[order[i]] = i
    pool = np.empty(d, dtype=np.int64)
    for child in range(d):
        before = place[child]
        pool[:] = order
        for taken in range(k):
            # Distinct random predecessors while there are any, then distinct random columns that come later.
            low, high = (taken, before) if taken < before else (taken + 1, d)
            j = rng.integers(low, high)
            pool[low], pool[j] = pool[j], pool[low]
            lists[child, taken] = pool[low]


@compiled
def _fitness(order, lists, place, gains, allowed, must):  # type: ignore[no-untyped-def]
    """The sum of pairwise mutual information over valid parents; required parents always count, or the order is unfit."""
    d, k = lists.shape
    for i in range(d):
        place[order[i]] = i
    total = 0.0
    for child in range(d):
        room = k
        for parent in range(d):
            if must[child, parent]:
                if place[parent] > place[child]:
                    total -= 1e6
                total += gains[child, parent]
                room -= 1
        for c in range(k):
            parent = lists[child, c]
            if (
                place[parent] < place[child]
                and allowed[child, parent]
                and not must[child, parent]
                and room > 0
            ):
                total += gains[child, parent]
                room -= 1
    return total


@compiled
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


@compiled
def _swap(order, lists, place, rate, rng):  # type: ignore[no-untyped-def]
    """Swap: parents that come later are exchanged for predecessors, then each parent with probability r."""
    d, k = lists.shape
    for i in range(d):
        place[order[i]] = i
    for child in range(d):
        for c in range(k):
            if place[lists[child, c]] > place[child]:
                _exchange(lists[child], c, order, place[child], rng)
        for c in range(k):
            if rng.random() < rate:
                _exchange(lists[child], c, order, place[child], rng)


@compiled
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
