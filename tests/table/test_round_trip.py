"""Tables go out looking as they came: names, order, types, categories, missing codes, decimals."""

from __future__ import annotations

import datetime
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.table import Table


def again(table: Table, seed: int = 1) -> Table:
    """Return the table made anew from its own codes."""
    return Table.from_codes(table.schema, [table.codes[j] for j in range(len(table.codes))], seed=seed, like=table)


def rich_frame(n: int = 240) -> dict[str, object]:
    rng = np.random.default_rng(11)
    start = np.datetime64("2001-03-04")
    return {
        "whole": rng.integers(0, 90, n),
        "small": rng.integers(0, 90, n).astype(np.int8),
        "big": rng.integers(0, 90, n).astype(np.uint64),
        "real": rng.normal(size=n),
        "money": np.round(rng.gamma(2, 100, n), 2),
        "single": rng.normal(size=n).astype(np.float32),
        "flag": rng.random(n) < 0.3,
        "word": rng.choice(["red", "green", "blue"], n),
        "code": rng.integers(1, 5, n),
        "day": start + rng.integers(0, 4000, n).astype("timedelta64[D]"),
    }


def holes(values, share=0.1, seed=4):
    rng = np.random.default_rng(seed)
    return [None if gone else value for value, gone in zip(values, rng.random(len(values)) < share, strict=True)]


def arrow_table(n: int = 240) -> pa.Table:
    frame = rich_frame(n)
    stamps = [datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=int(m)) for m in np.arange(n) * 37]
    return pa.table(
        {
            **{name: pa.array(values) for name, values in frame.items() if name != "day"},
            "day": pa.array(frame["day"]).cast(pa.date32()),
            "day64": pa.array(frame["day"]).cast(pa.date64()),
            "stamp": pa.array(stamps, type=pa.timestamp("us")),
            "zoned": pa.array(stamps, type=pa.timestamp("ms", tz="Europe/Vienna")),
            "clock": pa.array([s.time() for s in stamps], type=pa.time64("us")),
            "length": pa.array(np.arange(n) * 60 // 7, type=pa.duration("s")),
            "price": pa.array([round(float(x), 2) for x in frame["money"]]).cast(pa.decimal128(12, 2)),
            "half": pa.array(np.round(np.asarray(frame["real"]), 1).astype(np.float16)),
            "kind": pa.array(frame["word"]).dictionary_encode(),
            "ranked": pa.DictionaryArray.from_arrays(
                pa.array(np.arange(n) % 3, type=pa.int8()), pa.array(["low", "mid", "high"]), ordered=True
            ),
            "large": pa.array(frame["word"], type=pa.large_string()),
            "view": pa.array(frame["word"]).cast(pa.string_view()),
            "gaps": pa.array(holes(frame["whole"]), type=pa.int64()),
            "word_gaps": pa.array(holes(frame["word"])),
            "flag_gaps": pa.array(holes(frame["flag"].tolist())),
            "day_gaps": pa.array(holes(frame["day"].tolist()), type=pa.date32()),
        }
    )


def test_every_arrow_type_survives():
    given_table = arrow_table()
    table = chaffinch.read(given_table)
    out = again(table)
    assert out.to_arrow().schema == given_table.schema
    kinds = {column.name: column.kind for column in table.schema}
    assert kinds["word"] == kinds["kind"] == kinds["code"] == "categorical"
    assert (kinds["flag"], kinds["day"], kinds["stamp"], kinds["real"]) == ("boolean", "date", "datetime", "float")
    for name in out.columns:
        assert out.data[name].null_count == given_table[name].null_count
    assert out.data["kind"].chunk(0).dictionary.equals(given_table["kind"].chunk(0).dictionary)
    assert out.data["ranked"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]
    assert out.data["word"].to_pylist() == given_table["word"].to_pylist()
    assert out.data["flag_gaps"].to_pylist() == given_table["flag_gaps"].to_pylist()


def test_a_decoded_number_encodes_to_its_own_code():
    table = chaffinch.read(arrow_table())
    for seed in range(5):
        back = chaffinch.read(again(table, seed).to_arrow(), schema=table.schema)
        for j, name in enumerate(table.schema.names):
            assert np.array_equal(back.codes[j], table.codes[j]), name


def test_decimals_and_steps_survive():
    out = again(chaffinch.read(arrow_table()))
    money = out.data["money"].to_numpy()
    assert np.array_equal(np.round(money, 2), money)
    assert not np.array_equal(np.round(money, 1), money)
    stamps = out.data["stamp"].cast(pa.int64()).to_numpy()
    assert (stamps % 60_000_000 == 0).all()  # whole minutes came, whole minutes go
    assert (out.data["day64"].cast(pa.int64()).to_numpy() % 86_400_000 == 0).all()


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "pyarrow"])
def test_pandas_comes_back_as_it_was(backend):
    frame = pd.DataFrame(rich_frame())
    frame["kind"] = pd.Categorical(frame["word"], categories=["blue", "green", "red", "unused"])
    frame["rank"] = pd.Categorical(np.where(frame["flag"], "lo", "hi"), categories=["lo", "hi"], ordered=True)
    frame["gaps"] = pd.array(holes(frame["whole"].tolist()), dtype="Int64")
    frame["nan"] = [np.nan if x is None else x for x in holes(frame["real"].tolist())]
    if backend != "numpy":
        frame = frame.convert_dtypes(dtype_backend=backend)
    out = again(chaffinch.read(frame)).to_native()
    assert isinstance(out, pd.DataFrame)
    assert out.dtypes.to_dict() == frame.dtypes.to_dict()
    assert out["kind"].tolist() == frame["kind"].tolist()
    assert out["nan"].isna().sum() == frame["nan"].isna().sum()


