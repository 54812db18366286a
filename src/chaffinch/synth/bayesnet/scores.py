"""How good a family is: a child with its parents.

`pairwise`   the sum of I(child; parent) over parents: the fitness of the genetic algorithm.
`joint`      I(child; all parents): what GreedyBayes maximises. Never falls when a parent is added.
`penalised`  joint, less a price for each free cell: a parent with many levels has to tell more. The default price is
             what held-out data chose; at one or two nats noise gets no parents.

All in nats per record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...counts.counter import Counter
from ...counts.entropies import MOST_MASKED, JointEntropies, every_entropy
from ...counts.plan import Columns

Score = Literal["pairwise", "joint", "penalised"]


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


_DIGITS = (
    12  # engines differ in the last bits: ties between equivalent networks must not hang on them
)


class FamilyScores:
    """FamilyScores of families from a counter; entropies are counted once and kept."""

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
        if self.d <= MOST_MASKED:
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
            own = both[first : first + self.d - i - 1]
            out[i, others] = out[others, i] = np.round(
                np.maximum(alone[i] + alone[others] - own, 0.0), _DIGITS
            )
            first += self.d - i - 1
        return out

    def masked(
        self, score: Score, child: int, parents: NDArray[np.int64], *, most: int
    ) -> NDArray[np.float64]:
        """Return the scores of a child with many parent sets, given as bit masks; for at most 16 columns.

        `most` is the largest number of parents that will be asked for.
        """
        if score == "pairwise":
            return (parents[:, None] >> np.arange(self.d) & 1) @ self.pairs()[child]
        values, filled = self._by_mask(most + 1)
        both = parents | (1 << child)
        gain = np.round(
            np.maximum(values[1 << child] + values[parents] - values[both], 0.0), _DIGITS
        )
        if score == "joint":
            return gain
        return gain - self._cost((filled[1 << child] - 1) * (filled[parents] - 1))

    def total(self, score: Score, parents: Sequence[Columns]) -> float:
        """Return the score of a whole network, given the parents of each column."""
        if self.d > MOST_MASKED:
            family = getattr(self, score)
            self.ask(enumerate(parents))
            return float(sum(family(child, chosen) for child, chosen in enumerate(parents)))
        most = max(len(chosen) for chosen in parents)
        masks = [np.array([sum(1 << p for p in chosen)]) for chosen in parents]
        return float(
            sum(self.masked(score, child, mask, most=most)[0] for child, mask in enumerate(masks))
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
