"""Objects in memory: what is read comes back as it was, and what is no table is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch

from ..conftest import again, arrow_table, fails, holes, rich_frame


def test_bad_objects():
    fails(pa.table({"a": [1, 2]}), "has one column")
    fails(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}), "no rows")
    fails(pa.table({"a": [1], "b": [1]}), "has one row")
    fails(pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", "a"]), "columns of one name: a")
    fails(
        pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["a", " "]), "without a name (column 2)"
    )
    fails(pd.DataFrame({"a": [1, "x", 2.5], "b": [1, 2, 3]}), "Columns mix types: a")
    fails(pd.DataFrame([[1, 2], [3, 4]]), "Every column name")
    fails(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "columns of one name: a")
    fails(pa.table({"a": [1.0, float("inf")] * 9, "b": ["x", "y"] * 9}), "holds infinite numbers")
    fails(None, "Cannot read a NoneType")


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "pyarrow"])
def test_pandas_comes_back_as_it_was(backend):
    frame = pd.DataFrame(rich_frame())
    frame["kind"] = pd.Categorical(frame["word"], categories=["blue", "green", "red", "unused"])
    frame["rank"] = pd.Categorical(
        np.where(frame["flag"], "lo", "hi"), categories=["lo", "hi"], ordered=True
    )
    frame["gaps"] = pd.array(holes(frame["whole"].tolist()), dtype="Int64")
    frame["nan"] = [np.nan if x is None else x for x in holes(frame["real"].tolist())]
    if backend != "numpy":
        frame = frame.convert_dtypes(dtype_backend=backend)
    out = again(chaffinch.read(frame)).to_native()
    assert isinstance(out, pd.DataFrame)
    had = frame.assign(
        kind=frame["kind"].cat.remove_unused_categories()
    )  # no record has it: it may be of one that was filtered out
    assert out.dtypes.to_dict() == had.dtypes.to_dict()
    assert out["kind"].tolist() == frame["kind"].tolist()
    assert out["nan"].isna().sum() == frame["nan"].isna().sum()


def test_polars_comes_back_as_it_was():
    frame = pl.DataFrame(
        {name: np.asarray(v) for name, v in rich_frame().items() if name != "day"}
    ).with_columns(
        pl.Series("kind", rich_frame()["word"], dtype=pl.Enum(["blue", "green", "red", "unused"])),
        pl.Series("cat", rich_frame()["word"], dtype=pl.Categorical),
        pl.Series("day", rich_frame()["day"]).cast(pl.Date),
        pl.Series("stamp", rich_frame()["day"]).cast(pl.Datetime("us")),
        pl.Series(
            "nan", [float("nan") if x is None else x for x in holes(rich_frame()["real"].tolist())]
        ),
    )
    for given_frame in (frame, frame.lazy()):
        out = again(chaffinch.read(given_frame)).to_native()
        assert isinstance(out, pl.DataFrame)
        assert out.schema == {
            **frame.schema,
            "kind": pl.Enum(["blue", "green", "red"]),
        }  # no record has "unused"
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