def test_polars_comes_back_as_it_was():
    frame = pl.DataFrame({name: np.asarray(v) for name, v in rich_frame().items() if name != "day"}).with_columns(
        pl.Series("kind", rich_frame()["word"], dtype=pl.Enum(["blue", "green", "red", "unused"])),
        pl.Series("cat", rich_frame()["word"], dtype=pl.Categorical),
        pl.Series("day", rich_frame()["day"]).cast(pl.Date),
        pl.Series("stamp", rich_frame()["day"]).cast(pl.Datetime("us")),
        pl.Series("nan", [float("nan") if x is None else x for x in holes(rich_frame()["real"].tolist())]),
    )
    for given_frame in (frame, frame.lazy()):
        out = again(chaffinch.read(given_frame)).to_native()
        assert isinstance(out, pl.DataFrame)
        assert out.schema == frame.schema
        assert out["kind"].to_list() == frame["kind"].to_list()
        assert out["nan"].is_nan().sum() == frame["nan"].is_nan().sum()
        assert out["nan"].null_count() == 0


def test_anything_that_speaks_arrow_comes_in():
    class Speaks:
        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

    out = again(chaffinch.read(Speaks(arrow_table())))
    assert out.to_arrow().schema == arrow_table().schema
    assert isinstance(out.to_native(), pa.Table)
    batch = arrow_table().to_batches()[0]
    assert chaffinch.read(batch).n_rows == batch.num_rows
    with pytest.raises(chaffinch.InputError, match="Cannot read a list"):
        chaffinch.read([1, 2])


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_typed_files_keep_schema_and_values(ending, tmp_path):
    table = chaffinch.read(arrow_table().drop_columns("day64"))  # Parquet itself turns date64 into date32
    path = tmp_path / f"t{ending}"
    table.write(path)
    back = chaffinch.read(path)
    assert back.to_arrow().equals(table.to_arrow())


CSV = """id,age,size,pay,flag,day,when,zip,note
{rows}"""


def spelled_rows(n=60):
    rng = np.random.default_rng(9)
    rows = []
    for i in range(n):
        age = "NA" if i % 10 == 0 else "" if i % 15 == 0 else "-8" if i % 7 == 0 else str(rng.integers(18, 90))
        size = "?" if i % 12 == 0 else f"{rng.normal(170, 10):.1f}"
        day = f"{rng.integers(1, 29):02d}/{rng.integers(1, 13):02d}/{rng.integers(1990, 2020)}"
        rows.append(
            f"{i},{age},{size},{rng.gamma(2, 50):.2f},{'True' if i % 3 else 'False'},{day},"
            f"2020-01-{rng.integers(1, 29):02d} {rng.integers(0, 24):02d}:{rng.integers(0, 60):02d},"
            f'0{rng.integers(1, 4)},"a, {"b" if i % 2 else "c"}"'
        )
    return rows


