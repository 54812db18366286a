"""Fitting a schema: what one file stores as whole numbers, another may not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.table.fit_schema import fit_profiles, fit_schema, typed_profile
from chaffinch.table.formats import Labels
from chaffinch.table.schema_file import as_schema, schema_text
from chaffinch.table.sources import open_source


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
