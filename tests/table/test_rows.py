"""Rows in memory and in files answer alike, whatever the chunks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts.counter import MemoryCounter, counter_of
from chaffinch.errors import InputError
from chaffinch.stats.pair import with_groups
from chaffinch.stats.references import Resample, resample, row_uniforms
from chaffinch.table.align import align
from chaffinch.table.codes import Codes
from chaffinch.table.groups import GROUP
from chaffinch.table.holdout import NumberOfRows, set_aside
from chaffinch.table.rows import CachedRows, Rows, Step
from chaffinch.table.sources import open_source

DATA = pa.table({"a": ["x", "y", "z"] * 40, "b": [1, 2] * 60})


def in_batches(n_rows: int) -> Rows:
    source = replace(
        open_source(DATA),
        read=lambda columns: iter(
            (DATA if columns is None else DATA.select(list(columns))).to_batches(n_rows)
        ),
    )
    return align(replace(chaffinch.scan(DATA), source=source))[0]


@dataclass(frozen=True, eq=False)
class TurnB(Step):
    """The codes of b the other way round."""

    def __call__(self, chunk):
        codes = [chunk.code("a"), 1 - chunk.code("b")]
        return replace(chunk, codes=Codes.from_columns(codes, chunk.schema.sizes))


def test_a_table_in_memory_is_one_chunk_and_a_file_is_many():
    rows = in_batches(50)
    chunks = list(rows.chunks())
    assert [chunk.n_rows for chunk in chunks] == [50, 50, 20]
    assert [chunk.first_row for chunk in chunks] == [0, 50, 100]
    assert next(iter(rows.chunks(["b"]))).data.column_names == ["b"]
    whole = chaffinch.read(DATA)
    for table in (rows, whole):
        assert table.reduce(NumberOfRows(("a",))) == 120
        assert table.table().data.to_pylist() == DATA.to_pylist()
    assert rows.table(60).n_rows == 100
    assert whole.map(TurnB(), whole.schema).code("b").tolist() == [1, 0] * 60


def test_rows_are_counted_as_in_memory():
    cliques = [("a", "b"), ("b",)]
    for ours, theirs in zip(
        counter_of(in_batches(50)).marginals(cliques),
        MemoryCounter(chaffinch.read(DATA)).marginals(cliques),
        strict=True,
    ):
        np.testing.assert_array_equal(ours.counts, theirs.counts)


def test_steps_are_taken_on_cached_codes_too():
    rows = in_batches(50)
    with rows.cached() as cached:
        for own in (rows, cached):
            turned = own.map(TurnB(), own.schema)
            codes = [batch.codes[1] for batch in turned.batches()]
            assert np.concatenate(codes).tolist() == [1, 0] * 60


@settings(max_examples=15, deadline=None)
@given(n_rows=st.integers(1, 130), drawn=st.integers(1, 300), seed=st.integers(0, 99))
def test_groups_and_draws_do_not_hang_on_chunks(n_rows, drawn, seed):
    root = np.random.SeedSequence(seed)
    whole, rows = chaffinch.read(DATA), in_batches(n_rows)
    groups = [with_groups(own).table().codes[0].tolist() for own in (whole, rows)]
    assert groups[0] == groups[1]
    assert np.bincount(groups[0], minlength=20).tolist() == [6] * 20
    again = [resample(own, drawn, root) for own in (whole, rows)]
    by_hand = np.sort(np.random.default_rng(root).integers(0, 120, drawn))
    for own in again:
        assert own.table().data.to_pylist() == DATA.take(by_hand).to_pylist()
    starts = [chunk.first_row for chunk in again[1].chunks()]
    lengths = [chunk.n_rows for chunk in again[1].chunks()]
    assert starts == [0, *np.cumsum(lengths)[:-1].tolist()]


def test_draws_of_many_windows_are_those_of_one(monkeypatch):
    step = Resample(120, 500, ((4,), ()))
    (whole,) = [step(chaffinch.read(DATA))]
    monkeypatch.setattr("chaffinch.stats.references.WINDOW", 7)
    monkeypatch.setattr("chaffinch.stats.references.DRAWN", 11)
    from chaffinch.stats.references import _times_drawn

    _times_drawn.cache_clear()
    again = resample(in_batches(50), 500, np.random.SeedSequence(4)).table()
    _times_drawn.cache_clear()
    assert again.data.to_pylist() == whole.data.to_pylist()


def test_random_numbers_of_rows_are_uniform_and_their_own(monkeypatch):
    monkeypatch.setattr("chaffinch.stats.references.BLOCK", 1000)
    numbers = row_uniforms(((3,), (1,)), 0, 20_000)
    # The mean of 20,000 uniform numbers is off by .011 less than once in ten million times.
    assert abs(numbers.mean() - 0.5) < 0.011
    assert len(np.unique(numbers)) == 20_000
    np.testing.assert_array_equal(numbers[1_500:4_700], row_uniforms(((3,), (1,)), 1_500, 3_200))
    assert (numbers != row_uniforms(((3,), (2,)), 0, 20_000)).all()


def test_what_is_asked_for_twice_of_cached_rows_is_worked_out_once():
    asked = []
    with in_batches(50).cached() as cached:
        for _ in range(2):
            assert cached.once("x", lambda held: asked.append(1) or "done") == "done"
    assert asked == [1]


def test_codes_are_for_their_owner_and_go_with_the_block():
    with align(chaffinch.scan(DATA), DATA)[0].cached() as rows:
        assert isinstance(rows, CachedRows)
        folder = Path(rows.cache.folder)
        assert os.stat(folder).st_mode & 0o077 == 0
        assert rows.n_rows == 120
    assert not folder.exists()


def test_rows_that_are_lost_between_passes_are_noticed():
    rows = replace(in_batches(50), n_rows=121)
    with pytest.raises(InputError, match="another number of rows than when it was first read"):
        rows.table()


def test_rows_that_a_step_leaves_are_numbered_anew():
    """Their groups, which hang on numbers of rows, are those of memory."""
    other = pa.table({"a": ["w", "x"], "b": [1, 2]})
    people = (in_batches(50), chaffinch.read(DATA))
    parts = [align(set_aside(rows, 0.4)[0], other)[0] for rows in people]
    counts = [counter_of(with_groups(rows)).marginals([(GROUP, "a")])[0] for rows in parts]
    assert 0 < parts[0].n_rows < 120
    assert counts[0].same(counts[1])
