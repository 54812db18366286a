"""SPSS and Stata files keep labels, missing codes, formats and dates. The second opinion is pyreadstat itself."""

from __future__ import annotations

import datetime
import struct
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import chaffinch
from chaffinch.table import Table, schema_text
from chaffinch.table.formats.spss_stata import read as stat_read
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.table.sources import open_source

N = 300

SPSS_EPOCH = datetime.datetime(1582, 10, 14)

STATA_EPOCH = datetime.datetime(1960, 1, 1)

UNKNOWN_DAY = datetime.date(1900, 1, 1)

SPSS_LABELS = {
    "sex": {1.0: "woman", 2.0: "man", -8.0: "refused"},
    "health": {1.0: "good", 2.0: "fair", 3.0: "poor", 9.0: "not asked"},
    "age": {97.0: "over 96", 98.0: "refused", 99.0: "unknown"},
    "income": {-1.0: "none of your business", -2.0: "gone"},
    "region": {"n": "North", "s": "South"},
}

SPSS_TITLES = {"sex": "Sex of the person", "age": "Age in years", "region": "Région « nord »", "visit": "First visit"}

SPSS_FORMATS = {
    "age": "F3.0",
    "income": "DOLLAR12.2",
    "visit": "EDATE10",
    "seen": "DATETIME20",
    "wait": "TIME8",
    "sex": "F1.0",
}

SPSS_MEASURES = {"sex": "nominal", "health": "ordinal", "age": "scale", "income": "scale", "region": "nominal"}


def seconds(moment: datetime.date, epoch: datetime.datetime = SPSS_EPOCH) -> float:
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    return (moment - epoch).total_seconds()


def spss_file(path: Path) -> Path:
    """A survey as SPSS users have it: every kind of missing, of label and of format."""
    rng = np.random.default_rng(5)
    days = [datetime.date(2015, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 1500, N)]
    frame = pd.DataFrame(
        {
            "sex": rng.choice([1.0, 2.0, -8.0], N, p=[0.5, 0.4, 0.1]),
            "health": rng.choice([1.0, 2.0, 3.0], N),
            "age": np.where(rng.random(N) < 0.1, rng.choice([98.0, 99.0], N), rng.integers(18, 90, N)),
            "income": np.where(
                rng.random(N) < 0.2, rng.choice([-1.0, -2.0, np.nan], N), np.round(rng.gamma(2, 900, N), 2)
            ),
            "region": rng.choice(["n", "s", "NA", ""], N),
            "visit": [seconds(UNKNOWN_DAY if i % 17 == 0 else day) for i, day in enumerate(days)],
            "seen": [seconds(datetime.datetime(2020, 5, 17, 8) + datetime.timedelta(minutes=7 * i)) for i in range(N)],
            "wait": rng.integers(0, 7200, N).astype(float),
        }
    )
    frame.loc[::31, "visit"] = np.nan
    pyreadstat.write_sav(
        frame,
        path,
        file_label="A small survey",
        column_labels=SPSS_TITLES,
        variable_value_labels=SPSS_LABELS,
        missing_ranges={
            "sex": [-8],
            "health": [9],
            "age": [{"lo": 97, "hi": 99}],
            "income": [{"lo": float("-inf"), "hi": -1}, 999999],
            "region": ["NA"],
            "visit": [seconds(UNKNOWN_DAY)],
        },
        variable_format=SPSS_FORMATS,
        variable_measure=SPSS_MEASURES,
        variable_display_width={"sex": 12, "region": 20},
    )
    return path


STATA_LABELS = {
    "sex": {1: "woman", 2: "man", "a": "refused", "z": "never used"},
    "age": {"b": "unknown"},
    "grade": {1: "low", 2: "middle", 3: "high"},
}

STATA_FORMATS = {
    "age": "%8.0g",
    "income": "%12.2fc",
    "visit": "%tdDD/NN/CCYY",
    "seen": "%tc",
    "month": "%tm",
    "region": "%-12s",
}


