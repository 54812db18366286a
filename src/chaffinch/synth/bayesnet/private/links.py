"""Which pairs of columns to measure: those whose distance from the model is more than measuring them would add in noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ....privacy.counter import PrivateCounter
from ..rules import Rules
from .estimate import Table, cells_of, error_at, error_curve
from .shares import parts_of, std_of

__all__ = [
    "FEW_ALARMS",
    "Candidates",
    "Gaps",
    "amounts_for",
    "bar_of",
    "measured_gaps",
    "possible_pairs",
    "product_of",
    "triples_of",
    "worth",
]

MOST_PAIR_CELLS = 1 << 20
MOST_TRIPLES = 1_140
MOST_TRIPLE_CELLS = 1 << 16
_ALARMS = 0.2
"""How many of all pairs may seem to be linked by noise alone, on average."""
FEW_ALARMS = 0.02
"""The same for triples: they should be there only if they are there for sure."""
_SURE = 1.25
"""How far above its mean the distance that chance makes may lie."""

Clique = tuple[int, ...]


@dataclass
class Candidates:
    """Cliques, and what they would be if their columns were independent; `stds` is the noise of a cell of each single column."""

    cliques: Sequence[Clique]
    margins: Sequence[Table]
    stds: Sequence[float]
    total: float
    curves: list[NDArray[np.float64]] = field(default_factory=list)
    chances: list[tuple[float, float]] = field(default_factory=list)

    def models(self) -> Iterator[Table]:
        """Yield the model of each clique, noting how wrong a measurement of it would be at every level of noise."""
        for clique in self.cliques:
            table = product_of(clique, self.margins, self.total)
            self.curves.append(error_curve(table))
            self.chances.append(self._chance(clique, table))
            yield table

    def _chance(self, clique: Clique, model: Table) -> tuple[float, float]:
        """How far independent columns would seem to be from the model: because its columns are noisy, and because records are few too."""
        squared = np.zeros_like(model)
        for axis, c in enumerate(clique):
            shape = [-1 if a == axis else 1 for a in range(len(clique))]
            counts = np.maximum(
                self.margins[c], self.stds[c]
            )  # a cell cannot be wrong by more than it holds, or may hold
            squared += (model * (self.stds[c] / counts).reshape(shape)) ** 2
        return float(0.4 * np.sqrt(squared).sum()), float(0.4 * np.sqrt(squared + model).sum())


def product_of(clique: Clique, margins: Sequence[Table], total: float) -> Table:
    """Return the table of independent columns, in records."""
    out = np.asarray(total)
    for c in clique:
        out = out[..., None] * (margins[c] / total)
    return out


@dataclass(frozen=True, eq=False)
class Gaps:
    """Distances of cliques from a model beyond chance, in records, the deviation of their noise, and the errors of measuring.

    `excess` is by how much the noisy distances lie above what noise in the model and the number of records explain.
    """

    cliques: Sequence[Clique]
    values: NDArray[np.float64]
    std: float
    curves: Sequence[NDArray[np.float64]]
    excess: NDArray[np.float64]
    bar: float

    def gain(self, i: int, sigma: float) -> float:
        """Return what measuring a clique wins at a level of noise: its distance, less the error that noise would add.

        Nothing where the distance may be noise alone.
        """
        if self.excess[i] <= self.bar:
            return 0.0
        return float(self.values[i]) - error_at(self.curves[i], sigma)


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
    of_model, of_all = np.array(candidates.chances).reshape(-1, 2).T
    beyond = np.sqrt(np.maximum(np.maximum(values, 0.0) ** 2 - of_model**2, 0.0))
    excess = values - _SURE * of_all
    bar = bar_of(len(values), std, _ALARMS, pure=counter.pure)
    return Gaps(candidates.cliques, beyond, std, candidates.curves, excess, bar)


def bar_of(many: int, std: float, alarms: float, *, pure: bool) -> float:
    """Return what so many noises exceed as often as `alarms` says, all together: Laplace noise has longer tails than Gaussian.

    Examples
    --------
    >>> round(bar_of(91, 1.0, 0.2, pure=False), 2), round(bar_of(91, 1.0, 0.2, pure=True), 2)
    (2.85, 3.84)
    """
    chance = min(0.5, alarms / max(many, 1))
    return std * (log(0.5 / chance) / 2**0.5 if pure else NormalDist().inv_cdf(1 - chance))


def worth(gaps: Gaps, amount: float, counter: PrivateCounter, *, most: int) -> list[Clique]:
    """Return the cliques that are for sure worth measuring, if an amount were for them alone, best first."""
    chosen: list[int] = []
    for _ in range(4):  # fewer tables have less noise each: settle the number
        sigma = std_of(amount / max(len(chosen) or most, 1), counter.unit, pure=counter.pure)
        gains = [gaps.gain(i, sigma) for i in range(len(gaps.cliques))]
        ranked = sorted((i for i, gain in enumerate(gains) if gain > 0), key=lambda i: (-gains[i], i))
        chosen = ranked[:most]
    return [gaps.cliques[i] for i in chosen]


def amounts_for(models: Sequence[Table], amount: float, *, pure: bool) -> list[float]:
    """Return the parts of an amount for tables with these models: cells that hold next to nothing hardly count."""
    effective = [float(np.minimum(model, 50.0).sum()) for model in models]
    return (amount * parts_of(effective, pure=pure) * (1 - 1e-12)).tolist()
