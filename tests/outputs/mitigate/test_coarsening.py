"""Bands: every level is in one group as before, neighbours join among numbers, counts add up, and the ends are coded together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.mitigate.base import RuleTrial
from chaffinch.outputs.mitigate.coarsening import (
    BAND,
    DECIMALS,
    ENDS,
    MOST_FORMS,
    OMIT,
    ROUND,
    TOP_CODE,
    _narrows,
)
from chaffinch.outputs.rules import Policy
from tests.outputs.mitigate.conftest import codes_of_counts, fields_of


def series_of(mitigation, trial, k=0):
    return [list(series) for series in mitigation.series(trial.outputs.outputs[k], trial)]


@pytest.mark.parametrize("numeric", [True, False])
def test_groups_hold_every_level_once_and_counts_add_up(trial_of, numeric):
    counts = np.array([[20, 30], [3, 15], [4, 9], [50, 2]])
    trial = trial_of(counts, numeric=numeric)
    by_x = series_of(BAND, trial)[0]
    assert [len(form.recipe.groups["x"]) for form in by_x] == [3, 2]
    for form in by_x:
        cells = form.recipe.crossing(trial.domain)
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
    assert by_x[0].description == "'x' in 3 groups instead of 4"


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
    assert [form.description for (form,) in every[-2:]] == ["without 'x'", "without 'y'"]
    assert every[-1][0].recipe.computed(trial.outputs.fields, trial.codes).counts == [50, 18]
    assert len(series_of(BAND, trial_of([20, 30, 3]))) == 1


def test_many_levels_have_few_forms_that_span_all(trial_of):
    (forms,) = series_of(BAND, trial_of([10] * 90, numeric=True))
    assert len(forms) == MOST_FORMS
    assert [len(form.recipe.groups["x"]) for form in (forms[0], forms[-1])] == [89, 2]


def test_bins_of_a_histogram():
    values = np.array([16] * 2 + [17] * 20 + [25] * 30 + [40] * 12 + [49] * 3)
    fields = OutputDomain((OutputColumn("age", tuple(range(16, 50))),))
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
    assert bands[0].description == "4 bins instead of 5"


def forms_of(mitigation, trial, k=0):
    return [
        form for series in mitigation.series(trial.outputs.outputs[k], trial) for form in series
    ]


COUNTS = [[20, 30], [13, 15]]


def test_n_and_margins_are_left_out_one_by_one(trial_of):
    trial = trial_of(COUNTS, {"margins": True, "n": True})
    forms = forms_of(OMIT, trial)
    assert [form.description for form in forms] == [
        "without the number of records",
        "without the totals of rows and columns",
    ]
    without_n, without_margins = (
        form.recipe.computed(trial.outputs.fields, trial.codes).to_dict() for form in forms
    )
    assert "n" not in without_n
    assert without_n["counts"] == [[20, 30, 50], [13, 15, 28], [33, 45, 78]]
    assert without_margins["counts"] == COUNTS
    assert without_margins["n"] == 78


def test_totals_of_percentages(trial_of):
    trial = trial_of(COUNTS, {"percentages": "rows", "totals": True, "decimals": 1})
    (form,) = forms_of(OMIT, trial)
    assert form.description == "without the totals"
    assert "totals" not in form.recipe.computed(trial.outputs.fields, trial.codes).to_dict()


def test_published_numbers_are_left_out_too(trial_of):
    trial = trial_of(COUNTS, {"n": 78, "counts": COUNTS})
    (form,) = forms_of(OMIT, trial)
    assert not form.recipe.publishes("n")


def test_nothing_beside_nothing_to_leave_out(trial_of):
    assert forms_of(OMIT, trial_of(COUNTS)) == []
    assert forms_of(ENDS, trial_of(COUNTS)) == []


def test_smallest_and_largest_values(trial_of):
    trial = trial_of(
        COUNTS,
        {"name": "q", "kind": "quantiles", "of": "y", "by": ["x"], "at": [0, 0.5, 1]},
        numeric=True,
    )
    (form,) = forms_of(ENDS, trial)
    assert form.recipe.probabilities == [0.5]
    assert form.description == "without the smallest and the largest value"


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(sum))
def test_rounded_counts_are_multiples_within_half_a_base(counts):
    fields, codes = fields_of((len(counts),)), codes_of_counts(counts)
    entries = [
        {"name": "t", "kind": "table", "by": ["x"], "margins": True},
        {"name": "u", "kind": "table", "by": ["x"]},
    ]
    trial = RuleTrial(recipes_of(entries, fields.counted(codes)), codes, Policy())
    for one, other in zip(forms_of(ROUND, trial, 0), forms_of(ROUND, trial, 1), strict=False):
        base = one.recipe.base
        printed = one.recipe.computed(trial.outputs.fields, codes).counts
        for number, true in zip(printed, [*counts, sum(counts)], strict=True):
            assert number % base == 0
            assert abs(number - true) <= base / 2
        if other.recipe.base == base:  # the same cell is the same number in another output
            assert printed[:-1] == other.recipe.computed(trial.outputs.fields, codes).counts


def test_bases_rise_and_the_threshold_is_among_them(trial_of):
    trial = trial_of([[20, 30], [3, 15]], policy=Policy(threshold=7))
    assert [form.recipe.base for form in forms_of(ROUND, trial)] == [3, 5, 7, 10]
    assert forms_of(ROUND, trial)[0].description == "counts and totals rounded to multiples of 3"
    rounded = trial_of([[20, 30], [3, 15]], {"base": 5})
    assert [form.recipe.base for form in forms_of(ROUND, rounded)] == [10]


def feasible(counts, base):
    """Return the range of each cell of a line over all tables with the same rounded cells and rounded total, by enumeration."""

    def rounding(value):
        return (value + base // 2) // base * base

    choices = [
        [v for v in range(int(count) + 2 * base) if rounding(v) == rounding(int(count))]
        for count in counts
    ]
    tables = [
        values
        for values in product(*choices)
        if rounding(sum(values)) == rounding(int(sum(counts)))
    ]
    return [(min(some), max(some)) for some in zip(*tables, strict=True)]


@pytest.mark.parametrize("counts", [[4, 4, 4], [4, 20], [1, 1], [9, 9, 9], [14, 4]], ids=str)
@pytest.mark.parametrize("base", [3, 5, 10])
def test_a_small_count_that_a_rounded_total_gives_away_is_found(trial_of, counts, base):
    trial = trial_of(counts, {"margins": True})
    form = trial.recipe_of(trial.outputs.outputs[0]).changed(base=base)
    ends = feasible(counts, base)
    given_away = any(
        low == high for (low, high), count in zip(ends, counts, strict=True) if 0 < count < 10
    )
    assert _narrows(form, trial) == given_away


def test_one_form_of_that_is_given_away(trial_of):
    """Three cells of 1, base 3: each is printed 0 and so 0 or 1, their total is printed 3 and so 2 to 4; 2 ones are enough, so none is given away. With two
    cells of 1 the total, 2, is printed 3: both must be 1."""
    assert feasible([1, 1, 1], 3) == [(0, 1)] * 3
    assert feasible([1, 1], 3) == [(1, 1)] * 2
    trial = trial_of([1, 1], {"margins": True})
    assert 3 not in [form.recipe.base for form in forms_of(ROUND, trial)]


def test_fewer_decimals(trial_of):
    entry = {"name": "m", "kind": "mean", "of": "y", "by": ["x"], "decimals": 3}
    trial = trial_of([[20, 30], [30, 15]], entry, numeric=True)
    forms = forms_of(DECIMALS, trial)
    assert [form.recipe.decimals for form in forms] == [2, 1, 0]
    assert forms[0].description == "numbers printed with 2 decimals instead of 3"
    assert forms[1].description == "numbers printed with 1 decimal instead of 3"
    exact = trial_of([[20, 30], [30, 15]], {**entry, "decimals": None}, numeric=True)
    assert [form.recipe.decimals for form in forms_of(DECIMALS, exact)] == [4, 3, 2, 1, 0]
    assert forms_of(DECIMALS, trial_of([20, 30])) == []
    styled = trial_of(
        [[20, 30], [30, 15]],
        {**entry, "decimals": None, "digits": {"values": "0.00"}},
        numeric=True,
    )
    assert [form.recipe.decimals for form in forms_of(DECIMALS, styled)] == [1, 0]


def test_the_numbers_are_those_of_the_records(trial_of):
    counts = np.array([[20, 30], [3, 15]])
    trial = trial_of(counts)
    form = forms_of(ROUND, trial)[-1]
    assert form.recipe.computed(trial.outputs.fields, trial.codes).counts == [[20, 30], [0, 20]]
