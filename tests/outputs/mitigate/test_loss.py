"""Loss by hand, from what is published alone."""

from __future__ import annotations

import pytest

from chaffinch.outputs.mitigate.search import everything, loss_of

COUNTS = [[100, 4], [200, 50]]


def loss(trial_of, entry=None, **change):
    trial = trial_of(COUNTS, entry or {}, numeric=True)
    before = trial.outputs.outputs[0]
    return loss_of(before, trial.recipe_of(before).changed(**change), trial)


def test_withheld_cells(trial_of):
    one = loss(trial_of, withheld=["0|1"])
    assert (one.share, one.withheld, one.numbers_before, one.numbers_after) == (0.25, 1, 4, 4)
    assert one.records_covered == 0.95  # 350 of 354, in steps of 0.05: what is missing is no count
    assert one.words == "1 of 4 numbers withheld; at least 95% of records covered"


def test_bands(trial_of):
    one = loss(trial_of, groups={"x": [[0, 1]]})
    assert (one.share, one.numbers_after) == (0.5, 2)


def test_rounding_counts_by_how_far_a_number_may_be_off(trial_of):
    one = loss(trial_of, base=10)
    # Printed 100, 0, 200, 50: off by 5 at most, of themselves 0.05, all, 0.025 and 0.1.
    assert one.share == pytest.approx((0.05 + 1 + 0.025 + 0.1) / 4)
    assert one.largest_error == 1.0
    assert "may be off by up to 100.0% of itself" in one.words


def test_the_loss_of_rounding_depends_on_what_is_published_alone(trial_of):
    near = [[102, 3], [199, 54]]  # printed alike
    shares = []
    for counts in (COUNTS, near):
        trial = trial_of(counts, numeric=True)
        before = trial.outputs.outputs[0]
        shares.append(loss_of(before, trial.recipe_of(before).changed(base=10), trial).share)
    assert shares[0] == shares[1]


def test_decimals(trial_of):
    entry = {"name": "m", "kind": "mean", "of": "y", "by": ["x"]}
    one = loss(trial_of, entry, decimals=1)
    assert one.decimals == 1
    assert 0 < one.share < 1


def test_a_recipe_that_cannot_be_computed_has_no_loss_and_a_dropped_output_loses_everything(
    trial_of,
):
    assert loss(trial_of, by=["nothing"]) is None
    trial = trial_of(COUNTS)
    gone = everything(trial.outputs.outputs[0], trial)
    assert (gone.share, gone.numbers_before, gone.numbers_after, gone.words) == (
        1.0,
        4,
        0,
        "everything",
    )
