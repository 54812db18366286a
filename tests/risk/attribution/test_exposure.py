"""The funnel, the spread of risk and the classes that carry it, by hand."""

import json

import numpy as np
import pytest

from chaffinch.risk.attribution.exposure import funnel, spread
from chaffinch.risk.attribution.matching import match


def people_of():
    """30 people of key 0, all found and right; 20 of key 1, half of them right; 5 of key 2, whom no row matches."""
    keys = np.repeat([0, 1, 2], [30, 20, 5])
    values = np.concatenate([np.zeros(30, dtype=int), np.arange(20) % 2, np.zeros(5, dtype=int)])
    return match(keys[:, None], values, np.array([[0], [1], [1]]), np.array([0, 0, 1]))


def test_the_funnel_by_hand():
    steps = funnel(people_of(), ["k"], "s")
    assert steps.iS == pytest.approx(50 / 55)
    assert steps.DiS == steps.DiSCO == steps.DiSDiO == pytest.approx(30 / 55)
    assert steps.UiO == steps.repU == 0.0
    assert steps.tcap["matched"] == pytest.approx(30 / 50)


def test_the_spread_by_hand_and_small_bins_hidden():
    records, exposed = spread(people_of(), "s")
    assert records.shares[-1] == round(30 / 55, 4)
    assert records.shares[5] is None  # the only other bin that is not small is hidden with the small one, which could be found from it
    assert records.shares[0] is None
    assert (exposed.people, exposed.share) == (30, pytest.approx(30 / 55))


@pytest.mark.parametrize("threshold", [10, 40])
def test_another_threshold_hides_by_it(threshold):
    """30 people are exposed: told under a threshold of ten, not under one of forty."""
    records, exposed = spread(people_of(), "s", threshold)
    steps = funnel(people_of(), ["k"], "s", threshold)
    told = threshold == 10
    assert (exposed.share is not None) == (steps.DiSCO is not None) == told
    assert exposed.people == (30 if told else "<40")
    assert (steps.tcap["conditional"] is not None) == told  # TCAP over the same 30 people
    assert "<10" not in json.dumps([exposed.people, list(records.shares)])
