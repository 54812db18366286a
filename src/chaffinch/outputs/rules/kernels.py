"""The search for two unions of cells that differ by a few people, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled

Links = tuple[NDArray[np.int64], ...]
"""The people that cells share with those of another tally, in compressed rows: starts, to, people, size, out.

`to[starts[i]:starts[i + 1]]` are the cells that share people with cell i, `people` how many; `size` is how many people it has, and `out` how
many of them are in no known cell of the other."""

MOST_UNITED = 128
"""The most cells of a union that is searched for at first, which is quick; larger ones come after, as far as there is work left."""
# Sizes of unions by which cells are sorted out: finer than octaves, which let too many pass.
_SIZES = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
    12,
    14,
    16,
    20,
    24,
    28,
    32,
    36,
    40,
    44,
    48,
    56,
    64,
    72,
    80,
    96,
    112,
    128,
)


def union_sizes(most: int) -> Any:
    """Return sizes of unions by which cells are sorted out, up to `most`, in steps of an eighth or less of an octave from 128 on.

    Examples
    --------
    >>> union_sizes(5).tolist(), union_sizes(300).tolist()[-7:]
    ([1, 2, 3, 4, 5], [162, 182, 204, 229, 257, 289, 300])
    """
    sizes = list(_SIZES)
    while sizes[-1] < most:
        sizes.append(min(sizes[-1] + sizes[-1] // 8, most))
    return np.array([*(size for size in sizes if size < most), most])


@compiled
def nested(
    outer: Links, inner: Links, threshold: int, sizes: Any, wanted: Any, most_steps: int
) -> Any:
    """Return, for each seed, how many people a union of a's cells has beyond a union of b's cells within it; 0 where not few.

    -1 stands for a seed that was not looked at to the end: its union has more cells than the last of `sizes`, or the work was done. The
    last entry is the number of steps. Only seeds that are `wanted` are tried, in at most about `most_steps` steps.

    Cells of a, the outer tally, are numbered from 0, those of b, the inner one, go on after them.

    A union U of a's cells and V of b's with V inside U differ by the people of U in no cell of V. Starting from a seed: a cell of b brings
    in all cells of a that it touches (or V would not be inside U); a cell of a brings in all cells of b with which it shares `threshold`
    people or more (or the difference would be as large). Then every cell of b that is inside U joins V. Cells tied by `threshold`
    shared people lead to the same sets, and so do cells of b that touch the same cells: one of them is the seed.
    """
    a_starts, a_to, a_people, a_size, a_out = outer
    b_starts, b_to, b_people, b_size, b_out = inner
    n_a, n_b = len(a_size), len(b_size)
    differences = np.zeros(n_a + n_b, dtype=np.int64)
    tied = np.full(n_a + n_b, -1, dtype=np.int64)
    mark = np.full(n_a + n_b, -1, dtype=np.int64)
    seen, seen_by = np.zeros(n_b, dtype=np.int64), np.full(n_b, -1, dtype=np.int64)
    queue = np.empty(n_a + n_b, dtype=np.int64)
    heavy, sets = np.zeros(n_a, dtype=np.bool_), np.zeros(n_b, dtype=np.uint64)
    # People of a cell of a who are lost to any union of at most sizes[j] cells: those in cells of b that touch more, or leave a.
    n_bins, most, steps = len(sizes), sizes[-1], 0
    lost = np.zeros((n_a, n_bins), dtype=np.int32)
    # Those who are lost to any union at all.
    gone_for_good = np.zeros(n_a, dtype=np.int64)
    for a in range(n_a):
        for k in range(a_starts[a], a_starts[a + 1]):
            b = a_to[k]
            heavy[a] |= a_people[k] >= threshold
            last = n_bins
            if b_out[b] == 0:
                last = np.searchsorted(sizes, b_starts[b + 1] - b_starts[b])
            else:
                gone_for_good[a] += a_people[k]
            if last > 0:
                lost[a, last - 1] += a_people[k]
        for j in range(n_bins - 2, -1, -1):
            lost[a, j] += lost[a, j + 1]
    for b in range(n_b):
        # A number for the set of cells that b touches: two sets of the same number are the same set, but once in 2 ** 64.
        number = np.uint64(b_starts[b + 1] - b_starts[b])
        for k in range(b_starts[b], b_starts[b + 1]):
            mixed = (np.uint64(b_to[k]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            number += mixed ^ (mixed >> np.uint64(31))
        sets[b] = number
    order = np.argsort(sets)
    for k in range(1, n_b):
        if sets[order[k]] == sets[order[k - 1]]:
            tied[n_a + order[k]] = n_a + order[k]
    for seed in range(n_a + n_b):
        if tied[seed] >= 0 or not wanted[seed]:
            continue
        if steps > most_steps:
            differences[seed] = -1
            continue
        queue[0], head, tail = seed, 0, 1
        mark[seed] = seed
        total, within, out, united, any_b, valid, capped = 0, 0, 0, 0, False, True, False
        sure = 0
        while head < tail and valid:
            node = queue[head]
            head += 1
            if node < n_a:
                total += a_size[node]
                out += a_out[node]
                sure += a_out[node] + gone_for_good[node]
                united += 1
                if sure >= threshold:
                    valid = False
                    break
                if united > most or lost[node, n_bins - 1] >= threshold or steps > most_steps:
                    valid, capped = False, True
                    break
                if heavy[node]:
                    steps += a_starts[node + 1] - a_starts[node]
                    for k in range(a_starts[node], a_starts[node + 1]):
                        other = n_a + a_to[k]
                        if a_people[k] >= threshold and mark[other] != seed:
                            mark[other] = seed
                            queue[tail] = other
                            tail += 1
            else:
                b = node - n_a
                if b_out[b] > 0:
                    valid = False
                    break
                if b_starts[b + 1] - b_starts[b] > most:
                    valid, capped = False, True
                    break
                steps += b_starts[b + 1] - b_starts[b]
                within += b_size[b]
                any_b = True
                for k in range(b_starts[b], b_starts[b + 1]):
                    other = b_to[k]
                    if mark[other] != seed:
                        mark[other] = seed
                        queue[tail] = other
                        tail += 1
        if valid:
            size = np.searchsorted(sizes, united)
            gone = 0
            for position in range(tail):
                if queue[position] < n_a:
                    gone += lost[queue[position], size]
            valid = gone + out < threshold
        if valid:
            for position in range(tail):
                node = queue[position]
                if node >= n_a:
                    continue
                steps += a_starts[node + 1] - a_starts[node]
                for k in range(a_starts[node], a_starts[node + 1]):
                    b = a_to[k]
                    if mark[n_a + b] == seed or b_out[b] > 0:
                        continue
                    if seen_by[b] != seed:
                        seen_by[b], seen[b] = seed, 0
                    seen[b] += 1
                    if seen[b] == b_starts[b + 1] - b_starts[b]:
                        mark[n_a + b] = seed
                        within += b_size[b]
                        any_b = True
            difference = total - within
            if any_b and 0 < difference < threshold:
                differences[seed] = difference
        if capped:
            differences[seed] = -1
        # Cells tied to the seed by many shared people need no search of their own.
        tied[seed] = seed
        queue[0], head, tail = seed, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            if node < n_a:
                if heavy[node]:
                    for k in range(a_starts[node], a_starts[node + 1]):
                        other = n_a + a_to[k]
                        if a_people[k] >= threshold and tied[other] < 0:
                            tied[other] = seed
                            queue[tail] = other
                            tail += 1
            else:
                b = node - n_a
                for k in range(b_starts[b], b_starts[b + 1]):
                    other = b_to[k]
                    if b_people[k] >= threshold and tied[other] < 0:
                        tied[other] = seed
                        queue[tail] = other
                        tail += 1
    return np.append(differences, steps)


@compiled
def united(outer: Links, inner: Links, threshold: int, seed: int) -> Any:
    """Return which cells make up the two unions that start from a seed, a's and then b's: what `nested` counted."""
    a_starts, a_to, a_people, _, _ = outer
    b_starts, b_to, _, _, b_out = inner
    n_a, n_b = len(a_starts) - 1, len(b_starts) - 1
    mark = np.zeros(n_a + n_b, dtype=np.bool_)
    queue, head, tail = [seed], 0, 1
    mark[seed] = True
    while head < tail:
        node = queue[head]
        head += 1
        if node < n_a:
            for k in range(a_starts[node], a_starts[node + 1]):
                other = n_a + a_to[k]
                if a_people[k] >= threshold and not mark[other]:
                    mark[other] = True
                    queue.append(other)
                    tail += 1
        else:
            for k in range(b_starts[node - n_a], b_starts[node - n_a + 1]):
                other = b_to[k]
                if not mark[other]:
                    mark[other] = True
                    queue.append(other)
                    tail += 1
    for position in range(tail):
        node = queue[position]
        if node >= n_a:
            continue
        for k in range(a_starts[node], a_starts[node + 1]):
            b = a_to[k]
            if mark[n_a + b] or b_out[b] > 0:
                continue
            inside = True
            for j in range(b_starts[b], b_starts[b + 1]):
                if not mark[b_to[j]]:
                    inside = False
                    break
            mark[n_a + b] = inside
    return mark
