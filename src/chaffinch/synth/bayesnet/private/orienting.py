"""Which way the chosen links point: parents of one column that are not linked to each other are avoided where this costs no link.

A column whose parents are not linked to each other makes them independent, whatever both have in common with it. The tables of pairs ask
for something else: the flattest distribution that has them keeps such columns independent only given the one between them. (On a graph
without holes there is an order that has no such parents, and a maximum cardinality search finds it: Tarjan and Yannakakis 1984.)
Sums over pairs do not tell the directions apart, so turning links costs nothing. Released numbers only: post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..rules import Rules
from .assemble import limited

Clique = tuple[int, ...]

STARTS = 6
"""Columns that an order is tried from: those with the strongest links."""


def unlinked_parents(parents: Mapping[int, Clique]) -> int:
    """Return how many pairs of parents of one column are not linked to each other.

    Examples
    --------
    >>> unlinked_parents({0: (), 1: (), 2: (0, 1)}), unlinked_parents({0: (), 1: (0,), 2: (0, 1)})
    (1, 0)
    """
    return sum(
        b not in parents[a] and a not in parents[b]
        for chosen in parents.values()
        for a, b in combinations(chosen, 2)
    )


def oriented(
    parents: Mapping[int, Clique], matrix: NDArray[np.float64], sizes: tuple[int, ...], rules: Rules
) -> dict[int, Clique]:
    """Return the same links, turned such that fewer parents of one column are not linked to each other.

    `matrix` holds the strengths of links. Nothing is turned where rules say anything about directions, or where a column
    would have more parents than it may.
    """
    best = dict(parents)
    fewest = unlinked_parents(best)
    free = (
        rules.allowed.sum() == rules.d * (rules.d - 1)
        and not any(rules.required)
        and not rules.fixed
    )
    if not fewest or not free:
        return best
    links = np.zeros((rules.d, rules.d))
    for child, chosen in parents.items():
        for parent in chosen:
            links[child, parent] = links[parent, child] = matrix[child, parent]
    for start in np.argsort(-links.sum(axis=1), kind="stable")[:STARTS].tolist():
        trial = _from(start, links, sizes, rules.most)
        if trial is not None and (number := unlinked_parents(trial)) < fewest:
            best, fewest = trial, number
    return best


def _from(
    start: int, links: NDArray[np.float64], sizes: tuple[int, ...], most: int
) -> dict[int, Clique] | None:
    """The links as an order tells that goes on with the column most linked to those before it; None if a column had too many parents."""
    linked = (links > 0).astype(np.float64)
    # The number of links decides, then their strength to those before, then to all.
    strongest = max(float(links.sum()), 1e-300)
    near = links.sum(axis=1) / strongest / len(links)
    waiting = np.ones(len(links), dtype=bool)
    out: dict[int, Clique] = {}
    for _ in range(len(links)):
        column = start if not out else int(np.argmax(np.where(waiting, near, -1.0)))
        before = np.flatnonzero(linked[column] * ~waiting).tolist()
        out[column] = limited({p: float(links[column, p]) for p in before}, column, sizes, most)
        if len(out[column]) < len(before):
            return None
        waiting[column] = False
        near += linked[column] + links[column] / strongest
    return out