def test_csv_keeps_its_spelling(tmp_path):
    path = tmp_path / "in.csv"
    rows = spelled_rows()
    path.write_text(CSV.format(rows="\n".join(rows)) + "\n")
    table = chaffinch.read(path)
    schema = table.schema
    assert schema["id"].kind == "identifier"
    assert schema["age"].kind == "integer"
    assert schema["age"].missing == ("NA",)
    assert schema["age"].nullable
    assert (schema["size"].kind, schema["size"].decimals, schema["size"].format) == ("float", 1, "fixed 1")
    assert schema["flag"].format == "True/False"
    assert (schema["day"].kind, schema["day"].format) == ("date", "%d/%m/%Y")
    assert (schema["when"].kind, schema["when"].format, schema["when"].step) == ("datetime", "%Y-%m-%d %H:%M", 60)
    assert schema["zip"].kind == "categorical"
    out_path = tmp_path / "out.csv"
    table.write(out_path)
    assert out_path.read_text() == path.read_text()  # the table itself, to the letter
    again(table).write(out_path)
    given_cells = [row.split(",") for row in path.read_text().splitlines()]
    out_cells = [row.split(",") for row in out_path.read_text().splitlines()]
    assert out_cells[0] == [name for name in given_cells[0] if name != "id"]
    for came, went in zip(given_cells[1:], out_cells[1:], strict=True):
        assert (came[1] in ("NA", "")) == (went[0] in ("NA", ""))
        assert came[1] == went[0] or came[1] not in ("NA", "")  # missing keeps its code
        assert (came[2] == "?") == (went[1] == "?")
        assert came[2] == "?" or len(went[1].split(".")[1]) == 1
        assert came[4] == went[3]
        assert datetime.datetime.strptime(went[4], "%d/%m/%Y")
        assert datetime.datetime.strptime(went[5], "%Y-%m-%d %H:%M")
        assert came[7:] == went[6:]
    typed = table.to_arrow()
    assert str(typed["age"].type) == "int64"
    assert typed["age"].null_count == sum(row.split(",")[1] in ("NA", "") for row in rows)


@pytest.mark.parametrize(
    ("ending", "delimiter"), [(".csv", ";"), (".csv", "|"), (".tsv", "\t"), (".csv.gz", ","), (".tsv.gz", "\t")]
)
def test_delimiters_and_gzip(tmp_path, ending, delimiter):
    text = delimiter.join(["a", "b c"]) + "\n" + "".join(f"{i % 3}{delimiter}w{i % 2}\n" for i in range(40))
    path = tmp_path / f"in{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    table = chaffinch.read(path)
    assert table.columns == ("a", "b c")
    out = tmp_path / f"out{ending}"
    table.write(out)
    written = gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()
    assert written.decode() == text


def test_quotes_line_breaks_and_unicode_survive(tmp_path):
    words = ['say "hi"', "two\nlines", "a,b", "Ünïcode ☃", " padded "]
    table = chaffinch.read(pa.table({"w": words * 8, 'k, "q"': ["x", "y"] * 20}))
    table.write(tmp_path / "t.csv")
    back = chaffinch.read(tmp_path / "t.csv")
    assert back.columns == table.columns
    assert back.data["w"].to_pylist() == table.data["w"].to_pylist()
    byte_mark = tmp_path / "bom.csv"
    byte_mark.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "t.csv").read_bytes())
    assert chaffinch.read(byte_mark).columns == table.columns
    other = tmp_path / "latin.csv"
    other.write_bytes("naïve,b\nœuf,1\nœuf,2\n".encode("cp1252"))
    assert chaffinch.read(other, encoding="cp1252", rare="keep").data["naïve"].to_pylist() == ["œuf", "œuf"]


def test_identifiers_are_regenerated_or_dropped_as_the_schema_says():
    from dataclasses import replace

    table = chaffinch.read(
        pa.table({"person_id": range(1000, 1100), "x": ["a", "b"] * 50, "uid": [f"u{i}" for i in range(100)]})
    )
    assert table.schema["person_id"].role == table.schema["uid"].role == "identifier"
    assert again(table).columns == ("x",)
    made = replace(table.schema, columns=tuple(replace(c, output="regenerate") for c in table.schema))
    out = Table.from_codes(made, [table.codes[0]], seed=0, first_row=10, like=table)
    assert out.columns == ("person_id", "x", "uid")
    assert out.data["person_id"].to_pylist()[:2] == [11, 12]
    assert out.data["uid"].to_pylist()[:1] == ["000000011"]


