"""Several moves at once that cancel what is left: for when no single move is small enough.

What moves of different records add to the sums adds up exactly, so the last step of a search is a problem of its own: among many
candidates with changes d_1, d_2, ... find a few whose sum is nearly -r, where r is what the numbers still lack. Two vectors of N give N^2
sums; lists of sums that cancel in some coordinates can be paired again to cancel the next ones (the generalised birthday problem: Wagner,
CRYPTO 2002), so 16 vectors are found in little more than the time it takes to search N neighbours four times.

Everything is counted in half-widths of the published intervals (tolerances, where a number is known in full). A principal axis of the
candidates along which they are s half-widths long needs log2(s) bits to be brought inside; pairing L times yields about L + 1 times
log2(N) bits. That is what decides how many moves are combined, and whether it is worth trying.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats
from .moves import Moves
from .state import State

__all__ = ["CombinedMove", "combine", "few_that_cancel"]

Ints = NDArray[np.int64]

LIST = 32_768
"""Length of the lists of sums."""
DRAWS = 2
"""Moves that are drawn for each place in a list; the smallest are kept."""
MOST_LEVELS = 5
MOST_AXES = 14
"""Directions in which moves are too coarse, beyond which lists take long and sums of a few moves are hardly smaller than single ones."""
MOST_NUMBERS = 400
MOST_FLOATS = 20_000_000
FEW = 1_000
"""Kinds of moves below which sums of them are likely to be alike, so that more of them must be added up."""
FINE = 0.25
"""How small, in half-widths, combinations should become along each axis."""
INNER = 0.98
"""Share of the half-width inside of which a number has arrived."""
LOOKED_AT = 500
"""How many combinations are looked at without linearising what is read off the sums;"""
TRIED = 20
"""how many of them are tried: some use a record twice, or push a count out of its interval."""
MOST_ALIKE = 50
"""Moves of one kind among which one is looked for whose records are not moved yet."""
BETTER = 0.9
"""How much smaller what is left must become."""
PAIRING = 150_000
"""Proposals that one pairing of lists counts as: about as many moves could be tried in the time it takes."""
SPARE = 1.15
"""Bits for which a combination is tried, as a multiple of what the lists yield: estimates are rough, and coming closer is something."""


@dataclass(frozen=True)
class CombinedMove:
    """Whether a combination of moves was made that helps, None if there was no use in looking; and the proposals it counts as."""

    helped: bool | None
    proposals: int = 0


def combine(state: State, moves: Moves, *, rng: np.random.Generator) -> CombinedMove:
    """Make several moves at once if some were found that bring the numbers nearer; return whether.

    Tables keep every count inside.
    """
    n_systems, n_numbers = len(state.systems), sum(len(s.lo) for s in state.systems)
    if not 1 <= n_numbers <= (MOST_AXES if n_systems == 1 else MOST_NUMBERS) or state.table_error > 1e-9:
        return CombinedMove(None)
    every = [_try(state, moves, rng, None)]
    helped = every[0].helped
    if helped is None and n_systems > 1:
        # Too much at once: one system after the other, by moves that leave the others as they are.
        every += [_try(state, moves, rng, k) for k in range(n_systems) if state.outside(k).any()]
        looked = [one.helped for one in every if one.helped is not None]
        helped = any(looked) if looked else None
    return CombinedMove(helped, sum(one.proposals for one in every))


def _candidates(state: State, moves: Moves) -> tuple[Ints, Floats]:
    """Moves (record, other record or -1, column, level), and what each adds to the sums."""
    from .kernels import COPY_TWO, candidates

    single = moves.kernel.kinds < COPY_TWO
    chances = np.cumsum(np.where(single, 1.0, 0.0)) / single.sum()
    chances[-1] = 2.0
    most = min(LIST * DRAWS, MOST_FLOATS // len(state.sums))
    moved, changes = np.empty((most, 4), dtype=np.int64), np.empty((most, len(state.sums)))
    n_moves = candidates(state.program, state.kernel, moves.kernel, chances, 20 * most, moved, changes)
    return moved[:n_moves], changes[:n_moves]


@dataclass(frozen=True, eq=False)
class _Numbers:
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
            parts.append(system.reported(here)[0] if callable(system.reported) else state.linear[k].at(here))
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


def _excess(off: Floats) -> Floats:
    """How far numbers lie outside of the inner part of their intervals, squared and added up."""
    return (np.maximum(np.abs(off) - INNER, 0.0) ** 2).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Changes and what is left along principal axes, how long changes are there and the bits that each axis needs.

    `levels`: how often lists are to be paired so that they yield these bits, and so often that sums of so many moves go as far as they
    must, if that is more. A few moves can be made part of the way where many would need the same records.
    """

    changes: Floats
    rest: Floats
    lengths: Floats
    bits: Floats
    levels: tuple[int, ...]

    def goal(self, levels: int) -> Floats:
        """Return what is left, no more of it than so many moves can mend."""
        reach = 0.7 * 2.0 ** (0.5 * levels) * self.lengths
        return np.clip(self.rest, -reach, reach)


