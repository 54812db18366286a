"""Children of a population of datasets, and their counts and sums by what changed: a child differs from its parent in few records.

Datasets lie in slots, `codes[slot, record, column]`, of as few bytes a cell as the levels need, so that copies are cheap.
"""

from __future__ import annotations

import math

import numpy as np

from ...._base.compiled import compiled
from .moves import draw_level, draw_uniform
from .records import LOGLIK, MULTINOMIAL, cell_of, one_multiplier, softmax


@compiled
def next_place(bits, place, log_stay):  # type: ignore[no-untyped-def]
    """The next place after `place` that is hit, each on its own with the chance 1 - exp(log_stay): gaps are geometric, so that others cost nothing."""
    gap = math.log(1.0 - draw_uniform(bits)) / log_stay
    return place + 1 + np.int64(gap) if gap < 1e15 else np.int64(10**15)


@compiled
def log_of_staying(rate):  # type: ignore[no-untyped-def]
    """The logarithm of 1 - rate, minus infinity for 1."""
    return math.log1p(-rate) if rate < 1.0 else -np.inf


@compiled
def touch(records, n_records, stamps, stamp, i):  # type: ignore[no-untyped-def]
    """Write a record down, once; return how many there are."""
    if stamps[i] != stamp:
        stamps[i] = stamp
        records[n_records] = i
        n_records += 1
    return n_records


@compiled
def copy_flat(source, target):  # type: ignore[no-untyped-def]
    """Copy an array; assigned as a matrix it would be copied cell by cell."""
    for j in range(source.size):
        target[j] = source[j]


@compiled
def breed(codes, parents, children, rates, levels, touched, n_touched):  # type: ignore[no-untyped-def]
    """Write each parent's child into its slot: neighbours exchange records, then cells are drawn anew.

    `rates`: that neighbours are crossed, that a record is exchanged, that a cell is drawn. `touched[k]` gets the `n_touched[k]` records
    in which child k may differ from its parent.
    """
    n, bits = codes.shape[1], levels.bits
    stamps = np.full((2, n), -1, dtype=np.int32)
    n_touched[:] = 0
    for k in range(children.size):
        copy_flat(codes[parents[k]].reshape(-1), codes[children[k]].reshape(-1))
    if rates.per_record > 0.0:
        stay = log_of_staying(rates.per_record)
        for k in range(0, children.size - 1, 2):
            if draw_uniform(bits) >= rates.crossover:
                continue
            one, two, m = codes[children[k]], codes[children[k + 1]], 0
            i = next_place(bits, -1, stay)
            while i < n:
                differs = False
                for c in range(codes.shape[2]):
                    if one[i, c] != two[i, c]:
                        one[i, c], two[i, c] = two[i, c], one[i, c]
                        differs = True
                if differs:
                    touched[k, m] = i
                    touched[k + 1, m] = i
                    m += 1
                i = next_place(bits, i, stay)
            n_touched[k] = m
            n_touched[k + 1] = m
    if rates.mutation > 0.0:
        stay = log_of_staying(rates.mutation)
        for k in range(children.size):
            child, m, stamp = codes[children[k]], n_touched[k], stamps[0]
            for j in range(m):
                stamp[touched[k, j]] = k
            for c in levels.free:
                i = next_place(bits, -1, stay)
                while i < n:
                    level = draw_level(bits, levels.sizes[c], levels.cdf, levels.cdf_first[c])
                    if level != child[i, c]:
                        child[i, c] = level
                        m = touch(touched[k], m, stamp, k, i)
                    i = next_place(bits, i, stay)
            n_touched[k] = m


@compiled
def record_multipliers(systems, s, parameter, blocks, numbers, keys, eta, out):  # type: ignore[no-untyped-def]
    """Write the multipliers of a record of a system from the keys of its blocks."""
    family, part, width, n, first = (
        systems[s, 0],
        systems[s, 1],
        systems[s, 2],
        systems[s, 3],
        systems[s, 6],
    )
    weight, y = 1.0, 0.0
    for k in range(n):
        eta[k] = 0.0
    for j in range(systems[s, 7] - first):
        block, key = first + j, keys[j]
        if blocks[block, 2] >= 0:
            for k in range(n):
                eta[k] += numbers[blocks[block, 2] + key * n + k]
        if blocks[block, 3] >= 0:
            weight *= numbers[blocks[block, 3] + key]
        if blocks[block, 4] >= 0:
            y = numbers[blocks[block, 4] + key]
    if weight == 0.0 or family == 0:
        for k in range(width):
            out[k] = weight
    elif family != MULTINOMIAL:
        out[0] = weight * one_multiplier(family, part, eta[0], y, parameter)
    else:
        base = softmax(eta, n)
        if part == LOGLIK:
            out[0] = weight * math.log(base if y == 0.0 else eta[np.int64(y) - 1])
        else:
            for k in range(width):
                out[k] = weight * ((1.0 if y == k + 1.0 else 0.0) - eta[k])


