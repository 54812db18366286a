"""How likely is a row by chance? From the people whose rows are nearly it: all but the person asked about, members and others alike.

The chance is a kernel estimate over columns of levels (Aitchison and Aitken, 1976, with one weight for all columns): a person whose row differs in k columns
counts `RATIO`^k. It is scaled so that its mean over people is the share of pairs of people with equal rows, which estimates that mean
without bias whatever the kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._base.threads import thread_map
from ...stats.splits import child
from .distances import some
from .protocol import MOST_ROWS, ReleaseCase

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RATIO = 0.1
"""What a person counts for whose row differs in one more column (0.02 to 0.25 were tried on Adult, sm_fair and sm_randhie: little differs)."""

PILOT = 500
"""People by whom the kernel is scaled."""

BLOCK = 256
"""People whom a thread takes at a time."""


def chance_of_row(case: ReleaseCase, people: Ints, *, most_rows: int = MOST_ROWS) -> Floats:
    """Return for some people, by number, the chance that a random row is equal to theirs in all columns; 0 where no two people are equal.

    Of more people than `most_rows`, so many are drawn at random to estimate it from, whoever is a member.
    """
    _, classes, size = case.whole_rows
    equal = float(np.bincount(classes, minlength=size)[classes].mean() - 1.0) / max(
        case.n_people - 1, 1
    )
    if not equal > 0 or not len(people):
        return np.zeros(len(people))
    rng = np.random.default_rng(child(case.seed, 2))
    pilot, others = some(case.n_people, PILOT, rng), some(case.n_people, most_rows, rng)
    codes = np.stack([column.people.astype(np.int32) for column in case.columns])
    rows = np.ascontiguousarray(codes[:, others])
    weights = RATIO ** np.arange(len(codes) + 1.0)
    place = np.full(case.n_people, -1, dtype=np.int64)
    place[others] = np.arange(len(others))

    def kernel(some_people: Ints) -> Floats:
        from .chance_kernels import alike_weights

        out = np.empty(len(some_people))
        alike_weights(
            np.ascontiguousarray(codes[:, some_people]), rows, place[some_people], weights, out
        )
        return out / np.maximum(len(others) - (place[some_people] >= 0), 1)

    def kernels(chosen: Ints) -> Floats:
        blocks = [chosen[at : at + BLOCK] for at in range(0, len(chosen), BLOCK)]
        return np.concatenate(thread_map(kernel, blocks, threads=case.threads))

    scale = equal / float(kernels(pilot).mean())
    out: Floats = np.minimum(scale * kernels(people), 1.0)
    return out
