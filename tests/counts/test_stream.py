"""Counting a file batch by batch."""

from __future__ import annotations

from itertools import combinations

import pytest

import chaffinch
from chaffinch.counts import MemoryCounter, StreamCounter
from chaffinch.table.formats import parquet


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of 7 rows, so that even small tables come in many."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)


def test_stream_counts_a_csv_as_memory_does(tmp_path, data):
    path = data / "cmc.csv"
    scanned = chaffinch.scan(path)
    table = chaffinch.read(path)
    cliques = list(combinations(table.schema.names, 2))
    assert scanned.n_rows == table.n_rows == 1473
    for a, b in zip(
        StreamCounter(scanned).marginals(cliques),
        MemoryCounter(table).marginals(cliques),
        strict=True,
    ):
        assert a.same(b)
