"""Times of a text file come back as they were written."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.errors import SchemaError

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
    table = chaffinch.read(path, stream=True) if stream else chaffinch.read(path)
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
