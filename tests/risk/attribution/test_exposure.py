"""The funnel, the spread of risk and the classes that carry it, by hand."""

import json

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk.attribution.exposure import equal_rows, funnel, spread
from chaffinch.risk.attribution.matching import match
from chaffinch.risk.attribution.tcap import tcap_of
from chaffinch.table.align import align
from chaffinch.table.compare.values import CodedTables
from chaffinch.table.read import read


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
    assert (
        records.shares[5] is None
    )  # the only other bin that is not small is hidden with the small one, which could be found from it
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


def test_tcap_is_masked_by_people_not_by_synthetic_rows():
    # 30 synthetic rows are certain of the keys of three people; two rows are certain of those of 25.
    few = match(
        np.repeat([0, 1], [3, 40])[:, None],
        np.zeros(43, dtype=int),
        np.repeat([0, 2], [30, 5])[:, None],
        np.zeros(35, dtype=int),
    )
    many = match(
        np.repeat([0, 1], [25, 5])[:, None],
        np.zeros(30, dtype=int),
        np.array([[0], [0]]),
        np.array([0, 0]),
    )
    assert (tcap_of(few).n_matched, tcap_of(few).n_people) == (30, 3)
    assert (tcap_of(many).n_matched, tcap_of(many).n_people) == (2, 25)
    assert funnel(few, ["k"], "s").tcap["matched_rows"] is None
    assert funnel(many, ["k"], "s").tcap["matched_rows"] == 1.0


def test_equal_rows_are_those_of_equal_values():
    # Numbers of one bin, and levels of one pool, are not equal.
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "pay": np.round(rng.lognormal(8, 1, 200), 2),
            "town": [f"t{i}" if i < 5 else "a" for i in range(200)],
        }
    )
    near = pa.table({"pay": np.asarray(table["pay"]) + 0.01, "town": table["town"]})
    released = pa.concat_tables([table.slice(0, 50), near.slice(50)])
    original, synthetic, holdout = align(read(table), released, near)
    tables = {"original": original, "synthetic": synthetic}
    shares = equal_rows(CodedTables({**tables, "holdout": holdout}), "synthetic")
    assert (shares.rows_equal, shares.holdout_rows_equal) == (0.25, 0.0)
    assert equal_rows(CodedTables(tables, {"pay": 1e5}), "synthetic").rows_equal == 1.0
    assert equal_rows(CodedTables(tables), "synthetic").holdout_rows_equal is None
