"""Several moves at once that cancel what is left: for when no single move is small enough.

What moves of different records add to the sums adds up exactly, so the last step of a search is a problem of its own: among many
candidates with changes d_1, d_2, ... find a few whose sum is nearly -r, where r is what the sums still lack. Two candidates of N give
N^2 sums; lists of sums that cancel in some coordinates can be paired again to cancel the next ones (the generalised birthday problem:
Wagner, CRYPTO 2002), so 8 candidates are found in little more than the time it takes to sort N. With 1,500 records and 5 coefficients
a stalled search comes 15 times closer in a tenth of a second. It pays when there are few numbers to meet: beyond about a dozen the
sums of 8 moves are hardly smaller than single moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats
from .moves import Moves
from .state import State

__all__ = ["combine", "few_that_cancel"]

Ints = NDArray[np.int64]

LIST = 20_000
"""Length of the lists of sums."""
DRAWS = 4
"""Moves that are drawn for each place in a list; the smallest are kept."""
MOST_NUMBERS = 12
MOST_FLOATS = 20_000_000
TRIED = 20
"""How many combinations are tried: some use a record twice."""


def few_that_cancel(changes: Floats, rest: Floats, *, rng: np.random.Generator, levels: int, size: int) -> Ints:
    """Return rows of `changes` (N, d) whose sum nearly cancels `rest` (d,): one combination of 2^levels rows in each line, best first.

    Examples
    --------
    >>> changes = np.array([[1.0], [-0.3], [0.75], [5.0]])
    >>> sorted(few_that_cancel(changes, np.array([-0.45]), rng=np.random.default_rng(1), levels=1, size=4)[0].tolist())
    [1, 2]
    """
    d = len(rest)
    # Any rotation will do; a new one each time finds other combinations.
    turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
    changes, rest = changes @ turn, rest @ turn
    blocks = np.array_split(np.arange(d), levels)
    near_zero = _List(np.arange(len(changes))[:, None], changes)
    near_goal = near_zero
    for level, block in enumerate(blocks):
        last = level == levels - 1
        goal = _paired(near_goal, near_zero, -rest, block, rng, size)
        if not last:
            near_zero = _paired(near_zero, near_zero, np.zeros(d), block, rng, size)
        near_goal = goal
    best = np.argsort(((near_goal.sums + rest) ** 2).sum(axis=1))
    return near_goal.members[best]


class _List:
    """Sums of rows, and which rows they are of."""

    def __init__(self, members: Ints, sums: Floats) -> None:
        self.members, self.sums = members, sums


def _paired(one: _List, other: _List, goal: Floats, block: Ints, rng: np.random.Generator, size: int) -> _List:
    """Pair sums of two lists so that they come near to `goal` in the coordinates of a block."""
    from scipy.spatial import cKDTree

    left = rng.permutation(len(one.sums))[:size]
    each = min(-(-size // len(left)), len(other.sums))
    _, right = cKDTree(other.sums[:, block]).query(goal[block] - one.sums[np.ix_(left, block)], k=each)
    left, right = np.repeat(left, each), np.asarray(right).ravel()
    return _List(np.hstack([one.members[left], other.members[right]]), one.sums[left] + other.sums[right])


def combine(state: State, moves: Moves, *, rng: np.random.Generator) -> bool:
    """Make several moves at once if some were found that lower the error; return whether. Tables keep every count inside."""
    n_numbers = sum(len(s.lo) for s in state.systems)
    if not 1 <= n_numbers <= MOST_NUMBERS or state.table_error > 1e-9:
        return False
    moved, changes = _candidates(state, moves)
    whitened, rest = _whitened(state, changes)
    norms = (whitened**2).sum(axis=1)
    some = np.flatnonzero(norms > 1e-9 * float(rest @ rest))
    if len(some) < 8:
        return False
    # Records that are alike have moves that are alike: one of each in the lists, all of them to choose from afterwards.
    marks = np.round(whitened[some] @ rng.normal(size=len(rest)) / (1e-6 * np.sqrt(float(rest @ rest)) + 1e-300))
    _, first, alike = np.unique(marks, return_index=True, return_inverse=True)
    kinds = np.argsort(norms[some[first]])[: 2 * LIST]
    levels = 1 if n_numbers == 1 else 2 if n_numbers <= 3 else 3
    found = few_that_cancel(whitened[some[first[kinds]]], rest, rng=rng, levels=levels, size=LIST)
    before, error = state.codes.copy(), state.error
    for members in found[:TRIED]:
        chosen = moved[[some[rng.choice(np.flatnonzero(alike == kinds[m]))] for m in members]]
        records = chosen[:, :2][chosen[:, :2] >= 0]
        if len(np.unique(records)) < len(records):
            continue
        for record, other, column, level in chosen:
            if other >= 0:
                state.codes[other, column] = state.codes[record, column]
            state.codes[record, column] = level
        state.refresh()
        if state.error < 0.9 * error:
            return True
        state.codes[:] = before
    state.refresh()
    return False


def _candidates(state: State, moves: Moves) -> tuple[Ints, Floats]:
    from .kernels import COPY_TWO, candidates

    single = moves.kinds < COPY_TWO
    chances = np.cumsum(np.where(single, 1.0, 0.0)) / single.sum()
    chances[-1] = 2.0
    most = min(LIST * DRAWS, MOST_FLOATS // len(state.sums))
    moved, changes = np.empty((most, 4), dtype=np.int64), np.empty((most, len(state.sums)))
    found = candidates(
        state.program, state.codes, state.counts, state.multipliers, moves.sizes, moves.cdf, moves.cdf_first, moves.free,
        moves.order, moves.places, moves.kinds, moves.columns, chances, moves.bits, 20 * most, moved, changes,
    )  # fmt: skip
    return moved[:found], changes[:found]


def _whitened(state: State, changes: Floats) -> tuple[Floats, Floats]:
    """Changes of sums, and what the sums still lack, in coordinates whose squares add up to the error."""
    parts, rest = [], []
    for k, system in enumerate(state.systems):
        linear, weight = state.linear[k], state.linear[k].focused(state.focus[k])
        off = linear.at(state.sums[state.sums_of[k]]) - state.aims[k]
        if system.diagonal:
            parts.append(changes[:, state.sums_of[k]] * np.sqrt(weight))
            rest.append(off * np.sqrt(weight))
        else:
            sizes, vectors = np.linalg.eigh(weight)
            root = (vectors * np.sqrt(np.maximum(sizes, 0.0))).T
            parts.append(changes[:, state.sums_of[k]] @ (root @ linear.slope).T)
            rest.append(root @ off)
    return np.hstack(parts), np.concatenate(rest)
