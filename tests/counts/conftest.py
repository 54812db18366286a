"""R and F of PrivBayes from one marginal, plainly: second opinions for the scores of many families at once."""

from __future__ import annotations

import numpy as np

from chaffinch._base.errors import InputError
from chaffinch.counts.marginal import Marginal, _axis, _cells


def r_score(marginal: Marginal, child: str | None = None) -> float:
    """Return R of PrivBayes: half the L1 distance between the joint and the product of its margins, 0 to 1.

    0 if independent. Zhang et al., PrivBayes (TODS 2017), section 4.3: R has sensitivity 3/n + 2/n^2 where I has
    about log(n)/n.
    """
    cells = _cells(marginal, child)
    if cells.total <= 0:
        return 0.0
    joint = cells.counts / cells.total
    product = cells.rows[cells.row] * cells.columns[cells.column] / cells.total**2
    # Cells that are not listed have joint 0 and add their whole product.
    return 0.5 * float(np.abs(joint - product).sum() + max(0.0, 1.0 - product.sum()))


def f_score(marginal: Marginal, child: str | None = None) -> float:
    """Return F of PrivBayes for a binary child: 0 if the parents decide the child and split it evenly, at least -0.5.

    F is minus half the L1 distance to the nearest maximal joint distribution (Zhang et al., PrivBayes, section
    4.4). Each parent combination goes to one child value; F = -min((1/2 - K0)+ + (1/2 - K1)+), where Kx is
    the share of records with child value x among the combinations that went to x. Solved exactly by dynamic
    programming over K0 in whole records: time and memory grow with n.
    """
    axis = _axis(marginal, child)
    if marginal.sizes[axis] != 2:
        raise InputError(
            f"F is defined for a child of 2 levels. '{marginal.columns[axis]}' has {marginal.sizes[axis]}."
        )
    if marginal.counts.dtype != np.int64:
        raise InputError("F needs whole counts. Count without weights.")
    cells = _cells(marginal, child)
    total = int(cells.total)
    if total <= 0:
        return -0.5
    pairs = np.zeros((len(cells.rows), 2), dtype=np.int64)
    np.add.at(pairs, (cells.row, cells.column), cells.counts.astype(np.int64))
    # best[a]: the most child-1 records gained while child-0 gains are a; gains past half the records count no more.
    cap = (total + 1) // 2
    best = np.full(cap + 1, -1, dtype=np.int64)
    best[0] = 0
    for zero, one in pairs[pairs.sum(axis=1) > 0]:
        with_one = np.where(best >= 0, best + one, -1)
        step = min(int(zero), cap)
        with_zero = np.full_like(best, -1)
        with_zero[step:] = best[: cap + 1 - step]
        with_zero[cap] = max(with_zero[cap], best[cap - step :].max())
        best = np.maximum(with_one, with_zero)
    gained = np.flatnonzero(best >= 0)
    short = np.maximum(0.5 - gained / total, 0) + np.maximum(0.5 - best[gained] / total, 0)
    return -float(short.min())
