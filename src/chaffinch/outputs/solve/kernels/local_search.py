"""The incremental search itself, and moves that could help where single ones do not."""

from __future__ import annotations

import math

import numpy as np

from ...._base.compiled import compiled
from ..compiled import Proposal
from .moves import draw_arm, draw_move, draw_repair, draw_uniform
from .records import (
    DIAGONAL,
    EQUATIONS,
    FIRST_MULTIPLIER,
    FIRST_SUM,
    FIRST_WEIGHT,
    REPAIR,
    TERMS,
    TERMS_END,
    WIDTH,
    bump,
    cell_of,
    fill_multipliers,
    look_up_key,
    most_predictors,
)


@compiled
def empty_proposal(width):  # type: ignore[no-untyped-def]
    return Proposal(
        np.empty((4, width), dtype=np.int64),
        np.empty(2, dtype=np.int64),
        np.empty(width, dtype=np.int64),
    )


@compiled
def search(p, state, table_error, system_error, arms, chances, wrong, n_proposals, temperature):  # type: ignore[no-untyped-def]
    """Propose moves and keep those that help (or, above temperature 0, harm little); return both errors and how many were kept.

    Changes codes, counts, multipliers, sums and gradient in place. `chances` are cumulative, one for each arm.
    """
    codes, counts, multipliers, sums, gradient, weights = state
    n_tables, n_systems, n_sums = p.n_tables, p.n_systems, sums.size
    move = empty_proposal(codes.shape[1])
    rows, records, columns = move
    touched_cells = np.empty(4 * n_tables, dtype=np.int64)
    touched_by = np.empty(4 * n_tables, dtype=np.int64)
    table_seen = np.full(n_tables, -1, dtype=np.int64)
    system_seen = np.full(n_systems, -1, dtype=np.int64)
    systems = np.empty(n_systems, dtype=np.int64)
    ends = np.empty(n_systems + 1, dtype=np.int64)
    touched = np.empty(n_sums, dtype=np.int64)
    sum_seen = np.full(n_sums, -1, dtype=np.int64)
    change = np.zeros(n_sums)
    fresh = np.empty((2, multipliers.shape[1]))
    eta = np.empty(most_predictors(p))
    accepted = 0
    for proposal in range(n_proposals):
        arm = draw_arm(arms.bits, chances)
        arms.tries[arm] += 1
        if arms.kinds[arm] == REPAIR:
            if wrong.n_over + wrong.n_under == 0:
                continue
            n_records, n_columns = draw_repair(p, arms, codes, wrong, move)
        else:
            n_records, n_columns = draw_move(arms, arm, codes, move)
        if n_records == 0:
            continue
        bound = -temperature * math.log(1.0 - draw_uniform(arms.bits)) if temperature > 0.0 else 0.0

        # Tables first: integers are cheap, and sums can win back no more than what they still lack.
        by_tables = 0.0
        n_cells = 0
        for a in range(n_columns):
            for b in range(
                p.ints[p.tables_of_starts + columns[a]], p.ints[p.tables_of_starts + columns[a] + 1]
            ):
                t = p.ints[p.tables_of + b]
                if table_seen[t] == proposal:
                    continue
                table_seen[t] = proposal
                for r in range(n_records):
                    old = cell_of(p, t, rows, r)
                    new = cell_of(p, t, rows, r + 2)
                    if old == new:
                        continue
                    if old >= 0:
                        by_tables += bump(p, counts, old, -1)
                        touched_cells[n_cells] = old
                        touched_by[n_cells] = 1
                        n_cells += 1
                    if new >= 0:
                        by_tables += bump(p, counts, new, 1)
                        touched_cells[n_cells] = new
                        touched_by[n_cells] = -1
                        n_cells += 1
        by_systems = 0.0
        refused = by_tables > bound + system_error
        n_touched_systems = 0
        n_touched = 0
        if not refused:
            ends[0] = 0
            for a in range(n_columns):
                for b in range(
                    p.ints[p.systems_of_starts + columns[a]],
                    p.ints[p.systems_of_starts + columns[a] + 1],
                ):
                    s = p.ints[p.systems_of + b]
                    if system_seen[s] == proposal:
                        continue
                    system_seen[s] = proposal
                    of = p.system + 16 * s
                    at, first = p.ints[of + FIRST_MULTIPLIER], p.ints[of + FIRST_SUM]
                    n, width = p.ints[of + EQUATIONS], p.ints[of + WIDTH]
                    begin = n_touched
                    for r in range(n_records):
                        fill_multipliers(p, s, rows, r + 2, eta, fresh, r, at)
                        for side in range(2):
                            row_of = r + 2 * side
                            for look in range(p.ints[of + TERMS], p.ints[of + TERMS_END]):
                                row = p.ints[p.lookup + 4 * look + 2] + look_up_key(
                                    p, look, rows, row_of
                                )
                                for j in range(p.ints[row], p.ints[row + 1]):
                                    for k in range(width):
                                        e = first + k * n + p.ints[p.row_equations + j]
                                        if sum_seen[e] != proposal:
                                            sum_seen[e] = proposal
                                            change[e] = 0.0
                                            touched[n_touched] = e
                                            n_touched += 1
                                        if side:
                                            change[e] += (
                                                fresh[r, at + k] * p.floats[p.row_values + j]
                                            )
                                        else:
                                            change[e] -= (
                                                multipliers[records[r], at + k]
                                                * p.floats[p.row_values + j]
                                            )
                    at = p.ints[of + FIRST_WEIGHT]
                    if p.ints[of + DIAGONAL]:
                        for j in range(begin, n_touched):
                            e = touched[j]
                            by_systems += change[e] * (
                                gradient[e] + change[e] * weights[at + e - first]
                            )
                    else:
                        size = n * width
                        for j in range(begin, n_touched):
                            e = touched[j]
                            line = at + (e - first) * size - first
                            inner = 0.5 * change[e] * weights[line + e]
                            for q in range(begin, j):
                                inner += change[touched[q]] * weights[line + touched[q]]
                            by_systems += change[e] * (gradient[e] + 2.0 * inner)
                    systems[n_touched_systems] = s
                    n_touched_systems += 1
                    ends[n_touched_systems] = n_touched
            refused = not by_tables + by_systems <= bound  # also where a look-up led to no number
        if refused:
            for j in range(n_cells - 1, -1, -1):
                counts[touched_cells[j]] += touched_by[j]
            continue
        accepted += 1
        if by_tables + by_systems < 0.0:
            arms.gains[arm] -= by_tables + by_systems
        table_error += by_tables
        system_error = max(0.0, system_error + by_systems)
        for r in range(n_records):
            for a in range(n_columns):
                codes[records[r], columns[a]] = rows[r + 2, columns[a]]
        for m in range(n_touched_systems):
            s = systems[m]
            of = p.system + 16 * s
            at, first = p.ints[of + FIRST_MULTIPLIER], p.ints[of + FIRST_SUM]
            size = p.ints[of + EQUATIONS] * p.ints[of + WIDTH]
            for r in range(n_records):
                for k in range(p.ints[of + WIDTH]):
                    multipliers[records[r], at + k] = fresh[r, at + k]
            at = p.ints[of + FIRST_WEIGHT]
            for j in range(ends[m], ends[m + 1]):
                e = touched[j]
                sums[e] += change[e]
                if p.ints[of + DIAGONAL]:
                    gradient[e] += 2.0 * weights[at + e - first] * change[e]
                else:
                    line = at + (e - first) * size
                    twice = 2.0 * change[e]
                    for q in range(size):
                        gradient[first + q] += twice * weights[line + q]
    return table_error, system_error, accepted


