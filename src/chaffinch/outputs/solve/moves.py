"""Moves of one or two records in one or two columns: which a search may make, which it tries more often, and the compiled search itself.

What a move does to the objective is worked out from the touched terms alone: cells of tables are bumped (and bumped back when the move is
refused); the change d of a system's sums S, a few entries, changes its quadratic Q by d'g + d'Ad, where A is the weight matrix and
g = 2A(S - aim). Numbers that drift by rounding are summed afresh between blocks (`sums_from_scratch`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.compiled import jit
from ..domain import Codes, OutputDomain
from ..equations import CountTable
from .program import (
    BLOCK,
    BLOCKS,
    BLOCKS_END,
    DIAGONAL,
    EQUATIONS,
    FIRST_MULTIPLIER,
    FIRST_SUM,
    FIRST_WEIGHT,
    SYSTEM,
    TERMS,
    WIDTH,
    add_terms,
    bump,
    cell_of,
    fill_keys,
    fill_multipliers,
)
from .state import State

Kind = Literal["change", "step", "swap", "near_swap", "copy", "copy_two", "repair"]

KINDS: tuple[Kind, ...] = ("change", "step", "swap", "near_swap", "copy", "copy_two", "repair")
"""Kinds of moves, by the number that kernels know them by.

change: a cell takes a level drawn from its column's chances. step: a number moves by a few codes. swap: two records swap a column,
so that its margin stays. near_swap: two alike records do; tables stay too, and sums move by little. copy, copy_two: a record takes
one or two cells from another. repair: a record goes from a cell of a table that has too many to one that has too few.
"""

# The same as numbers, for kernels.
CHANGE, STEP, SWAP, NEAR_SWAP, COPY, COPY_TWO, REPAIR = range(7)

NEAR = 16

FLOOR = 0.1
"""Share of the proposals that is spread over all arms alike, whatever they gained."""
MEMORY = 0.7
"""How much of the gains of earlier blocks is remembered from block to block."""
ROOM = 2**62


class Arms(NamedTuple):
    """The arms of a search, a kind of move in a column each, with what moves are drawn from; `tries` and `gains` are added to."""

    kinds: Ints
    columns: Ints
    sizes: Ints
    cdf: Floats
    cdf_first: Ints
    free: Ints
    movable: NDArray[np.bool_]
    order: Ints
    places: Ints
    bits: NDArray[np.uint64]
    tries: Floats
    gains: Floats


class WrongCells(NamedTuple):
    """(table, cell) pairs of cells that have too many records and then of those that have too few, and how many of each."""

    pairs: Ints
    n_over: int
    n_under: int


class Proposal(NamedTuple):
    """A move: codes of one or two records (before 0, 1; after 2, 3), which records these are, and the columns that change."""

    rows: Ints
    records: Ints
    columns: Ints


class MoveEffects(NamedTuple):
    """What a proposed move touches: cells and their steps, systems and where the touched sums of each end, sums and their changes.

    `..._seen` have the proposal that last touched an entry; `fresh` has the multipliers of the records after the move.
    """

    cells: Ints
    cell_steps: Ints
    table_seen: Ints
    system_seen: Ints
    systems: Ints
    ends: Ints
    sums: Ints
    sum_seen: Ints
    change: Floats
    fresh: Floats
    eta: Floats
    keys: Ints


class Moves:
    """The arms (a kind of move in a column) with their chances, which follow what each arm gained by proposal."""

    def __init__(
        self, state: State, rng: np.random.Generator, *, kinds: Collection[Kind] = KINDS
    ) -> None:
        columns = state.problem.domain
        free = [c for c, column in enumerate(columns) if not column.fixed and column.size > 1]
        arms = [
            (kind, c)
            for c in free
            for kind in KINDS
            if kind in kinds and _possible(kind, c, columns, len(free))
        ]
        if "repair" in kinds and state.tables and free:
            arms.append(("repair", 0))
        self.arms = tuple(arms)
        order = np.tile(np.arange(len(state.codes), dtype=np.int64), (len(columns), 1))
        cdf, cdf_first = cumulative_chances(columns)
        self.kernel = Arms(
            kinds=np.array([KINDS.index(kind) for kind, _ in arms], dtype=np.int64),
            columns=np.array([c for _, c in arms], dtype=np.int64),
            sizes=np.array(columns.sizes, dtype=np.int64),
            cdf=cdf,
            cdf_first=cdf_first,
            free=np.array(free, dtype=np.int64),
            movable=np.isin(np.arange(len(columns)), free),
            order=order,
            places=order.copy(),
            bits=rng.integers(1, 2**63, 2).astype(np.uint64),
            tries=np.zeros(len(arms)),
            gains=np.zeros(len(arms)),
        )
        self.shares = np.full(len(arms), 1.0 / max(1, len(arms)))
        self._rates = self.shares
        self._neighbours = _table_neighbours(state.tables, len(columns))
        self._table_of = np.repeat(
            np.arange(len(state.tables)), [len(t.lo) for t in state.tables]
        ).astype(np.int64)
        self._rng = rng

    def chances(self) -> Floats:
        """Return the cumulative chances of the arms; the last one is beyond any draw."""
        chances: Floats = np.cumsum(self.shares)
        chances[-1] = 2.0
        return chances

    def learn(self) -> None:
        """Let the chances follow the gains of the block that ended."""
        gains = self.kernel.gains / np.maximum(self.kernel.tries, 1.0)
        if gains.sum() > 0.0:
            self._rates = MEMORY * self._rates + (1.0 - MEMORY) * gains / gains.sum()
            self.shares = FLOOR / len(gains) + (1.0 - FLOOR) * self._rates / self._rates.sum()
        self.kernel.tries[:] = 0.0
        self.kernel.gains[:] = 0.0

    def wrong(self, state: State) -> WrongCells:
        """Return the cells that have too many records or too few."""
        over, under = (
            np.flatnonzero(state.counts > state.cell_hi),
            np.flatnonzero(state.counts < state.cell_lo),
        )
        cells = np.concatenate([over, under])
        return WrongCells(np.stack([self._table_of[cells], cells], axis=1), len(over), len(under))

    def sort(self, codes: Codes) -> None:
        """Put alike records next to each other, for each column on its own.

        First come the other columns of the tables that the column is in (swapping it between records that agree in those changes
        no table), then the rest in random order, so that neighbours change from sort to sort.
        """
        sizes, order = self.kernel.sizes, self.kernel.order
        for c in self.kernel.free:
            rest = [
                k
                for k in self._rng.permutation(len(sizes))
                if k not in self._neighbours[c] and k != c
            ]
            key, room = np.zeros(len(codes), dtype=np.int64), ROOM
            for k in [*self._neighbours[c], *rest]:
                room //= int(sizes[k])
                if room == 0:
                    break
                key = key * sizes[k] + codes[:, k]
            order[c] = np.argsort(key, kind="stable")
            self.kernel.places[c, order[c]] = np.arange(len(codes))


def _possible(kind: Kind, column: int, columns: OutputDomain, n_free: int) -> bool:
    if kind == "step":
        return columns.columns[column].numeric
    return kind != "repair" and (kind != "copy_two" or n_free > 1)


def _table_neighbours(tables: list[CountTable], n_columns: int) -> list[list[int]]:
    """For each column the other columns of the tables that it is in."""
    return [
        sorted({k for t in tables if c in t.columns for k in t.columns} - {c})
        for c in range(n_columns)
    ]


def cumulative_chances(columns: OutputDomain) -> tuple[Floats, Ints]:
    """Return the cumulative chances of levels end to end, and where each column's start; -1 for uniform ones."""
    parts, first, size = [np.zeros(0)], [], 0
    for column in columns:
        first.append(-1 if column.weights is None else size)
        if column.weights is not None:
            parts.append(np.cumsum(column.chances))
            size += column.size
    return np.concatenate(parts), np.array(first, dtype=np.int64)


