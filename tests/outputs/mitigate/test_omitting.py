"""What stands beside the main numbers is left out, and nothing else."""

from __future__ import annotations

from chaffinch.outputs.mitigate.coarsening import ENDS, OMIT


def forms_of(mitigation, trial):
    return [
        form for series in mitigation.series(trial.outputs.outputs[0], trial) for form in series
    ]


COUNTS = [[20, 30], [13, 15]]


def test_n_and_margins_are_left_out_one_by_one(trial_of):
    trial = trial_of(COUNTS, {"margins": True, "n": True})
    forms = forms_of(OMIT, trial)
    assert [form.words for form in forms] == [
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
    assert form.words == "without the totals"
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
    assert form.recipe.at == [0.5]
    assert form.words == "without the smallest and the largest value"
