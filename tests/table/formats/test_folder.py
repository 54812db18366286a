"""One table in many Parquet files: by folder, by pattern, and refused where they are not of one table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError

ROWS = {
    "sex": ["f", "m"] * 30,
    "ill": ["no", "no", "yes"] * 20,
    "age": [30 + i % 40 for i in range(60)],
}


@pytest.fixture
def parts(tmp_path):
    whole = pa.table(ROWS)
    for i in range(3):
        pq.write_table(whole.slice(20 * i, 20), tmp_path / f"part-{i}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("x")
    return tmp_path


def test_a_folder_and_a_pattern_are_one_table(parts):
    for source in (parts, str(parts / "part-*.parquet")):
        table = chaffinch.read(source)
        assert table.data.to_pydict() == ROWS
        assert table.origin.layout.format == "folder"
        scanned = chaffinch.scan(source)
        assert scanned.n_rows == 60
        assert [batch.codes.n_rows for batch in scanned.batches(columns=["sex"])] == [20, 20, 20]


def test_values_in_the_names_of_folders(tmp_path):
    ds.write_dataset(
        pa.table(ROWS),
        tmp_path / "d",
        format="parquet",
        partitioning=["sex"],
        partitioning_flavor="hive",
    )
    table = chaffinch.read(tmp_path / "d")
    assert sorted(table.columns) == ["age", "ill", "sex"]
    assert sorted(table.data["sex"].to_pylist()) == sorted(ROWS["sex"])


def test_what_is_not_one_table(parts):
    pq.write_table(pa.table({"sex": ["f"], "ill": [1], "age": [1]}), parts / "part-9.parquet")
    with pytest.raises(
        InputError, match=r"'part-9.parquet' differs from 'part-0.parquet' in columns ill"
    ):
        chaffinch.read(parts)
    pq.write_table(pa.table({"sex": ["f"], "age": [1]}), parts / "part-9.parquet")
    with pytest.raises(InputError, match="in columns ill"):
        chaffinch.read(parts)
    (parts / "part-9.parquet").unlink()
    (parts / "notes.txt").write_text("x")
    with pytest.raises(FileError, match=r"files that are no Parquet, as 'notes.txt'"):
        chaffinch.read(parts)
    with pytest.raises(FileError, match="a pattern that no file fits"):
        chaffinch.read(str(parts / "*.orc"))
    (parts / "empty").mkdir()
    with pytest.raises(FileError, match="a folder without files"):
        chaffinch.read(parts / "empty")


def test_a_private_fit_reads_no_folder(parts):
    with pytest.raises(FileError, match="A private fit does not read"):
        chaffinch.prepare(str(parts), discover="all")
