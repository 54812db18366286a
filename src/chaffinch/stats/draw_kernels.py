"""The compiled loop over draws for means over classes: people in, numerator and denominator out, nothing in between."""

from __future__ import annotations

from .._base.compiled import compiled


@compiled
def class_means(counts, unit, right, starts, weight, seen, above, below):  # type: ignore[no-untyped-def]
    """Fill `above` and `below` with the weighted sum of right shares of classes, and of weights, for each draw.

    Class k owns the entries `starts[k]` to `starts[k + 1]` of `unit` (columns of `counts`) and `right`; it counts with
    `weight[k]` times `seen[number of its people]`.
    """
    for draw in range(counts.shape[0]):
        told_share = 0.0
        counted = 0.0
        for k in range(weight.size):
            present = 0.0
            right_sum = 0.0
            for j in range(starts[k], starts[k + 1]):
                times = counts[draw, unit[j]]
                present += times
                right_sum += times * right[j]
            if present > 0.0:
                share = weight[k] * seen[int(present)]
                told_share += share * right_sum / present
                counted += share
        above[draw] = told_share
        below[draw] = counted
