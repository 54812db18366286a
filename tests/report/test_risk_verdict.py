"""The verdict on attacks: one headline, plain lines, and a folded table."""

from __future__ import annotations

from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.report.risk import risk_verdict_section
from chaffinch.report.sections import Details, Heading, Listing
from chaffinch.report.text import CROSS_FIT_LINE, DETECTABLE_LINE, EXCESS_LINE
from chaffinch.risk import RiskResult


def table_of(section):
    return next(block for block in section.blocks if isinstance(block, Details)).blocks[0]


def test_the_verdict_has_a_row_for_each_attacker_and_one_for_all(risk_of):
    result = RiskResult.from_dict(risk_of(("a", "b"), ("s",), measures=("cap", "rf"), extras=False))
    section = risk_verdict_section(result.verdict)
    table = table_of(section)
    assert [row.text for row in table.rows if isinstance(row, Heading)] == [
        "All attacks together",
        "Sensitive column: s",
    ]
    assert len(table.rows) == 2 + len(result.verdict) == 5
    assert section.blocks[0].text.startswith("Attribute disclosure by 2 attacks: ")
    by_id = {row.id: row for row in result.verdict}
    shown = next(
        row
        for row in table.rows
        if not isinstance(row, Heading) and row[0].text == by_id["cap"].measure
    )
    assert shown[1].text == f"{by_id['cap'].value:.3f}"


def test_no_row_repeats_a_sentence(risk_of):
    result = RiskResult.from_dict(risk_of())
    page = render(report_of(title="t", risk=result))
    for row in result.verdict:
        assert row.together or page.count(row.sentence) <= 1
    cells = [
        cell
        for row in table_of(risk_verdict_section(result.verdict)).rows
        if not isinstance(row, Heading)
        for cell in row
    ]
    assert max(len(str(getattr(cell, "text", cell)).split()) for cell in cells) <= 8


def test_each_word_of_the_trade_has_a_plain_line(risk_of):
    lines = risk_verdict_section(RiskResult.from_dict(risk_of(extras=False)).verdict).blocks[1]
    assert isinstance(lines, Listing)
    assert lines.items == (EXCESS_LINE, DETECTABLE_LINE)


def test_without_a_holdout_the_cross_fit_leads(risk_of):
    result = RiskResult.from_dict(risk_of(holdout=False))
    section = risk_verdict_section(result.verdict, result)
    assert section.blocks[0].text.startswith(
        "There is no holdout, so models of half the people speak. All attacks together, cross-fit: excess found."
    )
    assert CROSS_FIT_LINE in section.blocks[1].items
    assert "not known" not in str(table_of(section).rows)
    alone = risk_verdict_section(RiskResult.from_dict(risk_of(holdout=False, extras=False)).verdict)
    assert "not known" in alone.blocks[0].text
