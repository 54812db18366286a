"""From estimated tables to a network: parents are chosen, and each column's table is the flattest one that has the estimated sums.

A child's table given several parents starts as if they told nothing of it and is raked to the estimated table of the child with each
of them: the distribution of largest entropy among those (a log-linear model without the interactions that nobody measured).
The distribution of the parents themselves is that of one column, or of one estimated table, or is counted in a sample drawn
from the tables so far, of the columns that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from ....counts.marginal import Marginal
from ..rules import Rules
from ..sampling import Sampler
from ..tables import table_from_marginal
from .estimate import Table, Target, conditional_target, raked

SAMPLE = (10_000, 100_000)
"""The fewest and the most rows of the sample; twenty for each record in between."""
MOST_CELLS = 200_000
_ROUNDS = 12
_SETTLING = 20
"""The most rounds in which a column's table is brought back to the column's own counts."""
_SETTLED = 1e-4
"""The part of the records by which it may miss them."""
_TRACE = 1e-6
"""Counts below this many records are left out of a table: a combination of parents without any then falls back on fewer."""

Clique = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Assembled:
    """The columns in order, their parents (strongest first), the tables, and a sample to draw on."""

    order: tuple[int, ...]
    parents: tuple[Clique, ...]
    tables: tuple[Marginal, ...]
    sample: NetworkSample


@dataclass(eq=False)
class NetworkSample:
    """Rows of a network, a column at a time: a column is drawn when it is first asked for, and its parents with it.

    Rows that have the same parents share a column's levels as exactly as whole numbers allow, in random order: sums are nearer to those
    of the tables than independent draws would be, and columns with the same parents stay independent of each other.
    """

    n_rows: int
    rng: np.random.Generator
    parents: dict[int, Clique] = field(default_factory=dict)
    tables: dict[int, Marginal] = field(default_factory=dict)
    _codes: dict[int, NDArray[np.uint32]] = field(default_factory=dict)

    def add(self, column: int, parents: Clique, table: Marginal) -> None:
        """Take in the table of a column, whose parents have theirs already."""
        self.parents[column], self.tables[column] = parents, table

    def column(self, column: int) -> NDArray[np.uint32]:
        """Return the codes of a column."""
        if column not in self._codes:
            given = [self.column(p) for p in self.parents[column]]
            uniform = spread_evenly(self._key(self.parents[column]), self.rng)
            sampler = Sampler(table_from_marginal(self.tables[column], smoothing=0.0))
            self._codes[column] = sampler.draw(given, uniform)
        return self._codes[column]

    def counts(self, columns: Clique) -> Table:
        """Return the table of some columns, in rows of the sample."""
        sizes = [self.tables[c].sizes[-1] for c in columns]
        return (
            np.bincount(self._key(columns), minlength=prod(sizes)).reshape(sizes).astype(np.float64)
        )

    def _key(self, columns: Clique) -> NDArray[np.int64]:
        key = np.zeros(self.n_rows, dtype=np.int64)
        for c in columns:
            key = key * self.tables[c].sizes[-1] + self.column(c)
        return key


def spread_evenly(key: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return numbers in [0, 1), a random order of equal steps from a random start for each group of rows with the same key."""
    order = rng.permutation(len(key))
    narrow = (
        key.astype(np.uint16) if int(key.max(initial=0)) < 1 << 16 else key
    )  # short numbers sort in linear time
    order = order[np.argsort(narrow[order], kind="stable")]
    laid = key[order]
    first = np.flatnonzero(np.concatenate([[True], laid[1:] != laid[:-1]]))
    sizes = np.diff([*first, len(key)])
    uniform = np.empty(len(key))
    rank = np.arange(len(key)) - np.repeat(first, sizes)
    uniform[order] = (rank + np.repeat(rng.random(len(first)), sizes)) / np.repeat(sizes, sizes)
    return np.minimum(uniform, 1 - 1e-16)


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
    order: Sequence[int],
    parents: Mapping[int, Clique],
    margins: Sequence[Table],
    tables: Mapping[Clique, Table],
    rng: np.random.Generator,
) -> Assembled:
    """Return the network of some parents, with tables that agree with what was estimated.

    `tables` maps sorted tuples of columns to estimates; every pair of a child and one of its parents must be there.
    """
    sample = NetworkSample(int(np.clip(20 * margins[0].sum(), *SAMPLE)), rng)
    for child in order:
        chosen = parents[child]
        counts = _table(child, chosen, margins, tables, sample)
        names = (*(rules.names[p] for p in chosen), rules.names[child])
        sample.add(child, chosen, Marginal(names, counts.shape, counts))
    return Assembled(
        tuple(order),
        tuple(parents[c] for c in order),
        tuple(sample.tables[c] for c in order),
        sample,
    )


def _table(
    child: int,
    chosen: Clique,
    margins: Sequence[Table],
    tables: Mapping[Clique, Table],
    sample: NetworkSample,
) -> Table:
    own = margins[child]
    total = float(own.sum())
    if not chosen:
        return own.copy()
    of_parents = _parents_table(chosen, margins, tables, sample)
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
    if len(targets) > 2:
        out = _settled(out, of_parents, own)
    return np.where(out > _TRACE, out, 0.0)


def _settled(table: Table, of_parents: Table, own: Table) -> Table:
    """The table brought back to the sums of the parents and of the column itself, as far as its empty cells allow.

    Noisy links contradict each other and what their columns do together, and the last of them would have its way. The column itself is
    known best, and what moves it moves all that come after.
    """
    out, first = table.reshape(-1, len(own)), of_parents.reshape(-1)
    for _ in range(_SETTLING):
        out = raked(out, [((0,), first)], rounds=1)
        if np.abs(out.sum(axis=0) - own).sum() <= _SETTLED * own.sum():
            break
        out = raked(out, [((1,), own)], rounds=1)
    return out.reshape(table.shape)


def _parents_table(
    chosen: Clique, margins: Sequence[Table], tables: Mapping[Clique, Table], sample: NetworkSample
) -> Table:
    """The joint table of some columns that have their tables already, in records."""
    if len(chosen) == 1:
        return margins[chosen[0]]
    key = tuple(sorted(chosen))
    if key in tables:
        return tables[key].transpose([key.index(c) for c in chosen])
    return sample.counts(chosen) * (float(margins[chosen[0]].sum()) / sample.n_rows)