def _plan(x: Floats, off: Floats) -> _Plan | None:
    """Return how to combine changes `x` (N, q), in half-widths, so that they cancel `off`; None where that is out of reach."""
    sizes, axes = np.linalg.eigh(x.T @ x / len(x))
    lengths, rest = np.sqrt(np.maximum(sizes, 0.0)), off @ axes
    moving = lengths > 1e-6 * lengths.max()
    use = moving & ((lengths > FINE) | (np.abs(rest) > 1.0))
    order = np.flatnonzero(use)[np.argsort(-lengths[use])]
    if not 1 <= len(order) <= MOST_AXES:
        return None
    bits = np.log2(np.maximum(lengths[order] / FINE, 1.0)) + 0.5
    yields = np.log2(min(LIST, len(x) ** 2))
    least = 1 if len(x) > FEW else 3
    enough = int(np.clip(np.ceil(bits.sum() / yields - 1.0), least, MOST_LEVELS))
    if bits.sum() > SPARE * (enough + 1) * yields:
        return None
    far = 2.0 * np.log2(max(float((np.abs(rest[order]) / lengths[order]).max()), 0.1)) + 1.0
    most = int(np.clip(np.ceil(far), enough, MOST_LEVELS))
    levels = sorted({min(enough + 1, most), most})
    return _Plan(x @ axes[:, order], rest[order], lengths[order], bits, tuple(levels))


def _try(state: State, moves: Moves, rng: np.random.Generator, alone: int | None) -> CombinedMove:
    """Look for a combination of moves, of those that change only one system if asked; make it if it helps."""
    moved, by_sums = _candidates(state, moves)
    proposals = len(moved)
    numbers = _Numbers(state, state.drifts())
    changes, off = numbers.of_changes(by_sums), numbers.off(state.sums)
    size = np.abs(changes)
    still = size <= 1e-9 * size.max(axis=0, initial=0.0)
    some = ~still.all(axis=1)
    if alone is not None:
        others = np.repeat(np.arange(len(state.systems)) != alone, [len(s.lo) for s in state.systems])
        some &= still[:, others].all(axis=1)
    moved, by_sums, changes = moved[some], by_sums[some], changes[some]
    if len(moved) < 8:
        return CombinedMove(None, proposals)
    # Records that are alike have moves that are alike: one of each in the lists, all of them to choose from afterwards.
    marks = np.round(changes @ rng.normal(size=changes.shape[1]) / (1e-9 * np.abs(changes).max()))
    _, first, alike = np.unique(marks, return_index=True, return_inverse=True)
    kinds = np.argsort((changes[first] ** 2).sum(axis=1))[:LIST]
    x = changes[first[kinds]]
    plan = _plan(x, off)
    if plan is None:
        return CombinedMove(None, proposals)
    added, before, had = by_sums[first[kinds]], state.codes.copy(), float(_excess(off))
    for levels in plan.levels:
        proposals += PAIRING * levels
        rows = few_that_cancel(plan.changes, plan.goal(levels), rng=rng, levels=levels, size=LIST, bits=plan.bits)
        # All of them to first order; those that leave least, as they are.
        rows = rows[np.argsort(_excess(off + sum(x[members] for members in rows.T)), kind="stable")[:LOOKED_AT]]
        left = [float(_excess(numbers.off(state.sums + added[some].sum(axis=0)))) for some in rows]
        for one in np.argsort(left)[:TRIED]:
            if not left[one] < BETTER * had:
                break
            chosen = _apart(moved, [np.flatnonzero(alike == kinds[m]) for m in rows[one]], rng)
            if chosen is None:
                continue
            for record, other, column, level in chosen:
                if other >= 0:
                    state.codes[other, column] = state.codes[record, column]
                state.codes[record, column] = level
            state.refresh()
            if state.table_error <= 1e-9:
                return CombinedMove(True, proposals)
            state.codes[:] = before
            state.refresh()
    return CombinedMove(False, proposals)


def _apart(moved: Ints, classes: list[Ints], rng: np.random.Generator) -> Ints | None:
    """Return a move of each class such that no record is moved twice; None if none was found."""
    used, chosen = {-1}, []
    for members in classes:
        for one in rng.permutation(members)[:MOST_ALIKE]:
            if not ({int(moved[one, 0]), int(moved[one, 1])} - {-1}) & used:
                break
        else:
            return None
        used |= {int(moved[one, 0]), int(moved[one, 1])}
        chosen.append(one)
    return moved[chosen]


def few_that_cancel(
    changes: Floats, rest: Floats, *, rng: np.random.Generator, levels: int, size: int, bits: Floats | None = None
) -> Ints:
    """Return rows of `changes` (N, d) whose sum nearly cancels `rest` (d,): one combination of 2^levels rows in each line, best first.

    Coordinates are in units in which all matter alike. Lists have at most `size` sums; which part is used where one has become too long is
    random. `bits` says how much work each coordinate is (all alike if absent): each level gets about as much of it.

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
