"""The compiled kernels against NumPy, for every mix of code widths and more rows than a block."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.counts.kernels import BLOCK, count, fold, number, weigh
from chaffinch.table.codes import Codes


@pytest.mark.parametrize("stretch", [BLOCK, 2 * BLOCK])
@pytest.mark.parametrize("n_rows", [0, 1, BLOCK, BLOCK + 3, 3 * BLOCK + 5])
def test_cliques_of_mixed_widths_are_counted_as_numpy_does(n_rows, stretch):
    rng = np.random.default_rng(n_rows)
    sizes = (3, 300, 70_000)
    columns = [rng.integers(0, size, n_rows).astype(np.uint32) for size in sizes]
    codes = Codes.of(columns, sizes)
    cliques = [(0, 1), (2,), ()]
    flat = np.array([j for clique in cliques for j in clique])
    cells = [int(np.prod([sizes[j] for j in clique], dtype=np.int64)) for clique in cliques]
    offsets, ends = np.cumsum([0, *cells[:-1]]), np.cumsum([0, *map(len, cliques)])
    layout = (
        offsets,
        ends,
        codes.groups[flat],
        codes.rows[flat],
        np.array(sizes)[flat],
        *codes.matrices,
        n_rows,
    )
    weights = rng.random(n_rows)
    counts, summed = np.zeros(sum(cells), dtype=np.int64), np.zeros(sum(cells))
    count(counts, *layout, stretch)
    weigh(summed, *layout, weights)
    for clique, offset, size in zip(cliques, offsets, cells, strict=True):
        keys = np.zeros(n_rows, dtype=np.int64)
        for j in clique:
            keys = keys * sizes[j] + columns[j]
        np.testing.assert_array_equal(
            counts[offset : offset + size], np.bincount(keys, minlength=size)
        )
        np.testing.assert_array_equal(
            summed[offset : offset + size], np.bincount(keys, weights, minlength=size)
        )


def test_pairs_are_numbered_as_they_appear_over_several_batches():
    rng = np.random.default_rng(5)
    numbers, distinct, seen = np.zeros(12, dtype=np.uint32), 0, {}
    for n in (1, 0, 9, 40):
        key, codes, out = (
            rng.integers(0, 4, n).astype(np.uint32),
            rng.integers(0, 3, n).astype(np.uint8),
            np.empty(n, dtype=np.uint32),
        )
        distinct = number(key, codes, np.uint32(3), numbers, distinct, out)
        assert out.tolist() == [
            seen.setdefault(pair, len(seen))
            for pair in zip(key.tolist(), codes.tolist(), strict=True)
        ]
        assert distinct == len(seen)
        fold(key, codes, np.uint32(3), out)
        assert out.tolist() == (key.astype(int) * 3 + codes).tolist()