@jit
def search(p, state, table_error, system_error, arms, chances, wrong, n_proposals, temperature):  # type: ignore[no-untyped-def]
    """Propose moves and keep those that help (or, above temperature 0, harm little); return both errors and how many were kept.

    Changes codes, counts, multipliers, sums and gradient in place. `chances` are cumulative, one for each arm.
    """
    codes, multipliers = state.codes, state.multipliers
    move, effects = empty_proposal(codes.shape[1]), empty_effects(p, state)
    rows, records, columns = move
    systems, ends, fresh, eta, keys = (
        effects.systems,
        effects.ends,
        effects.fresh,
        effects.eta,
        effects.keys,
    )
    n_accepted = 0
    for proposal in range(n_proposals):
        arm = draw_arm(arms.bits, chances)
        arms.tries[arm] += 1
        if arms.kinds[arm] == REPAIR:
            n_records, n_columns = draw_repair(p, arms, codes, wrong, move)
        else:
            n_records, n_columns = draw_move(arms, arm, codes, move)
        if n_records == 0:
            continue
        bound = -temperature * math.log(1.0 - draw_uniform(arms.bits)) if temperature > 0.0 else 0.0
        # Tables first: integers are cheap, and sums can win back no more than what they still lack.
        by_tables, n_cells = move_counts(
            p, state.counts, move, n_records, n_columns, effects, proposal
        )
        by_systems, n_systems = 0.0, 0
        refused = by_tables > bound + system_error
        if not refused:
            n_systems = list_systems(p, move, n_columns, effects, proposal)
            for m in range(n_systems):
                s, n_sums = systems[m], ends[m]
                start = p.ints[p.system + SYSTEM * s + FIRST_MULTIPLIER]
                for r in range(n_records):
                    fill_keys(p, s, rows, r, keys, r)
                    fill_keys(p, s, rows, r + 2, keys, r + 2)
                    fill_multipliers(p, s, keys, r + 2, eta, fresh, r, start)
                    n_sums = try_terms(
                        p, s, keys, r, multipliers, records[r], -1.0, effects, proposal, n_sums
                    )
                    n_sums = try_terms(p, s, keys, r + 2, fresh, r, 1.0, effects, proposal, n_sums)
                ends[m + 1] = n_sums
                by_systems = add_error_change(p, state, effects, m, by_systems)
            refused = not by_tables + by_systems <= bound  # also where a look-up led to no number
        if refused:
            for j in range(n_cells - 1, -1, -1):
                state.counts[effects.cells[j]] -= effects.cell_steps[j]
            continue
        n_accepted += 1
        if by_tables + by_systems < 0.0:
            arms.gains[arm] -= by_tables + by_systems
        table_error += by_tables
        system_error = max(0.0, system_error + by_systems)
        for r in range(n_records):
            for a in range(n_columns):
                codes[records[r], columns[a]] = rows[r + 2, columns[a]]
        for m in range(n_systems):
            keep_sums(p, state, records, n_records, effects, m)
    return table_error, system_error, n_accepted


