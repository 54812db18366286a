"""The compiled counting kernels: the only ones in the package.

A block of rows at a time: the cell number of each row is folded from one column after the other in a
small buffer (`key = key * size + code`, which compilers turn into vector instructions), then the counts
are bumped. A 4-way table of 300,000 rows costs about half of what the loop that does both at once costs
(benchmarks/counting.py), and one compiled function serves every width and every mix of code types.
"""

from __future__ import annotations

import numpy as np

from .._base.compiled import compiled

BLOCK = 4096


@compiled
def _start(key, codes):  # type: ignore[no-untyped-def]
    for i in range(key.size):
        key[i] = codes[i]


@compiled
def _fold(key, codes, size):  # type: ignore[no-untyped-def]
    for i in range(key.size):
        key[i] = key[i] * size + codes[i]


@compiled
def _keys(key, first, last, groups, rows, sizes, c8, c16, c32, start, stop):  # type: ignore[no-untyped-def]
    """Fill `key` with the cell numbers of rows start to stop for the columns first to last of the list."""
    if first == last:
        key[:] = 0
    for c in range(first, last):
        row, size = rows[c], np.uint32(sizes[c])
        if c == first:
            if groups[c] == 0:
                _start(key, c8[row, start:stop])
            elif groups[c] == 1:
                _start(key, c16[row, start:stop])
            else:
                _start(key, c32[row, start:stop])
        elif groups[c] == 0:
            _fold(key, c8[row, start:stop], size)
        elif groups[c] == 1:
            _fold(key, c16[row, start:stop], size)
        else:
            _fold(key, c32[row, start:stop], size)


@compiled
def count(out, offsets, ends, groups, rows, sizes, c8, c16, c32, n_rows, stretch):  # type: ignore[no-untyped-def]
    """Add to `out` the counts of several cliques in one pass over the rows.

    Clique q owns the cells from `offsets[q]` on and the columns `ends[q]` to `ends[q + 1]` of the list
    (`groups`, `rows`, `sizes`). All of its cell numbers must fit in 32 bits. One clique after the other counts a stretch of rows: few
    where all tables lie in the processor's near memory together, many where one does at a time.
    """
    buffer = np.empty(BLOCK, dtype=np.uint32)
    for first in range(0, n_rows, stretch):
        last = min(first + stretch, n_rows)
        for q in range(offsets.size):
            cells = out[offsets[q] :]
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                key = buffer[: stop - start]
                _keys(key, ends[q], ends[q + 1], groups, rows, sizes, c8, c16, c32, start, stop)
                for i in range(key.size):
                    cells[key[i]] += 1


@compiled
def weigh(out, offsets, ends, groups, rows, sizes, c8, c16, c32, n_rows, weights):  # type: ignore[no-untyped-def]
    """Add to `out` the summed weights of several cliques: `count` with a weight for each row, in row order."""
    buffer = np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        key = buffer[: stop - start]
        for q in range(offsets.size):
            _keys(key, ends[q], ends[q + 1], groups, rows, sizes, c8, c16, c32, start, stop)
            cells = out[offsets[q] :]
            for i in range(key.size):
                cells[key[i]] += weights[start + i]


@compiled
def fold(key, codes, size, out):  # type: ignore[no-untyped-def]
    """Fill in cell numbers with one more column: `key * size + code`."""
    for i in range(key.size):
        out[i] = key[i] * size + codes[i]


@compiled
def number(key, codes, size, numbers, distinct, out):  # type: ignore[no-untyped-def]
    """Number the pairs of key and code in order of first appearance, from 0 on; return how many there are now.

    `numbers` has one more than the number of each pair that was seen before, 0 for the others; `distinct` were seen.
    """
    for i in range(key.size):
        cell = key[i] * size + codes[i]
        known = numbers[cell]
        if known == 0:
            distinct += 1
            known = np.uint32(distinct)
            numbers[cell] = known
        out[i] = known - np.uint32(1)
    return distinct


@compiled
def spreads(cells, n_groups, slots, ends, c_log_c, spread, filled, large):  # type: ignore[no-untyped-def]
    """Fill in, for several ways to sum the cells of each group of a table, the sum of c log c and the number of filled sums; return how many are left.

    Cell i of a group is part of the sums `slots[:, i]`; those of way j are `ends[j]` to `ends[j + 1]`. Sums beyond the list `c_log_c` are left: they are
    put into `large`, two rows of ways and sums.
    """
    width, n_large = slots.shape[1], 0
    sums = np.zeros(ends[-1], dtype=np.int64)
    for group in range(n_groups):
        start = group * width
        for i in range(width):
            c = cells[start + i]
            if c:
                for j in range(slots.shape[0]):
                    sums[slots[j, i]] += c
        for j in range(slots.shape[0]):
            for slot in range(ends[j], ends[j + 1]):
                c = sums[slot]
                if c:
                    filled[j] += 1
                    if c < c_log_c.size:
                        spread[j] += c_log_c[c]
                    else:
                        large[0, n_large], large[1, n_large] = j, c
                        n_large += 1
                    sums[slot] = 0
    return n_large


