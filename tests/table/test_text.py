"""Columns of text files: numbers with whatever signs, times and words come back as they were written."""

from __future__ import annotations

import csv
import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import SchemaError
from chaffinch.table.align import align
from chaffinch.table.guess import SignEvidence, file_sign, thousands_of
from chaffinch.table.text import (
    Spelling,
    group_thousands,
    is_doubtful,
    parse_each_word,
    parse_other_spelling,
    parse_words,
    plain_numbers,
)

from .conftest import again


def spelled_times(n=400):
    rng = np.random.default_rng(2)
    draw = lambda: f"{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}"  # noqa: E731
    return [
        f"{draw()},{draw()}:00,2024-01-{i % 28 + 1:02d} {draw()},2024-02-{i % 28 + 1:02d}T{draw()},{'ab'[i % 2]}"
        for i in range(n)
    ]


TIMES = {
    "clock": r"\d\d:\d\d",
    "exact": r"\d\d:\d\d:00",
    "seen": r"2024-01-\d\d \d\d:\d\d",
    "left": r"2024-02-\d\dT\d\d:\d\d",
}


@pytest.mark.parametrize("declared", [False, True], ids=["inferred", "declared without a format"])
def test_whole_minutes_of_a_text_file_come_back_as_they_were_written(tmp_path, declared):
    path = tmp_path / "in.csv"
    path.write_text("clock,exact,seen,left,w\n" + "\n".join(spelled_times()) + "\n")
    schema = None
    if declared:
        schema = tmp_path / "s.toml"
        times = "".join(
            f'[columns.{n}]\nkind = "integer"\ntype = "time32[s]"\n' for n in ("clock", "exact")
        )
        moments = "".join(f'[columns.{n}]\nkind = "datetime"\n' for n in ("seen", "left"))
        schema.write_text(
            f'format = "chaffinch-schema"\nversion = 1\n{times}{moments}[columns.w]\nkind = "categorical"\n'
        )
    table = chaffinch.read(path, schema=schema)
    assert [str(table.data[name].type) for name in ("clock", "seen")] == [
        "time32[s]",
        "timestamp[s]",
    ]
    table.write(tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_text() == path.read_text()
    model = chaffinch.BayesNet(parents=1, conditionals="tables").fit(table, seed=1)
    for like in (table, None):
        drawn = model.sample(300, seed=2, like=like)
        drawn.write(tmp_path / "out.csv", overwrite=True)
        frame = pd.read_csv(tmp_path / "out.csv", dtype=str)
        for name, pattern in TIMES.items():
            if (
                name != "exact" or not declared
            ):  # a schema that spells seconds and declares no step means seconds
                assert frame[name].str.fullmatch(pattern).all(), name
        assert (drawn.data["clock"].cast(pa.int32()).to_numpy() % 60 == 0).all()
    back = chaffinch.read(tmp_path / "out.csv", schema=table.schema)
    assert np.array_equal(back.code("clock"), drawn.code("clock"))
    assert np.array_equal(back.code("seen"), drawn.code("seen"))


@pytest.mark.parametrize("how", ["arrow", "parquet", "pandas", "polars"])
def test_whole_minutes_stay_whole_minutes_in_every_type_of_times(tmp_path, how):
    rng = np.random.default_rng(3)
    minutes = rng.integers(0, 1440, 500)
    start = datetime.datetime(2024, 1, 1)
    whole = pa.table(
        {
            "clock": pa.array(
                [(start + datetime.timedelta(minutes=int(m))).time() for m in minutes],
                pa.time64("us"),
            ),
            "seen": pa.array(
                [start + datetime.timedelta(minutes=int(m) * 7) for m in minutes],
                pa.timestamp("us"),
            ),
            "took": pa.array(
                [datetime.timedelta(minutes=int(m)) for m in minutes], pa.duration("us")
            ),
            "w": ["a", "b"] * 250,
        }
    )
    source = {
        "arrow": lambda: whole,
        "pandas": whole.to_pandas,
        "polars": lambda: pl.from_arrow(whole),
    }.get(how)
    if source is None:
        pa.parquet.write_table(whole, tmp_path / "t.parquet")
        table = chaffinch.read(tmp_path / "t.parquet")
    else:
        table = chaffinch.read(source())
    drawn = again(table).to_arrow()
    for name in ("clock", "seen", "took"):
        unit = {"us": 10**6, "ns": 10**9}[drawn[name].type.unit]
        assert (drawn[name].cast(pa.int64()).to_numpy() % (60 * unit) == 0).all(), name


def test_another_file_may_spell_times_with_seconds(tmp_path):
    """The original has 14:30, a program that made the synthetic file wrote 14:30:00: the same times."""
    from chaffinch.table.align import align

    path = tmp_path / "in.csv"
    path.write_text("clock,exact,seen,left,w\n" + "\n".join(spelled_times()) + "\n")
    frame = pd.read_csv(path, dtype=str)
    frame["clock"] += ":00"
    frame["seen"] += ":00"
    frame.to_csv(tmp_path / "other.csv", index=False)
    original = chaffinch.read(path)
    one, two = align(original, tmp_path / "other.csv")
    assert np.array_equal(one.code("clock"), two.code("clock"))
    assert np.array_equal(one.code("seen"), two.code("seen"))


@pytest.mark.parametrize("threshold", [10, 20])
def test_an_error_names_words_that_as_many_records_as_the_threshold_share(threshold, tmp_path):
    """Of the words among numbers, 30 records have one, 15 another, 3 the last."""
    words = ["unknown"] * 30 + ["refused"] * 15 + ["Sark"] * 3
    path = tmp_path / "in.csv"
    path.write_text("x,y\n" + "".join(f"{cell},a\n" for cell in [*words, *range(200)]))
    with pytest.raises(chaffinch.errors.SchemaError, match="mixes numbers and text") as caught:
        chaffinch.read(path, threshold=threshold)
    named = "refused, unknown" if threshold == 10 else "unknown"
    assert f"Common words in it: {named}." in str(caught.value)
    assert "Sark" not in str(caught.value)


@pytest.mark.parametrize("stream", [False, True], ids=["memory", "stream"])
def test_none_is_a_level_among_words_and_missing_among_numbers(tmp_path, stream):
    words, numbers = ["None", "Mild", "Severe", "NA"], ["None", "3", "7.5", "12"]
    path = tmp_path / "in.csv"
    path.write_text(
        "pain,score\n" + "".join(f"{words[i % 4]},{numbers[i % 4]}\n" for i in range(400))
    )
    table = chaffinch.scan(path) if stream else chaffinch.read(path)
    pain, score = table.schema["pain"], table.schema["score"]
    assert (pain.missing, score.missing) == (("NA",), ("None",))
    assert pain.codec.levels == ("Mild", "None", "Severe")
    if not stream:
        counts = table.to_pandas()
        assert counts["pain"].value_counts().to_dict() == {"None": 100, "Mild": 100, "Severe": 100}
        assert counts["score"].isna().sum() == 100


def test_none_is_missing_among_words_where_it_is_declared(tmp_path):
    path, schema = tmp_path / "in.csv", tmp_path / "s.toml"
    path.write_text("pain,x\n" + "None,a\nMild,b\n" * 100)
    schema.write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns.pain]\nkind = "categorical"\nmissing = ["None"]\n[columns.x]\nkind = "categorical"\n'
    )
    assert chaffinch.read(path, schema).to_pandas()["pain"].isna().sum() == 100


