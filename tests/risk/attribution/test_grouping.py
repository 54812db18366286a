"""Distinct rows and codes on one grid, against dictionaries."""

from collections import Counter

import numpy as np
import pytest

from chaffinch.risk.attribution import hamming
from chaffinch.risk.attribution.hamming import align, distinct, pool


@pytest.mark.parametrize("few", [True, False], ids=["table of cells", "sorting"])
def test_aligned_codes_are_equal_exactly_where_they_were(few, monkeypatch):
    if not few:
        monkeypatch.setattr(hamming, "_few", lambda cells, n: False)
    rng = np.random.default_rng(1)
    mine, theirs = rng.integers(0, 30, 40), rng.integers(10, 40, 50)
    one, other, size = align(mine, theirs)
    assert ((one[:, None] == other) == (mine[:, None] == theirs)).all()
    assert max(one.max(), other.max()) < size


def test_distinct_keys_and_their_values():
    rng = np.random.default_rng(2)
    columns, values = [rng.integers(0, 3, 50) for _ in range(2)], rng.integers(0, 2, 50)
    found = distinct(columns, values)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    counts = Counter(zip(rows, values.tolist(), strict=True))
    key_of = np.repeat(np.arange(found.n_keys), np.diff(found.starts))
    keys = list(zip(*(column.tolist() for column in found.columns), strict=True))
    assert {
        (keys[k], int(v)): int(c)
        for k, v, c in zip(key_of, found.values, found.counts, strict=True)
    } == counts
    assert [(keys[key_of[at]], int(found.values[at])) for at in found.inverse] == list(
        zip(rows, values.tolist(), strict=True)
    )


@pytest.mark.parametrize("few", [True, False], ids=["table of cells", "sorting"])
def test_pooled_counts_are_a_counters(few, monkeypatch):
    if not few:
        monkeypatch.setattr(hamming, "_few", lambda cells, n: False)
    cells, counts = np.array([7, 2, 7, 0]), np.array([1, 5, 3, 2])
    assert [part.tolist() for part in pool(cells, counts, 10)] == [[0, 2, 7], [2, 5, 4]]
