"""What an audit found, in words and as plain data."""

import json

import pytest

from chaffinch.errors import InputError
from chaffinch.risk.auditing import AuditFinding, AuditResult, ClaimVerdict, Skipped


def finding(bound, detectable=5.0, box="black"):
    return AuditFinding("narrow", box, bound, 1.0, 0.0, 2000, 500, detectable, "linear", 400, 100)


def result(*findings):
    return AuditResult("toy", 1.0, 0.0, "add-remove", 0.99, 0.995, findings, (Skipped("empty", "it refuses"),))


def test_only_a_bound_above_the_claim_breaks_it():
    assert finding(1.0).verdict is ClaimVerdict.NOT_REFUTED
    assert finding(1.01).verdict is ClaimVerdict.BROKEN
    both = result(finding(0.2), finding(1.5, box="white"))
    assert both.verdict is ClaimVerdict.BROKEN
    assert both.worst.box == "white"
    assert both.bound == 1.5


def test_what_could_not_have_been_shown_is_said():
    assert "could not have refuted it: they show 0.9 at most" in finding(0.1, detectable=0.9).sentence
    assert "could have shown up to 5" in finding(0.1).sentence
    assert result(finding(0.1)).sentences[0].startswith("Not refuted")


def test_plain_data_there_and_back_in_their_order():
    plain = json.loads(json.dumps(result(finding(0.2)).to_dict()))
    assert list(plain)[:4] == ["format", "version", "synthesiser", "verdict"]
    assert list(plain["findings"][0])[:4] == ["pair", "box", "verdict", "bound"]
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
