"""Fitting a schema: what is declared stands, the rest is inferred, and what is lost is said."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.table import Table
from chaffinch.table.fit_schema import fit_profiles, fit_schema, typed_profile
from chaffinch.table.formats import Labels
from chaffinch.table.schema_file import as_schema, schema_text
from chaffinch.table.sources import open_source

from .conftest import fails


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
        path.write_text(
            "x,w\n" + "".join(f"{x:.1f},{w}\n" for x, w in zip(values, words, strict=True))
        )
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
    for x, code in zip(
        halves, under.code("x").tolist(), strict=True
    ):  # by hand: the bin around it, less the atoms
        whole = x == int(x)
        assert (
            code == codec.encode(np.array([int(x)]))[0]
            if whole
            else low[code] <= x < high[code] + 1
        ), x
    chaffinch.write_schema(first.schema, tmp_path / "s.toml")
    again_fitted = chaffinch.read(second, schema=tmp_path / "s.toml")
    assert (again_fitted.schema["x"].kind, again_fitted.schema["x"].decimals) == ("float", 1)
    assert [note.what for note in again_fitted.notes] == ["fractions"]
    whole_again = chaffinch.read(
        _stored([float(i % 30) for i in range(200)], how, tmp_path), schema=tmp_path / "s.toml"
    )
    assert whole_again.schema["x"].kind == "integer"
    assert whole_again.notes == ()


def test_whole_number_types_still_refuse_fractions():
    first = chaffinch.read(pa.table({"x": np.arange(200) % 40, "w": ["a", "b"] * 100}))
    with pytest.raises(chaffinch.errors.SchemaError, match="'x' is integer, but holds fractions"):
        chaffinch.read(
            pa.table({"x": np.arange(200) / 2 % 40, "w": ["a", "b"] * 100}), schema=first.schema
        )


@pytest.mark.parametrize(
    "declared",
    [None, {"age": {"kind": "integer", "bounds": [0, 110]}}],
    ids=["inferred", "declared"],
)
def test_profiles_of_parts_of_a_file_fit_the_schema_of_the_whole(data, declared):
    source, schema = open_source(data / "adult_train.parquet"), as_schema(declared)
    parts = []
    for batch in source.batches():
        for start in range(0, batch.num_rows, 9_001):
            part = typed_profile(source, schema)
            part.add(batch.slice(start, 9_001))
            parts.append(part)
    merged = typed_profile(source, schema)  # one that no row came to
    for part in parts:
        merged.merge(part)
    assert len(parts) == 4
    fitted, whole = fit_profiles(source, merged, schema), fit_schema(source, schema)
    assert fitted.n_rows == whole.n_rows == 32_561
    assert schema_text(fitted.schema) == schema_text(whole.schema)
    for ours, want in zip(fitted.schema.modelled, whole.schema.modelled, strict=True):
        assert ours.fitted_codec.to_dict() == want.fitted_codec.to_dict(), ours.name


def test_labels_of_a_file_stand_where_a_schema_says_nothing_of_them():
    """What the page shows is a schema without labels: a run of it must not lose those of the file."""
    source = replace(
        open_source(pa.table({"sex": [1, 2] * 20, "age": list(range(40))})),
        labels={"sex": Labels("Sex", {1: "f", 2: "m"})},
    )
    for declared in ({"sex": {"kind": "categorical", "type": "int64"}}, {"sex": "key"}):
        column = fit_schema(source, as_schema(declared)).schema["sex"]
        assert (column.title, column.labels) == ("Sex", ((1, "f"), (2, "m")))
    own = as_schema(
        {
            "sex": {
                "kind": "categorical",
                "type": "int64",
                "title": "Gender",
                "labels": {"1": "woman"},
            }
        }
    )
    assert (
        fit_schema(source, own).schema["sex"].title,
        fit_schema(source, own).schema["sex"].labels,
    ) == ("Gender", ((1, "woman"),))


def test_more_levels_than_can_be_modelled():
    words = pa.array([f"w{i}" for i in range(200_100)])
    frame = pa.table({"a": pa.concat_arrays([words, words]), "b": pa.array(["x", "y"] * 200_100)})
    schema = chaffinch.Schema(
        (chaffinch.Column("a", "categorical", rare="keep"), chaffinch.Column("b", "categorical"))
    )
    fails(
        frame,
        "Column 'a' has 200,100 levels; at most 200,000",
        chaffinch.errors.SchemaError,
        schema=schema,
    )
    table = chaffinch.read(frame)  # without a schema it is free text, and goes
    assert table.schema["a"].kind == "text"


def test_constant_and_empty_columns_work_with_a_sentence():
    table = chaffinch.read(
        pa.table({"c": ["k"] * 20, "n": pa.array([None] * 20, pa.float64()), "x": ["a", "b"] * 10})
    )
    assert sorted(note.what for note in table.notes) == ["constant", "empty"]
    out = chaffinch.Table.from_codes(
        table.schema, [table.codes[j] for j in range(3)], seed=0, like=table
    )
    assert out.to_arrow().equals(table.to_arrow())


SECRET_WORD = "Aurelia Zzyzx"

SECRET_WHOLE = 7654321


@pytest.mark.parametrize("n_records", [1, 2])
def test_a_column_with_hardly_any_numbers_is_made_missing(n_records):
    numbers = [float(SECRET_WHOLE)] * n_records + [None] * (50 - n_records)
    table = chaffinch.read(
        pa.table(
            {"x": pa.array(numbers), "y": ["a", "b"] * 25, "z": pa.array(numbers).cast(pa.int64())}
        )
    )
    out = Table.from_codes(table.schema, [table.codes[j] for j in range(3)], seed=0, like=table)
    assert out.data["x"].null_count == out.data["z"].null_count == 50


def test_a_pooled_word_is_said_without_being_told():
    table = chaffinch.read(pa.table({"w": ["a"] * 20 + [SECRET_WORD], "y": ["p", "q", "r"] * 7}))
    (note,) = table.notes
    assert note.what == "pooled"
    assert SECRET_WORD not in str(note)
    kept = chaffinch.read(
        pa.table({"w": ["a"] * 20 + [SECRET_WORD], "y": ["p", "q", "r"] * 7}), rare="keep"
    )
    assert SECRET_WORD in kept.schema["w"].codec.levels
    assert not kept.notes


@pytest.fixture
def people_with_codes_for_missing(tmp_path):
    path = tmp_path / "p.csv"
    rows = [
        f"{20 + i % 50},{'fm'[i % 2]},{['', 'NA', '-9'][i % 3] if i % 7 == 0 else i * 3 % 40},{i % 4}"
        for i in range(200)
    ]
    path.write_text("age,sex,visits,code\n" + "\n".join(rows) + "\n")
    return path


def test_two_columns_of_four(people_with_codes_for_missing, tmp_path):
    (tmp_path / "s.toml").write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns]\nage = { kind = "integer", bounds = [0, 110] }\nsex = { role = "key", title = "Sex" }\n'
    )
    table = chaffinch.read(people_with_codes_for_missing, tmp_path / "s.toml")
    plain = chaffinch.read(people_with_codes_for_missing)
    assert table.schema["age"].bounds == (0, 110)
    sex = table.schema["sex"]
    assert (sex.kind, sex.role, sex.title, sex.type) == ("categorical", "key", "Sex", "string")
    for name in ("visits", "code"):
        assert table.schema[name] == plain.schema[name]
        assert table.schema[name].codec.to_dict() == plain.schema[name].codec.to_dict()
    assert any(
        "leaves these columns open, and they are inferred from all rows: sex, visits, code"
        in str(note)
        for note in table.notes
    )
    assert (
        chaffinch.scan(people_with_codes_for_missing, tmp_path / "s.toml").schema.columns
        == table.schema.columns
    )


def test_roles_alone_and_missing_codes(people_with_codes_for_missing):
    table = chaffinch.read(
        people_with_codes_for_missing,
        {
            "sex": "sensitive",
            "visits": {"missing": [-9, "NA"]},
            "code": {"kind": "integer", "bins": 4},
        },
    )
    assert table.schema.with_role("sensitive") == ("sex",)
    assert (
        table.schema["visits"].kind,
        table.schema["visits"].nullable,
        set(table.schema["visits"].missing),
    ) == ("integer", True, {-9, "NA"})
    assert table.schema["code"].kind == "integer"


def test_bounds_make_a_number_of_a_code():
    table = pa.table({"stars": [1, 2, 3, 4] * 30, "sex": ["f", "m"] * 60})
    assert chaffinch.read(table).schema["stars"].kind == "categorical"
    assert chaffinch.read(table, {"stars": {"bounds": (0, 5)}}).schema["stars"].kind == "integer"


def test_what_is_wrong_is_still_an_error(people_with_codes_for_missing):
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Did you mean 'age'"):
        chaffinch.read(people_with_codes_for_missing, {"agee": "key"})
    with pytest.raises(chaffinch.errors.SchemaError, match="Unknown kind 'droop'"):
        chaffinch.read(people_with_codes_for_missing, {"age": "droop"})
    with pytest.raises(chaffinch.errors.SchemaError, match="outside its bounds"):
        chaffinch.read(
            people_with_codes_for_missing, {"age": {"kind": "integer", "bounds": (0, 30)}}
        )
    with pytest.raises(chaffinch.errors.PrivacyError, match="lacks"):
        chaffinch.prepare(
            people_with_codes_for_missing, {"age": {"kind": "integer", "bounds": (0, 110)}}
        )


def test_identifiers_may_be_kept_dropped_and_made_up():
    rows = {
        "id": list(range(100)),
        "note": [f"word{i}" for i in range(100)],
        "sex": ["f", "m"] * 50,
    }
    plain = chaffinch.read(pa.table(rows))
    assert plain.schema.names == ("sex",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = chaffinch.read(pa.table(rows), {"id": "keep", "note": "keep", "sex": "drop"})
    assert kept.schema.names == ("id", "note")
    assert kept.schema["id"].kind == "integer"
    with pytest.raises(chaffinch.errors.SchemaError, match='output = "keep" needs another kind'):
        chaffinch.read(pa.table(rows), {"id": {"kind": "identifier", "output": "keep"}})
    fake = (
        chaffinch.BayesNet()
        .fit(chaffinch.read(pa.table(rows), {"id": "fake", "note": "fake"}))
        .sample(50, seed=1)
    )
    assert fake.columns == ("id", "note", "sex")
    assert fake.data["id"].type == pa.int64()
    assert not set(fake.data["note"].to_pylist()) & set(rows["note"])
