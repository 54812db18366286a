"""The counter on Spark gives what one machine gives, whatever the partitions, and refuses data that change."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.counts.entropies import joint_entropies
from chaffinch.errors import ClusterError, TooLargeError
from chaffinch.spark import counter as module
from chaffinch.spark.counter import RowsSeen
from chaffinch.synth.model_file import model_to_bytes

from ..conftest import make_coded
from ..counts.test_counter import odd_tables
from .conftest import local_counter


@pytest.mark.parametrize("n_parts", [1, 7, 97])
@pytest.mark.parametrize(
    "case", ["one row", "one level", "unseen levels", "one column", "many rows"]
)
def test_odd_cases_equal_the_reference_in_any_number_of_partitions(case, n_parts, coded):
    table = odd_tables(coded)[case]
    names = table.schema.names
    cliques = [c for width in range(min(len(names), 3) + 1) for c in combinations(names, width)]
    cliques += [clique[::-1] for clique in cliques if len(clique) > 1]
    got = local_counter(table, n_parts).marginals(cliques)
    for ours, want in zip(got, ReferenceCounter(table).marginals(cliques), strict=True):
        assert ours.counts.dtype == np.int64
        assert ours.same(want)


def test_tables_of_several_pieces_equal_the_reference(coded):
    table = odd_tables(coded)["three code widths"]  # 5 x 70,000 cells: 6 pieces
    clique = (table.schema.names[0], table.schema.names[2])
    assert (
        local_counter(table, 3)
        .marginals([clique])[0]
        .same(ReferenceCounter(table).marginals([clique])[0])
    )


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), n_rows=st.integers(2, 300), n_parts=st.integers(1, 9))
def test_entropies_are_those_of_one_machine_and_the_same_in_any_partitions(seed, n_rows, n_parts):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 40, 300]
    table = make_coded([rng.integers(0, size, n_rows) for size in sizes], sizes)
    sets = [columns for width in (1, 2, 3) for columns in combinations(range(4), width)]
    values, filled = local_counter(table, n_parts).entropies(sets)
    want, cells = joint_entropies(ReferenceCounter(table), sets)
    assert np.allclose(values, want, rtol=0, atol=1e-12)
    assert (filled == cells).all()
    alone, _ = local_counter(table, 1).entropies(sets)
    assert values.tolist() == alone.tolist()  # to the last bit


def test_a_network_learnt_in_partitions_is_the_one_of_memory(data):
    table = chaffinch.read(data / "cmc.csv")
    ours = chaffinch.BayesNet(parents=2).fit(local_counter(table, 5), seed=7)
    settings = chaffinch.BayesNet(parents=2, conditionals="tables")
    theirs = settings.fit(chaffinch.MemoryCounter(table), seed=7)
    assert ours.network == theirs.network
    assert model_to_bytes(ours) == model_to_bytes(theirs)


def test_a_search_asks_for_entropies_once_and_for_tables_once(data, monkeypatch):
    counter = local_counter(chaffinch.read(data / "cmc.csv"), 2)
    jobs = []
    collected = module.collect_table
    monkeypatch.setattr(module, "collect_table", lambda frame: jobs.append(1) or collected(frame))
    chaffinch.BayesNet(parents=3).fit(counter, seed=1)
    assert len(jobs) == 2


def test_other_rows_are_refused_and_no_count_is_said():
    table = make_coded([[0, 1] * 30, [0, 1, 2] * 20], [2, 3])
    counter = local_counter(table, 2)
    more = replace(counter, rows=RowsSeen(61, counter.rows.checksum))
    other = replace(counter, rows=RowsSeen(60, counter.rows.checksum ^ 1))
    for changed, words in (
        (more, "another number of rows"),
        (other, "as many rows, but other values"),
    ):
        with pytest.raises(ClusterError, match=words) as error:
            changed.marginals([("c0",)])
        assert "60" not in str(error.value)
        with pytest.raises(ClusterError, match=words):
            changed.entropies([(0,)])


def test_more_than_the_driver_can_hold_is_refused_before_a_job(monkeypatch):
    monkeypatch.setattr(module, "MAX_COLLECTED", 10)
    counter = local_counter(make_coded([[0, 1] * 3, [0, 1, 2] * 2], [2, 6]), 1)
    with pytest.raises(TooLargeError, match="12 cells together are over the limit of 10"):
        counter.marginals([("c0", "c1")])


def test_a_closed_counter_counts_no_more_and_forgets_once():
    removed = []
    with replace(
        local_counter(make_coded([[0, 1], [1, 0]], [2, 2]), 1), on_close=lambda: removed.append(1)
    ) as counter:
        assert counter.marginals([()])[0].total == 2
    counter.close()
    assert removed == [1]
    with pytest.raises(ClusterError, match="is closed"):
        counter.marginals([("c0",)])


def test_no_cliques_and_unknown_columns():
    counter = local_counter(make_coded([[0, 1], [1, 0]], [2, 2]), 1)
    assert counter.marginals([]) == []
    with pytest.raises(chaffinch.errors.UnknownNameError, match="c7"):
        counter.marginals([("c7",)])


def test_large_tables_go_through_the_group_by_of_spark(spark):
    """5 columns of 2^16 levels: 80 bits, so that a cell needs two keys."""
    rng = np.random.default_rng(4)
    wide = [rng.integers(0, 1 << 16, 200) for _ in range(5)]
    table = make_coded(
        [*([*column, *column[:100]] for column in wide), rng.integers(0, 3, 300)],
        [*[1 << 16] * 5, 3],
    )
    local = local_counter(table, 3)
    blocks = spark.createDataFrame(local.frame.toArrow().to_pandas()).repartition(4)
    counter = replace(local, frame=blocks)
    cliques = [tuple(table.schema.names[:5]), tuple(table.schema.names[3:]), ("c5",), ("c1", "c0")]
    got = counter.marginals(cliques)
    assert [marginal.cells is None for marginal in got] == [False, False, True, False]
    for ours, want in zip(got, ReferenceCounter(table).marginals(cliques), strict=True):
        assert ours.same(want)
    sets = [(0, 1, 2, 3, 4), (0, 1), (5,), (0, 5)]
    values, filled = counter.entropies(sets)
    want, cells = joint_entropies(ReferenceCounter(table), sets)
    assert np.allclose(values, want, rtol=0, atol=1e-12)
    assert (filled == cells).all()
    with pytest.raises(ClusterError, match="data changed"):
        replace(counter, rows=RowsSeen(300, 5)).entropies([(0, 1)])


def test_rows_seen_are_compared_whole():
    RowsSeen(5, -3).check(RowsSeen(5, -3))
    with pytest.raises(ClusterError):
        RowsSeen(5, -3).check(RowsSeen(5, 3))


def test_null_codes_are_counted(coded):
    table = chaffinch.read(
        pa.table({"gone": pa.array([None] * 30, pa.string()), "x": ["a", "b", "b"] * 10})
    )
    assert local_counter(table, 4).marginals([("gone", "x")])[0].dense().tolist() == [[10, 20]]


def test_parts_that_the_driver_adds_up_are_those_that_tasks_do(coded, monkeypatch):
    table = odd_tables(coded)["many rows"]
    cliques = list(combinations(table.schema.names, 3))
    here = replace(local_counter(table, 5), n_tasks=5)
    with monkeypatch.context() as patched:
        patched.setattr(type(here.frame), "repartition", None)  # no second stage of tasks
        assert all(
            ours.same(want)
            for ours, want in zip(
                here.marginals(cliques), ReferenceCounter(table).marginals(cliques), strict=True
            )
        )
    with pytest.raises(ClusterError, match="another number of rows"):
        replace(here, rows=RowsSeen(1, here.rows.checksum)).marginals(cliques)
    monkeypatch.setattr(module, "MAX_PARTS", 10)
    again = replace(local_counter(table, 5), n_tasks=5)
    assert all(
        ours.same(want)
        for ours, want in zip(
            again.marginals(cliques), ReferenceCounter(table).marginals(cliques), strict=True
        )
    )
