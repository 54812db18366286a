"""Files that workers write: the rows of one machine, or the old folder as it was."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import ClusterError, FileError
from chaffinch.spark import files as module
from chaffinch.spark import write
from chaffinch.spark.drawing import draw_task, plain_table
from chaffinch.spark.files import WriteRows
from chaffinch.spark.places import MANIFEST
from chaffinch.synth.model import BATCH_ROWS

from .conftest import LocalFrame, LocalSession

N_ROWS = 2 * BATCH_ROWS + 500


@pytest.fixture(scope="module")
def model(data):
    return chaffinch.BayesNet(parents=1, conditionals="tables").fit(data / "cmc.csv", seed=1)


@pytest.fixture(scope="module")
def want(model):
    return plain_table(model.sample(N_ROWS, seed=8).data)


def rows_of(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])


@pytest.mark.parametrize("partitions", [1, 2, 97, None])
def test_rows_are_those_of_one_machine_in_the_order_of_files(model, want, tmp_path, partitions):
    written = write(
        model, tmp_path / "out", N_ROWS, seed=8, session=LocalSession(), partitions=partitions
    )
    assert rows_of(tmp_path / "out").equals(want)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    assert (
        manifest["rows"]
        == written.n_rows
        == N_ROWS
        == sum(file["rows"] for file in manifest["files"])
    )
    assert [path.name for path in written.files] == [file["name"] for file in manifest["files"]]
    assert len(written.files) == {1: 1, 2: 2, 97: 3, None: 1}[partitions]
    assert pq.read_table(tmp_path / "out").num_rows == N_ROWS  # readers pass over the manifest


class Retried(LocalSession):
    """Every task is run twice, as speculation or a failure after writing would; the second answer counts."""

    def range(self, *arguments):
        frame = super().range(*arguments)
        work = frame.mapInArrow

        def twice(function, shape):
            if shape == module.ROWS_SHAPE:
                work(function, shape)
            return work(function, shape)

        frame.mapInArrow = twice
        return frame


def test_files_of_tasks_that_were_run_twice_are_removed(model, want, tmp_path):
    write(model, tmp_path / "out", N_ROWS, seed=8, session=Retried(), partitions=3)
    assert len(list((tmp_path / "out").iterdir())) == 4
    assert rows_of(tmp_path / "out").equals(want)


def test_an_older_folder_is_replaced_whole(model, want, tmp_path):
    write(model, tmp_path / "out", 7, seed=1, session=LocalSession())
    assert rows_of(tmp_path / "out").num_rows == 7
    write(model, tmp_path / "out", N_ROWS, seed=8, session=LocalSession(), overwrite=True)
    assert rows_of(tmp_path / "out").equals(want)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("where", ["job", "rename"])
def test_whatever_fails_the_old_folder_stays(model, tmp_path, monkeypatch, where):
    write(model, tmp_path / "out", 7, seed=1, session=LocalSession())
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    if where == "job":
        monkeypatch.setattr(module, "collect_table", lambda frame: frame.toArrow().slice(1))
        expected = pytest.raises(ClusterError, match="other rows than they were asked for")
    else:
        rename = os.rename
        monkeypatch.setattr(
            module.os,
            "rename",
            lambda a, b: (
                rename(a, b)
                if not str(a).endswith(".part")
                else (_ for _ in ()).throw(OSError(28, "No space"))
            ),
        )
        expected = pytest.raises(FileError, match=r"Cannot write into .*No space left on device")
    with expected:
        write(
            model,
            tmp_path / "out",
            N_ROWS,
            seed=8,
            session=LocalSession(),
            partitions=3,
            overwrite=True,
        )
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_nothing_of_others_is_replaced(model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    (tmp_path / "file").touch()
    for place, words in (
        ("mine", "holds other files"),
        ("file", "it is a file"),
        ("no/where", "there is no folder"),
    ):
        with pytest.raises(FileError, match=words):
            write(model, tmp_path / place, 5, seed=1, session=LocalSession())
    with pytest.raises(FileError, match="is an address"):
        write(model, "hdfs://host/out", 5, seed=1, session=LocalSession())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mine"]


def test_a_worker_that_does_not_see_the_folder_says_so(model, tmp_path):
    task = WriteRows(draw_task(model, 5, 1), str(tmp_path / "absent"))
    with pytest.raises(FileError, match="A worker cannot write rows: No such file"):
        list(task(iter([pa.record_batch({"id": [0]})])))


def test_files_that_the_driver_does_not_see_are_missed(model, tmp_path, monkeypatch):
    class Elsewhere(LocalSession):
        def range(self, *arguments):
            frame = super().range(*arguments)
            work = frame.mapInArrow

            def moved(function, shape):
                answer = work(function, shape)
                if shape == module.ROWS_SHAPE:
                    for path in {
                        row
                        for part in answer.parts
                        for batch in part
                        for row in batch.column("path").to_pylist()
                    }:
                        os.remove(path)
                return answer

            frame.mapInArrow = moved
            return frame

    with pytest.raises(FileError, match="1 of 1 files that workers wrote are not there"):
        write(model, tmp_path / "out", 5, seed=1, session=Elsewhere())
    assert list(tmp_path.iterdir()) == []


def test_a_task_without_numbers_writes_nothing(model, tmp_path):
    assert list(WriteRows(draw_task(model, 5, 1), str(tmp_path))(iter([]))) == []
    assert list(tmp_path.iterdir()) == []
    assert LocalFrame([]).parts == []


def test_workers_of_spark_write_the_same(spark, model, want, tmp_path):
    write(model, tmp_path / "out", N_ROWS, seed=8, session=spark, partitions=2)
    assert rows_of(tmp_path / "out").equals(want)
