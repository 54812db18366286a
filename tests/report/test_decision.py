"""What one decides by, in words."""

from __future__ import annotations

import re
from html import escape

from chaffinch.report.decision import Decision, decision_of
from chaffinch.report.heads import GIVES_AWAY, GOOD_FOR, NOT_TESTED
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.risk.attribution.verdict import LimitVerdict, RiskVerdictRow
from chaffinch.stats.intervals import LimitState
from chaffinch.utility import VerdictRow

ROWS = (
    VerdictRow(id="mu", measure="mu", value=0.1, word="close", sentence="Pairs are kept."),
    VerdictRow(id="delta", measure="delta", word="not applicable", sentence="No label."),
)
OVER = LimitVerdict(max_excess=0.01, state=LimitState.EXCEEDS, lower_bound=0.02, attacks=1)


def test_nothing_is_weighed_and_what_is_missing_is_said():
    decision = Decision.of(ROWS, [], "No formal promise.", holdout=False, keys=False)
    assert [row.id for row in decision.good_for] == ["mu"]
    assert "No label." in decision.not_tested
    assert any("name keys" in sentence for sentence in decision.not_tested)
    assert "The limit" not in str(decision)
    assert (decision.allowed, "limit" in decision.to_dict()) == (None, False)
    assert "mu: close. Pairs are kept." in str(decision)


def test_attacks_and_a_policy_have_their_say():
    decision = Decision.of(
        ROWS,
        [RiskVerdictRow(sentence="The <vote> tells 3 % more.")],
        "Promised.",
        holdout=True,
        keys=True,
        limit=OVER,
    )
    assert decision.gives_away == ("The <vote> tells 3 % more.",)
    assert str(decision).startswith("The limit\n- EXCEEDS THE LIMIT: ")
    assert decision.allowed is False
    assert decision.to_dict()["limit"]["state"] == "exceeds"
    assert "&lt;vote&gt;" in decision._repr_html_()
    assert not any("holdout" in sentence for sentence in decision.not_tested)


def test_without_keys_the_tests_of_whole_records_speak_and_attacks_are_missed():
    decision = Decision.of(
        ROWS,
        [RiskVerdictRow(sentence="No copies were found.")],
        "Promised.",
        holdout=True,
        keys=False,
    )
    assert decision.gives_away == ("No copies were found.",)
    assert any("knows some columns" in sentence for sentence in decision.not_tested)


def test_a_report_carries_its_decision(study_of, risk_of):
    report = report_of(study_of(6), title="t", risk=risk_of())
    decision = decision_of(report)
    plain = report.to_dict()["decision"]
    assert [part["question"] for part in plain["answers"]] == [GIVES_AWAY, GOOD_FOR, NOT_TESTED]
    assert [part["sentence"] for part in plain["answers"]] == [
        part.sentence for part in decision.answers
    ]
    assert plain["answers"][1]["figures"][0]["value"] == decision.answers[1].figures[0].value
    page = render(report).replace("\xa0", " ")
    assert all(
        escape(part.sentence.replace("\xa0", " "), quote=False)[:60] in page
        for part in decision.answers
    )
    assert str(decision).startswith("To decide by")


def test_a_strangers_decision_is_not_believed(study_of):
    plain = report_of(study_of(6), title="t").to_dict()
    plain["decision"] = {"answers": [{"question": "?", "sentence": "All is safe."}]}
    assert "All is safe" not in render(plain)


def test_no_page_calls_a_table_safe(study_of, risk_of):
    for given in ({}, {"holdout": False}, {"holdout": False, "extras": False}):
        for part in decision_of(report_of(study_of(6), title="t", risk=risk_of(**given))).answers:
            assert not re.search(r"\bsafe\b|\bscore of\b", part.sentence)
