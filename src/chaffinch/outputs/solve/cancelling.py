"""A few of many vectors whose sum nearly cancels another.

Two vectors of N give N^2 sums; lists of sums that cancel in some coordinates can be paired again to cancel the next ones (the generalised
birthday problem: Wagner, CRYPTO 2002), so 16 vectors are found in little more than the time it takes to search N neighbours four times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats

__all__ = ["few_that_cancel"]

Ints = NDArray[np.int64]


def few_that_cancel(
    changes: Floats, rest: Floats, *, rng: np.random.Generator, levels: int, size: int, bits: Floats | None = None
) -> Ints:
    """Return rows of `changes` (N, d) whose sum nearly cancels `rest` (d,): one combination of 2^levels rows in each line, best first.

    Parameters
    ----------
    changes, rest
        In units in which all coordinates matter alike.
    rng
        Which part of a list is used where it has become too long.
    levels
        How often lists are paired.
    size
        The most sums in a list.
    bits
        How much work each coordinate is: each level gets about as much of it. All alike if absent.

    Examples
    --------
    >>> changes = np.array([[1.0], [-0.3], [0.75], [5.0]])
    >>> sorted(few_that_cancel(changes, np.array([-0.45]), rng=np.random.default_rng(1), levels=1, size=4)[0].tolist())
    [1, 2]
    """
    # While lists are short all pairs have room, and nothing needs to be cancelled yet.
    free, length = 0, len(changes)
    while free < levels - 1 and length**2 <= size:
        free, length = free + 1, length**2
    work = np.ones(len(rest)) if bits is None else bits
    share = (np.cumsum(work) - 0.5 * work) / work.sum()
    level_of = free + np.minimum(share * (levels - free), levels - free - 1e-9).astype(int)
    near_zero = _List(np.arange(len(changes))[:, None], changes)
    near_goal = near_zero
    for level in range(levels):
        block = np.flatnonzero(level_of == level)
        if not block.size:  # more levels than coordinates: cancel all of them further
            block = np.arange(len(rest))
        goal = _paired(near_goal, near_zero, -rest, block, rng, size).different(rng)
        if level < levels - 1:
            near_zero = _paired(near_zero, near_zero, np.zeros(len(rest)), block, rng, size).different(rng)
        near_goal = goal
        if not len(near_zero.sums) or not len(near_goal.sums):
            break
    best = np.argsort(((near_goal.sums + rest) ** 2).sum(axis=1))
    return near_goal.members[best]


@dataclass(frozen=True, eq=False)
class _List:
    """Sums of rows, and which rows they are of."""

    members: Ints
    sums: Floats

    def different(self, rng: np.random.Generator) -> _List:
        """Each sum once, and none that is zero throughout, of a move and its reverse: nothing comes nearer by them."""
        largest = np.abs(self.sums).max(initial=0.0)
        marks = np.round(self.sums @ rng.normal(size=self.sums.shape[1]) / (1e-9 * largest + 1e-300))
        _, once = np.unique(marks, return_index=True)
        once = once[np.abs(self.sums[once]).max(axis=1) > 1e-9 * largest]
        return _List(self.members[once], self.sums[once])


def _paired(one: _List, other: _List, goal: Floats, block: Ints, rng: np.random.Generator, size: int) -> _List:
    """Pair sums of two lists so that they come near to `goal` in the coordinates of a block."""
    from scipy.spatial import cKDTree

    left = rng.permutation(len(one.sums))[:size]
    side = rng.permutation(len(other.sums))[:size]
    each = min(-(-size // len(left)), len(side))
    tree = cKDTree(other.sums[np.ix_(side, block)])
    _, right = tree.query(goal[block] - one.sums[np.ix_(left, block)], k=each)
    left, right = np.repeat(left, each), side[np.asarray(right).ravel()]
    return _List(np.hstack([one.members[left], other.members[right]]), one.sums[left] + other.sums[right])