@compiled
def replace_records(b, before, after, records, n_records, instead, counts, sums):  # type: ignore[no-untyped-def]
    """Take away what some records of one dataset count for, if they count, and add what those of another do in their place.

    Arrays are taken out of `b` once: each time that this is done costs as much as a look-up.
    """
    tables, systems, parameters, blocks, columns = (
        b.tables,
        b.systems,
        b.parameters,
        b.blocks,
        b.columns,
    )
    numbers, starts, equations, values = b.numbers, b.starts, b.equations, b.values
    rows = np.empty((2, before.shape[1]), dtype=np.int64)
    eta = np.empty(b.most_predictors)
    old_keys, new_keys = (
        np.empty(b.most_blocks, dtype=np.int64),
        np.empty(b.most_blocks, dtype=np.int64),
    )
    old_by, new_by = np.zeros(b.most_predictors), np.empty(b.most_predictors)
    for r in range(n_records):
        i = records[r]
        for c in range(before.shape[1]):
            rows[0, c], rows[1, c] = before[i, c], after[i, c]
        for t in range(tables.n_tables):
            old = cell_of(tables, t, rows, 0) if instead else -1
            new = cell_of(tables, t, rows, 1)
            if old >= 0:
                counts[old] -= 1
            if new >= 0:
                counts[new] += 1
        for s in range(systems.shape[0]):
            first_block, n_blocks = systems[s, 6], systems[s, 7] - systems[s, 6]
            same = instead
            for j in range(n_blocks):
                old, new = 0, 0
                for q in range(blocks[first_block + j, 0], blocks[first_block + j, 1]):
                    old += rows[0, columns[q, 0]] * columns[q, 1]
                    new += rows[1, columns[q, 0]] * columns[q, 1]
                old_keys[j], new_keys[j] = (old, new) if instead else (new, new)
                same = same and old == new
            if same:
                continue
            width, n, first = systems[s, 2], systems[s, 4], systems[s, 5]
            record_multipliers(systems, s, parameters[s], blocks, numbers, new_keys, eta, new_by)
            if instead:
                record_multipliers(
                    systems, s, parameters[s], blocks, numbers, old_keys, eta, old_by
                )
            for j in range(n_blocks):
                at, old, new = blocks[first_block + j, 5], old_keys[j], new_keys[j]
                if at < 0:
                    continue
                for k in range(width):
                    place = first + k * n
                    if old == new:
                        change = new_by[k] - old_by[k]
                        for q in range(starts[at + new], starts[at + new + 1]):
                            sums[place + equations[q]] += change * values[q]
                    else:
                        for q in range(starts[at + old], starts[at + old + 1]):
                            sums[place + equations[q]] -= old_by[k] * values[q]
                        for q in range(starts[at + new], starts[at + new + 1]):
                            sums[place + equations[q]] += new_by[k] * values[q]


@compiled
def differing(before, after, records):  # type: ignore[no-untyped-def]
    """Write down the records in which two datasets differ; return how many."""
    m = 0
    for i in range(before.shape[0]):
        for c in range(before.shape[1]):
            if before[i, c] != after[i, c]:
                records[m] = i
                m += 1
                break
    return m


@compiled
def follow(b, codes, parents, children, touched, n_touched, counts, sums):  # type: ignore[no-untyped-def]
    """Fill the counts and sums of children from those of their parents and the records that were touched."""
    for k in range(children.size):
        parent, child = parents[k], children[k]
        counts[child] = counts[parent]
        sums[child] = sums[parent]
        replace_records(
            b,
            codes[parent],
            codes[child],
            touched[k],
            n_touched[k],
            True,
            counts[child],
            sums[child],
        )


@compiled
def add_up(b, codes, slots, counts, sums):  # type: ignore[no-untyped-def]
    """Fill the counts and sums of datasets from their records: of the first from all, of another from where it differs from that, if that is less work."""
    n, first = codes.shape[1], slots[0]
    records = np.empty(n, dtype=np.int32)
    every = np.arange(n).astype(np.int32)
    for k in range(slots.size):
        slot = slots[k]
        m = differing(codes[first], codes[slot], records)
        if k > 0 and 2 * m < n:
            counts[slot] = counts[first]
            sums[slot] = sums[first]
            replace_records(
                b, codes[first], codes[slot], records, m, True, counts[slot], sums[slot]
            )
        else:
            counts[slot] = 0
            sums[slot] = 0.0
            replace_records(b, codes[slot], codes[slot], every, n, False, counts[slot], sums[slot])
