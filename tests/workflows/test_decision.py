"""What one decides by, in words."""

from __future__ import annotations

from chaffinch.risk.attribution.verdict import RiskVerdictRow
from chaffinch.utility import VerdictRow
from chaffinch.workflows.decision import Decision

ROWS = (
    VerdictRow(id="mu", measure="mu", value=0.1, word="close", sentence="Pairs are kept."),
    VerdictRow(id="delta", measure="delta", word="not applicable", sentence="No label."),
)


def test_nothing_is_weighed_and_what_is_missing_is_said():
    decision = Decision.of(ROWS, [], "No formal promise.", holdout=False, keys=False, allowed=None)
    assert [row.id for row in decision.good_for] == ["mu"]
    assert "No label." in decision.not_tested
    assert any("name keys" in sentence for sentence in decision.not_tested)
    assert "Policy" not in str(decision)
    assert "mu: close. Pairs are kept." in str(decision)


def test_attacks_and_a_policy_have_their_say():
    decision = Decision.of(ROWS, [RiskVerdictRow(sentence="The <vote> tells 3 % more.")], "Promised.", holdout=True, keys=True, allowed=False)
    assert decision.gives_away == ("The <vote> tells 3 % more.",)
    assert "above what is allowed" in str(decision)
    assert "&lt;vote&gt;" in decision._repr_html_()
    assert not any("holdout" in sentence for sentence in decision.not_tested)


def test_without_keys_the_tests_of_whole_records_speak_and_attacks_are_missed():
    decision = Decision.of(ROWS, [RiskVerdictRow(sentence="No copies were found.")], "Promised.", holdout=True, keys=False, allowed=None)
    assert decision.gives_away == ("No copies were found.",)
    assert any("knows some columns" in sentence for sentence in decision.not_tested)
