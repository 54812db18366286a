"""Objects that hold outputs, each read by what it is, and checked."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy.stats import ttest_ind

import chaffinch
from chaffinch.errors import InputError
from chaffinch.outputs.readers.objects import entries_of_objects
from chaffinch.outputs.readers.scipy import scipy_test


def test_each_object_is_read_by_what_it_is(frame):
    fit = smf.ols("age ~ children", frame).fit()
    objects = [
        fit,
        pd.crosstab(frame["school"], frame["religion"]),
        frame["school"].value_counts(),
        frame[["age"]].describe(),
        frame.groupby("school")[["age"]].agg(["mean"]),
        {"kind": "mean", "of": "age", "name": "mine"},
    ]
    entries = entries_of_objects(objects)
    assert [(entry["name"], entry["kind"]) for entry in entries] == [
        ("output 1", "ols"),
        ("output 2", "table"),
        ("output 3", "table"),
        ("output 4: age", "describe"),
        ("output 5: mean of age", "mean"),
        ("mine", "mean"),
    ]


def test_a_check_takes_objects_and_entries(frame):
    groups = [part["age"] for _, part in frame.groupby("religion")]
    test = scipy_test(
        ttest_ind(*groups), name="by religion", of="age", by=["religion"], welch=False
    )
    table = pd.crosstab(frame["school"], frame["religion"])
    checked = chaffinch.check([table, test], frame, rules_only=True)
    assert [one.name for one in checked.outputs] == ["output 1", "by religion"]
    assert {one.status for one in checked.rules.of("output 1")} >= {"pass"}


def test_what_an_object_does_not_say_is_asked_for(frame):
    groups = [part["age"] for _, part in frame.groupby("religion")]
    with pytest.raises(
        InputError, match=r"Output .output 1. is a test of a column .t-test.. Name it"
    ):
        entries_of_objects([ttest_ind(*groups)])
    with pytest.raises(
        InputError, match=r"Output .output 1. is no summary that is known by its form"
    ):
        entries_of_objects([pl.DataFrame({"school": ["e1"], "n": [12]})])
    with pytest.raises(InputError, match="Output 1 is of type dict_keys"):
        entries_of_objects([{}.keys()])
