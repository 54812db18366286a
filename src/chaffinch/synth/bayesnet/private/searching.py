"""Who becomes whose parent: searches over released numbers. None of this touches data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...._base.errors import InputError
from ....privacy.counter import PrivateCounter
from ..genetic import genetic_search
from ..ordering import ordering_search
from ..rules import Rules
from .assemble import limited
from .links import Gaps
from .orienting import oriented
from .shares import std_of

if TYPE_CHECKING:
    from ..settings import BayesNet


Clique = tuple[int, ...]

NOISY = 0.01
"""The mean error of single columns, if all were spent on them, beyond which columns get few parents."""
FEW_PARENTS = 3


class PairScores:
    """Scores of families as sums over pairs of a released matrix: what the searches over orders ask for."""

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        self.matrix = matrix
        self.d = len(matrix)

    def pairs(self) -> NDArray[np.float64]:
        """Return the matrix."""
        return self.matrix

    def masked(
        self, score: str, child: int, parents: NDArray[np.int64], *, most: int
    ) -> NDArray[np.float64]:
        """Return the scores of a child with many parent sets, given as bit masks."""
        return (parents[:, None] >> np.arange(self.d) & 1) @ self.matrix[child]


def with_fewer_parents(rules: Rules, error: float) -> Rules:
    """Return rules that allow fewer parents if single columns alone would have a mean error beyond `NOISY`: public numbers alone.

    Many noisy links of one column pull its table in many directions. Parents that must be, are.
    """
    if error <= NOISY:
        return rules
    return replace(rules, most=min(rules.most, max(FEW_PARENTS, *map(len, rules.required))))


def searched_parents(
    settings: BayesNet,
    counter: PrivateCounter,
    rules: Rules,
    gaps: Gaps,
    triples: Sequence[Clique],
    rng: np.random.Generator,
) -> dict[int, Clique]:
    """Return the parents that a search finds on the distances of pairs, each less what its noise would cost.

    How noisy tables will be depends on how many there are: the search is run again on the number of the last. The columns of a
    triple that is to be measured are linked before all others: an interaction needs all three together, whatever their pairs tell.
    """
    edges = rules.d * min(rules.most, rules.d - 1)
    parents: dict[int, Clique] = {}
    for _ in range(3):
        sigma = std_of(counter.ledger.left / max(edges, 1), counter.unit, pure=counter.pure)
        matrix = np.zeros((rules.d, rules.d))
        for i, (a, b) in enumerate(gaps.cliques):
            if (gain := gaps.gain(i, sigma)) > 0:
                matrix[a, b] = matrix[b, a] = gain
        strong = 2 * matrix.max(initial=1.0)
        for triple in triples:
            for a, b in combinations(triple, 2):
                matrix[a, b] = matrix[b, a] = strong
        if settings.search == "genetic":
            families, _ = genetic_search(matrix, rules, rng, settings.evolution)
        else:
            families, _ = ordering_search(PairScores(matrix), rules, rng, score="pairwise")  # type: ignore[arg-type]
        parents = {
            child: _worthwhile(child, chosen, matrix, counter.schema.sizes, rules)
            for child, chosen in enumerate(families)
        }
        now = sum(len(chosen) for chosen in parents.values())
        if now == edges:
            break
        edges = now
    # A triple that is measured needs a column that has the two others as parents: its links stay as they are.
    return parents if triples else oriented(parents, matrix, counter.schema.sizes, rules)


def _worthwhile(
    child: int,
    chosen: Sequence[int],
    matrix: NDArray[np.float64],
    sizes: Sequence[int],
    rules: Rules,
) -> Clique:
    """The parents that are worth it, strongest first, as many as keep the table small; those that must be come before all."""
    must = rules.required[child]
    strengths = {p: float(matrix[child, p]) for p in chosen if matrix[child, p] > 0}
    strongest = limited(
        {**strengths, **dict.fromkeys(must, float("inf"))}, child, sizes, rules.most
    )
    if any(p not in strongest for p in must):
        raise InputError(
            f"The table of '{rules.names[child]}' with the parents it must have is too large to be measured. Use fewer levels."
        )
    return strongest
