"""Growing a tree: at each node the split that tells most of the child, while it tells more than chance would, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._base.compiled import compiled

MOST_DEPTH = 60
GROUPS = 12
"""Groups of the child's codes, of those that occur at a node, between which splits tell: with more, chance tells too."""
ROWS = 20
"""Rows for each group of a node."""
TRIED = 3
"""Groups of the child by whose share the codes of a parent without an order are put in one."""


@compiled(inline="always")  # type: ignore[untyped-decorator]
def _xlogx(value: float) -> float:
    return value * np.log(value) if value > 0.0 else 0.0


@compiled
def x_log_x(n: int) -> Any:
    """Return x log x of 0 to n: what `grow` looks up where records have no weights."""
    out = np.zeros(n + 1)
    for x in range(n + 1):
        out[x] = _xlogx(float(x))
    return out


@compiled(inline="always")  # type: ignore[untyped-decorator]
def _looked_up(value: float, known: Any) -> float:
    return known[int(value)] if len(known) else _xlogx(value)


@compiled
def _best_cut(
    table: Any, people: Any, order: Any, least: float, known: Any, left: Any, whole: Any
) -> Any:
    """Return the gain in nats of the best cut of the codes of a parent, in some order, and how many of them come before it; 0 where there is none."""
    n_codes, n_groups = table.shape
    left[:n_groups] = 0.0
    whole[:n_groups] = 0.0
    total = behind = 0.0
    for code in range(n_codes):
        if people[code] == 0.0:
            continue
        total += people[code]
        for group in range(n_groups):
            whole[group] += table[code, group]
    base = weight = 0.0
    for group in range(n_groups):
        base += _looked_up(whole[group], known)
        weight += whole[group]
    base -= _looked_up(weight, known)
    best, place, before = 0.0, 0, 0.0
    for k in range(n_codes - 1):
        code = order[k]
        if people[code] == 0.0:
            continue
        behind += people[code]
        for group in range(n_groups):
            left[group] += table[code, group]
            before += table[code, group]
        if behind < least:
            continue
        if total - behind < least:
            break
        gain = -base - _looked_up(before, known) - _looked_up(weight - before, known)
        for group in range(n_groups):
            gain += _looked_up(left[group], known) + _looked_up(whole[group] - left[group], known)
        if gain > best:
            best, place = gain, k + 1
    return best, place


@compiled
def _grouped(shares: Any, n_values: int, in_order: bool, most: int, group_of: Any) -> int:
    """Put the codes of a child that occur at a node into groups, and return how many: neighbours of about the same weight, or the commonest and the rest.

    Codes that stand for no value have groups of their own.
    """
    size = len(shares)
    present = 0
    for code in range(size):
        present += shares[code] > 0.0
    if present <= most or not in_order:
        rank = np.argsort(-shares)
        for k in range(size):
            group_of[rank[k]] = min(k, most - 1)
        return min(present, most)
    total = 0.0
    for code in range(n_values):
        total += shares[code]
    behind, groups, last = 0.0, -1, -1
    for code in range(n_values):
        if shares[code] > 0.0:
            wanted = int((behind + 0.5 * shares[code]) / total * most)
            if wanted != last:
                groups, last = groups + 1, wanted
            group_of[code] = groups
            behind += shares[code]
    for code in range(n_values, size):
        if shares[code] > 0.0:
            groups += 1
            group_of[code] = min(groups, most + 1)
    return min(groups, most + 1) + 1


