"""Cells of Python are spelled as a text file would spell them."""

from __future__ import annotations

import datetime

import pytest

from chaffinch.errors import FileError, InputError
from chaffinch.table.formats.format import chosen_table, spelled_column, spelled_source
from chaffinch.table.formats.layout import FileLayout


def test_spelling():
    day, time = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 59, 999_999)
    assert spelled_column([day, None]).to_pylist() == ["2020-01-02", ""]
    assert spelled_column([day, time]).to_pylist() == ["2020-01-02 00:00:00", "2020-01-02 03:05:00"]
    assert spelled_column([datetime.datetime(2020, 1, 2)]).to_pylist() == ["2020-01-02"]
    assert spelled_column([datetime.datetime.max]).to_pylist()[0].startswith("9999-12-31")
    assert spelled_column(
        [1, 2.0, 1e300, 0.1, float("nan"), True, datetime.time(3, 4)]
    ).to_pylist() == ["1", "2", "1e+300", "0.1", "nan", "TRUE", "03:04:00"]


def test_a_source_of_words_is_read_again_and_by_columns():
    source = spelled_source(
        "t", {"a": spelled_column([1, 2]), "b": spelled_column(["x", None])}, FileLayout("workbook")
    )
    assert (
        source.table().to_pydict()
        == source.table().to_pydict()
        == {"a": ["1", "2"], "b": ["x", ""]}
    )
    assert [batch.to_pydict() for batch in source.batches(["b"])] == [{"b": ["x", ""]}]


def test_choosing():
    assert chosen_table("f", None, ["a"], "sheet") == "a"
    assert chosen_table("f", "b", ["a", "b"], "sheet") == "b"
    with pytest.raises(InputError, match=r"several sheets: a, b. Name one, as 'f::a'"):
        chosen_table("f", None, ["a", "b"], "sheet")
    with pytest.raises(FileError, match="no sheet with anything in it"):
        chosen_table("f", None, [], "sheet")
