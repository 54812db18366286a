"""The hash table of rows against a set of tuples."""

import numpy as np
import pytest

from chaffinch.stats.equal import fill, look_up


@pytest.mark.parametrize("width", [1, 3])
def test_rows_are_found_as_in_a_set(width):
    rng = np.random.default_rng(width)
    words, others = (rng.integers(0, 5, (60, width)).astype(np.uint64) for _ in range(2))
    slots = np.full(128, -1, dtype=np.int32)
    held = {tuple(row) for row in words.tolist()}
    assert fill(words, slots) == len(held) == np.count_nonzero(slots >= 0)
    out = np.ones(60, dtype=bool)
    out[0] = False  # stays so
    look_up(others, words, slots, out)
    assert out.tolist() == [i > 0 and tuple(row) in held for i, row in enumerate(others.tolist())]