@jit
def empty_effects(p, state):  # type: ignore[no-untyped-def]
    n_sums = state.sums.size
    return MoveEffects(
        np.empty(4 * p.n_tables, dtype=np.int64),
        np.empty(4 * p.n_tables, dtype=np.int64),
        np.full(p.n_tables, -1, dtype=np.int64),
        np.full(p.n_systems, -1, dtype=np.int64),
        np.empty(p.n_systems, dtype=np.int64),
        np.zeros(p.n_systems + 1, dtype=np.int64),
        np.empty(n_sums, dtype=np.int64),
        np.full(n_sums, -1, dtype=np.int64),
        np.zeros(n_sums),
        np.empty((2, state.multipliers.shape[1])),
        np.empty(p.max_predictors),
        np.empty((4, p.max_blocks), dtype=np.int64),
    )


@jit(forceinline=True)
def move_counts(p, counts, move, n_records, n_columns, effects, proposal):  # type: ignore[no-untyped-def]
    """Move the records of a proposal from cell to cell; return what that adds to the objective, and how many counts changed."""
    error, n_cells = 0.0, 0
    for a in range(n_columns):
        readers = p.tables_of_starts + move.columns[a]
        for b in range(p.ints[readers], p.ints[readers + 1]):
            t = p.ints[p.tables_of + b]
            if effects.table_seen[t] == proposal:
                continue
            effects.table_seen[t] = proposal
            for r in range(n_records):
                old, new = cell_of(p, t, move.rows, r), cell_of(p, t, move.rows, r + 2)
                if old == new:
                    continue
                if old >= 0:
                    error += bump(p, counts, old, -1)
                    effects.cells[n_cells], effects.cell_steps[n_cells] = old, -1
                    n_cells += 1
                if new >= 0:
                    error += bump(p, counts, new, 1)
                    effects.cells[n_cells], effects.cell_steps[n_cells] = new, 1
                    n_cells += 1
    return error, n_cells


