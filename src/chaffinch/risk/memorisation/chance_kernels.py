"""The compiled loop over people and rows for the number of columns in which they differ: nothing is stored but a weighted count."""

from __future__ import annotations

import numpy as np

from ..._base.compiled import compiled


@compiled
def alike_weights(people, rows, own, weights, out):  # type: ignore[no-untyped-def]
    """Set `out` to the sum over rows of `weights[columns in which the row differs from the person]`; one row of codes for each column.

    Row `own[i]` is the person's own, and left out; -1 for none.
    """
    differing = np.empty(rows.shape[1], dtype=np.int16)
    for i in range(out.size):
        differing[:] = 0
        for j in range(rows.shape[0]):
            code, column = people[j, i], rows[j]
            for r in range(differing.size):
                differing[r] += np.int16(code != column[r])
        total = 0.0
        for r in range(differing.size):
            total += weights[differing[r]]
        if own[i] >= 0:
            total -= weights[differing[own[i]]]
        out[i] = total
