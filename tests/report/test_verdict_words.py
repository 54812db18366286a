"""Words of verdicts stand in one place, and none is missing there."""

from __future__ import annotations

from chaffinch.report.release import words_section
from chaffinch.report.sections import Cell, PageTable
from chaffinch.risk.attribution.verdict import FOUND, NO_VALUE, NONE_FOUND, UNKNOWN
from chaffinch.utility.verdict import NOT_APPLICABLE, WORDS


def words_of(**sides: bool) -> list[str]:
    table = words_section(**sides).blocks[0]
    assert isinstance(table, PageTable)
    return [
        row[0].word for row in table.rows if isinstance(row, tuple) and isinstance(row[0], Cell)
    ]


def test_every_word_has_its_rule_beside_it():
    assert words_of(utility=True, risk=False) == [*WORDS, NOT_APPLICABLE]
    assert {FOUND, NONE_FOUND, UNKNOWN, NO_VALUE} <= set(words_of(utility=False, risk=True))


def test_rules_stand_once_on_a_page(study_of, risk_of):
    from chaffinch.report.release import render
    from chaffinch.report.result import report_of

    page = render(report_of(study_of(4), title="t", risk=risk_of()))
    assert page.count("in full</summary>") == 2
    assert page.count('id="words"') == 1
