"""Outputs taken from pandas and polars tables: the records they were made of must satisfy them, in full precision."""

import pandas as pd
import polars as pl
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.readers.pandas import table_of


def test_crosstabs_series_and_long_tables_say_the_same(frame, satisfied):
    cross = pd.crosstab(frame["school"], frame["works"])
    entries = [
        table_of(cross, name="t"),
        table_of(frame.groupby(["school", "works"]).size(), name="t"),
        table_of(frame.groupby(["school", "works"]).size().reset_index(name="n"), name="t", count="n"),
        table_of(
            pl.from_pandas(frame).group_by("school", "works").len().sort("school", "works"), name="t", count="len"
        ),
    ]
    assert entries[0]["cells"]["e2|yes"] == cross.loc["e2", "yes"]
    for entry in entries:
        assert entry == entries[0]
        assert satisfied(frame, entry).within
    with_margins = table_of(pd.crosstab(frame["school"], frame["works"], margins=True), name="t", margins=True)
    assert satisfied(frame, with_margins).within
    cross.iloc[0, 0] += 1
    assert satisfied(frame, {**table_of(cross, name="t")}).outside == 1


def test_suppressed_rounded_and_percentages(frame, satisfied):
    cross = pd.crosstab(frame["school"], frame["method"])
    hidden = cross.astype(float).where(cross >= 100)
    with pytest.raises(InputError, match=r"missing cells. If they are suppressed"):
        table_of(hidden, name="t")
    entry = table_of(hidden, name="t", threshold=100)
    assert None in entry["cells"].values()
    assert satisfied(frame, entry).within
    assert satisfied(frame, table_of((cross / 5).round().astype(int) * 5, name="t", base=5)).within
    rows = (pd.crosstab(frame["school"], frame["method"], normalize="index") * 100).round(2)
    assert satisfied(frame, table_of(rows, name="t", percentages="rows", decimals=2)).within


def test_summaries_by_groups(frame, satisfied):
    for kind, function in (("mean", "mean"), ("sd", "std"), ("median", "median"), ("sum", "sum")):
        entry = table_of(frame.groupby("school")["age"].agg(function), name="s", kind=kind, of="age")
        assert satisfied(frame, entry).within, kind
    pivot = frame.pivot_table(index="school", columns="works", values="age", aggfunc="mean")
    assert satisfied(frame, table_of(pivot, name="p", kind="mean", of="age")).within
    with pytest.raises(InputError, match="names the column of a summary"):
        table_of(pivot, name="p", kind="mean")
    with pytest.raises(InputError, match="crosses 2 columns: name them"):
        table_of(pivot, name="p", by=["school"])
    with pytest.raises(InputError, match="Unknown column 'nn'"):
        table_of(pl.DataFrame({"a": [1], "n": [2]}), name="p", count="nn")
