"""A table in the hands of a data scientist: len, head, [], columns, what a notebook shows, and the kind it came in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table import Table

from .conftest import again

SECRET = "Zebedee"


def frame(n: int = 60) -> pd.DataFrame:
    """Return a pandas table with nullable columns, holes in most of them, and one word that is a single person's."""
    rng = np.random.default_rng(5)
    holes = rng.random(n) < 0.2
    word = np.where(rng.random(n) < 0.5, "red", "blue").astype(object)
    word[0] = SECRET
    return pd.DataFrame(
        {
            "word": pd.array(word, dtype="string"),
            "whole": pd.array(np.where(holes, None, rng.integers(0, 9, n)), dtype="Int16"),
            "large": pd.array(np.where(holes, None, 2**60 + rng.integers(0, 3, n)), dtype="Int64"),
            "part": pd.array(np.where(holes, None, rng.normal(size=n)), dtype="Float64"),
            "flag": pd.array(np.where(holes, None, rng.random(n) < 0.5), dtype="boolean"),
            "kind": pd.Categorical(rng.choice(["a", "b"], n), categories=["b", "a"], ordered=True),
            "plain": rng.integers(0, 3, n),
        }
    )


@pytest.fixture(scope="module")
def odd_types():
    return chaffinch.read(frame(), rare="keep")


def test_len_columns_and_names(odd_types):
    assert len(odd_types) == odd_types.n_rows == 60
    assert odd_types.columns == tuple(frame().columns)
    assert list(odd_types) == list(odd_types.columns)
    assert "word" in odd_types
    assert "wird" not in odd_types
    assert bool(odd_types[:0]), (
        "a table without rows is still a table: `if holdout:` asks whether there is one"
    )


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (frame, pd.Series),
        (lambda: pl.from_pandas(frame()), pl.Series),
        (lambda: pa.table(frame()), pa.ChunkedArray),
    ],
)
def test_a_column_comes_in_the_kind_that_was_read(make, kind):
    values = chaffinch.read(make(), rare="keep")["whole"]
    assert isinstance(values, kind)
    ours = values.to_list() if hasattr(values, "to_list") else values.to_pylist()
    assert [None if x is pd.NA else x for x in ours] == [
        None if x is pd.NA else x for x in frame()["whole"]
    ]


def test_names_and_slices_give_tables(odd_types):
    some = odd_types[["flag", "word"]]
    assert some.columns == ("flag", "word")
    assert some.schema.names == ("flag", "word")
    assert np.array_equal(some.code("word"), odd_types.code("word"))
    assert list(some.to_native().columns) == ["flag", "word"]
    rows = odd_types[10:20:3]
    assert len(rows) == 4
    assert np.array_equal(rows.code("plain"), odd_types.code("plain")[10:20:3])
    pd.testing.assert_frame_equal(rows.to_native(), frame().iloc[10:20:3].reset_index(drop=True))
    assert len(odd_types[-3:]) == 3


def test_what_is_asked_wrongly(odd_types):
    with pytest.raises(
        chaffinch.errors.UnknownNameError, match=r"Unknown column 'wrod'\. Did you mean 'word'"
    ):
        odd_types["wrod"]
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'x'"):
        odd_types[["word", "x"]]
    for key in (3, ("word", 1), [1], None, np.array([True])):
        with pytest.raises(chaffinch.errors.InputError, match="by its name"):
            odd_types[key]


def test_records_show_only_where_head_asks_for_them(odd_types):
    for shown in (
        odd_types,
        odd_types[:3],
        odd_types[["word"]],
        odd_types.head(3)[:2],
        odd_types.head(3)[["word"]],
        odd_types.head().take(np.arange(1)),
    ):
        assert SECRET not in repr(shown)
        assert SECRET not in shown._repr_html_()
    head = odd_types.head(3)
    assert len(head) == 3
    assert SECRET in repr(head)
    assert SECRET in head._repr_html_()
    assert repr(head).splitlines()[0].split() == list(odd_types.columns)
    assert len(repr(head).splitlines()) == 4
    assert len(odd_types.head()) == 5
    assert len(odd_types.head(-1)) == 0


