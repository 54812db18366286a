"""SPSS and Stata files keep labels, missing codes, formats and dates. The second opinion is pyreadstat itself."""

from __future__ import annotations

import datetime
import random
import struct
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import chaffinch
from chaffinch.table import schema_text
from chaffinch.table.formats.spss_stata import read as stat_read
from chaffinch.table.formats.spss_stata.read import DATES, TIMES
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.table.sources import open_source

from ...conftest import again
from .conftest import (
    SPSS_LABELS,
    SPSS_TITLES,
    STATA_LABELS,
    UNKNOWN_DAY,
    N,
    raw,
    seconds,
    spss_file,
    stata_file,
)


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
        kinds = {
            "sex": "categorical",
            "health": "categorical",
            "age": "integer",
            "income": "float",
            "region": "categorical",
            "visit": "date",
            "seen": "datetime",
            "wait": "integer",
        }
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
            assert (read.title, read.labels, read.missing) == (
                column.title,
                column.labels,
                column.missing,
            )
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
        with pytest.raises(
            chaffinch.errors.InputError, match=r"Column 'x' .* holds over 1,000 different ones"
        ):
            chaffinch.read(path)

    def test_other_encodings_are_read(self, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame({"x": ["caf?", "th?"] * 20, "y": [1.0, 2.0] * 20})
        pyreadstat.write_sav(frame, path, column_labels={"x": "caf?"})
        data = (
            path.read_bytes()
            .replace(b"?", b"\xe9")
            .replace(struct.pack("<i", 65001), struct.pack("<i", 1252))
        )
        name = b"\x07\0\0\0\x14\0\0\0\x01\0\0\0\x05\0\0\0UTF-8"
        assert data.count(name) == 1
        path.write_bytes(
            data.replace(name, b"\x07\0\0\0\x14\0\0\0\x01\0\0\0\x0c\0\0\0windows-1252")
        )
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
        assert table.data.column("visit").to_pylist() == [
            None if pd.isna(day) else day for day in frame["visit"]
        ]
        assert table.data.column("seen").to_pylist() == [
            moment.to_pydatetime() for moment in frame["seen"]
        ]

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
        assert all(
            value == round(value, 1) for value in cells["single"]
        )  # 0.1, not the float next to it

    def test_a_schema_with_letters_and_numbers_as_codes(self, tmp_path):
        path = stata_file(tmp_path / "a.dta")
        table = chaffinch.read(path)
        text = schema_text(table.schema)
        schema = schema_from_toml(text)
        assert schema["sex"].labels == table.schema["sex"].labels
        assert schema["sex"].missing == ("a", "b")
        fitted = chaffinch.read(path, schema)
        assert all((fitted.code(name) == table.code(name)).all() for name in table.schema.names)
        mixed = chaffinch.read(
            path,
            schema_from_toml(
                text.replace("[1, 2, 3]", "[1, 2]").replace(
                    "[columns.grade]\n", "[columns.grade]\nmissing = [3]\n"
                )
            ),
        )
        again(mixed).write(tmp_path / "b.dta")
        assert raw(tmp_path / "b.dta")[0]["grade"] == raw(path)[0]["grade"]


class TestWithoutTheExtra:
    @pytest.mark.parametrize("make", [spss_file, stata_file])
    def test_reading(self, tmp_path, monkeypatch, make):
        path = make(tmp_path / ("a.sav" if make is spss_file else "a.dta"))
        monkeypatch.setitem(sys.modules, "pyreadstat", None)
        with pytest.raises(chaffinch.errors.MissingExtraError) as caught:
            chaffinch.read(path)
        assert (
            str(caught.value)
            == "Reading SPSS and Stata files needs an extra: pip install 'chaffinch[pyreadstat]'."
        )

    @pytest.mark.parametrize("absent", ["pyreadstat", "pandas"])
    def test_writing(self, tmp_path, monkeypatch, absent):
        table = chaffinch.read(pa.table({"x": [1, 2] * 20, "y": ["u", "w"] * 20}))
        monkeypatch.setitem(sys.modules, absent, None)
        for ending in ("sav", "dta"):
            with pytest.raises(chaffinch.errors.MissingExtraError) as caught:
                table.write(tmp_path / f"a.{ending}")
            assert (
                str(caught.value)
                == "Writing SPSS and Stata files needs an extra: pip install 'chaffinch[pyreadstat]'."
            )
        assert not list(tmp_path.iterdir())

    def test_reading_needs_no_pandas(self, tmp_path, monkeypatch):
        path = spss_file(tmp_path / "a.sav")
        monkeypatch.setitem(sys.modules, "pandas", None)
        assert chaffinch.read(path).n_rows == N


class TestDamage:
    @pytest.mark.parametrize("make", [spss_file, stata_file])
    def test_cut_short(self, tmp_path, make):
        path = make(tmp_path / ("a.sav" if make is spss_file else "a.dta"))
        data = path.read_bytes()
        places = random.Random(1)
        for length in [
            200,
            len(data) - 9,
            *(places.randrange(150, len(data) - 9) for _ in range(60)),
        ]:
            path.write_bytes(data[:length])
            with pytest.raises(
                chaffinch.errors.FileError, match=r"Cannot read '.*': it is damaged, truncated or"
            ):
                chaffinch.read(path)

    @pytest.mark.parametrize(
        ("ending", "magic"),
        [("sav", b"$FL2"), ("sav", b"$FL3"), ("dta", b"<stata_dta>"), ("dta", b"\x72\x02")],
    )
    def test_random_bytes(self, tmp_path, ending, magic):
        for seed in range(30):
            path = tmp_path / f"a.{ending}"
            path.write_bytes(magic + random.Random(seed).randbytes(3000))
            with pytest.raises(chaffinch.errors.FileError):
                chaffinch.read(path)

    def test_labels_of_no_variable_do_not_end_the_process(self, tmp_path):
        """The reader of pyreadstat 1.3.7 dies of these: every word that follows the record of labels is changed in turn."""
        path = spss_file(tmp_path / "a.sav")
        data = path.read_bytes()
        place = data.index(b"\x04\0\0\0\x01\0\0\0\x01\0\0\0") + 8
        for wrong in (0, 200, -1):
            path.write_bytes(data[:place] + struct.pack("<i", wrong) + data[place + 4 :])
            with pytest.raises(chaffinch.errors.FileError, match="it is damaged"):
                chaffinch.read(path)

    def test_labelled_words_that_do_not_decode(self, tmp_path):
        path = spss_file(tmp_path / "a.sav")
        data = path.read_bytes()
        assert data.count(b"n       \x05North") == 1
        path.write_bytes(data.replace(b"n       \x05North", b"\xff       \x05North"))
        with pytest.raises(chaffinch.errors.FileError, match="it is damaged"):
            chaffinch.read(path)

    def test_cells_that_do_not_decode_are_not_quoted(self, tmp_path):
        path = tmp_path / "a.dta"
        pyreadstat.write_dta(pd.DataFrame({"x": ["secret?"] * 40, "y": 1.0}), path)
        path.write_bytes(path.read_bytes().replace(b"secret?", b"secret\xff"))
        with pytest.raises(
            chaffinch.errors.FileError, match="its text is not in the encoding that it claims"
        ) as caught:
            chaffinch.read(path)
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_a_failed_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        table = chaffinch.read(spss_file(tmp_path / "a.sav"))
        (tmp_path / "b.sav").write_text("old")

        def refuse(*_, **__):
            raise pyreadstat.ReadstatError("Unable to write data")

        monkeypatch.setattr(pyreadstat, "write_sav", refuse)
        with pytest.raises(
            chaffinch.errors.FileError,
            match=r"Cannot write the SPSS file. Unable to write data. Make room",
        ):
            table.write(tmp_path / "b.sav", overwrite=True)
        assert (tmp_path / "b.sav").read_text() == "old"
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.sav", "b.sav"]


class TestMoments:
    @pytest.mark.parametrize("form", ["sav", "dta"])
    def test_pyreadstat_counts_time_in_the_same_way(self, tmp_path, form):
        """Dates and times that pyreadstat converts come out as the numbers that ours do."""
        moments = [
            datetime.datetime(1600, 2, 29, 1, 2, 3),
            datetime.datetime(1969, 12, 31),
            datetime.datetime(2024, 2, 29, 23, 59, 59, 123_000),
        ]
        days = [moment.date() for moment in moments]
        frame = pd.DataFrame(
            {
                "day": pd.Series(days, dtype=object),
                "moment": pd.Series(moments, dtype="datetime64[ms]"),
            }
        )
        path = tmp_path / f"a.{form}"
        (pyreadstat.write_sav if form == "sav" else pyreadstat.write_dta)(frame, path)
        cells, _ = raw(path)
        numbers = np.array([(day - datetime.date(1970, 1, 1)).days for day in days])
        assert DATES[form].outgoing(numbers).tolist() == cells["day"]
        assert DATES[form].incoming(np.array(cells["day"])).tolist() == numbers.tolist()
        units = pa.array(moments, type=pa.timestamp("ms")).cast(pa.int64()).to_numpy()
        assert TIMES[form].outgoing(units) == pytest.approx(cells["moment"], abs=1e-5)
        assert TIMES[form].incoming(np.array(cells["moment"])).tolist() == units.tolist()

    def test_a_date_with_a_time_in_it_is_its_day(self, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame(
            {
                "x": [seconds(datetime.datetime(2020, 1, 1 + i % 9, 23, 59)) for i in range(40)],
                "y": 1.0,
            }
        )
        pyreadstat.write_sav(frame, path, variable_format={"x": "DATE11"})
        assert chaffinch.read(path).data.column("x")[0].as_py() == datetime.date(2020, 1, 1)

    def test_dates_beyond_any_calendar(self, tmp_path):
        path = tmp_path / "a.sav"
        pyreadstat.write_sav(
            pd.DataFrame({"x": [1e300] * 40, "y": 1.0}), path, variable_format={"x": "DATE11"}
        )
        with pytest.raises(
            chaffinch.errors.FileError, match="column 'x' holds dates beyond any calendar"
        ):
            chaffinch.read(path)
