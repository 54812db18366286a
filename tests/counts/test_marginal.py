"""Marginals: their shape and their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import Marginal, MemoryCounter
from chaffinch.table.formats import parquet


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of 7 rows, so that even small tables come in many."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)


@st.composite
def small_tables(draw):
    width = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=width, max_size=width))
    n = draw(st.integers(0, 30))
    return [
        draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for size in sizes
    ], sizes


@given(small_tables(), st.randoms())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_properties_of_marginals(coded, drawn, random):
    codes, sizes = drawn
    table = coded(codes, sizes)
    names = table.schema.names
    (whole,) = MemoryCounter(table).marginals([names])
    (sparse,) = MemoryCounter(table, dense_cells=0).marginals([names])
    assert whole.same(sparse)
    assert whole.total == table.n_rows
    kept = tuple(random.sample(names, random.randint(0, len(names))))
    (direct,) = MemoryCounter(table).marginals([kept])
    assert whole.project(kept).same(direct)  # summing out a column equals counting without it
    if kept:
        assert sparse.project(kept).same(direct)
    order = list(range(table.n_rows))
    random.shuffle(order)
    shuffled = coded([[column[i] for i in order] for column in codes], sizes)
    assert MemoryCounter(shuffled).marginals([names])[0].same(whole)  # row order never matters
    halves = [
        coded([column[part] for column in codes], sizes)
        for part in (slice(None, table.n_rows // 2), slice(table.n_rows // 2, None))
    ]
    parts = [MemoryCounter(half).marginals([names])[0].dense() for half in halves]
    assert np.array_equal(parts[0] + parts[1], whole.dense())  # counts add


def test_marginal_checks_its_shape():
    with pytest.raises(chaffinch.errors.InputError, match="cannot have counts of shape"):
        Marginal(("a",), (3,), np.zeros(2, dtype=np.int64))
    with pytest.raises(chaffinch.errors.InputError, match="one size for each column"):
        Marginal(("a", "b"), (2,), np.zeros(2, dtype=np.int64))
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'b'"):
        Marginal(("a",), (2,), np.zeros(2, dtype=np.int64)).project(["b"])
    with pytest.raises(ValueError, match="read-only"):
        Marginal(("a",), (2,), np.zeros(2, dtype=np.int64)).counts[0] = 1
