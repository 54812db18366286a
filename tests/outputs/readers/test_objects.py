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
from chaffinch.outputs.readers.summaries import histogram_of, summaries_of


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
        ttest_ind(*groups), name="by religion", variable="age", by=["religion"], welch=False
    )
    table = pd.crosstab(frame["school"], frame["religion"])
    checked = chaffinch.check([table, test], frame, rules_only=True)
    assert [one.name for one in checked.outputs] == ["output 1", "by religion"]
    assert {one.status for one in checked.rules.about("output 1")} >= {"pass"}


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


def test_bins_and_analyses_of_variance_are_read_where_they_say_their_columns() -> None:
    import numpy as np

    ages = pd.Series([20, 25, 31, 40] * 10, name="age")
    (entry,) = entries_of_objects([ages.value_counts(bins=[18, 30, 40]).rename_axis("age")])
    counts = np.histogram(ages, bins=entry["edges"])[0]
    assert (entry["kind"], entry["of"], entry["counts"]) == ("histogram", "age", counts.tolist())
    for unsaid in (np.histogram(ages, bins=[18, 30, 40]), ages.value_counts(bins=[18, 30, 40])):
        with pytest.raises(InputError, match="counts bins of a column without a name"):
            entries_of_objects([unsaid])
    with pytest.raises(InputError, match="only counts are read"):
        histogram_of(ages.value_counts(bins=[18, 30, 40], normalize=True), name="h", variable="age")
    with pytest.raises(InputError, match="tuple, which is not read"):
        entries_of_objects([("a", "b")])


def test_anova_lm_is_an_analysis_of_variance_of_one_factor() -> None:
    sm = pytest.importorskip("statsmodels.api")
    smf = pytest.importorskip("statsmodels.formula.api")
    from scipy.stats import f_oneway

    ages = pd.Series([20, 25, 31, 40] * 10) + pd.Series(range(40)) % 7
    frame = pd.DataFrame({"age": ages, "area": ["a", "b", "b", "c"] * 10, "sex": ["f", "m"] * 20})
    table = sm.stats.anova_lm(smf.ols("age ~ C(area)", frame).fit())
    with pytest.raises(InputError, match="does not say of which column"):
        entries_of_objects([table])
    (entry,) = summaries_of(table, name="v", variable="age")
    expected = f_oneway(*(rows.age for _, rows in frame.groupby("area")))
    assert (entry["kind"], entry["by"], entry["dof_between"]) == ("anova", ["area"], 2)
    assert entry["statistic"] == pytest.approx(expected.statistic)
    assert entry["p_value"] == pytest.approx(expected.pvalue)
    two = sm.stats.anova_lm(smf.ols("age ~ C(area) + C(sex)", frame).fit())
    with pytest.raises(InputError, match="of 2 terms"):
        summaries_of(two, name="v", variable="age")


def test_a_kaplan_meier_fitter_is_asked_for_its_columns() -> None:
    fitter = type("KaplanMeierFitter", (), {"__module__": "lifelines.fitters"})()
    with pytest.raises(InputError, match="kaplan_meier_of"):
        entries_of_objects([fitter])
