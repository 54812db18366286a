"""Several moves at once, for when single ones lead nowhere: `combine` where little is left, `relax` where much is.

What moves of different records add to the sums adds up exactly, so the last step of a search is a problem of its own: among many
candidates with changes d_1, d_2, ... find a few whose sum is nearly -r, where r is what the numbers still lack. Two vectors of N give N^2
sums; lists of sums that cancel in some coordinates can be paired again to cancel the next ones (the generalised birthday problem: Wagner,
CRYPTO 2002), so 16 vectors are found in little more than the time it takes to search N neighbours four times.

Everything is counted in half-widths of the published intervals (tolerances, where a number is known in full). A principal axis of the
candidates along which they are s half-widths long needs log2(s) bits to be brought inside; pairing L times yields about L + 1 times
log2(N) bits. That is what decides how many moves are combined, and whether it is worth trying.

A published mean holds the sum of a column, a regression the sum of chances: to change the second and keep the first takes several moves
of different records, each of which alone is a loss. So `relax` asks how often each of many moves is to be made, from 0 to 1: a linear
programme, as few as possible so that every number comes into its interval, as far as that can be. Its solution leaves hardly more fractions
than there are numbers; these are rounded at random, and what rounding leaves is no more than a few moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from .moves import COPY_TWO, Moves, candidates
from .state import State

Masks = NDArray[np.uint64]

MOST_FLOATS = 20_000_000
INNER = 0.98
"""Share of the half-width inside of which a number has arrived."""

EFFORTS = (1_024, 4_096, 4_096, 16_384)
"""Lengths of the lists of sums, one after the other until some moves help: short ones find most combinations, in a fraction of the time."""
DRAWS = 4
"""Moves that are drawn for each place in a list; the smallest are kept."""
MOST_DRAWS = 65_536
MOST_LEVELS = 6
MANY = 4
"""Levels from which on records are distinguished while lists are paired: so many moves would nearly always have one in common."""
MASK_WORDS = 16
"""Words of 64 bits by which records are distinguished."""
MOST_AXES = 24
"""Directions in which moves are too coarse, beyond which lists take long and sums of a few moves are hardly smaller than single ones."""
MOST_NUMBERS = 400
FEW = 1_000
"""Kinds of moves below which sums of them are likely to be alike, so that more of them must be added up."""
FINE = 0.25
"""How small, in half-widths, combinations should become along each axis."""
TRIED = 20
"""How many combinations are looked at without linearising what is read off the sums, and tried: some use a record twice, or push a count out of its interval."""
MOST_ALIKE = 50
"""Moves of one kind among which one is looked for whose records are not moved yet."""
BETTER = 0.9
"""How much smaller what is left must become."""
PAIRING = 12
"""Proposals that pairing counts as, for each place in a list: about as many moves could be tried in the time it takes."""
SPARE = 1.15
"""Bits for which a combination is tried, as a multiple of what the lists yield: estimates are rough, and coming closer is something."""


DRAWN = 4_096
"""Moves that are drawn; of those that share a record one is kept."""
MOST_RELAXED_NUMBERS = 60
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
"""How much larger the error may be right after many moves: what was in the way is gone, and single moves go on. See `ROUGH`."""
ROUGH = 6.0
"""The error that rounding may leave in any case, for each number, in units of one over the number of records: single moves mend it in no time."""
SOLVING = 40_000
"""Proposals that solving the programme counts as: about as many moves could be tried in the time it takes."""


def combine(state: State, moves: Moves, *, rng: np.random.Generator) -> CombinedMove:
    """Make several moves at once if some were found that bring the numbers nearer; return whether.

    Tables keep every count inside.
    """
    n_systems, n_numbers = len(state.systems), sum(len(s.lo) for s in state.systems)
    if (
        not 1 <= n_numbers <= (MOST_AXES if n_systems == 1 else MOST_NUMBERS)
        or state.table_error > 1e-9
    ):
        return CombinedMove(None)
    attempts: list[CombinedMove] = []
    for size in EFFORTS:
        attempts.append(_try(state, moves, rng, None, size))
        if attempts[-1].helped is None and n_systems > 1 and size == EFFORTS[-1]:
            # Too much at once: one system after the other, by moves that leave the others as they are.
            attempts += [
                _try(state, moves, rng, k, size) for k in range(n_systems) if state.outside(k).any()
            ]
        if any(attempt.helped for attempt in attempts):
            break
    looked = [attempt.helped for attempt in attempts if attempt.helped is not None]
    return CombinedMove(
        any(looked) if looked else None, sum(attempt.proposals for attempt in attempts)
    )


def relax(state: State, moves: Moves, *, rng: np.random.Generator) -> CombinedMove:
    """Make many moves at once that bring the numbers nearer to their intervals, if there are any; tables keep every count inside."""
    if (
        not 1 <= sum(len(s.lo) for s in state.systems) <= MOST_RELAXED_NUMBERS
        or state.table_error > 1e-9
    ):
        return CombinedMove(None)
    moved, by_sums = candidates_of(state, moves, DRAWN)
    proposals = len(moved)
    apart = _first_of_each_record(moved, len(state.codes))
    numbers = NumbersOfSums(state, state.drifts())
    changes, off = numbers.of_changes(by_sums[apart]), numbers.off(state.sums)
    unit = np.sqrt((changes**2).mean(axis=0)) if len(apart) else np.zeros(len(off))
    if not (unit > 0.0).any() or not np.isfinite(changes).all():
        return CombinedMove(None, proposals)
    unit = np.where(unit > 0.0, unit, 1.0)
    shares = few_to_make(changes / unit, off / unit, HALF / unit, rng=rng)
    roundings = rng.random((ROUNDINGS, len(shares))) < shares
    rounding_errors = [
        _error(state, state.sums + by_sums[apart][rounding].sum(axis=0)) for rounding in roundings
    ]
    chosen = roundings[int(np.argmin(rounding_errors))]
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


@dataclass(frozen=True)
class CombinedMove:
    """Whether a combination of moves was made that helps, None if there was no use in looking; and the proposals it counts as."""

    helped: bool | None
    proposals: int = 0


def candidates_of(state: State, moves: Moves, max_moves: int) -> tuple[Ints, Floats]:
    """Return up to so many moves (record, other record or -1, column, level), and what each adds to the sums."""
    single = moves.kernel.kinds < COPY_TWO
    chances = np.cumsum(np.where(single, 1.0, 0.0)) / single.sum()
    chances[-1] = 2.0
    max_moves = min(max_moves, MOST_FLOATS // len(state.sums))
    moved, changes = (
        np.empty((max_moves, 4), dtype=np.int64),
        np.empty((max_moves, len(state.sums))),
    )
    n_moves = candidates(
        state.program, state.kernel, moves.kernel, chances, 20 * max_moves, moved, changes
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
            system_changes = changes[:, state.sums_of[k]]
            parts.append(
                system_changes * linear.slope
                if linear.slope.ndim == 1
                else system_changes @ linear.slope.T
            )
        for j, (k, drift) in self.drifts.items():
            parts[j] = parts[j] + parts[k] @ drift.T
        return np.hstack([numbers / state.near(k) for k, numbers in enumerate(parts)])

    def off(self, sums: Floats) -> Floats:
        """Return how far the numbers are from the middle of their intervals at some sums; coefficients to first order."""
        state, parts = self.state, []
        for k, system in enumerate(state.systems):
            here = sums[state.sums_of[k]]
            parts.append(
                system.reported(here)[0]
                if callable(system.reported)
                else state.linear[k].values_at(here)
            )
        for j, (k, drift) in self.drifts.items():
            coefficients = state.systems[k].coefficients
            assert coefficients is not None
            parts[j] = parts[j] + drift @ (parts[k] - coefficients)
        return np.concatenate(
            [
                (numbers - 0.5 * (s.lo + s.hi)) / state.near(k)
                for k, (numbers, s) in enumerate(zip(parts, state.systems, strict=True))
            ]
        )


def excess(off: Floats) -> Floats:
    """Return how far numbers lie outside of the inner part of their intervals, squared and added up."""
    result: Floats = (np.maximum(np.abs(off) - INNER, 0.0) ** 2).sum(axis=-1)
    return result


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


def _plan(x: Floats, off: Floats, size: int) -> _Plan | None:
    """Return how to combine changes `x` (N, q), in half-widths, so that they cancel `off`; None where that is out of reach.

    Lists have `size` sums.
    """
    sizes, axes = np.linalg.eigh(x.T @ x / len(x))
    lengths, rest = np.sqrt(np.maximum(sizes, 0.0)), off @ axes
    moving = lengths > 1e-6 * lengths.max()
    use = moving & ((lengths > FINE) | (np.abs(rest) > 1.0))
    order = np.flatnonzero(use)[np.argsort(-lengths[use])]
    if not 1 <= len(order) <= MOST_AXES:
        return None
    bits = np.log2(np.maximum(lengths[order] / FINE, 1.0)) + 0.5
    yields = np.log2(min(size, len(x) ** 2))
    min_levels = 1 if len(x) > FEW else 3
    enough = int(np.clip(np.ceil(bits.sum() / yields - 1.0), min_levels, MOST_LEVELS))
    if bits.sum() > SPARE * (enough + 1) * yields:
        return None
    far = 2.0 * np.log2(max(float((np.abs(rest[order]) / lengths[order]).max()), 0.1)) + 1.0
    max_levels = int(np.clip(np.ceil(far), enough, MOST_LEVELS))
    return _Plan(
        x @ axes[:, order], rest[order], lengths[order], bits, tuple(sorted({enough, max_levels}))
    )


def _try(
    state: State, moves: Moves, rng: np.random.Generator, alone: int | None, size: int
) -> CombinedMove:
    """Look for a combination of moves by lists of some size, of moves that change only one system if asked; make it if it helps."""
    moved, by_sums = candidates_of(state, moves, min(DRAWS * size, MOST_DRAWS))
    proposals = len(moved)
    numbers = NumbersOfSums(state, state.drifts())
    changes, off = numbers.of_changes(by_sums), numbers.off(state.sums)
    lengths = np.abs(changes)
    still = lengths <= 1e-9 * lengths.max(axis=0, initial=0.0)
    usable = ~still.all(axis=1)
    if alone is not None:
        others = np.repeat(
            np.arange(len(state.systems)) != alone, [len(s.lo) for s in state.systems]
        )
        usable &= still[:, others].all(axis=1)
    moved, by_sums, changes = moved[usable], by_sums[usable], changes[usable]
    if len(moved) < 8:
        return CombinedMove(None, proposals)
    # Records that are alike have moves that are alike: one of each in the lists, all of them to choose from afterwards.
    marks = np.round(changes @ rng.normal(size=changes.shape[1]) / (1e-9 * np.abs(changes).max()))
    _, first, alike = np.unique(marks, return_index=True, return_inverse=True)
    kinds = np.argsort((changes[first] ** 2).sum(axis=1))
    if len(kinds) > size:  # the smallest, and some that go further
        kinds = np.concatenate(
            [kinds[: size // 2], rng.permutation(kinds[size // 2 :])[: size - size // 2]]
        )
    x = changes[first[kinds]]
    plan = _plan(x, off, size)
    if plan is None:
        return CombinedMove(None, proposals)
    records = _masks(moved[first[kinds]]) if len(kinds) > FEW else None
    added, before, had = by_sums[first[kinds]], state.codes.copy(), float(excess(off))
    for levels in plan.levels:
        proposals += PAIRING * levels * size
        rows = few_that_cancel(
            plan.changes,
            plan.goal(levels),
            rng=rng,
            levels=levels,
            size=size,
            bits=plan.bits,
            records=records if levels >= MANY else None,
        )
        # All of them to first order; those that leave least, as they are.
        rows = rows[
            np.argsort(excess(off + sum(x[members] for members in rows.T)), kind="stable")[:TRIED]
        ]
        remaining = [
            float(excess(numbers.off(state.sums + added[members].sum(axis=0)))) for members in rows
        ]
        for row in np.argsort(remaining):
            if not remaining[row] < BETTER * had:
                break
            chosen = _apart(moved, [np.flatnonzero(alike == kinds[m]) for m in rows[row]], rng)
            if chosen is None:
                continue
            make_moves(state, chosen)
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
        for move in rng.permutation(members)[:MOST_ALIKE]:
            if not ({int(moved[move, 0]), int(moved[move, 1])} - {-1}) & used:
                break
        else:
            return None
        used |= {int(moved[move, 0]), int(moved[move, 1])}
        chosen.append(move)
    return moved[chosen]


def few_that_cancel(
    changes: Floats,
    rest: Floats,
    *,
    rng: np.random.Generator,
    levels: int,
    size: int,
    bits: Floats | None = None,
    records: Masks | None = None,
) -> Ints:
    """Return rows of `changes` (N, d) whose sum nearly cancels `rest` (d,): one combination of 2^levels rows in each line, best first.

    Coordinates are in units in which all matter alike. Lists have at most `size` sums; which part is used where one has become too long is
    random. `bits` says how much work each coordinate is (all alike if absent): each level gets about as much of it. `records` are the records
    that rows are about, as sets of bits (N, words): no combination has two rows whose sets meet.

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
    near_zero = _List(np.arange(len(changes))[:, None], changes, records)
    near_goal = near_zero
    for level in range(levels):
        block = np.flatnonzero(level_of == level)
        if not block.size:  # more levels than coordinates: cancel all of them further
            block = np.arange(len(rest))
        goal = _pair(near_goal, near_zero, -rest, block, rng, size).different(rng)
        if level < levels - 1:
            near_zero = _pair(
                near_zero, near_zero, np.zeros(len(rest)), block, rng, size
            ).different(rng)
        near_goal = goal
        if not len(near_zero.sums) or not len(near_goal.sums):
            break
    best = np.argsort(((near_goal.sums + rest) ** 2).sum(axis=1))
    return near_goal.members[best]


