"""Objects in memory: what is read comes back as it was, and what is no table is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.table import Table


def fails(source, says, kind=chaffinch.errors.ChaffinchError, **options):
    with pytest.raises(kind) as caught:
        chaffinch.read(source, **options)
    assert says in str(caught.value), str(caught.value)


def test_bad_objects():
    fails(pa.table({"a": [1, 2]}), "has one column")
    fails(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}), "no rows")
    fails(pa.table({"a": [1], "b": [1]}), "has one row")
    fails(pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", "a"]), "columns of one name: a")
    fails(pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", " "]), "without a name (column 2)")
    fails(pd.DataFrame({"a": [1, "x", 2.5], "b": [1, 2, 3]}), "Columns mix types: a")
    fails(pd.DataFrame([[1, 2], [3, 4]]), "Every column name")
    fails(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "columns of one name: a")
    fails(pa.table({"a": [1.0, float("inf")] * 9, "b": ["x", "y"] * 9}), "holds infinite numbers")
    fails(None, "Cannot read a NoneType")


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
    with pytest.raises(chaffinch.errors.InputError, match="Cannot read a list"):
        chaffinch.read([1, 2])
