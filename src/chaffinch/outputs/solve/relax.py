"""Many moves at once that bring all numbers near, by a linear programme: for when single moves lead nowhere although much is left.

A published mean holds the sum of a column, a regression the sum of chances: to change the second and keep the first takes several moves
of different records, each of which alone is a loss. What moves of different records add to the sums adds up exactly. So how often each of
many moves is to be made, from 0 to 1, is a linear programme: as few as possible so that every number comes into its interval, as far as that
can be. Its solution leaves hardly more fractions than there are numbers; these are rounded at random, and what rounding leaves is no more than a few moves.
"""

from __future__ import annotations

import numpy as np

from ..domain import Floats
from .candidates import CombinedMove, Ints, NumbersOfSums, candidates_of, make_moves
from .moves import Moves
from .state import State

DRAWN = 4_096
"""Moves that are drawn; of those that share a record one is kept."""
MOST_NUMBERS = 60
"""Numbers beyond which a programme takes as long as a search."""
ROUNDINGS = 64
"""Random roundings of which the best is taken."""
HALF = 0.5
"""How near to the middle of its interval a number should come, in half-widths: rounding takes the rest."""
LACKING = 1e3
"""Cost of what a number still lacks, in typical changes by one move; a move costs about 1."""
COSTS = (0.5, 1.5)
"""Costs of moves, drawn at random: datasets of an ensemble are not to take the same way."""
WORSE = 2.0
"""How much larger the error may be right after many moves: what was in the way is gone, and single moves go on. And in any case"""
ROUGH = 6.0
"""the error that rounding may leave, for each number, in units of one over the number of records: single moves mend it in no time."""
SOLVING = 40_000
"""Proposals that solving the programme counts as: about as many moves could be tried in the time it takes."""


def relax(state: State, moves: Moves, *, rng: np.random.Generator) -> CombinedMove:
    """Make many moves at once that bring the numbers nearer to their intervals, if there are any; tables keep every count inside."""
    if not 1 <= sum(len(s.lo) for s in state.systems) <= MOST_NUMBERS or state.table_error > 1e-9:
        return CombinedMove(None)
    moved, by_sums = candidates_of(state, moves, DRAWN)
    proposals = len(moved)
    apart = _apart(moved, len(state.codes))
    numbers = NumbersOfSums(state, state.drifts())
    changes, off = numbers.of_changes(by_sums[apart]), numbers.off(state.sums)
    unit = np.sqrt((changes**2).mean(axis=0)) if len(apart) else np.zeros(len(off))
    if not (unit > 0.0).any() or not np.isfinite(changes).all():
        return CombinedMove(None, proposals)
    unit = np.where(unit > 0.0, unit, 1.0)
    shares = few_to_make(changes / unit, off / unit, HALF / unit, rng=rng)
    roundings = rng.random((ROUNDINGS, len(shares))) < shares
    left = [_error(state, state.sums + by_sums[apart][some].sum(axis=0)) for some in roundings]
    chosen = roundings[int(np.argmin(left))]
    if not chosen.any():
        return CombinedMove(False, proposals + SOLVING)
    before, error = state.codes.copy(), state.system_error
    make_moves(state, moved[apart][chosen])
    state.refresh()
    if state.table_error <= 1e-9 and state.system_error < max(
        WORSE * error, ROUGH * len(off) / len(before)
    ):
        return CombinedMove(True, proposals + SOLVING)
    state.codes[:] = before
    state.refresh()
    return CombinedMove(False, proposals + SOLVING)


def few_to_make(changes: Floats, off: Floats, near: Floats, *, rng: np.random.Generator) -> Floats:
    """Return how much of each row of `changes` (N, d), 0 to 1, to add to `off` (d,) so that it comes near 0, with as few rows as possible.

    Examples
    --------
    Half of a step of 2, and nothing of a smaller one in the other direction:

    >>> few_to_make(np.array([[2.0], [-1.0]]), np.array([-1.0]), np.array([0.0]), rng=np.random.default_rng(1)).tolist()
    [0.5, 0.0]
    """
    from scipy.optimize import linprog

    n, d = changes.shape
    matrix = np.hstack([changes.T, np.eye(d), -np.eye(d)])
    costs = np.concatenate([rng.uniform(*COSTS, n), np.full(2 * d, LACKING)])
    solution = linprog(
        costs,
        A_ub=np.vstack([matrix, -matrix]),
        b_ub=np.concatenate([near - off, near + off]),
        bounds=[(0.0, 1.0)] * n + [(0.0, None)] * (2 * d),
        method="highs",
    )
    shares: Floats = np.zeros(n) if solution.x is None else np.clip(solution.x[:n], 0.0, 1.0)
    return shares


def _error(state: State, sums: Floats) -> float:
    """The error of the systems at some sums, to first order."""
    parts = zip(state.linear, state.aims, state.focus, state.sums_of, strict=True)
    return sum(linear.quadratic(sums[at], aim, focus)[0] for linear, aim, focus, at in parts)


def _apart(moved: Ints, n_records: int) -> Ints:
    """Return which moves to keep so that no two have a record in common: the first of each."""
    used, kept = np.zeros(n_records, dtype=bool), []
    for at, (record, other) in enumerate(moved[:, :2].tolist()):
        if not used[record] and (other < 0 or not used[other]):
            used[record] = True
            if other >= 0:
                used[other] = True
            kept.append(at)
    return np.array(kept, dtype=np.int64)
