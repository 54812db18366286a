"""A DataFrame on Spark has the codecs, counts, network and rows of the same file on one machine."""

from __future__ import annotations

import datetime
import re
from importlib import import_module
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
import chaffinch.spark as cs
from chaffinch.errors import ClusterError, FileError, InputError, PersonalDataError
from chaffinch.spark import counter as counter_module
from chaffinch.spark import jobs, profiles
from chaffinch.synth.model_file import model_to_bytes

from .test_profiles import odd_columns


@pytest.fixture(scope="module")
def odd_people(tmp_path_factory):
    """A Parquet file of odd columns: nulls, NaN, decimals, moments with a time zone, dates, flags, a column without values."""
    table = odd_columns(2000).drop_columns(["row"])
    rng = np.random.default_rng(9)
    moments = pa.array(
        rng.integers(1_600_000_000, 1_700_000_000, 2000) * 1_000_000, pa.timestamp("us", "UTC")
    )
    local = pa.array(rng.integers(0, 400, 2000) * 86_400_000_000, pa.timestamp("us"))
    table = table.append_column("when", moments).append_column("local", local)
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(table, path)
    return path


@pytest.fixture(scope="module")
def frame(spark, odd_people):
    return spark.read.parquet(str(odd_people))


@pytest.fixture(scope="module")
def scanned(frame):
    return cs.scan(frame.repartition(7))


def test_codecs_are_those_of_the_file(spark, frame, scanned, odd_people):
    table = chaffinch.read(odd_people)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        elsewhere = cs.scan(frame)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    for scan in (scanned, elsewhere):
        assert scan.n_rows == table.n_rows
        for ours, theirs in zip(scan.schema, table.schema, strict=True):
            assert (ours.name, ours.kind, ours.type, ours.missing, ours.nullable) == (
                theirs.name,
                theirs.kind,
                theirs.type,
                theirs.missing,
                theirs.nullable,
            )
            assert (ours.codec and ours.codec.to_dict()) == (
                theirs.codec and theirs.codec.to_dict()
            ), ours.name
    assert scanned.row_source.seen == elsewhere.row_source.seen
    assert "were not searched for on Spark" in str(
        [note for note in scanned.notes if note.what == "rules"]
    )


@pytest.mark.parametrize("partitions", [1, 2, 7, 97])
def test_counts_network_and_tables_are_those_of_memory(
    frame, scanned, odd_people, tmp_path, partitions
):
    """97 partitions of which most are empty: rows are spread by a column of three values and missing ones."""
    spread = (
        frame.repartition(partitions, "word") if partitions == 97 else frame.repartition(partitions)
    )
    table = chaffinch.read(odd_people, schema=scanned.schema)
    memory = chaffinch.MemoryCounter(table)
    cliques = [*combinations(table.schema.names, 2), tuple(table.schema.names[:3])]
    with cs.scan(spread, scanned.schema).coded(tmp_path) as counter:
        for ours, want in zip(counter.marginals(cliques), memory.marginals(cliques), strict=True):
            assert ours.same(want)
        model = chaffinch.BayesNet(parents=2).fit(counter, seed=7)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
    theirs = chaffinch.BayesNet(parents=2, conditionals="tables").fit(memory, seed=7)
    assert model_to_bytes(model) == model_to_bytes(theirs)


def test_a_journey_takes_five_jobs(spark, odd_people, tmp_path):
    """Workers are asked, columns profiled, codes written, sets searched, tables counted; Spark's own tracker counts jobs. Reading a footer is one of Spark's own."""
    from chaffinch.spark import session as session_module

    frame = spark.read.parquet(str(odd_people)).repartition(7)
    session_module._fit_sessions.discard(spark)
    adaptive = spark.conf.get(jobs.ADAPTIVE)
    spark.sparkContext.setJobGroup("journey", "counted")
    try:
        with cs.scan(frame).coded(tmp_path) as counter:
            chaffinch.BayesNet(parents=3).fit(counter, seed=7)
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("journey")) == 5
        drawn = cs.write(
            chaffinch.Independent().fit(odd_people, seed=1), tmp_path / "out", 1000, seed=1
        )
        assert drawn.n_rows == 1000
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("journey")) == 6
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert spark.conf.get(jobs.ADAPTIVE) == adaptive


