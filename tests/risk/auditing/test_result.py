"""What an audit found, in words and as plain data."""

import json

import pytest

from chaffinch.errors import InputError
from chaffinch.risk.auditing import AuditFinding, AuditResult, ClaimVerdict, Skipped


def finding(bound, factor=2.3, box="black", measure="epsilon", claim=1.0):
    return AuditFinding(
        "narrow", box, measure, bound, claim, 2000, 1000, 900, 500, factor, "linear"
    )


def result(*findings):
    return AuditResult(
        "toy", 1.0, 0.0, "add-remove", 0.999, 0.9995, findings, (Skipped("empty", "it refuses"),)
    )


def test_only_a_bound_above_the_claim_breaks_it():
    assert finding(1.0).verdict is ClaimVerdict.NOT_REFUTED
    assert finding(1.01).verdict is ClaimVerdict.BROKEN
    both = result(finding(0.2), finding(0.06, box="mechanism", measure="rho", claim=0.02))
    assert both.verdict is ClaimVerdict.BROKEN
    assert both.worst.box == "mechanism"  # by what it is of its own claim
    assert "rho 0.02 as it is accounted for, and rho is at least 0.06" in both.lead


def test_which_violation_would_have_been_found_is_said():
    words = finding(0.1).sentence
    assert (
        "a true epsilon of 2.3 times the claim would have been found with a probability of 80 % in 2,000 runs"
        in words
    )
    assert "hardly any violation" in finding(0.1, factor=None).sentence
    both = result(finding(0.1), finding(0.1, factor=1.7, box="mechanism"))
    assert both.lead.startswith("Not refuted")
    assert "A true epsilon of 1.7 times the claim" in both.lead
    assert "hardly any violation" in result(finding(0.1, factor=None)).lead


def test_plain_data_there_and_back_in_their_order():
    plain = json.loads(json.dumps(result(finding(0.2)).to_dict()))
    assert list(plain)[:4] == ["format", "version", "synthesiser", "verdict"]
    assert list(plain["findings"][0])[:4] == ["pair", "box", "verdict", "measure"]
    assert AuditResult.from_dict(plain) == result(finding(0.2))
    with pytest.raises(InputError, match="must be of format 'chaffinch-audit'"):
        AuditResult.from_dict({"format": "other"})


def test_it_shows_itself(capsys):
    audit = result(finding(0.2))
    audit.show()
    printed = capsys.readouterr().out
    assert "Not refuted" in printed
    assert "Pair 'empty' was not tried: it refuses." in printed
    html = audit._repr_html_()
    assert (html.count("<table>"), html.count("<svg")) == (1, 1)