@compiled
def grow(
    x: Any,
    y: Any,
    weights: Any,
    known: Any,
    sizes: Any,
    ordered: Any,
    child: Any,
    required: Any,
    least: int,
    most: int,
    price: float,
    naming: float,
) -> Any:
    """Return a tree: the column that each node splits (-1: leaf), the first node below, where its sides begin, and the sides of codes.

    `x` are codes by column and row, with `sizes` codes, in an order of their own or not (`ordered`); `y` those of the child, of which `child` says how many there are,
    how many of these are values, and whether they have an order. `weights` are those of records, none where each counts one; `known` is `x_log_x` then, and empty otherwise. A split leaves `least` rows on both sides. It must gain `price` nats for each free share of groups of the
    child's codes (the fewer rows, the fewer groups), and what it takes to name it among all that could be. At most `most` columns are split, the `required` ones among them.
    """
    y_size, y_values, y_ordered = child
    all_shares, group_of = np.zeros(y_size), np.zeros(y_size, dtype=np.int64)
    n_columns, n = x.shape
    room = 2 * (n // max(least, 1)) + 3
    splits, below, first = (
        np.full(room, -1, dtype=np.int32),
        np.full(room, -1, dtype=np.int32),
        np.zeros(room, dtype=np.int64),
    )
    begin, end, depth = (
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
    )
    sides = np.zeros(1024, dtype=np.uint8)
    rows, spare = np.arange(n), np.empty(n, dtype=np.int64)
    used, n_used, n_sides, n_nodes = required.copy(), required.sum(), 0, 1
    end[0] = n
    widest = 1
    for column in range(n_columns):
        widest = max(widest, sizes[column])
    table, people = np.zeros((widest, GROUPS + 2)), np.zeros(widest)
    counts, groups = np.zeros((widest, GROUPS + 2), dtype=np.int32), np.zeros(n, dtype=np.uint8)
    before_cut, at_node = np.zeros(GROUPS + 2), np.zeros(GROUPS + 2)
    alike = len(weights) == 0
    order, score, best_order = (
        np.empty(widest, dtype=np.int64),
        np.empty(widest),
        np.empty(widest, dtype=np.int64),
    )
    node = 0
    while node < n_nodes:
        start, stop = begin[node], end[node]
        if stop - start >= 2 * least and depth[node] < MOST_DEPTH:
            all_shares[:] = 0.0
            for k in range(start, stop):
                all_shares[y[rows[k]]] += 1.0 if alike else weights[rows[k]]
            n_groups = _grouped(
                all_shares,
                y_values,
                y_ordered,
                min(max(2 + (stop - start) // ROWS, 3), GROUPS),
                group_of,
            )
            shares = np.zeros(n_groups)
            for code in range(y_size):
                if all_shares[code] > 0.0:
                    shares[group_of[code]] += all_shares[code]
            for k in range(start, stop):
                groups[k] = group_of[y[rows[k]]]
            free = n_groups - 1
            common = np.argsort(-shares)
            ways = 0
            for column in range(n_columns):
                ways += sizes[column] - 1 if n_used < most or used[column] else 0
            best, best_column, best_place = price * free + naming * np.log(max(ways, 1)), -1, 0
            for column in range(n_columns):
                if free < 1 or (n_used >= most and not used[column]):
                    continue
                size, codes = sizes[column], x[column]
                if (
                    alike and stop - start > 2 * size
                ):  # rows are many: one count each, and people are summed from these
                    for k in range(start, stop):
                        counts[codes[rows[k]], groups[k]] += np.int32(1)
                    for code in range(size):
                        people[code] = 0.0
                        for group in range(n_groups):
                            table[code, group] = counts[code, group]
                            people[code] += counts[code, group]
                            counts[code, group] = 0
                else:
                    for code in range(size):
                        people[code] = 0.0
                        for group in range(n_groups):
                            table[code, group] = 0.0
                    for k in range(start, stop):
                        row = rows[k]
                        table[codes[row], groups[k]] += 1.0 if alike else weights[row]
                        people[codes[row]] += 1.0
                for way in range(1 if ordered[column] else min(TRIED, n_groups)):
                    for code in range(size):
                        order[code] = code
                    if not ordered[column]:
                        group = common[way]
                        for code in range(size):
                            whole = table[code, :n_groups].sum()
                            score[code] = table[code, group] / whole if whole > 0.0 else 2.0
                        order[:size] = np.argsort(score[:size])
                    gain, place = _best_cut(
                        table[:size, :n_groups],
                        people[:size],
                        order[:size],
                        least,
                        known,
                        before_cut,
                        at_node,
                    )
                    if gain > best:
                        best, best_column, best_place = gain, column, place
                        best_order[:size] = order[:size]
            if best_column >= 0:
                size = sizes[best_column]
                while n_sides + size > len(sides):
                    longer = np.zeros(2 * len(sides), dtype=np.uint8)
                    longer[: len(sides)] = sides
                    sides = longer
                people[:size] = 0.0
                for k in range(start, stop):
                    people[x[best_column, rows[k]]] += 1.0
                behind = 0.0
                for k in range(size):
                    code = best_order[k]
                    sides[n_sides + code] = 0 if k < best_place else 1
                    behind += people[code] if k < best_place else 0.0
                if not ordered[best_column]:  # codes that nobody has here go with the larger side
                    larger = 0 if behind * 2.0 >= stop - start else 1
                    for code in range(size):
                        if people[code] == 0.0:
                            sides[n_sides + code] = larger
                at, late = start, 0
                for k in range(start, stop):
                    row = rows[k]
                    if sides[n_sides + x[best_column, row]] == 0:
                        rows[at] = row
                        at += 1
                    else:
                        spare[late] = row
                        late += 1
                for k in range(late):
                    rows[at + k] = spare[k]
                splits[node], below[node], first[node] = best_column, n_nodes, n_sides
                n_sides += size
                if not used[best_column]:
                    used[best_column] = True
                    n_used += 1
                begin[n_nodes], end[n_nodes], begin[n_nodes + 1], end[n_nodes + 1] = (
                    start,
                    at,
                    at,
                    stop,
                )
                depth[n_nodes] = depth[n_nodes + 1] = depth[node] + 1
                n_nodes += 2
        node += 1
    return (
        splits[:n_nodes].copy(),
        below[:n_nodes].copy(),
        first[:n_nodes].copy(),
        sides[:n_sides].copy(),
    )
