"""The verdict on attacks and its pictures."""

from __future__ import annotations

from chaffinch.report.risk import risk_sections
from chaffinch.report.risk_figures import risk_verdict_section
from chaffinch.report.sections import Heading
from chaffinch.risk import RiskResult


def test_hidden_bins_are_not_drawn_as_nothing(risk_of):
    study = risk_of()
    figure = next(s for s in risk_sections(RiskResult.from_dict(study)) if s.id == "risk-records").blocks[0]
    drawn = {row[0]: row[1] for row in figure.table.rows}
    assert drawn["0.7 to 0.8"] == "hidden: fewer than 10 records"
    assert drawn["0.9 to 1"] == "0\xa0%"
    assert figure.pictures[0].count(">hidden: fewer than 10 records</text>") == 2
    other = next(s for s in risk_sections(RiskResult.from_dict(study), 25) if s.id == "risk-records").blocks[0]
    assert ("0.7 to 0.8", "hidden: fewer than 25 records") in other.table.rows


def test_the_verdict_has_a_row_for_each_attacker_and_one_for_all(risk_of):
    result = RiskResult.from_dict(risk_of(("a", "b"), ("s",), measures=("cap", "rf"), extras=False))
    section = risk_verdict_section(result.verdict)
    table = section.blocks[1]
    assert [row.text for row in table.rows if isinstance(row, Heading)] == ["All attacks together", "Sensitive column: s"]
    assert len(table.rows) == 2 + len(result.verdict) == 5
    assert section.blocks[0].text.startswith("Attribute disclosure by 2 attacks: ")
    by_id = {row.id: row for row in result.verdict}
    shown = next(row for row in table.rows if not isinstance(row, Heading) and row[0].text == by_id["cap"].measure)
    assert shown[1].text == f"{by_id['cap'].value:.3f}"
