"""SPSS and Stata files written: round trips, from one program to the other, and what does not fit."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table import Table, schema_text
from chaffinch.table.schema_file import schema_from_toml

from ...conftest import again
from .conftest import SPSS_LABELS, STATA_LABELS, UNKNOWN_DAY, raw, seconds, spss_file, stata_file


class TestRoundTrip:
    def test_spss_keeps_what_pyreadstat_sees(self, tmp_path):
        first, second = spss_file(tmp_path / "a.sav"), tmp_path / "b.sav"
        again(chaffinch.read(first)).write(second)
        (cells, told), (new_cells, new_told) = raw(first), raw(second)
        assert new_told.column_names == told.column_names
        assert new_told.column_names_to_labels == told.column_names_to_labels
        assert new_told.variable_value_labels == told.variable_value_labels == SPSS_LABELS
        assert new_told.missing_ranges == told.missing_ranges
        assert new_told.original_variable_types == told.original_variable_types
        assert new_told.variable_measure == told.variable_measure
        assert new_told.variable_display_width == told.variable_display_width
        assert told.file_label == "A small survey"
        assert not new_told.file_label
        for name in ("sex", "health", "region"):
            assert new_cells[name] == cells[name]
        for name in ("age", "income", "visit"):
            coded = [
                value
                for value in cells[name]
                if value is None or value < 0 or value in (98, 99, seconds(UNKNOWN_DAY))
            ]
            places = [i for i, value in enumerate(cells[name]) if value in coded]
            assert [new_cells[name][i] for i in places] == [cells[name][i] for i in places]
        assert all(value is None or value % 86_400 == 0 for value in new_cells["visit"])

    def test_stata_keeps_what_pyreadstat_sees(self, tmp_path):
        first, second = stata_file(tmp_path / "a.dta"), tmp_path / "b.dta"
        again(chaffinch.read(first)).write(second)
        (cells, told), (new_cells, new_told) = raw(first), raw(second)
        assert new_told.column_names_to_labels == told.column_names_to_labels
        assert new_told.variable_value_labels == told.variable_value_labels == STATA_LABELS
        assert (
            new_told.missing_user_values
            == told.missing_user_values
            == {"sex": ["a", "b"], "age": ["b"], "visit": ["c"]}
        )
        assert new_told.original_variable_types == told.original_variable_types
        assert told.file_label == "A small panel"
        assert not new_told.file_label
        assert new_told.readstat_variable_types == told.readstat_variable_types
        for name in ("sex", "grade", "region"):
            assert new_cells[name] == cells[name]
        for name in ("age", "visit"):
            assert [isinstance(value, str) and value for value in new_cells[name]] == [
                isinstance(value, str) and value for value in cells[name]
            ]

    @pytest.mark.parametrize("make", [spss_file, stata_file])
    def test_codes_and_schema_are_stable(self, tmp_path, make):
        path = make(tmp_path / ("a.sav" if make is spss_file else "a.dta"))
        table = chaffinch.read(path)
        out = tmp_path / f"b{path.suffix}"
        again(table).write(out)
        back = chaffinch.read(out, table.schema)
        for name in table.schema.names:
            assert (back.code(name) == table.code(name)).all(), name
        inferred = chaffinch.read(out).schema
        for column, new in zip(table.schema, inferred, strict=True):
            assert (
                new.name,
                new.kind,
                new.type,
                new.title,
                new.labels,
                new.missing,
                new.ordered,
                new.nullable,
            ) == (
                column.name,
                column.kind,
                column.type,
                column.title,
                column.labels,
                column.missing,
                column.ordered,
                column.nullable,
            )

    def test_batches_are_gathered_into_one_file(self, tmp_path):
        table = again(chaffinch.read(stata_file(tmp_path / "a.dta")))
        with chaffinch.table.table_writer(tmp_path / "b.dta") as write:
            write(table)
            write(table)
        table.write(tmp_path / "c.dta")
        one, two = raw(tmp_path / "c.dta")[0], raw(tmp_path / "b.dta")[0]
        assert two == {name: values * 2 for name, values in one.items()}

    def test_a_schema_alone_is_enough_for_labels_and_dates(self, tmp_path):
        """Without the table that it came from, formats are the usual ones and all else stays."""
        table = chaffinch.read(spss_file(tmp_path / "a.sav"))
        codes = [table.codes[j] for j in range(len(table.codes))]
        Table.from_codes(table.schema, codes, seed=1).write(tmp_path / "b.sav")
        _, told = raw(tmp_path / "b.sav")
        assert told.variable_value_labels == SPSS_LABELS
        assert told.missing_ranges["sex"] == [{"lo": -8.0, "hi": -8.0}]
        assert told.missing_ranges["income"] == [{"lo": -2.0, "hi": -2.0}, {"lo": -1.0, "hi": -1.0}]
        assert told.original_variable_types == {
            "sex": "F8.0",
            "health": "F8.0",
            "age": "F8.0",
            "income": "F10.2",
            "region": "A2",
            "visit": "DATE11",
            "seen": "DATETIME20",
            "wait": "F8.0",
        }
        assert told.variable_measure["health"] == "ordinal"

    def test_parquet_in_between_keeps_formats(self, tmp_path):
        table = chaffinch.read(spss_file(tmp_path / "a.sav"))
        table.write(tmp_path / "a.parquet")
        chaffinch.read(tmp_path / "a.parquet", table.schema).write(tmp_path / "b.sav")
        assert (
            raw(tmp_path / "b.sav")[1].original_variable_types
            == raw(tmp_path / "a.sav")[1].original_variable_types
        )

    def test_no_rows(self, tmp_path):
        table = chaffinch.read(stata_file(tmp_path / "a.dta"))
        empty = Table.from_codes(
            table.schema, [table.codes[j][:0] for j in range(len(table.codes))], like=table
        )
        for ending in ("sav", "dta"):
            empty.write(tmp_path / f"b.{ending}")
            assert raw(tmp_path / f"b.{ending}")[1].number_rows == 0


class TestFromOneProgramToAnother:
    def test_spss_to_stata(self, tmp_path):
        table = chaffinch.read(spss_file(tmp_path / "a.sav"))
        again(table).write(tmp_path / "b.dta")
        cells, told = raw(tmp_path / "b.dta")
        assert cells["sex"] == raw(tmp_path / "a.sav")[0]["sex"]
        assert told.variable_value_labels["sex"] == {1: "woman", 2: "man", -8: "refused"}
        assert told.original_variable_types["visit"] == "%td"
        assert chaffinch.read(tmp_path / "b.dta").data.column("visit").type == pa.date32()

    def test_stata_to_spss_loses_the_letters_only(self, tmp_path):
        table = chaffinch.read(stata_file(tmp_path / "a.dta"))
        again(table).write(tmp_path / "b.sav")
        cells, told = raw(tmp_path / "b.sav")
        before = raw(tmp_path / "a.dta")[0]["sex"]
        assert cells["sex"] == [None if isinstance(value, str) else value for value in before]
        assert told.variable_value_labels["sex"] == {1.0: "woman", 2.0: "man"}
        assert told.original_variable_types["visit"] == "DATE11"

    def test_words_of_a_text_file_become_letters_with_a_label(self, tmp_path):
        lines = [
            f"{x},{y}"
            for x, y in zip(
                ["1", "2", "NA", "?", ""] * 20, ["u", "NA", "w", "", "u"] * 20, strict=True
            )
        ]
        (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
        table = chaffinch.read(tmp_path / "a.csv")
        again(table).write(tmp_path / "a.dta")
        cells, told = raw(tmp_path / "a.dta")
        letters = {word: letter for letter, word in told.variable_value_labels["x"].items()}
        assert set(letters) == {"NA", "?"}
        assert cells["x"] == [1, 2, letters["NA"], letters["?"], None] * 20
        assert cells["y"] == ["u", "NA", "w", "", "u"] * 20
        again(table).write(tmp_path / "a.sav")
        cells, told = raw(tmp_path / "a.sav")
        assert cells["x"] == [1, 2, None, None, None] * 20
        assert told.missing_ranges == {"y": [{"lo": "NA", "hi": "NA"}]}

    @pytest.mark.parametrize("ending", ["sav", "dta"])
    def test_types_that_these_files_lack(self, tmp_path, ending):
        n = 40
        moments = [
            datetime.datetime(2024, 1, 1, 12) + datetime.timedelta(hours=i) for i in range(n)
        ]
        table = chaffinch.read(
            pa.table(
                {
                    "flag": pa.array([True, False] * 20),
                    "big": pa.array([2**40 + i % 15 for i in range(n)]),
                    "word": pa.array(["a", "b"] * 20).dictionary_encode(),
                    "zoned": pa.array(moments, type=pa.timestamp("us", tz="Europe/Vienna")),
                    "clock": pa.array([m.time() for m in moments], type=pa.time64("us")),
                    "price": pa.array([round(i / 4, 2) for i in range(n)]).cast(
                        pa.decimal128(8, 2)
                    ),
                    "empty": pa.nulls(n),
                }
            )
        )
        path = tmp_path / f"a.{ending}"
        table.write(path)
        back = chaffinch.read(path)
        assert [int(x) for x in back.data.column("flag").to_pylist()] == [1, 0] * 20
        assert back.data.column("big").to_pylist() == table.data.column("big").to_pylist()
        assert back.data.column("word").to_pylist() == ["a", "b"] * 20
        assert back.data.column("zoned").to_pylist() == [
            m + datetime.timedelta(hours=1) for m in moments
        ]  # in Vienna
        assert raw(path)[0]["clock"][0] == (43_200 if ending == "sav" else 43_200_000)
        assert back.data.column("price").to_pylist() == [round(i / 4, 2) for i in range(n)]
        assert back.data.column("empty").null_count == n


class TestMissingCodesForSPSS:
    @pytest.mark.parametrize(
        ("codes", "expected"),
        [
            ([-1, -5, 99], [(-1, -1), (-5, -5), (99, 99)]),
            ([-9, -8, -7, -1], [(-9, -1)]),
            ([-9, -8, -7, 99], [(-9, -7), (99, 99)]),
            ([-9, 97, 98, 99], [(97, 99), (-9, -9)]),
        ],
        ids=["three codes", "a range", "a range and a higher code", "a range and a lower code"],
    )
    def test_more_codes_than_three_become_a_range(self, tmp_path, codes, expected):
        values = [float(x) for x in [*range(20, 80), *codes * 10]]
        schema = schema_from_toml(
            f'format = "chaffinch-schema"\nversion = 1\n[columns.x]\nkind = "integer"\ntype = "double"\nmissing = {[float(c) for c in codes]}\n'
            '[columns.y]\nkind = "categorical"\n'
        )
        table = chaffinch.read(
            pa.table({"x": values, "y": ["u", "w"] * (len(values) // 2)}), schema
        )
        table.write(tmp_path / "a.sav")
        assert raw(tmp_path / "a.sav")[1].missing_ranges["x"] == [
            {"lo": lo, "hi": hi} for lo, hi in expected
        ]
        assert set(chaffinch.read(tmp_path / "a.sav").schema["x"].missing) == set(codes)

    def test_codes_among_the_values_are_refused(self, tmp_path):
        values = [float(x) for x in [*range(20, 80), *[-9, 31.5, 41.5, 51.5, 99] * 4]]
        schema = schema_from_toml(
            'format = "chaffinch-schema"\nversion = 1\n[columns.x]\nkind = "integer"\ntype = "double"\n'
            'missing = [-9.0, 31.5, 41.5, 51.5, 99.0]\n[columns.y]\nkind = "categorical"\n'
        )
        table = chaffinch.read(pa.table({"x": values, "y": ["u", "w"] * 40}), schema)
        (tmp_path / "a.sav").write_text("old")
        with pytest.raises(
            chaffinch.errors.InputError, match="SPSS cannot declare the missing codes of column 'x'"
        ):
            table.write(tmp_path / "a.sav", overwrite=True)
        assert [file.name for file in tmp_path.iterdir()] == ["a.sav"]
        assert (tmp_path / "a.sav").read_text() == "old"

    def test_a_declared_range_gives_way_to_a_value_inside_it(self, tmp_path):
        """A schema that takes 98 for an age wins over the file that declared 97 to 99 missing."""
        path = spss_file(tmp_path / "a.sav")
        text = schema_text(chaffinch.read(path).schema).replace(
            "missing = [98.0, 99.0]", "missing = [99.0]"
        )
        table = chaffinch.read(path, schema_from_toml(text))
        table.write(tmp_path / "b.sav")
        assert raw(tmp_path / "b.sav")[1].missing_ranges["age"] == [{"lo": 99.0, "hi": 99.0}]
        assert raw(tmp_path / "b.sav")[0]["age"] == raw(path)[0]["age"]


class TestWhatFits:
    @pytest.mark.parametrize(
        ("ending", "name"),
        [
            ("sav", "education-num"),
            ("sav", "_x"),
            ("sav", "ALL"),
            ("sav", "x" * 65),
            ("sav", "a b"),
            ("sav", "1a"),
            ("dta", "a.b"),
            ("dta", "int"),
            ("dta", "str12"),
            ("dta", "x" * 33),
            ("dta", "a b"),
            ("dta", ""),
        ],
    )
    def test_bad_names_are_named(self, tmp_path, ending, name):
        table = chaffinch.read(pa.table({"ok": [1, 2] * 20, name or "ö-": ["u", "w"] * 20}))
        with pytest.raises(
            chaffinch.errors.InputError,
            match=r"(SPSS|Stata) cannot hold columns named so: .*Rename",
        ) as caught:
            table.write(tmp_path / f"a.{ending}")
        assert (name or "ö-") in str(caught.value)
        assert "ok," not in str(caught.value)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("ending", "names"),
        [("sav", ["a.b", "größe", "x" * 64, "a$"]), ("dta", ["_x", "größe", "x" * 32])],
    )
    def test_good_names_stay(self, tmp_path, ending, names):
        table = chaffinch.read(pa.table({name: ["u", "w"] * 20 for name in ["ok", *names]}))
        table.write(tmp_path / f"a.{ending}")
        assert raw(tmp_path / f"a.{ending}")[1].column_names == ["ok", *names]

    def test_names_that_differ_in_case_only(self, tmp_path):
        table = chaffinch.read(pa.table({"a": ["u", "w"] * 20, "A": ["u", "w"] * 20}))
        with pytest.raises(chaffinch.errors.InputError, match="differ only in case: a, A"):
            table.write(tmp_path / "a.sav")
        table.write(tmp_path / "a.dta")

    def test_long_names_with_labels_in_stata(self, tmp_path):
        text = f'format = "chaffinch-schema"\nversion = 1\n[columns.{"x" * 32}]\nkind = "categorical"\ntype = "int64"\nlabels = {{ "1" = "one" }}\n[columns.y]\nkind = "categorical"\n'
        table = chaffinch.read(
            pa.table({"x" * 32: [1, 2] * 20, "y": ["u", "w"] * 20}), schema_from_toml(text)
        )
        with pytest.raises(
            chaffinch.errors.InputError,
            match="Columns with value labels need names of at most 28 characters",
        ):
            table.write(tmp_path / "a.dta")

    @pytest.mark.parametrize("ending", ["sav", "dta"])
    def test_long_texts_are_cut_at_a_whole_character(self, tmp_path, ending):
        long = "x" + "é" * 500
        text = f'format = "chaffinch-schema"\nversion = 1\n[columns.x]\nkind = "categorical"\ntype = "int64"\ntitle = "{long}"\nlabels = {{ "1" = "{long}" }}\n[columns.y]\nkind = "categorical"\n'
        chaffinch.read(
            pa.table({"x": [1, 2] * 20, "y": ["u", "w"] * 20}), schema_from_toml(text)
        ).write(tmp_path / f"a.{ending}")
        _, told = raw(tmp_path / f"a.{ending}")
        assert long.startswith(told.column_labels[0])
        assert len(told.column_labels[0]) == (128 if ending == "sav" else 80)
        assert long.startswith(told.variable_value_labels["x"][1])

    def test_whole_numbers_too_large_for_a_double(self, tmp_path):
        table = chaffinch.read(
            pa.table({"x": [2**60 + i % 3 for i in range(60)], "y": ["u", "w"] * 30})
        )
        with pytest.raises(
            chaffinch.errors.InputError,
            match=r"Column 'x' holds whole numbers beyond 2\^53, which Stata cannot store",
        ):
            table.write(tmp_path / "a.dta")

    def test_numbers_that_stata_would_take_for_missing(self, tmp_path):
        values = [2_147_483_640 + i % 5 for i in range(60)]
        chaffinch.read(pa.table({"x": values, "y": ["u", "w"] * 30})).write(tmp_path / "a.dta")
        assert raw(tmp_path / "a.dta")[0]["x"] == values

    def test_labels_of_fractions_are_left_out_of_stata(self, tmp_path):
        text = 'format = "chaffinch-schema"\nversion = 1\n[columns.x]\nkind = "categorical"\ntype = "double"\nlabels = { "1.5" = "one and a half", "2.0" = "two", "2147483647" = "much" }\n[columns.y]\nkind = "categorical"\n'
        table = chaffinch.read(
            pa.table({"x": [1.5, 2.0] * 20, "y": ["u", "w"] * 20}), schema_from_toml(text)
        )
        table.write(tmp_path / "a.dta")
        assert raw(tmp_path / "a.dta")[1].variable_value_labels == {"x": {2: "two"}}
