"""Outputs of all the data: people who are alone in a cell of a joint table are found; means and spreads over datasets by numpy."""

import numpy as np
import pytest

from chaffinch.outputs.check.paper_figures import _mean_sd

JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}


def test_whole_data(checked):
    found = checked(JOINT, whole_runs=3)
    assert [(one.sensitive, one.convention, one.runs) for one in found.whole] == [
        ("y", "matched_rows", 3),
        ("y", "all_rows", 3),
    ]
    assert (
        found.whole[0].mean > 0.9
    )  # every cell of the joint table is known: whoever is alone in a cell is found
    assert found.whole[0].error == 0.0
    assert checked(JOINT).whole == ()


def test_means_and_spreads_are_of_what_was_measured():
    assert _mean_sd(np.array([0.2, np.nan, 0.4])) == pytest.approx(
        (0.3, np.std([0.2, 0.4], ddof=1))
    )
    mean, sd = _mean_sd(np.array([0.2]))
    assert mean == 0.2
    assert np.isnan(sd)
    assert np.isnan(_mean_sd(np.array([np.nan]))).all()
