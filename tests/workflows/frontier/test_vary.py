"""One setting at a time: a row a value, with mu, delta, G and risk."""

from __future__ import annotations

import pytest

from chaffinch.report.frontier_result import CandidateSettings
from chaffinch.workflows.frontier.evaluate import FrontierStudy
from chaffinch.workflows.frontier.vary import curve_of


def test_a_curve_has_a_row_for_each_value(study: FrontierStudy) -> None:
    curve = curve_of(study, "bins", CandidateSettings(leaf=30))
    assert [row["value"] for row in curve.rows] == [20, 10, 5]
    for row in curve.rows:
        assert row["G"] == pytest.approx(row["mu"] + row["delta"])
        assert row["lower"] <= row["risk"] <= row["upper"]
    own = study.evaluate(CandidateSettings(leaf=30, bins=5)).evaluation
    assert curve.rows[2]["risk"] == own.risk.estimate
