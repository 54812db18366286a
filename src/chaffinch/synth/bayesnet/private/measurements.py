"""What has been released so far, put together: every column from all tables that hold it, then links without what columns tell.

A noisy table of some columns is a sum of orthogonal parts: the total, each column's own part, and what only the columns together
tell. All tables that hold a column measure its part, each with its own noise, and the mean weighted by precision is their best
estimate; the part of a pair is measured by its own table alone, and is what remains when the means along rows and columns are taken
out. (The residuals of Xiao, He, Zhang and Kifer, ResidualPlanner, NeurIPS 2023.) Post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ....privacy.counter import NoisyTable
from ....table.schema import NUMERIC_KINDS, Column, Schema
from .estimate import Table, of_total, product_of, raked
from .smoothing import LevelFactor, centred, even_factors, factors_of, smoothed

Clique = tuple[int, ...]

_LEAST_STD = 1e-9
"""Noise below what a double holds, at a huge epsilon, counts as this much."""
_RAKINGS = 10


def in_order(column: Column) -> bool:
    """Return whether a column's levels stand in an order that means something: by declaration alone."""
    if column.kind in NUMERIC_KINDS or column.ordered:
        return True
    levels = column.levels or ()
    numbers = [
        level for level in levels if isinstance(level, int | float) and not isinstance(level, bool)
    ]
    return len(numbers) == len(levels) > 0 and numbers == sorted(numbers)


@dataclass
class Measurements:
    """Noisy tables, and the estimates that they support: `margins` of single columns, all of one `total`, and `tables` of links.

    `stds` is the noise of a cell of each single column, all measurements taken together.
    """

    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    margins: list[Table] = field(default_factory=list)
    stds: list[float] = field(default_factory=list)
    total: float = 0.0
    tables: dict[Clique, Table] = field(default_factory=dict)
    _noisy: list[tuple[Clique, Table, float]] = field(default_factory=list)

    @classmethod
    def of(cls, schema: Schema) -> Measurements:
        """Return an empty collection for the columns of a schema that has codes."""
        columns = [schema[name] for name in schema.names]
        return cls(schema.sizes, tuple(in_order(column) for column in columns))

    def add(self, cliques: Sequence[Clique], noisy: Sequence[NoisyTable]) -> None:
        """Take in measured tables, and estimate single columns anew, and links that were measured."""
        for clique, table in zip(cliques, noisy, strict=True):
            self._noisy.append(
                (clique, table.counts.astype(np.float64), max(table.std, _LEAST_STD))
            )
        self._estimate_columns()
        links = list(dict.fromkeys(clique for clique, _, _ in self._noisy if len(clique) > 1))
        linked = {column for clique in links for column in clique}
        factors = {c: factors_of(self.margins[c], ordered=self.ordered[c]) for c in sorted(linked)}
        for clique in links:
            self.tables[clique] = self._link(clique, factors)

    def _estimate_columns(self) -> None:
        """Single columns from the projections of all tables that hold them, weighted by precision; no negative count, one total."""
        weights, sums = np.zeros(len(self.sizes)), [np.zeros(size) for size in self.sizes]
        whole = precision = 0.0
        for clique, counts, std in self._noisy:
            of_total = 1 / (counts.size * std**2)
            whole, precision = whole + of_total * float(counts.sum()), precision + of_total
            for axis, column in enumerate(clique):
                weight = self.sizes[column] / (
                    counts.size * std**2
                )  # its cells are sums over all others
                weights[column] += weight
                sums[column] += weight * counts.sum(
                    axis=tuple(a for a in range(counts.ndim) if a != axis)
                )
        self.total = max(whole / precision, 1.0)
        self.stds = (weights**-0.5).tolist()
        self.margins = [
            self._column(total / weight, weight**-0.5, ordered)
            for total, weight, ordered in zip(sums, weights, self.ordered, strict=True)
        ]

    def _column(self, counts: Table, std: float, ordered: bool) -> Table:
        size = len(counts)
        even = np.full(size, self.total / size)
        gap = smoothed(
            centred(counts),
            [even_factors(size, ordered=ordered)],
            std**2 * (1 - 1 / size),
            self.total,
        )
        return of_total(even + gap, self.total)

    def _link(self, clique: Clique, factors: Mapping[int, Sequence[LevelFactor]]) -> Table:
        """A measured link: independent columns, and what the table tells beyond them, with its noise held back."""
        model = product_of(clique, self.margins, self.total)
        measured = [(counts, std**-2) for columns, counts, std in self._noisy if columns == clique]
        precision = sum(weight for _, weight in measured)
        counts = sum(weight * counts for counts, weight in measured) / precision
        share = np.prod([1 - 1 / self.sizes[c] for c in clique]) if len(clique) == 2 else 1.0
        gap = centred(counts - model) if len(clique) == 2 else counts - model
        gap = smoothed(gap, [factors[c] for c in clique], float(share) / precision, self.total)
        targets = [((axis,), self.margins[c]) for axis, c in enumerate(clique)]
        return raked(np.maximum(model + gap, 0.0) + 1e-9, targets, rounds=_RAKINGS)