@compiled
def _number(ids, codes, size, cells, out):  # type: ignore[no-untyped-def]
    """Number the distinct pairs of id and code in order of appearance; return how many there are.

    `cells` is scratch that is all zero before and after.
    """
    distinct = 0
    for i in range(ids.size):
        cell = ids[i] * size + codes[i]
        if cells[cell] == 0:
            distinct += 1
            cells[cell] = distinct
        out[i] = cells[cell] - 1
    for i in range(ids.size):
        cells[ids[i] * size + codes[i]] = 0
    return distinct


@compiled
def _spread(ids, codes, size, n_cells, cells, c_log_c):  # type: ignore[no-untyped-def]
    """Return the sum of c log c over the cells of (id, code), and how many are filled; `cells` is zero before and after."""
    total, filled = 0.0, 0
    if n_cells <= ids.size:
        for i in range(ids.size):
            cells[ids[i] * size + codes[i]] += np.uint32(1)
        for cell in range(n_cells):
            if cells[cell]:
                total += c_log_c[cells[cell]]
                filled += 1
                cells[cell] = 0
    else:  # more cells than rows: touch those of the rows only
        for i in range(ids.size):
            cell = ids[i] * size + codes[i]
            before = cells[cell]
            if before == 0:
                filled += 1
            total += c_log_c[before + 1] - c_log_c[before]
            cells[cell] = before + 1
        for i in range(ids.size):
            cells[ids[i] * size + codes[i]] = 0
    return total, filled


@compiled
def _walk(columns, known, path, distinct, groups, rows, sizes, c8, c16, c32, ids, cells):  # type: ignore[no-untyped-def]
    """Number the rows' combinations of the first columns, one after the other, from where the last walk's path parts.

    Return how many columns are numbered: fewer than all where one would need more scratch than `cells` has.
    """
    depth = 0
    while depth < columns.size and depth < known and path[depth] == columns[depth]:
        depth += 1
    while depth < columns.size:
        c = columns[depth]
        size = np.uint32(sizes[c])
        if distinct[depth] * sizes[c] > cells.size:
            break
        if groups[c] == 0:
            distinct[depth + 1] = _number(ids[depth], c8[rows[c]], size, cells, ids[depth + 1])
        elif groups[c] == 1:
            distinct[depth + 1] = _number(ids[depth], c16[rows[c]], size, cells, ids[depth + 1])
        else:
            distinct[depth + 1] = _number(ids[depth], c32[rows[c]], size, cells, ids[depth + 1])
        path[depth] = c
        depth += 1
    return depth


@compiled
def entropies(sets, widths, groups, rows, sizes, c8, c16, c32, ids, cells, c_log_c, spread, filled):  # type: ignore[no-untyped-def]
    """Fill in the sum of c log c and the number of filled cells of many column sets, sorted as words are.

    Sets that begin alike share the work on their beginning: the rows' distinct combinations of it are
    numbered once, in `ids` (one row for each width). A set that would need more scratch than `cells` has
    is marked by -1 filled cells.
    """
    n_rows = ids.shape[1]
    path = np.full(ids.shape[0], -1, dtype=np.int64)
    distinct = np.ones(ids.shape[0] + 1, dtype=np.int64)
    known = 0
    for q in range(sets.shape[0]):
        inner = widths[q] - 1
        known = _walk(
            sets[q, :inner], known, path, distinct, groups, rows, sizes, c8, c16, c32, ids, cells
        )
        c = sets[q, inner]
        n_cells = distinct[inner] * sizes[c]
        if known < inner or n_cells > cells.size:
            filled[q] = -1
            continue
        size = np.uint32(sizes[c])
        if groups[c] == 0:
            spread[q], filled[q] = _spread(ids[inner], c8[rows[c]], size, n_cells, cells, c_log_c)
        elif groups[c] == 1:
            spread[q], filled[q] = _spread(ids[inner], c16[rows[c]], size, n_cells, cells, c_log_c)
        else:
            spread[q], filled[q] = _spread(ids[inner], c32[rows[c]], size, n_cells, cells, c_log_c)
    return n_rows


@compiled
def bump(ids, codes, size, cells):  # type: ignore[no-untyped-def]
    """Count one more in the cell of each row's id and code."""
    for i in range(ids.size):
        cells[ids[i] * size + codes[i]] += np.uint32(1)


@compiled
def _excess(ids, codes, size, cells, heights, distinct, margin):  # type: ignore[no-untyped-def]
    """Return the sum of max(0, n c - r k) over the cells of (id, code); `cells` is zero before and after.

    Whole numbers: r k, n c and the sum are at most n^2, below 2^62 for n up to 2^31.
    """
    n, total = np.int64(ids.size), np.int64(0)
    bump(ids, codes, size, cells)
    if distinct * margin.size <= ids.size:
        cell = 0
        for row in range(distinct):
            for level in range(margin.size):
                if cells[cell]:
                    total += max(0, n * np.int64(cells[cell]) - heights[row] * margin[level])
                    cells[cell] = 0
                cell += 1
    else:  # more cells than rows: touch those of the rows only, each at its first row
        for i in range(ids.size):
            cell = ids[i] * size + codes[i]
            if cells[cell]:
                total += max(0, n * np.int64(cells[cell]) - heights[ids[i]] * margin[codes[i]])
                cells[cell] = 0
    return total


