"""Rounding: multiples of the base within half of it, the same number the same everywhere, and no small count that rounded totals give away."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.mitigate.base import RuleTrial
from chaffinch.outputs.mitigate.coarsening import DECIMALS, ROUND, _narrowed
from chaffinch.outputs.rules import Policy

from .conftest import fields_of, people


def forms_of(mitigation, trial, k=0):
    return [
        form for series in mitigation.series(trial.outputs.outputs[k], trial) for form in series
    ]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(sum))
def test_rounded_counts_are_multiples_within_half_a_base(counts):
    fields, codes = fields_of((len(counts),)), people(counts)
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
    assert forms_of(ROUND, trial)[0].words == "counts and totals rounded to multiples of 3"
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
    assert _narrowed(form, trial) == given_away


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
    assert forms[0].words == "numbers printed with 2 decimals instead of 3"
    assert forms[1].words == "numbers printed with 1 decimal instead of 3"
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
