"""A tree in place of a conditional table: rows go down by the codes of parents, and draw at the leaf, with back-off along the path.

A node splits the codes of one parent in two. Every node has the weights of the child's codes among the records that came through it. The probability at
a node is

    p(x | node) = (c(node, x) + a p(x | the node above)) / (c(node) + a)

with the smoothing a (0: none), from the root down to the leaf of the row: what is not known of a few records is asked of more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...._base.compiled import compiled
from ...._base.errors import InputError
from ..systematic import rows_by_group, systematic_uniforms

MOST_DEPTH = 64


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The distribution of a child given its parents, as a tree. Node 0 is the root; nodes come after the node above them."""

    child: str
    size: int
    parents: tuple[str, ...]
    sizes: tuple[int, ...]  # numbers of codes of the parents
    smoothing: float
    splits: NDArray[
        np.int32
    ]  # for each node the number of the parent that it splits, -1 for a leaf
    below: NDArray[
        np.int32
    ]  # for each node the first of the two below it, -1 for a leaf; the second is the next one
    first_sides: NDArray[np.int64]  # for each node where its parent's codes begin in `sides`
    sides: NDArray[
        np.uint8
    ]  # for each split and code of its parent: 0 for the first node below, 1 for the second
    starts: NDArray[np.int64]  # where the entries of each node begin; one more at the end
    codes: NDArray[np.uint32]  # the child's codes that occur in a node
    weights: NDArray[np.float64]  # how often

    def check(self) -> None:
        """Raise unless the parts fit together: for tables that come from a file."""
        n, leaf = len(self.splits), self.splits < 0
        shapes = (
            len(self.below) == len(self.first_sides) == n > 0
            and len(self.starts) == n + 1
            and len(self.codes) == len(self.weights)
        )
        sound = shapes and bool(
            (self.splits < len(self.parents)).all()
            and (self.below[leaf] == -1).all()
            and (self.below[~leaf] > np.flatnonzero(~leaf)).all()
            and (self.below[~leaf] + 1 < n).all()
            and len(np.unique(self.below[~leaf])) == int((~leaf).sum()) == (n - 1) // 2
            and (self.sides <= 1).all()
            and self.starts[0] == 0
            and self.starts[-1] == len(self.codes)
            and (np.diff(self.starts) > 0).all()
            and ((self.weights > 0) & (self.weights < 1e290)).all()
            and (len(self.codes) == 0 or int(self.codes.max()) < self.size)
            and (
                np.diff(np.repeat(np.arange(n), np.diff(self.starts)) << 32 | self.codes) > 0
            ).all()
        )
        if sound and (~leaf).any():
            ends = self.first_sides[~leaf] + np.array(self.sizes)[self.splits[~leaf]]
            sound = bool((self.first_sides[~leaf] >= 0).all() and (ends <= len(self.sides)).all())
        if (
            not sound
            or not np.isfinite(self.smoothing)
            or self.smoothing < 0
            or int(self.depths.max()) >= MOST_DEPTH
        ):
            raise InputError(
                f"The tree of '{self.child}' does not fit together. The file that holds it is damaged."
            )

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.splits < 0).sum())

    @cached_property
    def above(self) -> NDArray[np.int32]:
        """The node above each; -1 for the root."""
        out = np.full(len(self.splits), -1, dtype=np.int32)
        inner = np.flatnonzero(self.splits >= 0)
        out[self.below[inner]] = out[self.below[inner] + 1] = inner
        return out

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """How many splits are above each node."""
        out = np.zeros(len(self.splits), dtype=np.int32)
        for node in range(1, len(out)):
            out[node] = out[self.above[node]] + 1
        return out

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The summed weights of each node."""
        return np.add.reduceat(self.weights, self.starts[:-1])

    @property
    def total_weight(self) -> float:
        """The weights of all leaves together."""
        return float(self.totals[self.splits < 0].sum())

    @property
    def _tree(self) -> tuple[NDArray[np.generic], ...]:
        return self.splits, self.below, self.first_sides, self.sides

    def leaves(self, parents: Sequence[NDArray[np.integer]], n_rows: int) -> NDArray[np.int64]:
        """Return the leaf of each row, given the codes of the parents."""
        return np.asarray(_leaves(_stacked(parents, n_rows), n_rows, *self._tree))

    def probabilities(
        self, codes: NDArray[np.integer], parents: Sequence[NDArray[np.integer]]
    ) -> NDArray[np.float64]:
        """Return the probability of each code given the codes of its parents."""
        leaves = self.leaves(parents, len(codes))
        entries = (self.starts, self.codes, self.weights, self.totals)
        return np.asarray(
            _probabilities(
                leaves,
                np.asarray(codes, dtype=np.uint32),
                self.above,
                float(self.smoothing),
                *entries,
            )
        )

    def largest(self, code: int) -> float:
        """Return an upper bound of P(code | parents) over all parents: the best leaf."""
        bound = np.zeros(len(self.splits))
        at = np.flatnonzero(self.codes == code)
        weight = np.zeros(len(bound))
        weight[np.searchsorted(self.starts, at, side="right") - 1] = self.weights[at]
        for node, above in enumerate(self.above):
            a, p = (self.smoothing, bound[above]) if above >= 0 else (0.0, 0.0)
            bound[node] = (weight[node] + a * p) / (self.totals[node] + a)
        return float(min(bound[self.splits < 0].max(), 1.0))

    def sampler(self, *, kept: bool = True) -> TreeSampler:
        """Return what draws from it; `kept`: whether it keeps running sums, of as many numbers as the tree has weights, from batch to batch."""
        return TreeSampler(self, kept)


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """A tree laid out for drawing."""

    table: TreeTable
    kept: bool = True

    @cached_property
    def _kept_sums(self) -> NDArray[np.float64]:
        return self._running_sums()

    def _running_sums(self) -> NDArray[np.float64]:
        table = self.table
        whole = np.cumsum(table.weights)
        before = np.concatenate([[0.0], whole])[table.starts[:-1]]
        return np.asarray(whole - np.repeat(before, np.diff(table.starts)))

    def draw(
        self, parents: Sequence[NDArray[np.uint32]], uniform: NDArray[np.float64]
    ) -> NDArray[np.uint32]:
        """Return a code for each row, given the codes of the parents and a uniform number for each row."""
        table = self.table
        out = np.empty(len(uniform), dtype=np.uint32)
        leaves = table.leaves(parents, len(uniform))
        sums = self._kept_sums if self.kept else self._running_sums()
        _draw(
            out,
            leaves,
            uniform,
            table.above,
            float(table.smoothing),
            table.starts,
            table.codes,
            sums,
            table.totals,
        )
        return out

    def draw_systematic(
        self,
        parents: Sequence[NDArray[np.uint32]],
        ties: Sequence[tuple[NDArray[np.uint32], int]],
        n_rows: int,
        rng: np.random.Generator,
    ) -> NDArray[np.uint32]:
        """Return a code for each row by systematic sampling; see `Sampler.draw_systematic`."""
        leaves = self.table.leaves(parents, n_rows)
        order, starts, numbers = rows_by_group(leaves, len(self.table.splits), ties, rng)
        return self.draw(parents, systematic_uniforms(order, starts, rng.random(len(numbers))))


def _stacked(parents: Sequence[NDArray[np.integer]], n_rows: int) -> NDArray[np.uint32]:
    return (
        np.stack([np.asarray(codes, dtype=np.uint32) for codes in parents])
        if parents
        else np.empty((0, n_rows), dtype=np.uint32)
    )


@compiled
def _leaves(parents, n_rows, splits, below, first_sides, sides):  # type: ignore[no-untyped-def]
    """Return the leaf that each row comes to."""
    out = np.empty(n_rows, dtype=np.int64)
    for row in range(n_rows):
        node = 0
        while splits[node] >= 0:
            node = below[node] + sides[first_sides[node] + parents[splits[node], row]]
        out[row] = node
    return out


@compiled
def _probabilities(leaves, wanted, above, smoothing, starts, codes, weights, totals):  # type: ignore[no-untyped-def]
    """Return the probability of the wanted code of each row at its leaf."""
    out = np.empty(leaves.size)
    path = np.empty(MOST_DEPTH, dtype=np.int64)
    for row in range(leaves.size):
        depth, node = 0, leaves[row]
        while node >= 0:
            path[depth] = node
            depth += 1
            node = above[node]
        p = 0.0
        for k in range(depth - 1, -1, -1):
            node = path[k]
            low, high = starts[node], starts[node + 1]
            at = low + np.searchsorted(codes[low:high], wanted[row])
            weight = weights[at] if at < high and codes[at] == wanted[row] else 0.0
            a = 0.0 if k == depth - 1 else smoothing
            p = (weight + a * p) / (totals[node] + a)
        out[row] = p
    return out


@compiled
def _draw(out, leaves, uniform, above, smoothing, starts, codes, cumulated, totals):  # type: ignore[no-untyped-def]
    """Draw a code for each row, from its leaf upwards: what is left of the uniform number serves again, so one is enough for a row."""
    for row in range(out.size):
        node, u = leaves[row], uniform[row]
        while True:
            a = smoothing if above[node] >= 0 else 0.0
            x = u * (totals[node] + a)
            if x < totals[node] or above[node] < 0:
                low, high = starts[node], starts[node + 1] - 1
                out[row] = codes[low + np.searchsorted(cumulated[low:high], x, side="right")]
                break
            u = min((x - totals[node]) / a, 1.0 - 1e-16)
            node = above[node]
