"""Bands: every level is in one group as before, neighbours join among numbers, counts add up, and the ends are coded together."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.mitigate.base import RuleTrial
from chaffinch.outputs.mitigate.coarsening import BAND, MOST_FORMS, TOP_CODE
from chaffinch.outputs.rules import Policy


def series_of(mitigation, trial, k=0):
    return [list(series) for series in mitigation.series(trial.outputs.outputs[k], trial)]


@pytest.mark.parametrize("numeric", [True, False])
def test_groups_hold_every_level_once_and_counts_add_up(trial_of, numeric):
    counts = np.array([[20, 30], [3, 15], [4, 9], [50, 2]])
    trial = trial_of(counts, numeric=numeric)
    by_x = series_of(BAND, trial)[0]
    assert [len(form.recipe.groups["x"]) for form in by_x] == [3, 2]
    for form in by_x:
        cells = form.recipe.crossing(trial.frame)
        group = cells.steps[0][1]
        assert set(group.tolist()) == set(range(len(form.recipe.groups["x"])))
        printed = np.array(form.recipe.computed(trial.outputs.fields, trial.codes).counts)
        expected = np.array([counts[group == k].sum(axis=0) for k in range(len(printed))])
        np.testing.assert_array_equal(printed, expected)
        if numeric:  # bands of numbers are without gaps
            assert all(
                np.diff(np.flatnonzero(group == k)).tolist() == [1] * (int((group == k).sum()) - 1)
                for k in range(len(printed))
            )
    assert by_x[0].words == "'x' in 3 groups instead of 4"


def test_the_smallest_joins_the_smaller_of_those_it_may_join(trial_of):
    counts = [40, 3, 30, 5]
    (words,) = series_of(BAND, trial_of(counts))
    assert words[0].recipe.groups["x"] == {"a0": ["a0"], "a1 or a3": ["a1", "a3"], "a2": ["a2"]}
    (numbers,) = series_of(BAND, trial_of(counts, numeric=True))
    assert numbers[0].recipe.groups["x"] == {"0": [0, 0], "1 to 2": [1, 2], "3": [3, 3]}


def test_groups_that_are_there_are_kept_and_levels_in_none_stay_out(trial_of):
    entry = {
        "groups": {"x": {"low": [0, 1], "mid": [2, 2], "high": [4, 5]}}
    }  # 3 is in none: mid and high do not touch
    trial = trial_of([20, 30, 3, 99, 15, 9], entry, numeric=True)
    (forms,) = series_of(BAND, trial)
    assert [form.recipe.groups["x"] for form in forms] == [{"0 to 2": [0, 2], "high": [4, 5]}]
    assert forms[0].recipe.computed(trial.outputs.fields, trial.codes).counts == [53, 24]


def test_top_coding_joins_the_end_that_has_fewer(trial_of):
    trial = trial_of([9, 30, 40, 20, 2, 1], numeric=True)
    (forms,) = series_of(TOP_CODE, trial)
    assert [list(form.recipe.groups["x"].values()) for form in forms] == [
        [[0, 0], [1, 1], [2, 2], [3, 3], [4, 5]],
        [[0, 0], [1, 1], [2, 2], [3, 5]],
        [[0, 1], [2, 2], [3, 5]],
        [[0, 1], [2, 5]],
    ]
    assert series_of(TOP_CODE, trial_of([9, 30, 40])) == []  # words have no ends


def test_a_column_may_be_left_out_of_a_table_of_several(trial_of):
    trial = trial_of([[20, 30], [3, 15]])
    every = series_of(BAND, trial)
    assert [form.words for (form,) in every[-2:]] == ["without 'x'", "without 'y'"]
    assert every[-1][0].recipe.computed(trial.outputs.fields, trial.codes).counts == [50, 18]
    assert len(series_of(BAND, trial_of([20, 30, 3]))) == 1


def test_many_levels_have_few_forms_that_span_all(trial_of):
    (forms,) = series_of(BAND, trial_of([10] * 90, numeric=True))
    assert len(forms) == MOST_FORMS
    assert [len(form.recipe.groups["x"]) for form in (forms[0], forms[-1])] == [89, 2]


def test_bins_of_a_histogram():
    values = np.array([16] * 2 + [17] * 20 + [25] * 30 + [40] * 12 + [49] * 3)
    fields = Fields((Field("age", tuple(range(16, 50))),))
    codes = (values - 16).astype(np.int32)[:, None]
    entry = {"name": "h", "kind": "histogram", "of": "age", "edges": [16, 17, 20, 30, 45, 49]}
    trial = RuleTrial(recipes_of([entry], fields.counted(codes)), codes, Policy())
    (bands,), (ends,) = series_of(BAND, trial), series_of(TOP_CODE, trial)
    assert [form.recipe.edges for form in bands] == [
        [16, 20, 30, 45, 49],
        [16, 20, 30, 49],
        [16, 20, 49],
    ]
    assert ends[0].recipe.edges == [16, 20, 30, 45, 49]
    for form in (*bands, *ends):
        assert sum(form.recipe.computed(trial.outputs.fields, codes).counts) == len(values)
    assert bands[0].words == "4 bins instead of 5"