@pytest.mark.parametrize("door", [None, "file:"])
def test_codes_that_spark_holds_or_writes_give_the_same(frame, scanned, odd_people, tmp_path, door):
    table = chaffinch.read(odd_people, schema=scanned.schema)
    cliques = list(combinations(table.schema.names, 2))
    with scanned.coded(None if door is None else f"file:{tmp_path}") as counter:
        if door is not None:
            (folder,) = tmp_path.iterdir()
            assert folder.stat().st_mode & 0o777 == 0o700
        got = counter.marginals(cliques)
    assert all(
        a.same(b)
        for a, b in zip(got, chaffinch.MemoryCounter(table).marginals(cliques), strict=True)
    )
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_fails_after_counting_and_is_tried_again_changes_nothing(
    frame, scanned, odd_people, tmp_path, monkeypatch
):
    def fails_once(frame, task, shape):
        def work(batches):
            from pyspark import TaskContext

            yield from task(batches)
            if TaskContext.get().attemptNumber() == 0:
                raise RuntimeError("fails after its answer was given")

        return jobs.map_partitions(frame, work, shape)

    for module in (import_module("chaffinch.spark.holding"), profiles, counter_module):
        monkeypatch.setattr(module, "map_partitions", fails_once)
    want = chaffinch.MemoryCounter(chaffinch.read(odd_people, schema=scanned.schema)).marginals(
        [("word", "flag")]
    )[0]
    with cs.scan(frame.repartition(3)).coded(tmp_path) as counter:
        assert counter.n_rows == 2000
        assert counter.marginals([("word", "flag")])[0].same(want)
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) > len(
            {path for path, _, _ in counter.source.units}
        )  # what failed is not read
    assert list(tmp_path.iterdir()) == []


def test_data_that_change_between_passes_are_refused_and_the_cache_is_removed(frame, tmp_path):
    def shuffled(batches):
        import numpy as np

        for batch in batches:
            yield batch.set_column(
                0, "word", batch.column(0).take(np.random.default_rng().permutation(batch.num_rows))
            )

    def fewer(batches):
        import numpy as np

        for batch in batches:
            yield batch.slice(0, int(np.random.default_rng().integers(500, batch.num_rows)))

    plain = frame.select("word", "flag")
    scanned = cs.scan(plain.mapInArrow(shuffled, plain.schema))
    with pytest.raises(ClusterError, match="as many rows, but other values"):
        scanned.coded(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with (
        cs.scan(plain.mapInArrow(fewer, plain.schema)).coded() as counter,
        pytest.raises(ClusterError, match="another number of rows"),
    ):
        counter.marginals([("word",)])


def test_bad_input_is_named(spark, frame, scanned, tmp_path):
    ruled = tmp_path / "ruled.toml"
    ruled.write_text(
        'format = "chaffinch-schema"\nversion = 1\nrules = ["whole <= real"]\n[columns]\nwhole = "integer"\nreal = "float"\n'
    )
    with pytest.raises(InputError, match="columns of one name: word"):
        cs.scan(frame.select("word", "word", "flag"))
    with pytest.raises(InputError, match="has one column"):
        cs.scan(frame.select("word"))
    with pytest.raises(InputError, match="no rows"):
        cs.scan(frame.limit(0))
    with pytest.raises(InputError, match="no rows"):
        cs.scan(frame.limit(0), scanned.schema)
    with pytest.raises(FileError, match="There is no folder"):
        scanned.coded(tmp_path / "absent")
    with pytest.raises(InputError, match="Rules of a schema are fitted to rows"):
        cs.scan(frame, ruled)
    with pytest.raises(ClusterError, match="A job on Spark failed"):
        scanned.coded("nowhere://here/codes")


def test_who_somebody_is_has_to_be_decided_before_anything_is_coded(spark):
    rows = [(f"p{i}@example.org", i % 3, datetime.date(2020, 1, 1 + i % 20)) for i in range(300)]
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        scanned = cs.scan(
            spark.createDataFrame(rows, "email string, kind int, day date"),
            {"email": "categorical"},
        )
    with pytest.raises(PersonalDataError, match="email"):
        scanned.coded()


def test_names_that_spark_would_parse_are_only_names(spark):
    rows = [(i % 3, "x" if i % 2 else "y") for i in range(60)]
    scanned = cs.scan(spark.createDataFrame(rows, "`a.b` int, `c``d e` string"))
    with scanned.coded() as counter:
        assert counter.marginals([("a.b", "c`d e")])[0].counts.tolist() == [[10, 10]] * 3


def test_the_page_runs(spark, tmp_path, monkeypatch, capsys):
    """The block of docs/howto/run-on-spark.md: test_documents runs no Spark."""
    root = Path(__file__).parents[2]
    (block,) = re.findall(
        r"^```py\n(.*?)^```$",
        (root / "docs" / "howto" / "run-on-spark.md").read_text("utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    code = block.replace(
        'spark = SparkSession.builder.master("local[2]").getOrCreate()',
        "spark = SparkSession.getActiveSession()",
    ).replace('"examples/', f'"file:{tmp_path}/examples/')
    exec(code, {})
    assert capsys.readouterr().out.split()[0] == "32561"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["examples"]
