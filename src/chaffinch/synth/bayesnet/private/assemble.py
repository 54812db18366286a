"""From estimated tables to a network: parents are chosen, and each column's table is the flattest one that has the estimated sums.

Columns are drawn one after the other into a large sample, whose counts stand for the distribution of the parents. A child's table
given several parents starts as if they told nothing of it and is raked to the estimated table of the child with each of them: the
distribution of largest entropy among those (a log-linear model without the interactions that nobody measured).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....counts.marginal import Marginal
from ..rules import Rules
from ..sampling import Sampler
from ..tables import ConditionalTable, table_from_marginal
from .estimate import Table, Target, cells_of, conditional_target, raked

__all__ = ["Assembled", "assemble", "limited"]

SAMPLE = (20_000, 100_000)
"""The fewest and the most rows of the sample; twenty for each record in between."""
MOST_CELLS = 200_000
_ROUNDS = 12
_TRACE = 1e-6
"""Counts below this many records are left out of a table: a combination of parents without any then falls back on fewer."""

Clique = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Assembled:
    """The columns in order, their parents (strongest first), the tables, and a large sample drawn on the way."""

    order: tuple[int, ...]
    parents: tuple[Clique, ...]
    tables: tuple[Marginal, ...]
    sample: tuple[NDArray[np.uint32], ...]


def limited(strengths: Mapping[int, float], child: int, sizes: Sequence[int], most: int) -> Clique:
    """Return the strongest parents, as many as are allowed and as keep the child's table small."""
    chosen: list[int] = []
    cells = sizes[child]
    for parent in sorted(strengths, key=lambda p: (-strengths[p], p)):
        if len(chosen) < most and cells * sizes[parent] <= MOST_CELLS:
            chosen.append(parent)
            cells *= sizes[parent]
    return tuple(chosen)


def assemble(
    rules: Rules,
    sizes: Sequence[int],
    order: Sequence[int],
    parents: Mapping[int, Clique],
    margins: Sequence[Table],
    tables: Mapping[Clique, Table],
    rng: np.random.Generator,
) -> Assembled:
    """Return the network of some parents, with tables that agree with what was estimated.

    `tables` maps sorted tuples of columns to estimates; every pair of a child and one of its parents must be there.
    """
    sample: dict[int, NDArray[np.uint32]] = {}
    marginals: list[Marginal] = []
    drawn_rows = int(np.clip(20 * margins[0].sum(), *SAMPLE))
    for child in order:
        chosen = parents[child]
        counts = _table(child, chosen, sizes, margins, tables, sample)
        names = (*(rules.names[p] for p in chosen), rules.names[child])
        marginal = Marginal(names, counts.shape, counts)
        marginals.append(marginal)
        drawn: ConditionalTable = table_from_marginal(marginal, smoothing=0.0)
        sample[child] = Sampler(drawn).draw([sample[p] for p in chosen], rng.random(drawn_rows))
    return Assembled(
        tuple(order), tuple(parents[c] for c in order), tuple(marginals), tuple(sample[c] for c in range(len(sizes)))
    )


def _table(
    child: int,
    chosen: Clique,
    sizes: Sequence[int],
    margins: Sequence[Table],
    tables: Mapping[Clique, Table],
    sample: Mapping[int, NDArray[np.uint32]],
) -> Table:
    own = margins[child]
    total = float(own.sum())
    if not chosen:
        return own.copy()
    key = np.zeros(len(sample[chosen[0]]), dtype=np.int64)
    for p in chosen:
        key = key * sizes[p] + sample[p]
    shape = tuple(sizes[p] for p in chosen)
    counts = np.bincount(key, minlength=cells_of(sizes, chosen)).astype(np.float64)
    of_parents: Table = (counts * (total / len(key))).reshape(shape)
    targets: list[Target] = [(tuple(range(len(chosen))), of_parents)]
    family = (*chosen, child)
    for clique, estimate in tables.items():
        if child in clique and len(clique) > 1 and set(clique) <= set(family):
            axes = tuple(a for a, c in enumerate(family) if c in clique)
            laid = estimate.transpose([clique.index(family[a]) for a in axes])
            summed = of_parents.sum(axis=tuple(a for a in range(len(chosen)) if a not in axes))
            targets.append((axes, conditional_target(laid, summed, own)))
    start = of_parents[..., None] * (own / max(total, 1e-300)) + 1e-12
    out = raked(start, targets, rounds=1 if len(targets) == 2 else _ROUNDS)
    return np.where(out > _TRACE, out, 0.0)