@pytest.mark.parametrize("name", ["household_id", "hhid", "PersonNr"])
def test_repeated_identifiers_are_pointed_out(name):
    table = chaffinch.read(pa.table({name: np.repeat(np.arange(100), 3) * 7919, "x": ["a", "b", "c"] * 100}))
    assert table.schema[name].kind == "identifier"
    assert any("not independent" in str(note) for note in table.notes)


@st.composite
def columns(draw):
    n = draw(st.integers(2, 60))
    base = {
        "ints": st.integers(-(2**40), 2**40),
        "few": st.integers(0, 3),
        "floats": st.floats(-1e9, 1e9, allow_nan=False),
        "cents": st.integers(-10_000, 10_000).map(lambda x: x / 100),
        "words": st.sampled_from(["a", "b", 'ä"', "c,d"]),
        "any words": st.text(max_size=8),
        "flags": st.booleans(),
        "days": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
        "times": st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2050, 1, 1)),
    }
    names = draw(st.lists(st.sampled_from(sorted(base)), min_size=2, max_size=4, unique=True))
    holey = draw(st.booleans())
    out = {}
    for name in names:
        one = st.none() | base[name] if holey else base[name]
        out[name] = pa.array(draw(st.lists(one, min_size=n, max_size=n)))
    return pa.table(out)


@given(columns(), st.integers(0, 3))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_codes_and_values_agree_whatever_the_table(given_table, seed):
    try:
        table = chaffinch.read(given_table)
    except chaffinch.InputError as error:  # only identifiers and free text
        if "nothing to model" not in str(error):
            raise
        return
    out = again(table, seed)
    for column in table.schema.modelled:
        assert out.data[column.name].type == given_table[column.name].type
    for name in out.columns:  # decode undoes encode for categories
        if table.schema[name].kind in ("categorical", "boolean") and "pooled" not in [
            n.what for n in table.notes if n.column == name
        ]:
            assert out.data[name].to_pylist() == given_table[name].to_pylist()
    kept = tuple(c for c in table.schema if c.name in out.columns)
    if len(kept) > 1:
        back = chaffinch.read(out.to_arrow(), schema=chaffinch.Schema(kept))
        for name in back.schema.names:
            codec = table.schema[name].codec
            if codec.other and codec.null and table.schema[name].type != "string":
                continue  # (other) is no value of the type: written as null, it reads back as null
            assert np.array_equal(back.code(name), table.code(name)), name


