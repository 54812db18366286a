"""Conditional tables with back-off: what is not known for all parents is asked of fewer, at last of none.

A table has a level for each number of parents, strongest parent first. A level lists the parent combinations that occur
and, for each, the child's codes that occur with their weights: memory follows the data, not the domain. The probability
at a level is

    p(x | parents) = (c(parents, x) + a p(x | fewer parents)) / (c(parents) + a)

with the smoothing a (0: none). A combination that never occurs has c = 0 and so the probability of fewer parents;
nothing ever falls back to a uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled
from ..._base.errors import InputError, TooLargeError
from ...counts.marginal import Marginal

LOOKUP_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Level:
    """Weights of a child's codes for each combination of some parents, at least one for each combination.

    A combination's key is its cell number: the last parent moves fastest.
    """

    sizes: tuple[int, ...]  # numbers of codes of the parents
    keys: NDArray[np.int64]  # the combinations that occur, ascending
    starts: NDArray[np.int64]  # where each combination's entries begin; one more at the end
    codes: NDArray[np.uint32]  # the child's codes that occur
    weights: NDArray[np.float64]  # how often: positive

    def check(self) -> None:
        """Raise unless the parts fit together: for levels that come from a file."""
        n = len(self.keys)
        sound = (
            prod(self.sizes) < 1 << 62
            and len(self.starts) == n + 1
            and len(self.codes) == len(self.weights)
            and bool(self.starts[0] == 0 and self.starts[-1] == len(self.codes))
            and bool((np.diff(self.starts) > 0).all())
            and bool((np.diff(self.keys) > 0).all())
            and (n == 0 or (self.keys[0] >= 0 and self.keys[-1] < prod(self.sizes)))
            and bool(
                ((self.weights > 0) & (self.weights < 1e290)).all()
            )  # and so their sums are finite
            and bool(
                (
                    np.diff(np.repeat(np.arange(n), np.diff(self.starts)) << 32 | self.codes) > 0
                ).all()
            )
        )
        if not sound:
            raise InputError(
                "A conditional table does not fit together. The file that holds it is damaged."
            )

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The summed weights of each combination."""
        return np.add.reduceat(self.weights, self.starts[:-1]) if len(self.keys) else np.empty(0)

    @cached_property
    def cumulated(self) -> NDArray[np.float64]:
        """The running sums of the weights inside each combination, each from 0: a small one is not lost among large ones."""
        return np.asarray(
            _running_sums(np.asarray(self.weights, dtype=np.float64), np.asarray(self.starts))
        )

    @cached_property
    def lookup(self) -> NDArray[np.int32]:
        """For each key its row, -1 for none; empty where the domain is too large for a list."""
        if prod(self.sizes) > LOOKUP_CELLS:
            return np.empty(0, dtype=np.int32)
        rows = np.full(prod(self.sizes), -1, dtype=np.int32)
        rows[self.keys] = np.arange(len(self.keys), dtype=np.int32)
        return rows

    def rows(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of each key, -1 where the combination never occurs."""
        if len(self.lookup):
            return self.lookup[keys].astype(np.int64)
        if not len(self.keys):
            return np.full(len(keys), -1, dtype=np.int64)
        near = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[near] == keys, near, -1)


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """The distribution of a child given its parents; `levels[i]` uses the first i parents, `levels[-1]` all of them."""

    child: str
    size: int
    parents: tuple[str, ...]
    levels: tuple[Level, ...]
    smoothing: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of codes of the parents."""
        return self.levels[-1].sizes

    @property
    def total_weight(self) -> float:
        """The weights of all combinations of all parents together."""
        return float(self.levels[-1].weights.sum())

    def check(self) -> None:
        """Raise unless the levels fit together: for tables that come from a file."""
        for level in self.levels:
            level.check()
        if len(self.levels) != len(self.parents) + 1 or len(self.levels[0].keys) != 1:
            raise InputError(
                f"The table of '{self.child}' needs a level for each number of parents."
            )
        if not np.isfinite(self.smoothing) or self.smoothing < 0:
            raise InputError(f"smoothing must be at least 0. Got {self.smoothing}.")
        if any(len(level.codes) and int(level.codes.max()) >= self.size for level in self.levels):
            raise InputError(f"The table of '{self.child}' has a code outside the column.")

    def probabilities(
        self, codes: NDArray[np.integer], parents: Sequence[NDArray[np.integer]]
    ) -> NDArray[np.float64]:
        """Return the probability of each code given the codes of its parents."""
        out = np.zeros(len(codes))
        key = np.zeros(len(codes), dtype=np.int64)
        for i, level in enumerate(self.levels):
            if i:
                key = key * level.sizes[i - 1] + parents[i - 1]
            row = level.rows(key)
            known = row >= 0
            smoothing = self.smoothing if i else 0.0
            weight = np.zeros(len(codes))
            weight[known] = _weights_of(level, row[known], codes[known], self.size)
            total = level.totals[row[known]]
            out[known] = (weight[known] + smoothing * out[known]) / (total + smoothing)
        return out

    def largest(self, code: int) -> float:
        """Return an upper bound of P(code | parents) over all parents: level by level, the best that can be reached."""
        bound = 0.0
        for i, level in enumerate(self.levels):
            if not len(level.keys):
                continue
            at = np.flatnonzero(level.codes == code)
            rows = np.searchsorted(level.starts, at, side="right") - 1
            weights, totals = level.weights[at], level.totals[rows]
            a = self.smoothing if i else 0.0
            reach = float(((weights + a * bound) / (totals + a)).max(initial=0.0))
            bound = max(bound, reach) if i else reach
        return min(bound, 1.0)


def _weights_of(
    level: Level, rows: NDArray[np.int64], codes: NDArray[np.integer], size: int
) -> NDArray[np.float64]:
    """Return the weight of a code in a row, 0 if it does not occur."""
    if not len(rows):
        return np.empty(0)
    cells = np.repeat(np.arange(len(level.keys)), np.diff(level.starts)) * size + level.codes
    wanted = rows * size + codes
    near = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    return np.where(cells[near] == wanted, level.weights[near], 0.0)


def table_from_marginal(marginal: Marginal, *, smoothing: float) -> ConditionalTable:
    """Return the conditional table of the last column given the others, strongest parent first.

    Levels of fewer parents are sums of the one marginal. A table without any record gives every code the same weight:
    there is nothing else to say.
    """
    *parents, child = marginal.columns
    size = marginal.sizes[-1]
    if prod(marginal.sizes) >= 1 << 62:  # cells are numbered in 64 bits
        raise TooLargeError(
            f"The table of '{child}' given its {len(parents)} parents has too many combinations to number. "
            "Use fewer parents, or fewer levels."
        )
    if marginal.cells is None:
        levels = [_dense_level(marginal, width) for width in range(len(parents) + 1)]
    else:
        levels = [_sparse_level(marginal, width) for width in range(len(parents) + 1)]
    if not len(levels[0].keys):
        every = np.arange(size, dtype=np.uint32)
        levels[0] = Level(
            (), np.zeros(1, dtype=np.int64), np.array([0, size]), every, np.ones(size)
        )
    return ConditionalTable(child, size, tuple(parents), tuple(levels), smoothing)


def _dense_level(marginal: Marginal, width: int) -> Level:
    """The level of the first `width` parents of a dense marginal: the other parents are summed out."""
    sizes, size = marginal.sizes[:width], marginal.sizes[-1]
    summed = marginal.counts.reshape(prod(sizes), -1, size).sum(axis=1).ravel()
    cells = np.flatnonzero(summed > 0)
    return _level(sizes, cells, summed[cells].astype(np.float64), size)


def _sparse_level(marginal: Marginal, width: int) -> Level:
    """The same of a sparse marginal: cells that agree on the first `width` parents and the child are added up."""
    sizes, size = marginal.sizes[:width], marginal.sizes[-1]
    cells, counts = marginal.nonzero()
    keep = counts > 0
    key = np.zeros(int(keep.sum()), dtype=np.int64)
    for axis, length in zip([*range(width), -1], [*sizes, size], strict=True):
        key = key * length + cells[keep, axis]
    cell, inverse = np.unique(key, return_inverse=True)
    summed = np.bincount(inverse, weights=counts[keep], minlength=len(cell)).astype(np.float64)
    return _level(sizes, cell, summed, size)


def _level(
    sizes: tuple[int, ...], cells: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> Level:
    """A level from its filled cells (parents and child), ascending, and their weights."""
    keys, codes = np.divmod(cells, size)
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    first = np.flatnonzero(new)
    return Level(
        sizes, keys[first], np.concatenate([first, [len(cells)]]), codes.astype(np.uint32), weights
    )


@compiled
def _running_sums(weights, starts):  # type: ignore[no-untyped-def]
    """Return the running sums of weights, from 0 again at each start."""
    out = np.empty(weights.size)
    for g in range(starts.size - 1):
        total = 0.0
        for t in range(starts[g], starts[g + 1]):
            total += weights[t]
            out[t] = total
    return out