@jit(forceinline=True)
def list_systems(p, move, n_columns, effects, proposal):  # type: ignore[no-untyped-def]
    """List the systems that read a column of a proposal; return how many."""
    n_systems = 0
    for a in range(n_columns):
        readers = p.systems_of_starts + move.columns[a]
        for b in range(p.ints[readers], p.ints[readers + 1]):
            s = p.ints[p.systems_of + b]
            if effects.system_seen[s] != proposal:
                effects.system_seen[s] = proposal
                effects.systems[n_systems] = s
                n_systems += 1
    return n_systems


@jit(forceinline=True)
def try_terms(p, s, keys, line, multipliers, i, sign, effects, proposal, n_touched):  # type: ignore[no-untyped-def]
    """As `add_terms`, to the changes of a proposal, in which the touched sums are listed."""
    row = p.system + SYSTEM * s
    first, n, width = p.ints[row + FIRST_SUM], p.ints[row + EQUATIONS], p.ints[row + WIDTH]
    begin, start = p.ints[row + BLOCKS], p.ints[row + FIRST_MULTIPLIER]
    for block in range(begin, p.ints[row + BLOCKS_END]):
        terms = p.ints[p.block + BLOCK * block + TERMS]
        if terms < 0:
            continue
        terms += keys[line, block - begin]
        for j in range(p.ints[terms], p.ints[terms + 1]):
            value = sign * p.floats[p.row_values + j]
            for k in range(width):
                e = first + k * n + p.ints[p.row_equations + j]
                if effects.sum_seen[e] != proposal:
                    effects.sum_seen[e] = proposal
                    effects.change[e] = 0.0
                    effects.sums[n_touched] = e
                    n_touched += 1
                effects.change[e] += multipliers[i, start + k] * value
    return n_touched


@jit(forceinline=True)
def add_error_change(p, state, effects, m, error):  # type: ignore[no-untyped-def]
    """Add to an error what the changes of the sums of the touched system number m add to its quadratic."""
    row, start = p.system + SYSTEM * effects.systems[m], effects.ends[m]
    first, weight = p.ints[row + FIRST_SUM], p.ints[row + FIRST_WEIGHT]
    size = p.ints[row + EQUATIONS] * p.ints[row + WIDTH]
    change, weights = effects.change, state.weights
    for j in range(start, effects.ends[m + 1]):
        e = effects.sums[j]
        if p.ints[row + DIAGONAL]:
            pull = change[e] * weights[weight + e - first]
        else:
            line = weight + (e - first) * size - first
            inner = 0.5 * change[e] * weights[line + e]
            for q in range(start, j):
                inner += change[effects.sums[q]] * weights[line + effects.sums[q]]
            pull = 2.0 * inner
        error += change[e] * (state.gradient[e] + pull)
    return error


@jit(forceinline=True)
def keep_sums(p, state, records, n_records, effects, m):  # type: ignore[no-untyped-def]
    """Take over the multipliers, sums and gradient of the touched system number m."""
    row = p.system + SYSTEM * effects.systems[m]
    first, size = p.ints[row + FIRST_SUM], p.ints[row + EQUATIONS] * p.ints[row + WIDTH]
    start, weight = p.ints[row + FIRST_MULTIPLIER], p.ints[row + FIRST_WEIGHT]
    for r in range(n_records):
        for k in range(start, start + p.ints[row + WIDTH]):
            state.multipliers[records[r], k] = effects.fresh[r, k]
    for j in range(effects.ends[m], effects.ends[m + 1]):
        e = effects.sums[j]
        twice = 2.0 * effects.change[e]
        state.sums[e] += effects.change[e]
        if p.ints[row + DIAGONAL]:
            state.gradient[e] += twice * state.weights[weight + e - first]
        else:
            line = weight + (e - first) * size
            for q in range(size):
                state.gradient[first + q] += twice * state.weights[line + q]


