"""Which pairs of columns to measure: those whose distance from the model is more than measuring them would add in noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ....privacy.counter import PrivateCounter
from ..rules import Rules
from .estimate import Table, cells_of, error_at, error_curve
from .shares import parts_of, std_of

__all__ = ["Candidates", "Gaps", "amounts_for", "measured_gaps", "possible_pairs", "product_of", "triples_of", "worth"]

MOST_PAIR_CELLS = 1 << 20
MOST_TRIPLES = 1_140
MOST_TRIPLE_CELLS = 1 << 16
_CLEAR = 2.0
"""Standard deviations of a noisy distance that a gain must exceed."""

Clique = tuple[int, ...]


@dataclass
class Candidates:
    """Cliques, and what they would be if their columns were independent."""

    cliques: Sequence[Clique]
    margins: Sequence[Table]
    total: float
    curves: list[NDArray[np.float64]] = field(default_factory=list)

    def models(self) -> Iterator[Table]:
        """Yield the model of each clique, noting how wrong a measurement of it would be at every level of noise."""
        for clique in self.cliques:
            table = product_of(clique, self.margins, self.total)
            self.curves.append(error_curve(table))
            yield table


def product_of(clique: Clique, margins: Sequence[Table], total: float) -> Table:
    """Return the table of independent columns, in records."""
    out = np.asarray(total)
    for c in clique:
        out = out[..., None] * (margins[c] / total)
    return out


@dataclass(frozen=True, eq=False)
class Gaps:
    """Noisy distances of cliques from a model, in records, the deviation of their noise, and the errors of measuring."""

    cliques: Sequence[Clique]
    values: NDArray[np.float64]
    std: float
    curves: Sequence[NDArray[np.float64]]

    def gain(self, i: int, sigma: float) -> float:
        """Return what measuring a clique wins at a level of noise: its distance, less the error that noise would add."""
        return float(self.values[i]) - error_at(self.curves[i], sigma)

    @property
    def clear(self) -> float:
        """The gain below which noise may have made it."""
        return _CLEAR * self.std


def possible_pairs(rules: Rules, sizes: Sequence[int]) -> list[Clique]:
    """Return the pairs that the rules allow to be linked and that are small enough to be measured."""
    linkable = rules.allowed | rules.allowed.T
    return [
        (i, j) for i, j in combinations(range(rules.d), 2) if linkable[i, j] and sizes[i] * sizes[j] <= MOST_PAIR_CELLS
    ]


def triples_of(rules: Rules, sizes: Sequence[int], rng: np.random.Generator) -> list[Clique]:
    """Return triples in which some column may have the two others as parents; where they are many, some drawn blindly."""

    def fits(triple: Clique) -> bool:
        return (
            any(all(rules.allowed[child, p] for p in triple if p != child) for child in triple)
            and cells_of(sizes, triple) <= MOST_TRIPLE_CELLS
        )

    if rules.most < 2:
        return []
    if rules.d <= 20:
        return [t for t in combinations(range(rules.d), 3) if fits(t)]
    drawn = {tuple(sorted(rng.choice(rules.d, 3, replace=False).tolist())) for _ in range(MOST_TRIPLES)}
    return sorted(t for t in drawn if fits(t))


def measured_gaps(counter: PrivateCounter, candidates: Candidates, amount: float, why: str) -> Gaps:
    """Return the noisy distances of all candidates from their model: one query for all."""
    names = counter.schema.names
    cliques = [tuple(names[c] for c in clique) for clique in candidates.cliques]
    values, std = counter.distances(cliques, candidates.models(), amount, why=why)
    return Gaps(candidates.cliques, values, std, candidates.curves)


def worth(gaps: Gaps, amount: float, counter: PrivateCounter, *, most: int) -> list[Clique]:
    """Return the cliques worth measuring if an amount were for them alone, best first."""
    chosen: list[int] = []
    for _ in range(4):  # fewer tables have less noise each: settle the number
        sigma = std_of(amount / max(len(chosen) or most, 1), counter.unit, pure=counter.pure)
        gains = [gaps.gain(i, sigma) for i in range(len(gaps.cliques))]
        ranked = sorted((i for i, gain in enumerate(gains) if gain > gaps.clear), key=lambda i: (-gains[i], i))
        chosen = ranked[:most]
    return [gaps.cliques[i] for i in chosen]


def amounts_for(models: Sequence[Table], amount: float, *, pure: bool) -> list[float]:
    """Return the parts of an amount for tables with these models: cells that hold next to nothing hardly count."""
    effective = [float(np.minimum(model, 50.0).sum()) for model in models]
    return (amount * parts_of(effective, pure=pure) * (1 - 1e-12)).tolist()