def stata_file(path: Path, version: int = 15) -> Path:
    rng = np.random.default_rng(6)
    sexes = [["a", "b", None][i % 3] if i % 7 == 0 else x for i, x in enumerate(rng.choice([1, 2], N).tolist())]
    frame = pd.DataFrame(
        {
            "sex": pd.Series(sexes, dtype=object),
            "age": pd.Series(
                ["b" if i % 11 == 0 else x for i, x in enumerate(rng.integers(18, 90, N).tolist())], dtype=object
            ),
            "income": np.where(rng.random(N) < 0.1, np.nan, np.round(rng.gamma(2, 900, N), 2)),
            "grade": pd.array(rng.choice([1, 2, 3], N), dtype="Int32"),
            "region": rng.choice(["north", "south", ""], N),
            "visit": pd.Series(
                ["c" if i % 13 == 0 else int(x) for i, x in enumerate(rng.integers(20_000, 21_500, N))], dtype=object
            ),
            "seen": [1000 * seconds(datetime.datetime(2020, 5, 17, 8, 0, i % 60), STATA_EPOCH) for i in range(N)],
            "month": pd.array(rng.integers(600, 720, N), dtype="Int32"),
        }
    )
    pyreadstat.write_dta(
        frame,
        path,
        version=version,
        file_label="A small panel",
        column_labels={"sex": "Sex of the person", "visit": "First visit"},
        variable_value_labels=STATA_LABELS,
        missing_user_values={"sex": ["a", "b", "z"], "age": ["b"], "visit": ["c"]},
        variable_format=STATA_FORMATS,
    )
    return path


def again(table: Table) -> Table:
    """Return the table made anew from its own codes."""
    return Table.from_codes(table.schema, [table.codes[j] for j in range(len(table.codes))], seed=1, like=table)


def raw(path: Path):
    """Return cells and metadata as pyreadstat has them."""
    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    return read(path, user_missing=True, disable_datetime_conversion=True, output_format="dict")