@dataclass(frozen=True, eq=False)
class _List:
    """Sums of rows, which rows they are of, and the records that these are about."""

    members: Ints
    sums: Floats
    records: Masks | None = None

    def select(self, which: Ints) -> _List:
        return _List(
            self.members[which],
            self.sums[which],
            None if self.records is None else self.records[which],
        )

    def different(self, rng: np.random.Generator) -> _List:
        """Each sum once, and none that is zero throughout, of a move and its reverse: nothing comes nearer by them."""
        largest = np.abs(self.sums).max(initial=0.0)
        marks = np.round(
            self.sums @ rng.normal(size=self.sums.shape[1]) / (1e-9 * largest + 1e-300)
        )
        _, once = np.unique(marks, return_index=True)
        once = once[np.abs(self.sums[once]).max(axis=1) > 1e-9 * largest]
        return self.select(once)


def _pair(
    first: _List, other: _List, goal: Floats, block: Ints, rng: np.random.Generator, size: int
) -> _List:
    """Pair sums of two lists so that they come near to `goal` in the coordinates of a block."""
    from scipy.spatial import cKDTree

    left_rows = rng.permutation(len(first.sums))[:size]
    side = rng.permutation(len(other.sums))[:size]
    each = min(-(-size // len(left_rows)) + (first.records is not None), len(side))
    tree = cKDTree(other.sums[np.ix_(side, block)])
    _, right = tree.query(goal[block] - first.sums[np.ix_(left_rows, block)], k=each)
    left_rows, right = np.repeat(left_rows, each), side[np.asarray(right).ravel()]
    records = None
    if first.records is not None and other.records is not None:
        apart = ~(first.records[left_rows] & other.records[right]).any(axis=1)
        left_rows, right = left_rows[apart], right[apart]
        records = first.records[left_rows] | other.records[right]
    return _List(
        np.hstack([first.members[left_rows], other.members[right]]),
        first.sums[left_rows] + other.sums[right],
        records,
    )


def _masks(moved: Ints) -> Masks:
    """Return the records of each move as a set of bits: a record's number, modulo the number of bits, is its bit."""
    masks = np.zeros((len(moved), MASK_WORDS), dtype=np.uint64)
    for column in (0, 1):
        movers = np.flatnonzero(moved[:, column] >= 0)
        bit = moved[movers, column] % (64 * MASK_WORDS)
        masks[movers, bit // 64] |= np.uint64(1) << (bit % 64).astype(np.uint64)
    return masks


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
    return sum(linear.quadratic(sums[span], aim, focus)[0] for linear, aim, focus, span in parts)


def _first_of_each_record(moved: Ints, n_records: int) -> Ints:
    """Return which moves to keep so that no two have a record in common: the first of each."""
    used, selected = np.zeros(n_records, dtype=bool), []
    for index, (record, other) in enumerate(moved[:, :2].tolist()):
        if not used[record] and (other < 0 or not used[other]):
            used[record] = True
            if other >= 0:
                used[other] = True
            selected.append(index)
    return np.array(selected, dtype=np.int64)
