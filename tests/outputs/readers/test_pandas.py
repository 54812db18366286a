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
        table_of(
            frame.groupby(["school", "works"]).size().reset_index(name="n"), name="t", count="n"
        ),
        table_of(
            pl.from_pandas(frame).group_by("school", "works").len().sort("school", "works"),
            name="t",
            count="len",
        ),
    ]
    assert entries[0]["cells"]["e2|yes"] == cross.loc["e2", "yes"]
    for entry in entries:
        assert entry == entries[0]
        assert satisfied(frame, entry).within
    totals = pd.crosstab(frame["school"], frame["works"], margins=True)
    with_margins = table_of(totals, name="t", margins=True)
    assert satisfied(frame, with_margins).within
    # Totals are read as such without a word, whatever they are called, and are no cells.
    named = pd.crosstab(frame["school"], frame["works"], margins=True, margins_name="Everybody")
    pivot = frame.assign(one=1).pivot_table(
        index="school", columns="works", values="one", aggfunc="sum", margins=True
    )
    for table in (totals, named, pivot):
        assert table_of(table, name="t") == with_margins
    one = frame["school"].value_counts().sort_index()
    one.loc["Total"] = one.sum()
    assert table_of(one, name="t")["margins"]
    assert satisfied(frame, table_of(one, name="t")).within
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
        entry = table_of(
            frame.groupby("school")["age"].agg(function), name="s", kind=kind, variable="age"
        )
        assert satisfied(frame, entry).within, kind
    pivot = frame.pivot_table(index="school", columns="works", values="age", aggfunc="mean")
    assert satisfied(frame, table_of(pivot, name="p", kind="mean", variable="age")).within
    with pytest.raises(InputError, match="names the column of a summary"):
        table_of(pivot, name="p", kind="mean")
    with pytest.raises(InputError, match="crosses 2 columns: name them"):
        table_of(pivot, name="p", by=["school"])
    with pytest.raises(InputError, match="Unknown column 'nn'"):
        table_of(pl.DataFrame({"a": [1], "n": [2]}), name="p", count="nn")


@pytest.mark.parametrize("normalize", [True, "index", "columns"])
@pytest.mark.parametrize("margins", [False, True])
def test_shares_are_not_read_as_counts(frame, normalize, margins):
    shares = pd.crosstab(frame["school"], frame["works"], normalize=normalize, margins=margins)
    for options in ({}, {"percentages": "rows"}):
        with pytest.raises(InputError, match=r"has shares of 1|as totals do"):
            table_of(shares, name="t", **options)


def test_shares_that_look_like_counts_are_refused():
    """Where every row has one value, shares are 0 and 1: whole numbers, and no counts."""
    frame = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 7, "b": ["p"] * 5 + ["q"] * 7})
    with pytest.raises(InputError, match=r"has shares of 1 \(rows\).*percentages=\"rows\""):
        table_of(pd.crosstab(frame["a"], frame["b"], normalize="index"), name="t")
    with pytest.raises(InputError, match=r"has shares of 1 \(all\)"):
        table_of(frame["a"].value_counts(normalize=True), name="t")
    assert table_of(frame["a"].value_counts(), name="t")["cells"] == {"y": 7, "x": 5}


def test_totals_that_cannot_be_read_are_refused(frame):
    means = frame.pivot_table(
        index="school", columns="works", values="age", aggfunc="mean", margins=True
    )
    with pytest.raises(InputError, match="only tables of counts can have totals"):
        table_of(means, name="m", kind="mean", variable="age")
    three = pd.crosstab([frame["school"], frame["method"]], frame["works"], margins=True)
    with pytest.raises(InputError, match="Totals are read of tables of one or two columns"):
        table_of(three, name="t")
    wrong = pd.crosstab(frame["school"], frame["works"], margins=True)
    wrong.iloc[0, -1] += 1
    with pytest.raises(InputError, match="do not add up"):
        table_of(wrong, name="t")
    level = pd.DataFrame({"a": ["All", "x", "x"]}).value_counts().sort_index(ascending=False)
    assert table_of(level, name="t", by=["a"], margins=False)["cells"] == {"x": 2, "All": 1}


def test_weighted_tables_name_their_weight(frame, satisfied):
    weighted = pd.crosstab(frame["school"], frame["works"], values=frame["method"], aggfunc="sum")
    entry = table_of(weighted, name="w", weight="method")
    assert (entry["kind"], entry["weight"]) == ("weighted-table", "method")
    assert satisfied(frame, entry).within
    shares = 100 * weighted.div(weighted.sum(axis=1), axis=0)
    assert satisfied(frame, table_of(shares, name="w", weight="method", percentages="rows")).within
    with pytest.raises(
        InputError,
        match=r"has counts that are not whole. If they are weighted, name the column of weights",
    ):
        table_of(weighted * 0.7, name="w")
    with pytest.raises(InputError, match="only tables without totals"):
        table_of(weighted, name="w", weight="method", kind="mean", variable="age")
