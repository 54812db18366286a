"""What has been released so far, put together: every column from all tables that hold it, then links without what columns tell.

A noisy table of some columns is a sum of orthogonal parts: the total, each column's own part, and what only the columns together
tell. All tables that hold a column measure its part, each with its own noise, and the mean weighted by precision is their best
estimate; the part of a pair is measured by its own table alone, and is what remains when the means along rows and columns are taken
out. (The residuals of Xiao, He, Zhang and Kifer, ResidualPlanner, NeurIPS 2023.)

Noise is held back (`expected_gap`) by a Gaussian process whose smoothness and strength are those that explain the table best. What a table differs by from its model
is taken as normal with covariance t K1 x K2 x ... (a Kronecker product, one factor for each
column), and is seen under noise of a known variance. A factor is D^1/2 C D^1/2, where D holds the model's shares of the levels, so
that differences go with what is expected, and C says how alike neighbouring levels are: exp(-|i - j| / length), or not at all
(length 0). In the eigenvectors of the factors noise stays white and everything is diagonal: the expected difference is the
measured one, times v / (v + noise) for a variance v. t and the lengths maximise the likelihood of the table (empirical Bayes).

Released numbers and public settings only: post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...._base.compiled import jit
from ....counts.plan import Columns
from ....privacy.counter import NoisyTable
from ....table.schema import NUMERIC_KINDS, Column, Schema
from ...noisy import Counts, of_total, product_of, rake

_LEAST_STD = 1e-9
"""Noise below what a double holds, at a huge epsilon, counts as this much."""

_RAKINGS = 10

LENGTHS = (1.0, 3.0, 10.0)
"""How many levels a likeness may reach, beside none."""

FEW_LEVELS = 3
"""Columns of at most so many levels have no neighbours to speak of."""

MOST_LEVELS = 256
"""Columns of more levels are taken as they are: the eigenvectors of their factors would take too long."""

STRENGTHS = np.geomspace(1e-6, 1.0, 13)
"""Variances t that are tried, in squared records, for a table of one record."""

EVIDENCE = 1.0
"""By how much the logarithm of the likelihood must rise for a difference to be believed at all."""


@dataclass
class Measurements:
    """Noisy tables, and the estimates that they support: `margins` of single columns, all of one `total`, and `tables` of links.

    `stds` is the noise of a cell of each single column, all measurements taken together.
    """

    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    margins: list[Counts] = field(default_factory=list)
    stds: list[float] = field(default_factory=list)
    total: float = 0.0
    tables: dict[Columns, Counts] = field(default_factory=dict)
    _noisy: list[tuple[Columns, Counts, float]] = field(default_factory=list)

    @classmethod
    def for_schema(cls, schema: Schema) -> Measurements:
        """Return an empty collection for the columns of a schema that has codes."""
        columns = [schema[name] for name in schema.names]
        return cls(schema.sizes, tuple(in_order(column) for column in columns))

    def add(self, cliques: Sequence[Columns], noisy: Sequence[NoisyTable]) -> None:
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
        weighted_total = precision = 0.0
        for clique, counts, std in self._noisy:
            of_total = 1 / (counts.size * std**2)
            weighted_total, precision = (
                weighted_total + of_total * float(counts.sum()),
                precision + of_total,
            )
            for axis, column in enumerate(clique):
                weight = self.sizes[column] / (
                    counts.size * std**2
                )  # its cells are sums over all others
                weights[column] += weight
                sums[column] += weight * counts.sum(
                    axis=tuple(a for a in range(counts.ndim) if a != axis)
                )
        self.total = max(weighted_total / precision, 1.0)
        self.stds = (weights**-0.5).tolist()
        self.margins = [
            self._column(total / weight, weight**-0.5, ordered)
            for total, weight, ordered in zip(sums, weights, self.ordered, strict=True)
        ]

    def _column(self, counts: Counts, std: float, ordered: bool) -> Counts:
        size = len(counts)
        even = np.full(size, self.total / size)
        gap = expected_gap(
            centre(counts),
            [even_factors(size, ordered=ordered)],
            std**2 * (1 - 1 / size),
            self.total,
        )
        return of_total(even + gap, self.total)

    def _link(self, clique: Columns, factors: Mapping[int, Sequence[LevelFactor]]) -> Counts:
        """A measured link: independent columns, and what the table tells beyond them, with its noise held back."""
        model = product_of(clique, self.margins, self.total)
        measured = [(counts, std**-2) for columns, counts, std in self._noisy if columns == clique]
        precision = sum(weight for _, weight in measured)
        counts = sum(weight * counts for counts, weight in measured) / precision
        share = np.prod([1 - 1 / self.sizes[c] for c in clique]) if len(clique) == 2 else 1.0
        gap = centre(counts - model) if len(clique) == 2 else counts - model
        gap = expected_gap(gap, [factors[c] for c in clique], float(share) / precision, self.total)
        targets = [((axis,), self.margins[c]) for axis, c in enumerate(clique)]
        return rake(np.maximum(model + gap, 0.0) + 1e-9, targets, rounds=_RAKINGS)


def in_order(column: Column) -> bool:
    """Return whether a column's levels stand in an order that means something: by declaration alone."""
    if column.kind in NUMERIC_KINDS or column.ordered:
        return True
    levels = column.levels or ()
    numbers = [
        level for level in levels if isinstance(level, int | float) and not isinstance(level, bool)
    ]
    return len(numbers) == len(levels) > 0 and numbers == sorted(numbers)


