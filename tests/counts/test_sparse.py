"""Sparse counts: batches add up to what a dictionary counts, also in domains larger than 2^63, and growth has an end."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from chaffinch._base.errors import TooLargeError
from chaffinch.counts.sparse import SparseCounts


@pytest.mark.parametrize("sizes", [(3, 4), (1 << 20,) * 4, (2,)])
def test_batches_add_up_to_what_a_dictionary_counts(sizes):
    rng = np.random.default_rng(1)
    tally, expected = SparseCounts(sizes), Counter()
    for n in (5, 0, 40):
        columns = [rng.integers(0, min(size, 3), n).astype(np.uint32) for size in sizes]
        tally.add(columns)
        expected.update(zip(*(column.tolist() for column in columns), strict=True))
    marginal = tally.marginal(tuple(f"c{j}" for j in range(len(sizes))))
    assert (
        dict(zip(map(tuple, marginal.cells.tolist()), marginal.counts.tolist(), strict=True))
        == expected
    )


def test_cells_whose_weights_cancel_are_left_out():
    tally = SparseCounts((2,), weighted=True)
    tally.add([np.array([0, 1, 1], np.uint8)], np.array([1.0, 2.0, -2.0]))
    assert tally.marginal(("a",)).cells.tolist() == [[0]]


def test_growth_has_an_end():
    with pytest.raises(TooLargeError, match="more than 3 distinct combinations"):
        SparseCounts((10,), most_cells=3).add([np.arange(4, dtype=np.uint8)])