def test_a_cell_that_is_html_is_shown_as_text():
    head = chaffinch.read(pa.table({"a": ["<script>"] * 9, "b": ["x"] * 9})).head(1)
    assert "<script>" not in head._repr_html_()


def test_pandas_nullable_types_survive_reading_and_sampling(odd_types):
    pd.testing.assert_frame_equal(odd_types.to_native(), frame())
    codes = [odd_types.code(name) for name in odd_types.schema.names]
    drawn = chaffinch.Table.from_codes(
        odd_types.schema, codes, seed=1, like=odd_types.look
    ).to_native()
    assert dict(drawn.dtypes) == dict(frame().dtypes)
    assert drawn["large"].dropna().between(2**60, 2**60 + 2).all(), (
        "large whole numbers do not pass through floats"
    )
    assert (drawn["whole"].isna() == frame()["whole"].isna()).all()


@pytest.mark.parametrize(
    ("dtype", "nullable"),
    [("int64", "Int64"), ("int8", "Int8"), ("uint16", "UInt16"), ("bool", "boolean")],
)
def test_missing_ones_among_plain_whole_numbers_get_pandas_nullable_type(dtype, nullable):
    source = chaffinch.read(
        pd.DataFrame({"n": np.array([0, 1] * 10, dtype=dtype), "w": ["x", "y"] * 10})
    )
    values = source.data.column("n").to_pylist()
    holes = pa.array([None, *values[1:]], source.data.column("n").type)
    holed = replace(source, data=source.data.set_column(0, "n", holes))
    given_back = holed.to_native()["n"]
    assert str(given_back.dtype) == nullable
    assert given_back.isna().tolist() == [True] + [False] * 19
    assert given_back[1:].tolist() == values[1:]
    assert str(source.to_native()["n"].dtype) == dtype


def test_a_network_of_whole_numbers_with_a_rare_one_gives_a_frame_back():
    data = pd.DataFrame({"engines": [1] * 60 + [2] * 60 + [4], "seats": list(range(121))})
    drawn = chaffinch.BayesNet(parents=1).fit(data, seed=1).sample(500, seed=1).to_native()
    assert str(drawn["engines"].dtype) in ("int64", "Int64")
    assert set(drawn["engines"].dropna()) <= {1, 2, 4}


def test_a_look_holds_no_row(odd_types):
    look = odd_types.look
    assert look.native == "pandas"
    assert SECRET not in repr(look)


def test_identifiers_are_regenerated_or_dropped_as_the_schema_says():
    table = chaffinch.read(
        pa.table(
            {
                "person_id": range(1000, 1100),
                "x": ["a", "b"] * 50,
                "uid": [f"u{i}" for i in range(100)],
            }
        )
    )
    assert table.schema["person_id"].role == table.schema["uid"].role == "identifier"
    assert again(table).columns == ("x",)
    anew = replace(
        table.schema,
        columns=tuple(c if c.modelled else replace(c, output="regenerate") for c in table.schema),
    )
    out = Table.from_codes(anew, [table.codes[0]], seed=0, first_row=10, like=table)
    assert out.columns == ("person_id", "x", "uid")
    assert out.data["person_id"].to_pylist()[:2] == [11, 12]
    assert out.data["uid"].to_pylist()[:1] == ["000000011"]


@pytest.mark.parametrize("name", ["household_id", "hhid", "PersonNr"])
def test_repeated_identifiers_are_pointed_out(name):
    table = chaffinch.read(
        pa.table({name: np.repeat(np.arange(100), 3) * 7919, "x": ["a", "b", "c"] * 100})
    )
    assert table.schema[name].kind == "identifier"
    assert any("not independent" in str(note) for note in table.notes)
