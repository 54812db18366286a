"""Counting in memory."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.counts.reference import ReferenceCounter
from chaffinch.table.formats import parquet


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of 7 rows, so that even small tables come in many."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)


def test_more_cells_than_fit_in_memory(coded):
    rng = np.random.default_rng(0)
    table = coded(rng.integers(0, 50_000, (6, 200)), [50_000] * 6)  # 50,000^6: past 2^63, two keys
    names = table.schema.names
    (marginal,) = MemoryCounter(table).marginals([names])
    assert marginal.same(ReferenceCounter(table).marginals([names])[0])
    with pytest.raises(chaffinch.errors.TooLargeError, match="over the limit"):
        marginal.dense()
    (back,) = MemoryCounter(table).marginals([names[:2]])
    assert marginal.project(names[:2]).same(back)


def test_threads_do_not_change_counts(coded):
    rng = np.random.default_rng(1)
    table = coded(rng.integers(0, 4, (5, 1000)), [4] * 5)
    cliques = list(combinations(table.schema.names, 3))
    one = MemoryCounter(table, threads=1).marginals(cliques)
    for threads in (2, 3, 16):
        many = MemoryCounter(table, threads=threads).marginals(cliques)
        assert all(a.same(b) for a, b in zip(one, many, strict=True))