@compiled
def shortfall(zeros, ones, best):  # type: ignore[no-untyped-def]
    """Return the least max(0, n - 2 K0) + max(0, n - 2 K1) over all ways to give each combination to one child value.

    `zeros` and `ones` are the counts of each combination; Kx is the sum of those with child value x given to x. `best`
    is scratch of two rows of (n + 1) // 2 + 1 places. Of the row in use, place a is the largest K1 for K0 = a, where a
    past half the records counts as half; far below 0 if there is none.
    """
    n, sure_zeros, sure_ones = np.int64(0), np.int64(0), np.int64(0)
    for row in range(zeros.size):
        n += zeros[row] + ones[row]
    cap = (n + 1) // 2
    best[:, : cap + 1] = -(n + 1)
    best[0, 0] = 0
    now, reach = 0, np.int64(0)
    for row in range(zeros.size):
        if zeros[row] == 0 or ones[row] == 0:  # of one value only: given to it, nothing is lost
            sure_zeros += zeros[row]
            sure_ones += ones[row]
            continue
        zero, one = min(zeros[row], cap), best.dtype.type(ones[row])
        old, new = best[now, : cap + 1], best[1 - now, : cap + 1]
        top = old[cap] + one
        for a in range(cap - zero, min(cap, reach) + 1):
            top = max(top, old[a])
        for a in range(min(zero, cap)):
            new[a] = old[a] + one
        reach = min(cap, reach + zero)
        shifted, kept, into = old[: reach + 1 - zero], old[zero : reach + 1], new[zero : reach + 1]
        for a in range(
            into.size
        ):  # two rows and no branch: compilers make vector instructions of it
            into[a] = max(kept[a] + one, shifted[a])
        new[cap] = top
        now = 1 - now
    least = 2 * n
    for a in range(cap + 1):
        if best[now, a] >= 0:
            least = min(
                least, max(0, n - 2 * (a + sure_zeros)) + max(0, n - 2 * (best[now, a] + sure_ones))
            )
    return least


@compiled
def _split(ids, codes, cells, distinct, zeros, ones, best):  # type: ignore[no-untyped-def]
    """Return the `shortfall` of a child of two levels; `cells` is zero before and after."""
    bump(ids, codes, np.uint32(2), cells)
    for row in range(distinct):
        zeros[row], ones[row] = cells[2 * row], cells[2 * row + 1]
        cells[2 * row] = cells[2 * row + 1] = 0
    return shortfall(zeros[:distinct], ones[:distinct], best)


@compiled
def family_sums(  # type: ignore[no-untyped-def]
    sets,
    widths,
    starts,
    children,
    margins,
    offsets,
    groups,
    rows,
    sizes,
    c8,
    c16,
    c32,
    ids,
    cells,
    room,
    best,
    out,
):
    """Fill in a whole number for each family: n^2 R, or the shortfall of F if `best` has any places.

    Parent sets are sorted as words are; set q has the children `starts[q]` to `starts[q + 1]`. Combinations of a set
    are numbered once for all of its children, and sets that begin alike share the numbering of their beginning. The
    margin of column c starts at `offsets[c]`. A family that would need more scratch than `cells` has is marked by -1.
    """
    path = np.full(ids.shape[0], -1, dtype=np.int64)
    distinct = np.ones(ids.shape[0], dtype=np.int64)
    known = 0
    for q in range(sets.shape[0]):
        width = widths[q]
        known = _walk(
            sets[q, :width], known, path, distinct, groups, rows, sizes, c8, c16, c32, ids, cells
        )
        keys, combinations = ids[width], distinct[width]
        heights = room[0]
        if known == width and best.size == 0:
            heights[:combinations] = 0
            for i in range(keys.size):
                heights[keys[i]] += 1
        for f in range(starts[q], starts[q + 1]):
            c = children[f]
            size = np.uint32(sizes[c])
            if known < width or combinations * sizes[c] > cells.size:
                out[f] = -1
            elif best.size and groups[c] == 0:
                out[f] = _split(keys, c8[rows[c]], cells, combinations, room[0], room[1], best)
            else:
                margin = margins[offsets[c] : offsets[c + 1]]
                if groups[c] == 0:
                    out[f] = _excess(keys, c8[rows[c]], size, cells, heights, combinations, margin)
                elif groups[c] == 1:
                    out[f] = _excess(keys, c16[rows[c]], size, cells, heights, combinations, margin)
                else:
                    out[f] = _excess(keys, c32[rows[c]], size, cells, heights, combinations, margin)
