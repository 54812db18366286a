"""Tables of SAS as haven, an R package, writes them, beside what R says of the same frame; and transport files of our own, read by pyreadstat."""

from __future__ import annotations

import contextlib
import datetime
import random
import shutil
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import chaffinch
from chaffinch.errors import ChaffinchError, FileError, InputError, MissingExtraError
from chaffinch.table.formats.sas import _moment
from chaffinch.table.sources import open_source

FILES = Path(__file__).parents[2] / "data" / "files"


@pytest.mark.parametrize("name", ["people.sas7bdat", "people.xpt"])
def test_a_table_is_what_r_says_it_is(name, tmp_path):
    shutil.copy(FILES / name, tmp_path / "t.csv")  # content and not the name decides
    table = chaffinch.read(tmp_path / "t.csv", rare="keep")
    said = pd.read_csv(FILES / "people_r.csv")
    for column in ("age", "pay", "town"):
        values = [None if pd.isna(value) else value for value in said[column].tolist()]
        assert table.data[column].to_pylist() == values, column
    assert [str(day) for day in table.data["day"].to_pylist()] == said["day"].tolist()
    assert [f"{seen:%Y-%m-%d %H:%M:%S}" for seen in table.data["seen"].to_pylist()] == said[
        "seen"
    ].tolist()
    assert table.schema["age"].title == "Age in years"
    assert chaffinch.scan(tmp_path / "t.csv").n_rows == 60


def test_a_transport_file_is_written(tmp_path):
    data = pa.table(
        {
            "n": pa.array([1, 2, None] * 20),
            "x": [0.25, 1.5, 2.0] * 20,
            "word": ["a", None, "c"] * 20,
            "day": [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(60)],
            "seen": [datetime.datetime(2020, 1, 1, 8, 30, i) for i in range(60)],
            "at": [datetime.time(8, i) for i in range(60)],
        }
    )
    table = chaffinch.read(data, rare="keep")
    table.write(tmp_path / "t.xpt")
    frame, _ = pyreadstat.read_xport(tmp_path / "t.xpt")
    assert frame["x"].tolist() == data["x"].to_pylist()
    assert frame["day"].tolist() == data["day"].to_pylist()
    again = chaffinch.read(tmp_path / "t.xpt", rare="keep")
    assert (
        again.data.select(["n", "x", "word", "day", "seen"]).to_pydict()
        == data.select(["n", "x", "word", "day", "seen"]).to_pydict()
    )
    assert again.data["at"].to_pylist() == data["at"].to_pylist()


def test_names_that_sas_does_not_hold(tmp_path):
    for names in (["an age", "b"], ["a" * 33, "b"], ["Age", "age"]):
        table = chaffinch.read(pa.table({name: ["x", "y"] * 10 for name in names}))
        with pytest.raises(InputError, match="SAS cannot hold columns named so"):
            table.write(tmp_path / "t.xpt")
    assert not list(tmp_path.iterdir())


def test_formats_that_show_time():
    assert [
        _moment(word) is not None
        for word in (
            "YYMMDD10",
            "MMDDYY8.",
            "DATETIME",
            "E8601DT19",
            "TIME5",
            "BEST12",
            "F8.2",
            "",
            "DOLLAR10",
        )
    ] == [
        True,
        True,
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("name", ["people.sas7bdat", "people.xpt"])
def test_fuzzed_files_are_read_or_refused(tmp_path, name):
    content, rng = (FILES / name).read_bytes(), random.Random(5)
    for _ in range(150):
        data = bytearray(content)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(32, len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            data = data[: rng.randrange(64, len(data))]
        (tmp_path / name).write_bytes(data)
        with contextlib.suppress(ChaffinchError):
            open_source(tmp_path / name).table()


def test_advice_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"Reading SAS files .*chaffinch\[pyreadstat\]"):
        chaffinch.read(FILES / "people.xpt")
    with pytest.raises(FileError, match="A private fit does not read"):
        chaffinch.prepare(FILES / "people.xpt", discover="all")
