"""Values and codes: decode undoes encode for every type, and a drawn number encodes to its own code."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch

from .conftest import again, arrow_table


def test_every_arrow_type_survives():
    given_table = arrow_table()
    table = chaffinch.read(given_table)
    out = again(table)
    assert out.to_arrow().schema == given_table.schema
    kinds = {column.name: column.kind for column in table.schema}
    assert kinds["word"] == kinds["kind"] == kinds["code"] == "categorical"
    assert (kinds["flag"], kinds["day"], kinds["stamp"], kinds["real"]) == (
        "boolean",
        "date",
        "datetime",
        "float",
    )
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
    except chaffinch.errors.InputError as error:  # only identifiers and free text
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
