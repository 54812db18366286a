"""The compiled loops over a hash table of rows: open addressing, a slot holds the number of a row or -1."""

from __future__ import annotations

import numpy as np

from .._base.compiled import compiled

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with bits all over, 2^64 over the golden ratio: multiplying by it spreads words over all slots."""


@compiled
def _slot(words, i, slots):  # type: ignore[no-untyped-def]
    """Return the slot at which row i is looked for first."""
    key = np.uint64(0)
    for j in range(words.shape[1]):
        key = (key ^ words[i, j]) * MULTIPLIER
        key ^= key >> np.uint64(32)
    return np.int64((key * MULTIPLIER) & np.uint64(slots.size - 1))


@compiled
def _same(words, i, others, k):  # type: ignore[no-untyped-def]
    j = 0
    while j < words.shape[1] and words[i, j] == others[k, j]:
        j += 1
    return j == words.shape[1]


@compiled
def fill(words, slots):  # type: ignore[no-untyped-def]
    """Put the number of the first of equal rows into `slots` (-1 all over; a power of two, more than rows); return how many."""
    distinct = 0
    for i in range(words.shape[0]):
        at = _slot(words, i, slots)
        while slots[at] >= 0 and not _same(words, i, words, slots[at]):
            at = (at + 1) & (slots.size - 1)
        if slots[at] < 0:
            slots[at] = i
            distinct += 1
    return distinct


@compiled
def look_up(words, known, slots, out):  # type: ignore[no-untyped-def]
    """Set `out` to whether each row of `words` equals one of `held`, whose numbers are in `slots`; rows whose `out` is False stay so."""
    for i in range(words.shape[0]):
        if out[i]:
            at = _slot(words, i, slots)
            while slots[at] >= 0 and not _same(words, i, known, slots[at]):
                at = (at + 1) & (slots.size - 1)
            out[i] = slots[at] >= 0