def test_a_level_none_of_another_table_is_not_missing(tmp_path):
    (tmp_path / "a.csv").write_text("pain,x\n" + "Mild,a\nSevere,b\nNone,a\n" * 50)
    (tmp_path / "b.csv").write_text("pain,x\n" + "Mild,a\nNone,b\n" * 50)
    original, other = chaffinch.read(tmp_path / "a.csv"), chaffinch.read(tmp_path / "b.csv")
    aligned = chaffinch.read(tmp_path / "b.csv", original.schema)
    assert other.to_pandas()["pain"].value_counts().to_dict() == {"Mild": 50, "None": 50}
    assert aligned.to_pandas()["pain"].value_counts().to_dict() == {"Mild": 50, "None": 50}


@pytest.mark.parametrize(
    "words",
    [
        ["+3", "4", "-5"],
        ["+3.5", "4.25", "-5.0"],
        ["+3,5", "4,25", "-5,0"],
        ["+1.234", "2.345.678", "-3.456"],
        ["+1e3", "2.5", "-3"],
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_plus_sign_is_that_of_a_number(words, stream, tmp_path):
    """Nothing is declared, and Arrow reads no plus sign: the numbers are those of the same file without it."""
    columns = []
    for name, cells in (("with", words), ("without", [word.removeprefix("+") for word in words])):
        path = tmp_path / f"{name}.csv"
        path.write_text("a;b\n" + "".join(f"{cells[i % 3]};{'xy'[i % 2]}\n" for i in range(60)))
        table = next(chaffinch.scan(path).tables(60)) if stream else chaffinch.read(path)
        columns.append(
            (table.schema["a"], table.data.column("a").to_pylist(), table.code("a").tolist())
        )
    assert columns[0] == columns[1]
    assert str(columns[0][0].type) in ("int64", "double")


def test_a_plus_sign_in_a_later_file(tmp_path):
    for name, sign in (("a", ""), ("b", "+")):
        (tmp_path / f"{name}.csv").write_text(
            "x,y\n" + "".join(f"{sign}{i % 7},{'uv'[i % 2]}\n" for i in range(60))
        )
    first, second = (
        chaffinch.read(tmp_path / "a.csv"),
        chaffinch.read(tmp_path / "b.csv", chaffinch.read(tmp_path / "a.csv").schema),
    )
    assert first.data == second.data
    (tmp_path / "c.csv").write_text("x,y\n++1,u\n2,v\n")
    with pytest.raises(SchemaError, match="Column 'x' is read as int64, but some cells are not"):
        chaffinch.read(tmp_path / "c.csv", {"x": {"kind": "integer"}})


def pay(n=300, seed=3):
    return np.round(np.random.default_rng(seed).gamma(2, 40, n), 2)


def write(path, columns, *, delimiter=";"):
    """Write columns of words with Python's own writer: it knows nothing of ours."""
    with open(path, "w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    return path


def comma(numbers, decimals=2):
    return [f"{x:.{decimals}f}".replace(".", ",") for x in numbers]


def sexes(n=300):
    return ["f", "m"] * (n // 2)


def test_decimal_commas_are_read_said_and_written_back(tmp_path):
    path = write(
        tmp_path / "in.csv", {"pay": comma(pay()), "age": np.arange(300) % 70 + 18, "sex": sexes()}
    )
    table = chaffinch.read(path)
    assert (
        table.schema["pay"].kind,
        table.schema["pay"].decimal,
        table.schema["pay"].decimals,
    ) == ("float", ",", 2)
    assert table.data["pay"].to_pylist() == pay().tolist()
    (note,) = table.notes
    assert (
        str(note)
        == "Decimal commas: columns pay are read as numbers, and written so. --decimal . keeps them as text."
    )
    table.write(tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_text() == path.read_text()
    drawn = chaffinch.BayesNet(parents=1).fit(table, seed=1).sample(200, seed=2, like=table)
    drawn.write(tmp_path / "out.csv")
    again = pd.read_csv(tmp_path / "out.csv", sep=";", decimal=",")  # a second opinion
    assert again["pay"].tolist() == drawn.data["pay"].to_pylist()
    assert not set(drawn.data["pay"].to_pylist()) <= set(
        pay().tolist()
    )  # drawn from bins, not levels of the original


def test_a_model_remembers_the_sign(tmp_path):
    path = write(tmp_path / "in.csv", {"pay": comma(pay()), "sex": sexes()})
    chaffinch.Independent().fit(chaffinch.read(path), seed=1).save(tmp_path / "m.chaffinch")
    model = chaffinch.load(tmp_path / "m.chaffinch")
    model.sample(50, seed=1).write(tmp_path / "out.csv")
    again = pd.read_csv(tmp_path / "out.csv", sep=";", decimal=",")
    assert again["pay"].dtype == float
    drawn = model.sample(5, seed=2, given={"pay": "80,5"})
    assert (
        drawn.data["pay"].to_pylist()
        == model.sample(5, seed=2, given={"pay": 80.5}).data["pay"].to_pylist()
        == [80.5] * 5
    )
    with pytest.raises(chaffinch.errors.InputError, match="cannot occur"):
        model.sample(
            5, seed=2, given={"pay": "1.234"}
        )  # with decimal commas that may be a thousand


@pytest.mark.parametrize("spelling", ["1,5", "-0,25", ",5", "1,5e3", "+12,0"])
def test_spellings_of_numbers(tmp_path, spelling):
    cells = [spelling, "7", "12,25", "NA", ""] * 20
    table = chaffinch.read(write(tmp_path / "in.csv", {"x": cells, "w": ["a", "b"] * 50}))
    assert table.data["x"].to_pylist()[:5] == [
        float(spelling.replace(",", ".")),
        7.0,
        12.25,
        None,
        None,
    ]
    assert table.schema["x"].missing == ("NA",)


@given(
    st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=2, max_size=30), st.integers(0, 6)
)
@settings(max_examples=60)
def test_numbers_survive_whatever_they_are(numbers, decimals):
    """What is read with a comma is what is read with a point, and both are what Python reads."""
    import tempfile
    from pathlib import Path

    words = [f"{x:.{decimals}f}" for x in numbers]
    with tempfile.TemporaryDirectory() as folder:
        one = write(Path(folder) / "a.csv", {"x": words, "w": ["a"] * len(words)})
        two = write(
            Path(folder) / "b.csv",
            {"x": [w.replace(".", ",") for w in words], "w": ["a"] * len(words)},
        )
        first = chaffinch.read(one, decimal=".", rare="keep").data["x"]
        second = chaffinch.read(two, decimal=",", rare="keep").data["x"]
    assert first.to_pylist() == second.to_pylist()
    if decimals:
        assert first.to_pylist() == [float(word) for word in words]


@pytest.mark.parametrize(
    ("columns", "sign"),
    [
        ({"a": SignEvidence()}, "."),
        ({"a": SignEvidence(point=True)}, "."),
        ({"a": SignEvidence(comma=True)}, ","),
        (
            {
                "a": SignEvidence(comma=True),
                "b": SignEvidence(comma_doubt=True),
                "c": SignEvidence(),
            },
            ",",
        ),
        ({"a": SignEvidence(point=True), "b": SignEvidence(comma_doubt=True)}, "."),
        ({"a": SignEvidence(comma=True), "b": SignEvidence(point_doubt=True)}, ","),
        ({"a": SignEvidence(thousands=frozenset(","))}, "."),
        ({"a": SignEvidence(thousands=frozenset("."))}, ","),
        ({"a": SignEvidence(point_doubt=True)}, "."),
        ({"a": SignEvidence(comma_doubt=True)}, "decimals or thousands"),
        ({"a": SignEvidence(point_doubt=True, short=True)}, "decimals or thousands"),
        (
            {"a": SignEvidence(comma=True), "b": SignEvidence(point=True)},
            "Say which is the decimal sign",
        ),
    ],
)
def test_the_sign_of_a_file(columns, sign):
    if len(sign) == 1:
        assert file_sign(columns, "t.csv") == sign
        return
    with pytest.raises(chaffinch.errors.InputError, match=sign) as caught:
        file_sign(columns, "t.csv")
    assert "--decimal ," in str(caught.value)
    assert "--decimal ." in str(caught.value)


@pytest.mark.parametrize(
    ("words", "doubtful"),
    [
        (["1,234"], True),
        (["1,234", "12"], True),
        (["0,234"], False),
        (["1,23"], False),
        (["1234,567"], False),
        (["1,2345"], False),
    ],
)
def test_three_digits_after_a_sign_may_be_thousands(words, doubtful):
    assert is_doubtful(pa.array(words)) == doubtful


def test_doubt_is_an_error_that_names_the_option(tmp_path):
    doubtful = write(
        tmp_path / "a.csv", {"x": ["1,234", "17,500", "980"] * 30, "w": ["a", "b", "a"] * 30}
    )
    with pytest.raises(chaffinch.errors.InputError, match="decimals or thousands") as caught:
        chaffinch.read(doubtful)
    assert "1,234" not in str(caught.value)
    assert chaffinch.read(doubtful, decimal=",").data["x"].to_pylist()[:3] == [1.234, 17.5, 980.0]
    other = chaffinch.read(doubtful, decimal=".")
    assert (other.schema["x"].type, other.data["x"].to_pylist()[:3]) == (
        "int64",
        [1234, 17500, 980],
    )
    points = write(
        tmp_path / "p.csv",
        {"x": ["1.234", "17.500", "980"] * 30, "w": ["a", "b", "a"] * 30},
        delimiter=",",
    )
    with pytest.raises(chaffinch.errors.InputError, match="a point before three digits"):
        chaffinch.read(points)
    assert chaffinch.read(points, decimal=",").data["x"].to_pylist()[:3] == [1234, 17500, 980]
    assert chaffinch.read(points, decimal=".").data["x"].to_pylist()[:3] == [1.234, 17.5, 980.0]
    both = write(tmp_path / "b.csv", {"x": ["1,5", "2,25"] * 30, "y": ["1.5", "2.25"] * 30})
    with pytest.raises(
        chaffinch.errors.InputError,
        match=r"comma \(columns x\) and numbers with a point \(columns y\)",
    ):
        chaffinch.read(both)
    table = chaffinch.read(both, decimal=",")
    assert [table.schema[name].type for name in "xy"] == ["double", "string"]
    assert "columns y look like numbers with a decimal point" in str(table.notes[0]).replace(
        "Columns", "columns"
    )
    other = chaffinch.read(both, decimal=".")
    assert [other.schema[name].type for name in "xy"] == ["string", "double"]
    with pytest.raises(chaffinch.errors.InputError, match="decimal must be"):
        chaffinch.read(both, decimal=";")


@pytest.mark.parametrize(
    "cells",
    [
        ["1.234,5", "1,234.5"],
        ["1.5", "1,5"],
        ["1,234,567", "2,5"],
        ["1 234,5", "1'234,5"],
        ["1.234.567", "2.5"],
    ],
    ids=lambda cells: " and ".join(cells),
)
@pytest.mark.parametrize("sign", [None, ".", ","])
def test_mixed_signs_are_an_error(tmp_path, cells, sign):
    path = write(tmp_path / "in.csv", {"x": cells * 30, "w": sexes(60)})
    with pytest.raises(
        chaffinch.errors.SchemaError, match="Column 'x' mixes ways to write numbers"
    ) as caught:
        chaffinch.read(path, decimal=sign)
    assert not any(cell in str(caught.value) for cell in cells)


@pytest.mark.parametrize(
    ("cells", "numbers", "signs"),
    [
        (["1.234,50", "980,25"], [1234.5, 980.25], (",", ".")),
        (["1,234.50", "980.25"], [1234.5, 980.25], (".", ",")),
        (["1,234,567", "12"], [1234567, 12], (".", ",")),
        (["1.234.567", "12"], [1234567, 12], (",", ".")),
        (["1 234,5", "2,5"], [1234.5, 2.5], (",", " ")),
        (["1\u202f234", "-12"], [1234, -12], (".", "\u202f")),
        (["1\xa0234\xa0567", "12"], [1234567, 12], (".", "\xa0")),
        (["1'234.05", "2.50"], [1234.05, 2.5], (".", "'")),
        (["-1\u2019234.05", "+2.50"], [-1234.05, 2.5], (".", "\u2019")),
    ],
    ids=lambda part: None,
)
def test_thousands_are_read_said_and_written_back(tmp_path, cells, numbers, signs):
    path = write(tmp_path / "in.csv", {"x": cells * 30, "w": sexes(60)})
    table = chaffinch.read(path, rare="keep")
    column = table.schema["x"]
    assert table.data["x"].to_pylist()[:2] == numbers
    assert (column.decimal, column.thousands) == signs
    assert "thousands" in [note.what for note in table.notes]
    table.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == path.read_text().replace("+", "")
    chaffinch.write_schema(table.schema, tmp_path / "s.toml")
    assert chaffinch.read(path, schema=tmp_path / "s.toml").data["x"].equals(table.data["x"])


def test_other_columns_say_what_a_sign_before_three_digits_is(tmp_path):
    path = write(
        tmp_path / "in.csv", {"x": ["1,234", "17,500", "980"] * 30, "y": ["1.5", "2.25", "3"] * 30}
    )
    assert chaffinch.read(path).data["x"].to_pylist()[:3] == [1234, 17500, 980]
    path = write(
        tmp_path / "in.csv", {"x": ["1.234", "17.500", "980"] * 30, "y": ["1,5", "2,25", "3"] * 30}
    )
    assert chaffinch.read(path).data["x"].to_pylist()[:3] == [1234, 17500, 980]
    path = write(
        tmp_path / "in.csv", {"x": ["1,234", "17500", "980"] * 30, "y": ["1.5", "2.25", "3"] * 30}
    )
    with pytest.raises(chaffinch.errors.SchemaError, match="set apart only here and there"):
        chaffinch.read(path)


def test_numbers_of_members_with_spaces_are_codes(tmp_path):
    path = write(
        tmp_path / "in.csv",
        {"x": ["123 456", "654 321", "111 222"] * 30, "w": ["a", "b", "a"] * 30},
    )
    assert chaffinch.read(path).schema["x"].type == "string"


@given(
    st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=20),
    st.sampled_from([",", ".", " ", "'"]),
)
def test_grouping_is_undone(numbers, thousands):
    decimal = "," if thousands == "." else "."
    words = pa.array([f"{x:.2f}".replace(".", decimal) for x in numbers])
    apart = group_thousands(words, thousands)
    pythons = [
        f"{x:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands) for x in numbers
    ]
    assert apart.to_pylist() == pythons
    assert plain_numbers(apart, decimal, thousands).to_pylist() == [f"{x:.2f}" for x in numbers]


def test_a_declared_separator_that_cannot_be(tmp_path):
    assert thousands_of("x", SignEvidence(), ".") == ""
    for bad in (".", "x", "  "):
        with pytest.raises(chaffinch.errors.SchemaError, match="thousands must be empty"):
            chaffinch.Column("x", "float", thousands=bad)


@pytest.mark.parametrize(
    "cells", [["0.0", "0.25", "1.5"], ["0.00", "10.125", "3.50"], ["0", "0.5", "1"]]
)
def test_zeros_after_the_sign_come_back(tmp_path, cells):
    path = write(tmp_path / "in.csv", {"x": cells * 20, "w": sexes(60)}, delimiter=",")
    chaffinch.read(path, rare="keep").write(tmp_path / "out.csv")
    written = [row.split(",")[0] for row in (tmp_path / "out.csv").read_text().splitlines()[1:4]]
    least = min(len(cell.partition(".")[2]) for cell in cells)
    assert [float(word) for word in written] == [float(cell) for cell in cells]
    assert all(len(word.partition(".")[2]) >= least for word in written)


def test_lists_and_words_are_no_numbers(tmp_path):
    path = write(
        tmp_path / "in.csv",
        {
            "answers": ["1,2,3", "1,2", "3"] * 30,
            "words": ["a,b", "1,5", "c"] * 30,
            "y": ["1.5", "2", "3"] * 30,
        },
        delimiter=",",
    )
    table = chaffinch.read(path)
    assert [table.schema[name].type for name in table.columns] == ["string", "string", "double"]
    assert [note for note in table.notes if note.what != "rules"] == []


def test_a_measure_with_commas_and_stray_words_says_which_to_declare(tmp_path):
    path = write(tmp_path / "in.csv", {"x": [*comma(pay(290)), *["unknown"] * 10], "w": sexes()})
    with pytest.raises(chaffinch.errors.SchemaError, match='missing = \\["unknown"\\]'):
        chaffinch.read(path)


def test_a_schema_file_says_the_sign(tmp_path):
    path = write(tmp_path / "in.csv", {"pay": comma(pay()), "sex": sexes()})
    chaffinch.write_schema(chaffinch.read(path).schema, tmp_path / "s.toml")
    assert 'decimal = ","' in (tmp_path / "s.toml").read_text()
    table = chaffinch.read(path, schema=tmp_path / "s.toml")
    assert table.data["pay"].to_pylist() == pay().tolist()
    assert chaffinch.scan(path, tmp_path / "s.toml").schema["pay"].decimal == ","
    (tmp_path / "plain.toml").write_text(
        (tmp_path / "s.toml").read_text().replace('decimal = ","\n', "")
    )
    with pytest.raises(
        chaffinch.errors.SchemaError,
        match=r"decimal comma, and is read with a point\. Pass --decimal ,",
    ):
        chaffinch.read(path, schema=tmp_path / "plain.toml")
    assert (
        chaffinch.read(path, schema=tmp_path / "plain.toml", decimal=",").schema["pay"].decimal
        == ","
    )
    fitted = chaffinch.read(path).schema
    points = write(tmp_path / "points.csv", {"pay": pay(), "sex": sexes()})
    with pytest.raises(
        chaffinch.errors.SchemaError, match="decimal point, and is read with a comma"
    ):
        chaffinch.read(points, schema=fitted)
    same = chaffinch.read(points, schema=fitted, decimal=".")
    assert np.array_equal(same.code("pay"), chaffinch.read(path).code("pay"))
    (tmp_path / "bad.toml").write_text(
        (tmp_path / "s.toml").read_text().replace('decimal = ","', 'decimal = ";"')
    )
    with pytest.raises(chaffinch.errors.SchemaError, match="decimal"):
        chaffinch.read_schema(tmp_path / "bad.toml")


def test_other_tables_are_read_whatever_sign_they_have(tmp_path):
    """Synthetic files and holdouts: by the original's sign, or by the other one where it leaves no doubt."""
    commas = write(
        tmp_path / "c.csv", {"pay": comma(pay()), "n": np.arange(300) % 40, "sex": sexes()}
    )
    points = write(
        tmp_path / "p.csv", {"pay": pay(), "n": np.arange(300) % 40, "sex": sexes()}, delimiter=","
    )
    frame = pd.DataFrame({"pay": pay(), "n": np.arange(300) % 40, "sex": sexes()})
    for original in (chaffinch.read(commas), chaffinch.read(points), chaffinch.read(frame)):
        tables = align(original, commas, points, frame, names=("a", "b", "c"))
        for table in tables[1:]:
            assert np.array_equal(table.code("pay"), tables[0].code("pay"))
    thousands = write(
        tmp_path / "t.csv", {"pay": ["1.234", "12"] * 150, "n": [1, 2] * 150, "sex": sexes()}
    )
    with pytest.raises(chaffinch.errors.SchemaError, match="Column 'pay'"):
        align(chaffinch.read(commas), thousands)


def test_the_option_is_ignored_where_types_are_stored():
    table = chaffinch.read(pa.table({"x": pay(), "w": sexes()}), decimal=",")
    assert table.schema["x"].decimal == "."


PUBLIC = """format = "chaffinch-schema"
version = 1
public = true
rows = 300
[columns.pay]
kind = "float"
bounds = [0.0, 400.0]
bins = 8
nullable = true
format = "fixed 2"
{more}
[columns.n]
kind = "integer"
bounds = [0, 9]
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
"""


@pytest.mark.parametrize("more", ["", 'decimal = ","'])
@pytest.mark.parametrize("sign", [None, ".", ","])
def test_a_private_table_has_its_sign_by_declaration_alone(tmp_path, more, sign):
    """The same cells, whatever they look like: numbers under the declared sign, missing under the other."""
    from chaffinch.table.schema_file import schema_from_toml

    schema = schema_from_toml(PUBLIC.format(more=more))
    cells = {"n": ["3", "4"] * 150, "sex": sexes()}
    effective = sign or ("," if more else ".")
    for name, words in (("comma", comma(pay())), ("point", [f"{x:.2f}" for x in pay()])):
        path = write(tmp_path / f"{name}.csv", {"pay": words, **cells})
        table = chaffinch.prepare(path, schema, decimal=sign)
        right = (name == "comma") == (effective == ",")
        assert table.data["pay"].null_count == (0 if right else 300)
        assert table.data["n"].null_count == 0
        if right:
            assert table.data["pay"].to_pylist() == pay().tolist()
            assert table.schema["pay"].decimal == effective
            table.write(tmp_path / "out.csv")
            assert (tmp_path / "out.csv").read_text() == path.read_text()


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1), st.sampled_from([".", ","]))
def test_the_three_ways_to_read_words_agree_where_all_are_plain(numbers, decimal):
    spelling = Spelling(pa.float64(), missing=("NA",), decimal=decimal)
    spelled = [f"{n / 100:.2f}".replace(".", decimal) for n in numbers]
    cells = pa.array([*spelled, "NA", " ", None])
    values = [n / 100 for n in numbers] + [None] * 3
    for read_values, tokens in (
        parse_words(cells, spelling, name="pay"),
        parse_other_spelling(cells, spelling, (), name="pay"),
        parse_each_word(cells, spelling),
    ):
        assert read_values.to_pylist() == values
        assert tokens.tolist() == [-1] * len(numbers) + [0, -1, -1]