@jit
def candidates(p, state, arms, chances, n_draws, moved, changes):  # type: ignore[no-untyped-def]
    """Draw moves of one column that put no count outside its interval; return how many were found among `n_draws`.

    Rows of `moved`: record, the record it swaps with or -1, column, new level. Rows of `changes`: what the move adds to every sum.
    Nothing else is changed. Arms must be of kinds that change a single column.
    """
    codes, counts, multipliers = state.codes, state.counts, state.multipliers
    move = empty_proposal(codes.shape[1])
    rows, records, columns = move
    fresh = np.empty((1, multipliers.shape[1]))
    eta, keys = np.empty(p.max_predictors), np.empty((2, p.max_blocks), dtype=np.int64)
    n_moves = 0
    for _draw in range(n_draws):
        if n_moves == moved.shape[0]:
            break
        n_records, _ = draw_move(arms, draw_arm(arms.bits, chances), codes, move)
        if n_records == 0:
            continue
        column = columns[0]
        stays = True
        for b in range(
            p.ints[p.tables_of_starts + column], p.ints[p.tables_of_starts + column + 1]
        ):
            t = p.ints[p.tables_of + b]
            old, new = cell_of(p, t, rows, 0), cell_of(p, t, rows, 2)
            if old == new:
                continue
            if n_records == 2:  # the swap must leave the two cells as they are
                stays = stays and old == cell_of(p, t, rows, 3) and new == cell_of(p, t, rows, 1)
            else:  # both cells must have room in their intervals
                stays = stays and (old < 0 or counts[old] > p.ints[p.cell_lo + old])
                stays = stays and (new < 0 or counts[new] < p.ints[p.cell_hi + new])
        if not stays:
            continue
        changes[n_moves, :] = 0.0
        for b in range(
            p.ints[p.systems_of_starts + column], p.ints[p.systems_of_starts + column + 1]
        ):
            s = p.ints[p.systems_of + b]
            start = p.ints[p.system + SYSTEM * s + FIRST_MULTIPLIER]
            for r in range(n_records):
                fill_keys(p, s, rows, r, keys, 0)
                fill_keys(p, s, rows, r + 2, keys, 1)
                fill_multipliers(p, s, keys, 1, eta, fresh, 0, start)
                add_terms(p, s, keys, 0, multipliers, records[r], start, -1.0, changes[n_moves])
                add_terms(p, s, keys, 1, fresh, 0, start, 1.0, changes[n_moves])
        moved[n_moves, 0], moved[n_moves, 1] = records[0], records[1] if n_records == 2 else -1
        moved[n_moves, 2], moved[n_moves, 3] = column, rows[2, column]
        n_moves += 1
    return n_moves


@jit
def draw_move(arms, arm, codes, proposal):  # type: ignore[no-untyped-def]
    """Fill a proposal; return how many records and columns it has, 0 for a move that changes nothing."""
    kind, column, size = arms.kinds[arm], arms.columns[arm], arms.sizes[arms.columns[arm]]
    n = codes.shape[0]
    i = draw_below(arms.bits, n)
    if kind in (CHANGE, STEP):
        old = codes[i, column]
        if kind == CHANGE:
            new = draw_level(arms.bits, size, arms.cdf, arms.cdf_first[column])
        else:
            reach = 1
            while reach * 8 < size and next_bits(arms.bits) >> np.uint64(63):
                reach *= 2
            by = 1 + draw_below(arms.bits, reach)
            new = old + by if next_bits(arms.bits) >> np.uint64(63) else old - by
            if new < 0 or new >= size:
                return 0, 0
        if new == old:
            return 0, 0
        copy_record(codes, i, proposal.rows, 0)
        proposal.rows[2, column] = new
        proposal.records[0], proposal.columns[0] = i, column
        return 1, 1
    if kind == NEAR_SWAP:
        k = arms.order[column, (arms.places[column, i] + 1 + draw_below(arms.bits, NEAR)) % n]
    else:
        k = draw_below(arms.bits, n)
    if kind in (SWAP, NEAR_SWAP):
        if codes[i, column] == codes[k, column]:
            return 0, 0
        copy_record(codes, i, proposal.rows, 0)
        copy_record(codes, k, proposal.rows, 1)
        proposal.rows[2, column], proposal.rows[3, column] = codes[k, column], codes[i, column]
        proposal.records[0], proposal.records[1], proposal.columns[0] = i, k, column
        return 2, 1
    other = column
    if kind == COPY_TWO:
        other = arms.free[draw_below(arms.bits, arms.free.size)]
    m = 0
    copy_record(codes, i, proposal.rows, 0)
    if codes[k, column] != codes[i, column]:
        proposal.rows[2, column] = codes[k, column]
        proposal.columns[m] = column
        m += 1
    if other != column and codes[k, other] != codes[i, other]:
        proposal.rows[2, other] = codes[k, other]
        proposal.columns[m] = other
        m += 1
    proposal.records[0] = i
    return (1, m) if m else (0, 0)


