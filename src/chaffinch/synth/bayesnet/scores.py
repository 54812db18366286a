"""How good a family is: a child with its parents.

`pairwise`   the sum of I(child; parent) over parents: the fitness of P0's genetic algorithm.
`joint`      I(child; all parents): what GreedyBayes maximises. Never falls when a parent is added.
`penalised`  joint, less what that many free cells would gain by chance: knows when a parent is not worth it.

All in nats per record.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...counts.counter import Counter
from ...counts.entropies import Columns, JointEntropies

__all__ = ["PENALTY", "Score", "Scores"]

Score = Literal["pairwise", "joint", "penalised"]

PENALTY = 0.5
"""Nats that each free cell of a family costs, times the number of records. See docs/design/0005."""


class Scores:
    """Scores of families from a counter; entropies are counted once and kept."""

    def __init__(self, counter: Counter, *, penalty: float = PENALTY) -> None:
        self.known = JointEntropies(counter)
        self.d = len(counter.schema.names)
        self.n_rows = counter.n_rows
        self.penalty = penalty

    def pairs(self) -> NDArray[np.float64]:
        """Return the mutual information of all pairs: symmetric, the diagonal 0."""
        self.known.ask([(i,) for i in range(self.d)])
        self.known.ask(combinations(range(self.d), 2))
        out = np.zeros((self.d, self.d))
        for i, j in combinations(range(self.d), 2):
            out[i, j] = out[j, i] = self.known.information(i, (j,))
        return out

    def ask(self, families: Iterable[tuple[int, Columns]]) -> None:
        """Count what the scores of these families need, together."""
        wanted: set[Columns] = set()
        for child, parents in families:
            wanted |= {(child,), parents, tuple(sorted((*parents, child)))}
        self.known.ask(wanted)

    def joint(self, child: int, parents: Columns) -> float:
        """Return I(child; parents)."""
        return self.known.information(child, parents)

    def penalised(self, child: int, parents: Columns) -> float:
        """Return I(child; parents) less the penalty for the free cells of the family.

        Free cells: the levels of the child less one, times the combinations of parents that occur less one. (Counting
        only the cells that occur lets families through whose every combination is unique.) With x free cells a record
        the penalty is x + x^2 / 2 times `penalty`: what chance gives, and more where cells are as many as records.
        """
        free = (self.known.filled((child,)) - 1) * (self.known.filled(parents) - 1)
        share = free / max(self.n_rows, 1)
        return self.known.information(child, parents) - self.penalty * share * (1 + share / 2)

    def pairwise(self, child: int, parents: Columns) -> float:
        """Return the sum of I(child; parent) over the parents."""
        return sum(self.known.information(child, (parent,)) for parent in parents)
