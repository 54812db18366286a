"""Moves that could be made together with others: what each adds to the sums, and what that is to the published numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..domain import Floats
from .moves import Moves
from .state import State

Ints = NDArray[np.int64]

MOST_FLOATS = 20_000_000
INNER = 0.98
"""Share of the half-width inside of which a number has arrived."""


@dataclass(frozen=True)
class CombinedMove:
    """Whether a combination of moves was made that helps, None if there was no use in looking; and the proposals it counts as."""

    helped: bool | None
    proposals: int = 0


def candidates_of(state: State, moves: Moves, most: int) -> tuple[Ints, Floats]:
    """Return up to so many moves (record, other record or -1, column, level), and what each adds to the sums."""
    from .kernels import COPY_TWO, candidates

    single = moves.kernel.kinds < COPY_TWO
    chances = np.cumsum(np.where(single, 1.0, 0.0)) / single.sum()
    chances[-1] = 2.0
    most = min(most, MOST_FLOATS // len(state.sums))
    moved, changes = np.empty((most, 4), dtype=np.int64), np.empty((most, len(state.sums)))
    n_moves = candidates(
        state.program, state.kernel, moves.kernel, chances, 20 * most, moved, changes
    )
    return moved[:n_moves], changes[:n_moves]


def make_moves(state: State, chosen: Ints) -> None:
    """Change the codes of a state by moves of different records; sums are not renewed."""
    for record, other, column, level in chosen:
        if other >= 0:
            state.codes[other, column] = state.codes[record, column]
        state.codes[record, column] = level


@dataclass(frozen=True, eq=False)
class NumbersOfSums:
    """The published numbers as functions of the sums, in units of how near to the middle of their intervals they must come.

    What is read off a model (standard errors, a log-likelihood) is meant at the fitted coefficients, so that it changes with these.
    """

    state: State
    drifts: dict[int, tuple[int, Floats]]

    def of_changes(self, changes: Floats) -> Floats:
        """Return changes of the numbers, to first order, for changes of the sums (N, p)."""
        state, parts = self.state, []
        for k, linear in enumerate(state.linear):
            of = changes[:, state.sums_of[k]]
            parts.append(of * linear.slope if linear.slope.ndim == 1 else of @ linear.slope.T)
        for j, (k, drift) in self.drifts.items():
            parts[j] = parts[j] + parts[k] @ drift.T
        return np.hstack([part / state.near(k) for k, part in enumerate(parts)])

    def off(self, sums: Floats) -> Floats:
        """Return how far the numbers are from the middle of their intervals at some sums; coefficients to first order."""
        state, parts = self.state, []
        for k, system in enumerate(state.systems):
            here = sums[state.sums_of[k]]
            parts.append(
                system.reported(here)[0] if callable(system.reported) else state.linear[k].at(here)
            )
        for j, (k, drift) in self.drifts.items():
            at = state.systems[k].at
            assert at is not None
            parts[j] = parts[j] + drift @ (parts[k] - at)
        return np.concatenate(
            [
                (part - 0.5 * (s.lo + s.hi)) / state.near(k)
                for k, (part, s) in enumerate(zip(parts, state.systems, strict=True))
            ]
        )


def excess(off: Floats) -> Floats:
    """Return how far numbers lie outside of the inner part of their intervals, squared and added up."""
    result: Floats = (np.maximum(np.abs(off) - INNER, 0.0) ** 2).sum(axis=-1)
    return result