def _stored(values, how, tmp_path):
    """The same numbers as a pandas, polars or Arrow table, a Parquet file or a CSV file, always stored as floats."""
    words = ["a", "b"] * (len(values) // 2)
    if how == "pandas":
        return pd.DataFrame({"x": pd.array(values, dtype="Float64"), "w": words})
    if how == "numpy":
        return pd.DataFrame({"x": np.asarray(values, dtype=float), "w": words})
    if how == "polars":
        return pl.DataFrame({"x": values, "w": words}, schema_overrides={"x": pl.Float64})
    path = tmp_path / f"{abs(hash(tuple(values)))}.{how}"
    if how == "parquet":
        pd.DataFrame({"x": np.asarray(values, dtype=float), "w": words}).to_parquet(path)
    else:
        path.write_text("x,w\n" + "".join(f"{x:.1f},{w}\n" for x, w in zip(values, words, strict=True)))
    return path


@pytest.mark.parametrize("how", ["pandas", "numpy", "polars", "parquet", "csv"])
def test_floats_that_are_whole_in_one_file_may_have_fractions_in_the_next(tmp_path, how):
    """The stored type says what may come: neither a fitted schema nor a schema file refuses the next file."""
    first = chaffinch.read(_stored([float(i % 40) for i in range(200)], how, tmp_path))
    halves = [(i % 79) / 2 for i in range(200)]
    second = _stored(halves, how, tmp_path)
    under = chaffinch.read(second, schema=first.schema)
    assert under.data["x"].to_pylist() == halves
    codec = first.schema["x"].codec
    low, high = codec.ranges()
    for x, code in zip(halves, under.code("x").tolist(), strict=True):  # by hand: the bin around it, less the atoms
        whole = x == int(x)
        assert code == codec.encode(np.array([int(x)]))[0] if whole else low[code] <= x < high[code] + 1, x
    chaffinch.write_schema(first.schema, tmp_path / "s.toml")
    again_fitted = chaffinch.read(second, schema=tmp_path / "s.toml")
    assert (again_fitted.schema["x"].kind, again_fitted.schema["x"].decimals) == ("float", 1)
    assert [note.what for note in again_fitted.notes] == ["fractions"]
    whole_again = chaffinch.read(_stored([float(i % 30) for i in range(200)], how, tmp_path), schema=tmp_path / "s.toml")
    assert whole_again.schema["x"].kind == "integer"
    assert whole_again.notes == ()


def test_whole_number_types_still_refuse_fractions():
    first = chaffinch.read(pa.table({"x": np.arange(200) % 40, "w": ["a", "b"] * 100}))
    with pytest.raises(chaffinch.SchemaError, match="'x' is integer, but holds fractions"):
        chaffinch.read(pa.table({"x": np.arange(200) / 2 % 40, "w": ["a", "b"] * 100}), schema=first.schema)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_pooled_words_are_written_as_other_in_every_type_of_words(kind):
    words = pa.array(["a", "b"] * 30 + ["rare"], type=kind)
    table = chaffinch.read(pa.table({"w": words, "v": ["x"] * 61}))
    (note,) = [note for note in table.notes if note.what == "pooled"]
    assert "missing" not in note.sentence
    assert again(table).data["w"].to_pylist()[-1] == "(other)"


def test_pooled_numbers_are_said_to_come_out_missing():
    table = chaffinch.read(pa.table({"n": [1, 2] * 30 + [3], "v": ["x", "y"] * 30 + ["x"]}))
    assert "Output has a missing value in its place" in str(table.notes[0])


def spelled_times(n=400):
    rng = np.random.default_rng(2)
    draw = lambda: f"{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}"  # noqa: E731
    return [f"{draw()},{draw()}:00,2024-01-{i % 28 + 1:02d} {draw()},2024-02-{i % 28 + 1:02d}T{draw()},{'ab'[i % 2]}" for i in range(n)]


TIMES = {"clock": r"\d\d:\d\d", "exact": r"\d\d:\d\d:00", "seen": r"2024-01-\d\d \d\d:\d\d", "left": r"2024-02-\d\dT\d\d:\d\d"}


@pytest.mark.parametrize("declared", [False, True], ids=["inferred", "declared without a format"])
def test_whole_minutes_of_a_text_file_come_back_as_they_were_written(tmp_path, declared):
    path = tmp_path / "in.csv"
    path.write_text("clock,exact,seen,left,w\n" + "\n".join(spelled_times()) + "\n")
    schema = None
    if declared:
        schema = tmp_path / "s.toml"
        times = "".join(f'[columns.{n}]\nkind = "integer"\ntype = "time32[s]"\n' for n in ("clock", "exact"))
        moments = "".join(f'[columns.{n}]\nkind = "datetime"\n' for n in ("seen", "left"))
        schema.write_text(
            f'format = "chaffinch-schema"\nversion = 1\n{times}{moments}[columns.w]\nkind = "categorical"\n'
        )
    table = chaffinch.read(path, schema=schema)
    assert [str(table.data[name].type) for name in ("clock", "seen")] == ["time32[s]", "timestamp[s]"]
    table.write(tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_text() == path.read_text()
    model = chaffinch.BayesNet(parents=1).fit(table, seed=1)
    for like in (table, None):
        drawn = model.sample(300, seed=2, like=like)
        drawn.write(tmp_path / "out.csv")
        frame = pd.read_csv(tmp_path / "out.csv", dtype=str)
        for name, pattern in TIMES.items():
            if name != "exact" or not declared:  # a schema that spells seconds and declares no step means seconds
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
            "clock": pa.array([(start + datetime.timedelta(minutes=int(m))).time() for m in minutes], pa.time64("us")),
            "seen": pa.array([start + datetime.timedelta(minutes=int(m) * 7) for m in minutes], pa.timestamp("us")),
            "took": pa.array([datetime.timedelta(minutes=int(m)) for m in minutes], pa.duration("us")),
            "w": ["a", "b"] * 250,
        }
    )
    source = {"arrow": lambda: whole, "pandas": whole.to_pandas, "polars": lambda: pl.from_arrow(whole)}.get(how)
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
