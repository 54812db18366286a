"""Which pairs of columns to measure: those whose distance from the model is more than measuring them would add in noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log

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
    """Cliques, and what they would be if their columns were independent; `stds` is the noise of a cell of each single column."""

    cliques: Sequence[Clique]
    margins: Sequence[Table]
    stds: Sequence[float]
    total: float
    curves: list[NDArray[np.float64]] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)

    def models(self) -> Iterator[Table]:
        """Yield the model of each clique, noting how wrong a measurement of it would be at every level of noise."""
        for clique in self.cliques:
            table = product_of(clique, self.margins, self.total)
            self.curves.append(error_curve(table))
            self.chances.append(self._chance(clique, table))
            yield table

    def _chance(self, clique: Clique, model: Table) -> float:
        """How far independent columns would seem to be from the model, because the model's columns are noisy themselves."""
        squared = np.zeros_like(model)
        for axis, c in enumerate(clique):
            shape = [-1 if a == axis else 1 for a in range(len(clique))]
            held = np.maximum(
                self.margins[c], self.stds[c]
            )  # a cell cannot be wrong by more than it holds, or may hold
            squared += (model * (self.stds[c] / held).reshape(shape)) ** 2
        return float(0.4 * np.sqrt(squared).sum())


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

    @property
    def certain(self) -> float:
        """The gain that hardly any of all the noises reaches: for what should be there only if it is there for sure."""
        return (1 + (2 * log(max(len(self.cliques), 1))) ** 0.5) * self.std


def possible_pairs(sizes: Sequence[int]) -> list[Clique]:
    """Return the pairs that are small enough to be measured."""
    return [pair for pair in combinations(range(len(sizes)), 2) if cells_of(sizes, pair) <= MOST_PAIR_CELLS]


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
    """Return the noisy distances of all candidates from their model, less what the model's own noise makes: one query for all."""
    names = counter.schema.names
    cliques = [tuple(names[c] for c in clique) for clique in candidates.cliques]
    values, std = counter.distances(cliques, candidates.models(), amount, why=why)
    # Dependence and the noise of the model add up in each cell like independent deviations.
    beyond = np.sqrt(np.maximum(np.maximum(values, 0.0) ** 2 - np.array(candidates.chances) ** 2, 0.0))
    return Gaps(candidates.cliques, beyond, std, candidates.curves)


def worth(gaps: Gaps, amount: float, counter: PrivateCounter, *, most: int) -> list[Clique]:
    """Return the cliques that are for sure worth measuring, if an amount were for them alone, best first."""
    chosen: list[int] = []
    for _ in range(4):  # fewer tables have less noise each: settle the number
        sigma = std_of(amount / max(len(chosen) or most, 1), counter.unit, pure=counter.pure)
        gains = [gaps.gain(i, sigma) for i in range(len(gaps.cliques))]
        ranked = sorted((i for i, gain in enumerate(gains) if gain > gaps.certain), key=lambda i: (-gains[i], i))
        chosen = ranked[:most]
    return [gaps.cliques[i] for i in chosen]


def amounts_for(models: Sequence[Table], amount: float, *, pure: bool) -> list[float]:
    """Return the parts of an amount for tables with these models: cells that hold next to nothing hardly count."""
    effective = [float(np.minimum(model, 50.0).sum()) for model in models]
    return (amount * parts_of(effective, pure=pure) * (1 - 1e-12)).tolist()