@compiled
def candidates(p, state, arms, chances, n_draws, moved, changes):  # type: ignore[no-untyped-def]
    """Draw moves of one column that put no count outside its interval; return how many were found among `n_draws`.

    Rows of `moved`: record, the record it swaps with or -1, column, new level. Rows of `changes`: what the move adds to every sum.
    Nothing else is changed. Arms must be of kinds that change a single column.
    """
    codes, counts, multipliers = state.codes, state.counts, state.multipliers
    move = empty_proposal(codes.shape[1])
    rows, records, columns = move
    fresh = np.empty((1, multipliers.shape[1]))
    eta = np.empty(most_predictors(p))
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
            of = p.system + 16 * s
            at, first = p.ints[of + FIRST_MULTIPLIER], p.ints[of + FIRST_SUM]
            n, width = p.ints[of + EQUATIONS], p.ints[of + WIDTH]
            for r in range(n_records):
                fill_multipliers(p, s, rows, r + 2, eta, fresh, 0, at)
                for look in range(p.ints[of + TERMS], p.ints[of + TERMS_END]):
                    base = p.ints[p.lookup + 4 * look + 2]
                    old, new = (
                        base + look_up_key(p, look, rows, r),
                        base + look_up_key(p, look, rows, r + 2),
                    )
                    for k in range(width):
                        for j in range(p.ints[old], p.ints[old + 1]):
                            by = multipliers[records[r], at + k] * p.floats[p.row_values + j]
                            changes[n_moves, first + k * n + p.ints[p.row_equations + j]] -= by
                        for j in range(p.ints[new], p.ints[new + 1]):
                            by = fresh[0, at + k] * p.floats[p.row_values + j]
                            changes[n_moves, first + k * n + p.ints[p.row_equations + j]] += by
        moved[n_moves, 0], moved[n_moves, 1] = records[0], records[1] if n_records == 2 else -1
        moved[n_moves, 2], moved[n_moves, 3] = column, rows[2, column]
        n_moves += 1
    return n_moves
