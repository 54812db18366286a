"""Data frames that R saved, beside what R itself writes of them as CSV (`tests/data/files/make.R`); fuzzed; and nothing that runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError
from chaffinch.table.sources import open_source

from ..conftest import n_refused

FILES = Path(__file__).parents[2] / "data" / "files"


@pytest.mark.parametrize("name", ["people.rds", "people_v2_xz.rds"])
def test_a_frame_is_what_r_says_it_is(name):
    table = chaffinch.read(FILES / name, rare="keep")
    said = pd.read_csv(FILES / "people_r.csv")
    assert list(table.columns) == list(said.columns)
    for column in ("age", "pay", "sex", "grade", "town", "smokes"):
        values = [None if pd.isna(value) else value for value in said[column].tolist()]
        assert table.data[column].to_pylist() == values, column
    assert [str(day) for day in table.data["day"].to_pylist()] == said["day"].tolist()
    assert [f"{seen:%Y-%m-%d %H:%M:%S}" for seen in table.data["seen"].to_pylist()] == said[
        "seen"
    ].tolist()
    assert table.data["grade"].type == pa.dictionary(pa.int32(), pa.string(), ordered=True)
    assert table.schema["grade"].ordered


def test_short_forms_of_vectors():
    table = open_source(FILES / "ranges.rds").table()
    assert table.to_pydict() == {
        "i": list(range(1, 61)),
        "x": [float(i) for i in range(1, 61)],
        "w": [str(i) for i in range(1, 61)],
        "g": ["a", "b"] * 30,
    }


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("function.rds", "holds functions, environments or other things that are no data"),
        ("people_ascii.rds", "as text or in the order of one machine"),
        ("people.RData", r"an R workspace \(.RData\), which is not read. In R:"),
    ],
)
def test_what_is_not_read_says_how_to_convert_it(name, says):
    with pytest.raises(FileError, match=says):
        chaffinch.read(FILES / name)


def test_columns_that_hold_lists_are_left_out():
    table = chaffinch.read(FILES / "listed.rds")
    assert table.columns == ("a", "b")
    assert "Columns that hold lists or other objects are left out: l." in [
        str(note) for note in table.notes
    ]


@pytest.mark.parametrize("packed", [True, False])
def test_fuzzed_files_are_read_or_refused(tmp_path, packed):
    """400 damaged copies: each is read, or refused with our own error and nothing else."""
    plain = gzip.decompress((FILES / "people.rds").read_bytes())
    assert n_refused(tmp_path / "t.rds", gzip.compress(plain) if packed else plain, 200, 4) > 20
