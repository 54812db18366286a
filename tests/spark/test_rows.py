"""Rows on Spark are those of one machine that reads partitions one after another: their numbers, groups, samples and references, and all figures of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
import chaffinch.spark as cs
from chaffinch.counts.counter import counter_of
from chaffinch.errors import ClusterError, InputError
from chaffinch.spark import rows as module
from chaffinch.spark.blocks import RowBlocks, block_of
from chaffinch.spark.counter import PartitionRows, RowsSeen
from chaffinch.spark.jobs import WorkerError
from chaffinch.spark.rows import (
    BlockChunks,
    RawFrame,
    SteppedChunks,
    Summarise,
    packed_table,
    unpacked_table,
)
from chaffinch.stats.pair import with_groups
from chaffinch.stats.references import resample
from chaffinch.table.align import align
from chaffinch.table.groups import GROUP
from chaffinch.table.sample import ChooseRows, choose_slice
from chaffinch.utility.settings import UtilitySettings
from chaffinch.utility.study import measure_utility

from ..conftest import figures, make_coded
from .conftest import LocalRawFrame, LocalSparkRows

COUNTED = ("phi_k", "pearson", "jensen_shannon", "tvd", "impossible")


@pytest.fixture(scope="module")
def three(data):
    """An original, a synthetic table and a holdout; one of the others has missing values that the original lacks."""
    whole = chaffinch.read(data / "cmc.csv").data
    original = chaffinch.read(whole.slice(0, 700), rare="keep")
    drawn = chaffinch.BayesNet(parents=2).fit(original, seed=1).sample(500, seed=2).data
    ages = drawn.column("wife_age").to_pylist()
    ages = pa.array([None if i % 50 == 0 else age for i, age in enumerate(ages)], pa.int64())
    place = drawn.column_names.index("wife_age")
    return original, drawn.set_column(place, "wife_age", ages), whole.slice(700, 400)


@pytest.fixture
def people(three, tmp_path):
    """The original on one grid with the synthetic table: in five partitions, and in memory."""
    local = LocalSparkRows.of(three[0], 5, tmp_path)
    return align(local, three[1])[0], align(*three[:2])[0]


@dataclass(frozen=True)
class CodesInOrder:
    """Gives numbers of first rows, and the codes of all rows in their order."""

    name: str
    values: bool

    columns = None

    def summary(self, chunks):
        chunks = [(chunk.first_row, chunk.code(self.name).tolist()) for chunk in chunks]
        return pa.table({"first": [c[0] for c in chunks], "codes": [c[1] for c in chunks]})

    def result(self, summaries):
        whole = pa.concat_tables(summaries, promote_options="permissive").to_pylist()
        numbers = [
            i for row in whole for i in range(row["first"], row["first"] + len(row["codes"]))
        ]
        return numbers, [code for row in whole for code in row["codes"]]


@pytest.mark.parametrize("n_parts", [1, 2, 7, 97])
def test_every_figure_is_that_of_memory_in_any_partitions(three, n_parts, tmp_path):
    """Values, references, intervals and what they are made of."""
    asked = COUNTED if n_parts < 97 else ("jensen_shannon", "impossible")
    ours, want = (
        measure_utility(original, *three[1:], UtilitySettings(measures=asked), seed=3)
        for original in (LocalSparkRows.of(three[0], n_parts, tmp_path), three[0])
    )
    assert figures(ours) == pytest.approx(figures(want), rel=0, abs=1e-9)
    assert len(figures(want)) > 30
    assert list(tmp_path.iterdir()) == []  # no codes stay behind


@settings(max_examples=15)
@given(n_rows=st.integers(30, 300), n_parts=st.integers(1, 9), seed=st.integers(0, 99))
def test_rows_have_the_numbers_codes_and_values_of_one_machine(n_rows, n_parts, seed):
    rng = np.random.default_rng(seed)
    data = pa.table({"a": rng.integers(0, 5, n_rows), "b": rng.choice(["x", "y", "z"], n_rows)})
    original = chaffinch.read(data)
    local = LocalSparkRows.of(original, n_parts, None)
    numbers, codes = local.reduce(CodesInOrder("b", True))
    assert numbers == list(range(n_rows))
    assert codes == original.code("b").tolist()
    table = local.table()
    assert table.data.equals(original.data.combine_chunks())
    assert all((table.code(name) == original.code(name)).all() for name in "ab")


def test_groups_and_records_drawn_again_are_those_of_memory(people):
    ours, want = people
    seed = np.random.SeedSequence(7)
    with ours.cached() as held, resample(held, 900, seed).cached() as again:
        for mine, theirs in ((held, want), (again, resample(want, 900, seed))):
            (got,) = counter_of(with_groups(mine)).marginals([(GROUP, "wife_age")])
            assert got.same(counter_of(with_groups(theirs)).marginals([(GROUP, "wife_age")])[0])
            assert mine.n_rows == theirs.n_rows
        rows = again.table()
    assert rows.data.to_pylist() == resample(want, 900, seed).data.to_pylist()


def test_a_slice_by_values_holds_copies_with_their_people(three, tmp_path):
    original, copied = three[0], three[0].data.slice(100, 400)
    sides = ("original", "synthetic")
    chosen = []
    for n_parts in (1, 9):
        aligned = align(LocalSparkRows.of(original, n_parts, tmp_path), copied)
        sample, by = choose_slice(dict(zip(sides, aligned, strict=True)), 200, key=5)
        assert by == "values"
        chosen.append({side: table.data.to_pylist() for side, table in sample.items()})
    assert chosen[0] == chosen[1]
    aligned = dict(zip(sides, align(original, copied), strict=True))
    step = ChooseRows(200 / 700, 5, "values")
    assert chosen[0] == {side: step(table).data.to_pylist() for side, table in aligned.items()}


def test_rows_that_are_too_alike_are_chosen_by_place(tmp_path):
    """Every row is the same: a slice by values has all of them or none."""
    table = pa.table({"a": ["x", "y"] + ["x"] * 3998, "b": ["p", "q"] + ["p"] * 3998})
    aligned = align(LocalSparkRows.of(chaffinch.read(table), 3, tmp_path), table)
    for key in range(4):
        tables = dict(zip(("original", "synthetic"), aligned, strict=True))
        sample, by = choose_slice(tables, 200, key=key)
        assert by == "place"
        assert 100 < sample["original"].n_rows < 300  # 200 and 7 standard errors


def test_no_more_rows_than_a_limit_asks_for_leave_a_partition(people, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 10)
    few = people[0].table(30)
    sizes = [n for n in np.diff(people[0].row_source.bounds) if n]
    assert few.n_rows == sum(min(n, 40) for n in sizes)
    assert people[0].table().n_rows == 700


def test_rows_that_change_or_move_are_found_in_every_pass(people, monkeypatch):
    ours, _ = people
    seen = ours.row_source.partitions.seen
    numbers = sorted(seen)
    moved = {**seen, numbers[0]: seen[numbers[1]], numbers[1]: seen[numbers[0]]}
    gone = {number: seen[number] for number in numbers[1:]}
    for other in (moved, gone):
        monkeypatch.setitem(ours.row_source.__dict__, "partitions", PartitionRows(other))
        for ask in (ours.table, lambda: ours.cached().__enter__()):
            with pytest.raises(WorkerError, match="another number of rows in a partition"):
                ask()
    more = {**seen, 999: RowsSeen(5, 1)}  # none of its rows came: the driver alone can see that
    monkeypatch.setitem(ours.row_source.__dict__, "partitions", PartitionRows(more))
    with pytest.raises(ClusterError, match="another number of rows"):
        ours.table()


def test_blocks_may_come_in_any_order():
    table = make_coded([np.arange(60) % 7, np.arange(60) % 3], [7, 3])
    blocks = [block_of(table[a : a + 10].codes, a, a) for a in (30, 40, 0, 50, 10, 20)]
    task = CodesInOrder("c0", False)
    work = Summarise(SteppedChunks(BlockChunks(RowBlocks(), table.schema)), task)
    answer = pa.Table.from_batches(work(iter(blocks)))
    assert answer.column("first_row").to_pylist() == [30, 0, 50, 10]
    assert answer.column("n").to_pylist() == [20, 10, 10, 20]
    summaries = map(unpacked_table, answer.sort_by("first_row").column("summary").to_pylist())
    assert task.result(summaries) == (list(range(60)), table.code("c0").tolist())


def test_cached_rows_give_codes_from_the_cache_and_remember_what_was_asked(people, monkeypatch):
    ours, want = people
    with ours.cached() as held:
        monkeypatch.setattr(LocalRawFrame, "select", None)  # nobody reads the frame again
        numbers, codes = held.reduce(CodesInOrder("wife_age", False))
        assert (numbers, codes) == (list(range(700)), want.code("wife_age").tolist())
        counts = counter_of(with_groups(held)).marginals([(GROUP,), ("wife_age",)])
        monkeypatch.setattr("chaffinch.spark.counter.map_partitions", None)  # nor counts again
        again = counter_of(with_groups(held)).marginals([(GROUP,), ("wife_age",)])
        assert all(mine is other for mine, other in zip(counts, again, strict=True))
        assert held.once("x", lambda _: 1) == held.once("x", lambda _: 2) == 1
    assert ours.once("x", lambda _: 1) == 1
    assert ours.once("x", lambda _: 2) == 2


def test_rows_that_are_not_cached_are_counted_as_they_are_coded(people):
    ours, want = people
    cliques = [("wife_age", "wife_religion"), ("num_children",)]
    got = counter_of(ours).marginals(cliques)
    assert all(a.same(b) for a, b in zip(got, counter_of(want).marginals(cliques), strict=True))


def test_rows_of_a_cluster_are_not_compared_with_rows_of_this_machine(people):
    ours, want = people
    for original in (want, chaffinch.scan(want.data)):
        with pytest.raises(InputError, match="A table on Spark is compared with one on Spark"):
            align(original, ours)


def test_a_table_that_travels_comes_back():
    table = pa.table({"a": [1, None], "b": ["x", "y"], "c": [b"", b"\x00"]})
    assert unpacked_table(packed_table(table)).equals(table)


def test_no_rows_are_no_rows():
    empty = LocalSparkRows.of(
        chaffinch.read(pa.table({"a": [1, 2] * 20, "b": [3, 4] * 20})), 1, None
    )
    none = replace(
        empty, row_source=LocalRawFrame(empty.row_source.rows.select(["a", "b"])[:0], 2), n_rows=0
    )
    assert none.table().n_rows == 0
    assert none.reduce(CodesInOrder("b", True)) == ([], [])


def test_a_column_may_have_any_name(tmp_path):
    """Also that of the groups which intervals are made of."""
    rng = np.random.default_rng(1)
    rows = [
        pa.table(
            {
                "group": rng.choice(["a", "b"], 300),
                "clique": rng.choice(["p", "q"], 300),
                "n": rng.integers(0, 4, 300),
            }
        )
        for _ in range(2)
    ]
    original = chaffinch.read(rows[0])
    ours, want = (
        measure_utility(source, rows[1], None, UtilitySettings(measures=COUNTED), seed=3)
        for source in (LocalSparkRows.of(original, 3, tmp_path), original)
    )
    assert figures(ours) == pytest.approx(figures(want), rel=0, abs=1e-9)


# On Spark.


def test_on_spark_tables_that_do_not_fit_are_named(spark, three):
    frames = [spark.createDataFrame(t.slice(0, 60).to_pandas()) for t in (three[0].data, three[1])]
    scanned = cs.scan(frames[0], three[0].schema)
    for other, words in (
        (frames[1].drop("wife_age"), "lacks columns of the original: wife_age"),
        (frames[1].select("*", "wife_age"), "columns of one name: wife_age"),
        (pa.table({"a": [1]}), "A Spark DataFrame is needed"),
    ):
        with pytest.raises(InputError, match=words):
            align(scanned, other)
    columns = (replace(scanned.schema.columns[0], role="weight"), *scanned.schema.columns[1:])
    weighted = replace(scanned, schema=replace(scanned.schema, columns=columns))
    with pytest.raises(InputError, match="records have weights"):
        align(weighted, frames[1])


@pytest.mark.parametrize("door", [None, "file:"])
def test_on_spark_codes_are_held_where_it_is_asked_for(spark, three, tmp_path, door):
    """By Spark, or in Parquet files, whose blocks come back in an order of their own."""
    frame = spark.createDataFrame(three[0].data.to_pandas()).coalesce(1)
    whole = frame.unionAll(frame).unionAll(frame)
    cache = None if door is None else f"file:{tmp_path}"
    with replace(cs.scan(whole, three[0].schema), cache=cache).cached() as held:
        numbers, codes = held.reduce(CodesInOrder("wife_age", False))
        (groups,) = counter_of(with_groups(held)).marginals([(GROUP,)])
    assert numbers == list(range(2100))
    assert codes == three[0].code("wife_age").tolist() * 3
    assert groups.dense().tolist() == [105] * 20
    assert list(tmp_path.iterdir()) == []


def test_on_spark_partitions_are_the_same_in_every_pass(spark):
    """Spark would join small ones after a shuffle, wherever it may plan as it goes."""
    shuffled = spark.range(0, 1000, 1, 3).selectExpr("id % 7 a", "id % 5 b").repartition("a", "b")
    place = RawFrame(shuffled)
    assert len(place.partitions.seen) == 2
    with cs.scan(shuffled).cached() as held:
        assert held.reduce(CodesInOrder("a", False))[0] == list(range(1000))
        assert held.table().n_rows == 1000
