"""All counting engines against the reference: the same counts, whatever the table."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter, StreamCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.table import Scan, Table
from chaffinch.table.formats import parquet
from chaffinch.table.sources import open_source


def memory(table: Table, _folder: Path, **options):
    return MemoryCounter(table, **options)


def memory_sparse(table: Table, _folder: Path, **options):
    return MemoryCounter(table, dense_cells=0, threads=1, **options)


def _scan(table: Table, path: Path) -> Scan:
    table.write(path)
    return Scan(open_source(path), table.schema, table.n_rows)


def stream_parquet(table: Table, folder: Path, **options):
    return StreamCounter(_scan(table, folder / "t.parquet"), **options)


def stream_arrow_sparse(table: Table, folder: Path, **options):
    return StreamCounter(_scan(table, folder / "t.arrow"), dense_cells=0, **options)


ENGINES = [memory, memory_sparse, stream_parquet, stream_arrow_sparse]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of 7 rows, so that even small tables come in many."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)


def odd_tables(coded):
    rng = np.random.default_rng(5)
    return {
        "empty table": coded([[], [], []], [2, 3, 4]),
        "one row": coded([[1], [2], [0]], [2, 3, 1]),
        "one level": coded([[0] * 20, [0] * 20], [1, 1]),
        "unseen levels": coded([[0, 1, 0], [3, 3, 3]], [9, 300]),
        "three code widths": coded(
            [rng.integers(0, 5, 50), rng.integers(0, 300, 50), rng.integers(0, 70_000, 50)],
            [5, 300, 70_000],
        ),
        "one column": coded([rng.integers(0, 3, 40)], [3]),
        "many rows": coded(rng.integers(0, 3, (6, 9_001)), [3] * 6),
    }


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
@pytest.mark.parametrize(
    "case",
    [
        "empty table",
        "one row",
        "one level",
        "unseen levels",
        "three code widths",
        "one column",
        "many rows",
    ],
)
def test_odd_cases_equal_the_reference(engine, case, coded, tmp_path):
    table = odd_tables(coded)[case]
    names = table.schema.names
    cliques = [c for width in range(min(len(names), 4) + 1) for c in combinations(names, width)]
    cliques += [clique[::-1] for clique in cliques if len(clique) > 1]  # permuted columns
    ours = engine(table, tmp_path).marginals(cliques)
    for clique, got, want in zip(
        cliques, ours, ReferenceCounter(table).marginals(cliques), strict=True
    ):
        assert got.columns == clique
        assert got.same(want), clique
        assert got.total == table.n_rows


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_all_missing_is_a_level_that_is_counted(engine, tmp_path):
    table = chaffinch.read(
        pa.table({"gone": pa.array([None] * 30, pa.string()), "x": ["a", "b", "b"] * 10})
    )
    marginal = engine(table, tmp_path).marginals([("gone", "x")])[0]
    assert marginal.sizes == (1, 2)
    assert marginal.dense().tolist() == [[10, 20]]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_weights_are_summed_in_row_order(engine, tmp_path):
    rng = np.random.default_rng(3)
    frame = {
        "a": rng.choice(["x", "y", "z"], 500).tolist(),
        "b": rng.choice(["p", "q"], 500).tolist(),
        "w": rng.exponential(1, 500).tolist(),
    }
    table = chaffinch.read(pa.table(frame))
    got = engine(table, tmp_path, weight="w").marginals([("a", "b"), ("b",), ()])
    want = ReferenceCounter(table, weight="w").marginals([("a", "b"), ("b",), ()])
    for ours, theirs in zip(got, want, strict=True):
        assert ours.counts.dtype == np.float64
        assert ours.same(theirs)  # to the last bit: the same sums in the same order


def test_weights_must_be_numbers_present_and_not_negative():
    table = chaffinch.read(
        pa.table({"a": ["x", "y"] * 20, "w": [1.0, -1.0] * 20, "v": [1.0, None] * 20})
    )
    for name, rule in (("a", "not numbers"), ("w", "negative"), ("v", "missing")):
        with pytest.raises(chaffinch.errors.InputError, match=rule):
            MemoryCounter(table, weight=name)
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'ww'"):
        MemoryCounter(table, weight="ww")


def test_unknown_and_repeated_columns(coded):
    counter = MemoryCounter(coded([[0, 1], [1, 0]], [2, 2]))
    with pytest.raises(
        chaffinch.errors.UnknownNameError, match=r"Unknown column 'cc0'\. Did you mean 'c0'"
    ):
        counter.marginals([("c0", "cc0")])
    with pytest.raises(chaffinch.errors.InputError, match="names each column once"):
        counter.marginals([("c0", "c0")])
    with pytest.raises(chaffinch.errors.InputError, match="list of column names"):
        counter.marginals(["c0"])


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


def test_a_table_counted_by_hand():
    rows = {
        "a": ["x", "x", "y", "x"] * 5,
        "b": ["p", "q", "q", "q"] * 5,
        "w": [1.0, 2.0, 0.5, 0.0] * 5,
    }
    table = chaffinch.read(pa.table(rows))
    counter = ReferenceCounter(table)
    both, alone = counter.marginals([("a", "b"), ("b",)])
    # x: one p and two q in each four rows, y: one q.
    assert both.dense().tolist() == [[5, 10], [0, 5]]
    assert alone.dense().tolist() == [5, 15]
    weighted = ReferenceCounter(table, weight="w").marginals([("a",)])[0]
    assert weighted.dense().tolist() == [15.0, 2.5]


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
