"""The verdict on attacks and its pictures."""

from __future__ import annotations

from chaffinch.report.risk import risk_sections
from chaffinch.risk import RiskResult


def test_hidden_bins_are_not_drawn_as_nothing(risk_of):
    study = risk_of()
    figure = next(
        s for s in risk_sections(RiskResult.from_dict(study)) if s.id == "risk-records"
    ).blocks[0]
    drawn = {row[0]: row[1] for row in figure.table.rows}
    assert drawn["0.7 to 0.8"] == "hidden: fewer than 10 records"
    assert drawn["0.9 to 1"] == "0\xa0%"
    assert figure.pictures[0].count(">hidden: fewer than 10 records</text>") == 2
    other = next(
        s for s in risk_sections(RiskResult.from_dict(study), 25) if s.id == "risk-records"
    ).blocks[0]
    assert ("0.7 to 0.8", "hidden: fewer than 25 records") in other.table.rows
