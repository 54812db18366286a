"""Summaries of pandas and polars: the records they were made of satisfy them; what they do not say is asked for, with what was understood."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.readers.summaries import summaries_of


def all_satisfied(entries, frame, satisfied):
    assert entries
    for entry in entries:
        one = satisfied(frame, entry)
        assert one.within, (
            entry["name"],
            [number for number in one.numbers if not number.within()],
        )
    return entries


def test_describe_of_columns_and_groups(frame, satisfied):
    (one,) = all_satisfied(summaries_of(frame["age"].describe(), name="d"), frame, satisfied)
    assert (one["of"], one["n"], one["at"]) == ("age", 1473, [0.0, 0.25, 0.5, 0.75, 1.0])
    several = all_satisfied(
        summaries_of(frame.describe(percentiles=[0.1, 0.9]), name="d"), frame, satisfied
    )
    assert [entry["of"] for entry in several] == ["age", "children", "religion", "method"]
    assert several[0]["at"] == [0.0, 0.1, 0.9, 1.0]
    (by,) = all_satisfied(
        summaries_of(frame.groupby("school")["age"].describe(), name="d", variable="age"),
        frame,
        satisfied,
    )
    assert by["by"] == ["school"]
    two = summaries_of(frame.groupby(["school", "works"])[["age", "children"]].describe(), name="d")
    assert [entry["of"] for entry in all_satisfied(two, frame, satisfied)] == ["age", "children"]
    wrong = frame["age"].describe()
    wrong["mean"] += 0.01
    assert satisfied(frame, summaries_of(wrong, name="d")[0]).outside == 1


def test_describe_of_polars(frame, satisfied):
    numbers = pl.from_pandas(frame)
    linear = numbers.describe(interpolation="linear")
    entries = all_satisfied(
        summaries_of(linear, name="d", interpolation="linear"), frame, satisfied
    )
    assert [entry["of"] for entry in entries] == ["age", "children", "religion", "method"]
    assert all_satisfied(
        summaries_of(numbers.describe(percentiles=None), name="d"), frame, satisfied
    )[0]["at"] == [0.0, 1.0]
    with pytest.raises(
        InputError,
        match=r"is a description of age, school.*does not say which.*interpolation=\"linear\"",
    ):
        summaries_of(numbers.describe(), name="d")
    with pytest.raises(InputError, match='quantiles are read as "linear" ones'):
        summaries_of(numbers.describe(), name="d", interpolation="nearest")
    with pytest.raises(InputError, match="name the numbers: table_of"):
        summaries_of(numbers.group_by("school").len(), name="d")


def test_correlations_do_not_say_of_which_kind_they_are(frame, satisfied):
    matrix = frame[["age", "children", "religion"]].corr()
    all_satisfied(summaries_of(matrix, name="c", method="pearson"), frame, satisfied)
    with pytest.raises(
        InputError,
        match="is a matrix of correlations of age, children, religion, and does not say of which kind",
    ):
        summaries_of(matrix, name="c")
    with pytest.raises(InputError, match="only Pearson's correlations are read"):
        summaries_of(frame[["age", "children"]].corr("spearman"), name="c", method="spearman")


def test_quantiles(frame, satisfied):
    all_satisfied(summaries_of(frame["age"].quantile([0.1, 0.5]), name="q"), frame, satisfied)
    assert (
        len(
            all_satisfied(
                summaries_of(frame[["age", "children"]].quantile([0.1, 0.5]), name="q"),
                frame,
                satisfied,
            )
        )
        == 2
    )
    (by,) = all_satisfied(
        summaries_of(frame.groupby("school")["age"].quantile([0.25, 0.75]), name="q"),
        frame,
        satisfied,
    )
    assert (by["by"], by["at"]) == (["school"], [0.25, 0.75])
    with pytest.raises(InputError, match="several columns by groups"):
        summaries_of(frame.groupby("school")[["age", "children"]].quantile([0.25, 0.75]), name="q")
    unnamed = pd.Series(frame["age"].to_numpy()).quantile([0.1, 0.5])
    with pytest.raises(InputError, match="of a column without a name"):
        summaries_of(unnamed, name="q")


def test_a_count_by_a_column_of_fractions_is_no_quantile():
    counts = pd.Series([0.0, 1.0, 1.0], name="half").value_counts()
    with pytest.raises(
        InputError, match="is a series by half, and does not say what its numbers are"
    ):
        summaries_of(counts, name="q")


def test_aggregations(frame, satisfied):
    functions = ["mean", "std", "var", "sum", "median", "min", "max", "size", "count"]
    entries = all_satisfied(
        summaries_of(frame.groupby("school")["age"].agg(functions), name="a", variable="age"),
        frame,
        satisfied,
    )
    assert [entry["kind"] for entry in entries] == [
        "mean",
        "sd",
        "variance",
        "sum",
        "median",
        "quantiles",
        "quantiles",
        "table",
        "table",
    ]
    assert [entry["at"] for entry in entries if entry["kind"] == "quantiles"] == [[0.0], [1.0]]
    several = frame.groupby(["school", "works"]).agg({"age": ["mean", "std"], "children": "sum"})
    assert [
        entry["of"] for entry in all_satisfied(summaries_of(several, name="a"), frame, satisfied)
    ] == ["age", "age", "children"]
    named = frame.groupby("school").agg(average=("age", "mean"), people=("age", "size"))
    columns = {"average": ("age", "mean"), "people": ("age", "size")}
    all_satisfied(summaries_of(named, name="a", columns=columns), frame, satisfied)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda f: f.groupby("school")["age"].agg(["mean"]),
            r"has the 'mean' of a column, and does not say of which column",
        ),
        (
            lambda f: f.groupby("school").agg(average=("age", "mean")),
            r"has a column called 'average'.*columns=\{'average': \(column, \"mean\"\)\}",
        ),
        (lambda f: f.groupby("school").agg({"age": ["nunique"]}), r"is the 'nunique' of 'age'"),
        (
            lambda f: f.groupby("school")["age"].describe(),
            r"describes a column by school, and does not say which column",
        ),
        (
            lambda f: f.groupby("school")["age"].mean(),
            r"is a series by school, and does not say what its numbers are",
        ),
        (lambda f: f["school"].describe(), r"describes words"),
        (lambda f: pd.Series(f["age"].to_numpy()).describe(), r"describes a column without a name"),
        (
            lambda f: f.groupby(np.arange(len(f)) % 2)["age"].describe(),
            r"name them in order, by=\[...\]",
        ),
    ],
)
def test_what_an_object_does_not_say_is_asked_for(frame, make, message):
    options = {"variable": "age"} if "arange" in message or "in order" in message else {}
    with pytest.raises(InputError, match=message):
        summaries_of(make(frame), name="o", **options)
