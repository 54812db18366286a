"""Tables fitted anew: finer numbers, no level of fewer than ten records; and subsets as files of their rows alone would be read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch import read
from chaffinch.errors import InputError
from chaffinch.table.domain import same_codes
from chaffinch.table.refit import FINE, SubsetReader, on_codes_of, rebin_finely, rebin_scan_finely


@pytest.fixture
def skewed_numbers() -> pa.Table:
    rng = np.random.default_rng(2)
    pay = np.round(np.exp(rng.normal(5, 1, 3_000)), 2)
    pay[:40] = np.nan
    return pa.table(
        {
            "pay": pa.array(pay, from_pandas=True),
            "age": rng.integers(0, 90, 3_000),
            "w": rng.random(3_000) + 0.5,
            "cut": rng.random(3_000),
        }
    )


def test_levels_are_more_and_hold_ten_records(skewed_numbers):
    coarse = chaffinch.read(
        skewed_numbers, schema={"cut": {"kind": "float", "bins": 5}, "w": "weight"}
    )
    fine = rebin_finely(coarse)
    assert fine.schema == coarse.schema
    assert [
        fine.schema[name].size > coarse.schema[name].size for name in ("pay", "age", "cut")
    ] == [True, True, False]
    assert fine.schema["w"].codec is coarse.schema["w"].codec
    assert fine.schema["pay"].size <= FINE + 1
    for name in ("pay", "age"):
        assert (
            np.bincount(fine.code(name), minlength=fine.schema[name].size).min() >= 9
        )  # an edge is the mean of ten records
    assert rebin_finely(fine).code("pay").tolist() == fine.code("pay").tolist()


def test_a_scan_is_cut_alike(skewed_numbers, tmp_path):
    pq.write_table(skewed_numbers, tmp_path / "t.parquet", row_group_size=700)
    fine, scanned = (
        rebin_finely(chaffinch.read(tmp_path / "t.parquet")),
        rebin_scan_finely(chaffinch.scan(tmp_path / "t.parquet")),
    )
    assert scanned.schema == fine.schema
    for name in fine.schema.names:
        assert scanned.schema[name].codec.to_dict() == fine.schema[name].codec.to_dict()


def test_other_rows_on_the_same_codes(skewed_numbers):
    fine = rebin_finely(chaffinch.read(skewed_numbers))
    half = chaffinch.read(skewed_numbers.slice(0, 1_000))
    put = on_codes_of(half, fine.schema, fine.schema.names)
    assert put.code("pay").tolist() == fine.code("pay")[:1_000].tolist()
    assert on_codes_of(fine, fine.schema, fine.schema.names) is fine
    words, others = (
        chaffinch.read(pa.table({"a": levels * 20, "b": ["x", "y"] * 20}))
        for levels in (["p", "q"], ["p", "r"])
    )
    with pytest.raises(InputError, match="'a' has other codes"):
        on_codes_of(words, others.schema, ["a", "b"])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 600
    frame = pd.DataFrame(
        {
            "pay": np.exp(rng.normal(6, 1, n)).round(2),
            "age": rng.integers(18, 90, n),
            "town": rng.choice(
                ["a", "b", "c", "rare1", "rare2"], n, p=[0.5, 0.3, 0.19, 0.005, 0.005]
            ),
            "grade": rng.choice([1, 2, 3, 4, 11], n),
            "member": rng.choice([True, False], n),
            "born": pd.Timestamp("1960-01-01")
            + pd.to_timedelta(rng.integers(0, 9000, n), unit="D"),
            "note": [f"free text {i}" for i in range(n)],
        }
    )
    frame.loc[rng.choice(n, 40, replace=False), "pay"] = np.nan
    frame.loc[rng.choice(n, 2, replace=False), "town"] = None
    return frame


def same(ours, theirs):
    assert [column.name for column in ours.schema] == [column.name for column in theirs.schema]
    for a, b in zip(ours.schema, theirs.schema, strict=True):
        assert (a.kind, a.nullable, a.decimals, a.step) == (
            b.kind,
            b.nullable,
            b.decimals,
            b.step,
        ), a.name
        assert (a.codec is None) == (b.codec is None)
        if a.codec is not None:
            assert a.codec.to_dict() == b.codec.to_dict(), a.name
            np.testing.assert_array_equal(ours.code(a.name), theirs.code(a.name))


@pytest.mark.parametrize("size", [500, 120, 45])
def test_a_subset_is_read_as_a_file_of_it_would_be(frame, size):
    rows = np.sort(np.random.default_rng(size).choice(len(frame), size, replace=False))
    reader = SubsetReader.from_table(read(frame))
    assert reader.inferred == {"pay", "age", "town", "grade", "member", "born"}
    same(reader.read(rows), read(frame.iloc[rows].reset_index(drop=True)))


def test_missing_codes_of_a_text_file_are_read_again_from_codes(frame, tmp_path):
    words = frame[["age", "town", "grade"]].astype(object)
    words.loc[::7, "age"] = "NA"
    words.loc[3::11, "town"] = "NA"
    words.to_csv(tmp_path / "whole.csv", index=False)
    rows = np.arange(0, 600, 3)
    words.iloc[rows].to_csv(tmp_path / "part.csv", index=False)
    same(
        SubsetReader.from_table(read(tmp_path / "whole.csv")).read(rows),
        read(tmp_path / "part.csv"),
    )


def test_missing_codes_that_are_numbers_are_values_of_their_own(frame, tmp_path):
    """A number that a person declares missing stays a number in the table: no null stands for it."""
    words = frame[["age", "town"]].assign(age=frame["age"].where(frame.index % 7 > 0, -8))
    words.to_csv(tmp_path / "whole.csv", index=False)
    rows = np.arange(0, 600, 3)
    words.iloc[rows].to_csv(tmp_path / "part.csv", index=False)
    declared = replace(read(tmp_path / "whole.csv").schema["age"], missing=(-8,), codec=None)

    def of(path):
        schema = read(path).schema
        return read(
            path,
            replace(
                schema,
                columns=tuple(
                    declared if c.name == "age" else replace(c, codec=None) for c in schema
                ),
            ),
        )

    whole = of(tmp_path / "whole.csv")
    assert rebin_finely(whole).schema["age"].codec.missing == (-8,)
    subset, part = SubsetReader.from_table(whole).read(rows), of(tmp_path / "part.csv")
    assert same_codes(subset.schema["age"].codec, part.schema["age"].codec)
    assert (subset.code("age") == part.code("age")).all()


def test_what_was_declared_stays(frame):
    whole = read(frame)
    columns = tuple(
        replace(c, levels=("a", "b", "c", "z"), other=True, codec=None)
        if c.name == "town"
        else replace(c, bounds=(0.0, 100.0), bins=5, codec=None)
        if c.name == "age"
        else c
        if not c.modelled
        else replace(c, codec=None)
        for c in whole.schema
    )
    declared = read(frame, replace(whole.schema, columns=columns))
    reader = SubsetReader.from_table(declared)
    assert reader.inferred == {"pay", "grade", "member", "born"}
    subset = reader.read(np.arange(100))
    assert subset.schema["town"].codec.levels == ("a", "b", "c", "z")
    assert subset.schema["age"].codec.bounds == (0.0, 100.0)
    assert subset.schema["age"].bins == 5


def test_bins_and_knots_are_of_the_subset_alone(frame):
    order = np.argsort(frame["pay"].to_numpy())[:560]  # the others are missing
    reader = SubsetReader.from_table(read(frame))
    poor, rich = (
        reader.read(np.sort(rows)).schema["pay"].codec.ranges()
        for rows in (order[:280], order[280:])
    )
    assert poor[1].max() <= 1.1 * rich[0].min()  # tails go a little beyond the last record


def test_a_column_that_would_pass_for_free_text_in_a_subset_stays(frame):
    towns = frame.assign(town=[f"town {i % 150}" for i in range(600)])
    whole = read(towns)
    assert read(towns.iloc[:100].reset_index(drop=True)).schema["town"].kind == "text"
    subset = SubsetReader.from_table(whole).read(np.arange(100))
    assert subset.schema["town"].kind == "categorical"
    assert subset.schema["town"].codec.n_values == 1  # all of them rare: pooled