class TestReadingSPSS:
    def test_what_the_file_says_becomes_schema(self, tmp_path):
        schema = chaffinch.read(spss_file(tmp_path / "a.sav")).schema
        assert {c.name: c.title for c in schema if c.title} == SPSS_TITLES
        assert {c.name: dict(c.labels) for c in schema if c.labels} == SPSS_LABELS
        assert {c.name: c.missing for c in schema if c.missing} == {
            "sex": (-8.0,),
            "age": (98.0, 99.0),  # 97 lies in the declared range but does not occur
            "income": (-2.0, -1.0),  # of an open range; 999999 does not occur
            "region": ("NA",),
            "visit": ((UNKNOWN_DAY - datetime.date(1970, 1, 1)).days,),
        }
        kinds = {"sex": "categorical", "health": "categorical", "age": "integer", "income": "float", "region": "categorical",
                 "visit": "date", "seen": "datetime", "wait": "integer"}  # fmt: skip
        assert {c.name: c.kind for c in schema} == kinds
        assert [c.name for c in schema if c.ordered] == ["health"]

    def test_dates_and_times_are_those_of_pyreadstat(self, tmp_path):
        path = spss_file(tmp_path / "a.sav")
        table = chaffinch.read(path)
        frame, _ = pyreadstat.read_sav(path, user_missing=True)
        days, moments = table.data.column("visit"), table.data.column("seen")
        assert days.type == pa.date32()
        assert days.to_pylist() == [None if pd.isna(day) else day for day in frame["visit"]]
        assert pa.types.is_timestamp(moments.type)
        assert moments.to_pylist() == [moment.to_pydatetime() for moment in frame["seen"]]

    def test_empty_text_is_missing_and_a_declared_word_is_its_own_level(self, tmp_path):
        path = spss_file(tmp_path / "a.sav")
        cells, _ = raw(path)
        table = chaffinch.read(path)
        names = np.array(table.schema["region"].codec.names())[table.code("region")]
        counts = Counter(cells["region"])
        assert Counter(names) == {
            "n": counts["n"],
            "s": counts["s"],
            "(missing)": counts[""],
            "(missing NA)": counts["NA"],
        }

    def test_the_schema_survives_as_toml(self, tmp_path):
        path = spss_file(tmp_path / "a.sav")
        table = chaffinch.read(path)
        schema = schema_from_toml(schema_text(table.schema))
        for column, read in zip(table.schema, schema, strict=True):
            assert (read.title, read.labels, read.missing) == (column.title, column.labels, column.missing)
        fitted = chaffinch.read(path, schema)
        assert fitted.schema.sizes == table.schema.sizes
        assert all((fitted.code(name) == table.code(name)).all() for name in table.schema.names)

    def test_batches_hold_what_the_whole_holds(self, tmp_path, monkeypatch):
        path = spss_file(tmp_path / "a.sav")
        whole = chaffinch.read(path)
        monkeypatch.setattr(stat_read, "BATCH_ROWS", 7)
        source = open_source(path)
        batches = list(source.batches(["visit", "sex"]))
        assert [batch.num_rows for batch in batches] == [7] * 42 + [6]
        assert batches[0].schema.names == ["visit", "sex"]
        scanned = chaffinch.scan(path)
        assert scanned.n_rows == N
        codes = np.concatenate([batch.codes[0] for batch in scanned.batches()])
        assert (codes == whole.codes[0]).all()

    @pytest.mark.parametrize("rows", [6, 7, 300])
    def test_a_file_that_does_not_say_how_many_rows_it_has(self, tmp_path, monkeypatch, rows):
        path = spss_file(tmp_path / "a.sav")
        expected = chaffinch.read(path).data
        data = bytearray(path.read_bytes())
        assert struct.unpack("<i", data[80:84]) == (N,)
        data[80:84] = struct.pack("<i", -1)
        path.write_bytes(data)
        monkeypatch.setattr(stat_read, "BATCH_ROWS", rows)
        assert chaffinch.read(path).data.equals(expected)

    def test_a_range_of_measurements_is_refused(self, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame({"x": np.arange(2000.0), "y": 1.0})
        pyreadstat.write_sav(frame, path, missing_ranges={"x": [{"lo": 100, "hi": float("inf")}]})
        with pytest.raises(chaffinch.errors.InputError, match=r"Column 'x' .* holds over 1,000 different ones"):
            chaffinch.read(path)

    def test_other_encodings_are_read(self, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame({"x": ["caf?", "th?"] * 20, "y": [1.0, 2.0] * 20})
        pyreadstat.write_sav(frame, path, column_labels={"x": "caf?"})
        data = path.read_bytes().replace(b"?", b"\xe9").replace(struct.pack("<i", 65001), struct.pack("<i", 1252))
        name = b"\x07\0\0\0\x14\0\0\0\x01\0\0\0\x05\0\0\0UTF-8"
        assert data.count(name) == 1
        path.write_bytes(data.replace(name, b"\x07\0\0\0\x14\0\0\0\x01\0\0\0\x0c\0\0\0windows-1252"))
        table = chaffinch.read(path)
        assert table.schema["x"].title == "café"
        assert set(table.data.column("x").to_pylist()) == {"café", "thé"}


class TestReadingStata:
    def test_letters_are_missing_codes_beside_numbers(self, tmp_path):
        path = stata_file(tmp_path / "a.dta")
        cells, _ = raw(path)
        table = chaffinch.read(path)
        assert {c.name: c.missing for c in table.schema if c.missing} == {
            "sex": ("a", "b"),
            "age": ("b",),
            "visit": ("c",),
        }
        assert table.data.column("sex").type == pa.int32()
        assert table.data.column("visit").type == pa.date32()
        names = np.array(table.schema["sex"].codec.names())[table.code("sex")]
        counts = Counter(cells["sex"])
        assert min(counts["a"], counts["b"], counts[None]) > 0
        assert Counter(names) == {
            "1": counts[1],
            "2": counts[2],
            "(missing)": counts[None],
            "(missing a)": counts["a"],
            "(missing b)": counts["b"],
        }
        assert not table.schema["age"].nullable

    def test_labels_and_titles(self, tmp_path):
        schema = chaffinch.read(stata_file(tmp_path / "a.dta")).schema
        assert {c.name: dict(c.labels) for c in schema if c.labels} == STATA_LABELS
        assert schema["visit"].title == "First visit"

    @pytest.mark.parametrize("version", [10, 12, 13, 14, 15])
    def test_every_version(self, tmp_path, version):
        new = chaffinch.read(stata_file(tmp_path / "a.dta"))
        old = chaffinch.read(stata_file(tmp_path / "b.dta", version))
        assert old.data.equals(new.data)
        assert old.schema == new.schema

    def test_dates_and_times_are_those_of_pyreadstat(self, tmp_path):
        path = stata_file(tmp_path / "a.dta")
        table = chaffinch.read(path)
        frame, _ = pyreadstat.read_dta(path, extra_date_formats=["%tdDD/NN/CCYY"])
        assert table.data.column("visit").to_pylist() == [None if pd.isna(day) else day for day in frame["visit"]]
        assert table.data.column("seen").to_pylist() == [moment.to_pydatetime() for moment in frame["seen"]]

    def test_small_numbers_keep_their_types(self, tmp_path):
        path = tmp_path / "a.dta"
        rng = np.random.default_rng(3)
        frame = pd.DataFrame(
            {
                "tiny": rng.integers(0, 90, 100).astype(np.int8),
                "small": rng.integers(0, 900, 100).astype(np.int16),
                "single": (rng.integers(0, 900, 100) / 10).astype(np.float32),
            }
        )
        frame.to_stata(path, write_index=False)
        table = chaffinch.read(path)
        assert table.data.schema.types == [pa.int8(), pa.int16(), pa.float32()]
        again(table).write(tmp_path / "b.dta")
        cells, told = raw(tmp_path / "b.dta")
        assert list(told.readstat_variable_types.values()) == ["int32", "int32", "double"]
        assert all(value == round(value, 1) for value in cells["single"])  # 0.1, not the float next to it

    def test_a_schema_with_letters_and_numbers_as_codes(self, tmp_path):
        path = stata_file(tmp_path / "a.dta")
        table = chaffinch.read(path)
        text = schema_text(table.schema)
        schema = schema_from_toml(text)
        assert schema["sex"].labels == table.schema["sex"].labels
        assert schema["sex"].missing == ("a", "b")
        fitted = chaffinch.read(path, schema)
        assert all((fitted.code(name) == table.code(name)).all() for name in table.schema.names)
        mixed = chaffinch.read(path, schema_from_toml(text.replace("[1, 2, 3]", "[1, 2]").replace(
            '[columns.grade]\n', '[columns.grade]\nmissing = [3]\n')))  # fmt: skip
        again(mixed).write(tmp_path / "b.dta")
        assert raw(tmp_path / "b.dta")[0]["grade"] == raw(path)[0]["grade"]


class TestWithoutTheExtra:
    @pytest.mark.parametrize("make", [spss_file, stata_file])
    def test_reading(self, tmp_path, monkeypatch, make):
        path = make(tmp_path / ("a.sav" if make is spss_file else "a.dta"))
        monkeypatch.setitem(sys.modules, "pyreadstat", None)
        with pytest.raises(chaffinch.errors.MissingExtraError) as caught:
            chaffinch.read(path)
        assert str(caught.value) == "Reading SPSS and Stata files needs an extra: pip install 'chaffinch[pyreadstat]'."

    @pytest.mark.parametrize("absent", ["pyreadstat", "pandas"])
    def test_writing(self, tmp_path, monkeypatch, absent):
        table = chaffinch.read(pa.table({"x": [1, 2] * 20, "y": ["u", "w"] * 20}))
        monkeypatch.setitem(sys.modules, absent, None)
        for ending in ("sav", "dta"):
            with pytest.raises(chaffinch.errors.MissingExtraError) as caught:
                table.write(tmp_path / f"a.{ending}")
            assert (
                str(caught.value) == "Writing SPSS and Stata files needs an extra: pip install 'chaffinch[pyreadstat]'."
            )
        assert not list(tmp_path.iterdir())

    def test_reading_needs_no_pandas(self, tmp_path, monkeypatch):
        path = spss_file(tmp_path / "a.sav")
        monkeypatch.setitem(sys.modules, "pandas", None)
        assert chaffinch.read(path).n_rows == N
