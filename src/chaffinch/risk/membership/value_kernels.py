"""Loops over targets and released rows for `ValueSight`: a column at a time, so that rows are compared many to an instruction."""

from __future__ import annotations

import numpy as np

from ..._base.compiled import compiled

NEAREST = 5
"""Nearest rows by ranks that are looked at."""


@compiled
def look_at_rows(numbers, ranks, words, own_numbers, own_ranks, own_words, rare, spans, widths):  # type: ignore[no-untyped-def]
    """Return for each target what the rows show.

    Values are (columns, rows), those of targets (columns, targets), `rare` (targets, numeric then categorical columns). Of equal values by column; the two
    nearest distances (Gower's: the mean over columns of the difference in ranges, 1 where words differ or one is missing); counts of rows
    (equal in all columns, with a rare value, with two, and the most columns and rare values that a row has equal); the nearest distances by
    ranks; and the sums of the kernels exp(-d / width), of one width and of half of it.
    """
    n_numbers, n_words, n_rows = (
        numbers.shape[0],
        words.shape[0],
        max(numbers.shape[1], words.shape[1]),
    )
    n_columns, n_targets = n_numbers + n_words, rare.shape[0]
    per_column = np.zeros((n_targets, n_columns))
    near = np.full((n_targets, 2), 1.0)
    flags = np.zeros((n_targets, 5))
    near_ranks = np.full((n_targets, NEAREST), np.inf)
    kernels = np.zeros((n_targets, 2))
    gower, by_rank = np.empty(n_rows), np.empty(n_rows)
    equal, rarely = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    for t in range(n_targets):
        gower[:] = 0.0
        by_rank[:] = 0.0
        equal[:] = 0
        rarely[:] = 0
        for f in range(n_numbers):
            mine, my_rank, scale = own_numbers[f, t], own_ranks[f, t], 1.0 / spans[f]
            is_rare = np.int32(rare[t, f])
            total = np.int64(0)
            if np.isnan(mine):
                for r in range(n_rows):
                    same = np.int32(np.isnan(numbers[f, r]))
                    total += same
                    equal[r] += same
                    rarely[r] += same * is_rare
                    gower[r] += 1.0 - same
                    by_rank[r] += 1.0 - same
            else:
                for r in range(n_rows):
                    other = numbers[f, r]
                    same = np.int32(other == mine)
                    total += same
                    equal[r] += same
                    rarely[r] += same * is_rare
                    apart = abs(other - mine) * scale
                    gower[r] += apart if apart == apart else 1.0
                    apart = abs(ranks[f, r] - my_rank)
                    by_rank[r] += apart if apart == apart else 1.0
            per_column[t, f] = total
        for f in range(n_words):
            my_word = own_words[f, t]
            is_rare = np.int32(rare[t, n_numbers + f])
            total = np.int64(0)
            for r in range(n_rows):
                same = np.int32(words[f, r] == my_word)
                total += same
                equal[r] += same
                rarely[r] += same * is_rare
                gower[r] += 1.0 - same
                by_rank[r] += 1.0 - same
            per_column[t, n_numbers + f] = total
        first, second = np.inf, np.inf
        for r in range(n_rows):
            apart = gower[r] / n_columns
            if apart < first:
                second = first
                first = apart
            elif apart < second:
                second = apart
            flags[t, 0] += equal[r] == n_columns
            flags[t, 1] += rarely[r] > 0
            flags[t, 2] += rarely[r] > 1
            flags[t, 3] = max(flags[t, 3], equal[r])
            flags[t, 4] = max(flags[t, 4], rarely[r])
            apart = by_rank[r] / n_columns
            weight = np.exp(-apart / widths[t])
            kernels[t, 0] += weight
            kernels[t, 1] += weight * weight
            if apart < near_ranks[t, NEAREST - 1]:
                at = NEAREST - 1
                while at > 0 and near_ranks[t, at - 1] > apart:
                    near_ranks[t, at] = near_ranks[t, at - 1]
                    at -= 1
                near_ranks[t, at] = apart
        if n_rows > 0:
            near[t, 0] = first
        if n_rows > 1:
            near[t, 1] = second
        for at in range(NEAREST):
            near_ranks[t, at] = min(near_ranks[t, at], 1.0)
    return per_column, near, flags, near_ranks, kernels


@compiled
def outermost(numbers):  # type: ignore[no-untyped-def]
    """Return the two largest, the two smallest and the mean of each column, (columns, 5); NaN where there are none."""
    out = np.full((numbers.shape[0], 5), np.nan)
    for f in range(numbers.shape[0]):
        high, next_high, low, next_low = -np.inf, -np.inf, np.inf, np.inf
        total, present = 0.0, 0
        for r in range(numbers.shape[1]):
            x = numbers[f, r]
            if np.isnan(x):
                continue
            present += 1
            total += (
                x - total
            ) / present  # a running mean: the sum of the largest floats has no end
            if x > high:
                next_high = high
                high = x
            elif x > next_high:
                next_high = x
            if x < low:
                next_low = low
                low = x
            elif x < next_low:
                next_low = x
        if present > 0:
            out[f, 0], out[f, 2], out[f, 4] = high, low, total
            out[f, 1], out[f, 3] = (next_high, next_low) if present > 1 else (high, low)
    return out


@compiled
def count_beyond(numbers, own, upper):  # type: ignore[no-untyped-def]
    """Return how many released numbers are at or beyond a target's, on its side of the median, and how far the nearest number is from it.

    Both (targets, columns). A missing number of the target counts the missing ones, and is as far from a number as 0.
    """
    n_columns, n_targets = own.shape
    beyond, gaps = np.zeros((n_targets, n_columns)), np.zeros((n_targets, n_columns))
    for f in range(n_columns):
        for t in range(n_targets):
            mine = own[f, t]
            total, gap = 0, np.inf
            if np.isnan(mine):
                for r in range(numbers.shape[1]):
                    total += np.isnan(numbers[f, r])
                gap = 0.0
            else:
                for r in range(numbers.shape[1]):
                    x = numbers[f, r]
                    total += (x >= mine) if upper[f, t] else (x <= mine)
                    gap = min(gap, abs(x - mine)) if x == x else gap
            beyond[t, f] = total
            gaps[t, f] = gap if gap < np.inf else 1e300
    return beyond, gaps
