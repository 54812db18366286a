"""Two unions of cells that differ by a few people, between tallies of few cells: from all seeds at once, by matrices.

The same search as `kernels.nested`, which is for tallies of many cells: loading compiled code takes longer than comparing a folder of small tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tallies import Ints, Mask

MOST_CELLS = 64
"""Cells of a tally up to which matrices of seeds by cells are quick."""


def small_unions(shared: Ints, a_out: Ints, b_out: Ints, threshold: int) -> list[tuple[Mask, Mask]]:
    """Return each union of a's cells, and the union of b's within it, between which there are 1 to threshold - 1 people.

    `shared` has the people by cell of a and of b, `a_out` and `b_out` those of each cell who are in none of the other.
    A union is grown from every cell: a cell of b brings in all of a that it touches, a cell of a all of b with which it shares `threshold` people or more.

    Examples
    --------
    Two of a's cells have 20 + 15 people, of whom 32 are in b's one cell:

    >>> small_unions(np.array([[19], [13]]), np.array([1, 2]), np.array([0]), 10)
    [(array([ True,  True]), array([ True]))]
    """
    n_a, n_b = shared.shape
    touching = (shared > 0).astype(np.float32)
    tied = (shared >= threshold).astype(np.float32)
    start = np.eye(n_a + n_b, dtype=bool)
    of_a, of_b = start[:, :n_a], start[:, n_a:]
    while True:
        more_b = of_b | (_numbers(of_a) @ tied > 0)
        more_a = of_a | (_numbers(more_b) @ touching.T > 0)
        grown = more_a.sum() + more_b.sum() > of_a.sum() + of_b.sum()
        of_a, of_b = more_a, more_b
        if not grown:
            break
    whole = ~(of_b & (b_out > 0)).any(axis=1)
    of_a, of_b = of_a[whole], of_b[whole]
    # Cells of b that lie inside by now, though none brought them in.
    within = (
        (_numbers(of_a) @ touching == touching.sum(axis=0))
        & (touching.sum(axis=0) > 0)
        & (b_out == 0)
    )
    of_b = of_b | within
    beyond = of_a @ (shared.sum(axis=1) + a_out) - of_b @ (shared.sum(axis=0) + b_out)
    few = of_b.any(axis=1) & (beyond > 0) & (beyond < threshold)
    if not few.any():
        return []
    different = np.unique(np.hstack([of_a[few], of_b[few]]), axis=0)
    return [(one[:n_a], one[n_a:]) for one in different]


def _numbers(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    return mask.astype(np.float32)