@dataclass(frozen=True, eq=False)
class LevelFactor:
    """The factor of one column: eigenvalues, and eigenvectors as columns (None: the levels themselves)."""

    values: Counts
    vectors: Counts | None


@lru_cache(maxsize=256)
def even_factors(size: int, *, ordered: bool) -> tuple[LevelFactor, ...]:
    """Return the factors to choose from for a column whose levels are expected alike."""
    return factors_of(np.full(size, 1 / size), ordered=ordered)


def factors_of(shares: Counts, *, ordered: bool) -> tuple[LevelFactor, ...]:
    """Return the factors to choose from for a column with these shares of its levels: independent levels first."""
    shares = np.maximum(shares, 0.0) / max(float(shares.sum()), 1e-300)
    out = [LevelFactor(shares, None)]
    if ordered and FEW_LEVELS < len(shares) <= MOST_LEVELS:
        roots, steps = (
            np.sqrt(shares),
            np.abs(np.subtract.outer(np.arange(len(shares)), np.arange(len(shares)))),
        )
        stack = np.stack([roots[:, None] * np.exp(-steps / length) * roots for length in LENGTHS])
        values, vectors = np.linalg.eigh(stack)
        out += [LevelFactor(np.maximum(v, 0.0), w) for v, w in zip(values, vectors, strict=True)]
    return tuple(out)


def centre(table: Counts) -> Counts:
    """Return what is left of a table when the means along each axis are taken out: no sum over any axis tells anything.

    Examples
    --------
    >>> centre(np.array([[3.0, 1.0], [2.0, 4.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def expected_gap(
    gap: Counts, factors: Sequence[Sequence[LevelFactor]], variance: float, total: float
) -> Counts:
    """Return what is to be expected of a difference from a model that was seen under noise of a variance.

    `factors` are the factors to choose from, for each axis; they are chosen one axis after the other.
    """
    if variance <= 0:
        return gap
    chosen = [choices[0] for choices in factors]
    strengths = STRENGTHS * max(total, 1.0) ** 2
    best, strength = _likelihood(gap, chosen, variance, strengths)
    for axis, choices in enumerate(factors):
        for factor in choices[1:]:
            trial = [*chosen[:axis], factor, *chosen[axis + 1 :]]
            likelihood, t = _likelihood(gap, trial, variance, strengths)
            if likelihood > best:
                best, strength, chosen = likelihood, t, trial
    if best < EVIDENCE:
        return np.zeros_like(gap)
    spread = strength * _product([factor.values for factor in chosen])
    return _rotate(
        _rotate(gap, chosen, back=False) * (spread / (spread + variance)), chosen, back=True
    )


def _likelihood(
    gap: Counts, factors: Sequence[LevelFactor], variance: float, strengths: Counts
) -> tuple[float, float]:
    """The largest logarithm of the likelihood, over that of noise alone, and the strength that has it."""
    squares = _rotate(gap, factors, back=False).ravel() ** 2 / variance
    spread = _product([factor.values for factor in factors]).ravel() / variance
    values = _log_likelihoods(squares, spread, strengths)
    best = int(np.argmax(values))
    return float(values[best]), float(strengths[best])


@jit
def _log_likelihoods(squares, spread, strengths):  # type: ignore[no-untyped-def]
    """The logarithm of the likelihood at each strength, less that of noise alone; everything in units of the noise."""
    out = np.zeros(strengths.size)
    for i in range(strengths.size):
        total = 0.0
        for j in range(squares.size):
            v = strengths[i] * spread[j]
            total += squares[j] * v / (1.0 + v) - np.log1p(v)
        out[i] = total / 2
    return out


def _product(values: Sequence[Counts]) -> Counts:
    out = values[0]
    for more in values[1:]:
        out = out[..., None] * more
    return out


def _rotate(table: Counts, factors: Sequence[LevelFactor], *, back: bool) -> Counts:
    """The table in the eigenvectors of its axes, or back."""
    for axis, factor in enumerate(factors):
        if factor.vectors is not None:
            matrix = factor.vectors if back else factor.vectors.T
            table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table