@jit
def draw_repair(p, arms, codes, wrong, proposal):  # type: ignore[no-untyped-def]
    """As `draw_move`, towards a table: a record of a cell that has too many moves to one of the same table that has too few.

    Which cells are wrong is as of the start of the block; stale ones make useless moves, not wrong ones.
    """
    rng, movable = arms.bits, arms.movable
    rows, records, columns = proposal
    pairs, n_over, n_under = wrong
    if n_over + n_under == 0:
        return 0, 0
    n = codes.shape[0]
    i = draw_below(rng, n)
    pick = draw_below(rng, n_over + n_under)
    t = pairs[pick, 0]
    first, last = p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]
    if pick < n_over:
        for _ in range(n):
            if cell_of(p, t, codes, i) == pairs[pick, 1]:
                break
            i += 1
            if i == n:
                i = 0
    goal = -1
    if n_under > 0:
        k = draw_below(rng, n_under)
        for _ in range(n_under):
            if pairs[n_over + k, 0] == t:
                goal = pairs[n_over + k, 1]
                break
            k += 1
            if k == n_under:
                k = 0
    copy_record(codes, i, rows, 0)
    records[0] = i
    m = 0
    if first == last:
        return 0, 0
    if goal < 0:  # nowhere has too few: out of the cell, or out of the table, will do
        j = first + draw_below(rng, last - first)
        column = p.ints[p.table_columns + 4 * j]
        level = draw_below(rng, p.ints[p.table_columns + 4 * j + 2])
        if level == codes[i, column] or not movable[column]:
            return 0, 0
        rows[2, column] = level
        columns[0] = column
        return 1, 1
    rest = goal - p.ints[p.table + 3 * t + 2]
    for j in range(first, last):
        column, start = p.ints[p.table_columns + 4 * j], p.ints[p.table_columns + 4 * j + 1]
        size = p.ints[p.table_columns + 4 * j + 2]
        stride = p.ints[p.table_columns + 4 * j + 3]
        step = rest // stride * stride
        rest -= step
        if p.ints[start + codes[i, column]] == step:
            continue
        if not movable[column]:
            return 0, 0
        level = draw_below(rng, size)
        for _ in range(size):
            if p.ints[start + level] == step:
                break
            level += 1
            if level == size:
                level = 0
        rows[2, column] = level
        columns[m] = column
        m += 1
    return (1, m) if m else (0, 0)


@jit
def next_bits(rng):  # type: ignore[no-untyped-def]
    """64 random bits: xoroshiro128+ (Blackman and Vigna 2018); its lowest bits, the weak ones, are not used."""
    first, two = rng[0], rng[1]
    result = first + two
    two ^= first
    rng[0] = ((first << np.uint64(24)) | (first >> np.uint64(40))) ^ two ^ (two << np.uint64(16))
    rng[1] = (two << np.uint64(37)) | (two >> np.uint64(27))
    return result


@jit
def draw_below(rng, n):  # type: ignore[no-untyped-def]
    """A whole number from 0 to n - 1, n < 2^31."""
    return np.int64(((next_bits(rng) >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@jit
def draw_uniform(rng):  # type: ignore[no-untyped-def]
    return np.float64(next_bits(rng) >> np.uint64(11)) * 1.1102230246251565e-16


@jit
def draw_level(rng, size, cdf, first):  # type: ignore[no-untyped-def]
    """A level of a column: uniform where `first` is -1, else by the cumulative chances from `cdf[first]` on."""
    if first < 0:
        return draw_below(rng, size)
    u = draw_uniform(rng)
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if cdf[first + middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def draw_arm(rng, chances):  # type: ignore[no-untyped-def]
    """An arm by the cumulative chances, the last of which is beyond any draw."""
    u = draw_uniform(rng)
    arm = 0
    while chances[arm] <= u:
        arm += 1
    return arm


@jit
def copy_record(codes, i, rows, r):  # type: ignore[no-untyped-def]
    """Write a record into rows r (before) and r + 2 (after)."""
    for c in range(codes.shape[1]):
        rows[r, c] = codes[i, c]
        rows[r + 2, c] = codes[i, c]


@jit
def empty_proposal(width):  # type: ignore[no-untyped-def]
    return Proposal(
        np.empty((4, width), dtype=np.int64),
        np.empty(2, dtype=np.int64),
        np.empty(width, dtype=np.int64),
    )
