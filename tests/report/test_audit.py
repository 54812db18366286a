"""The page on an audit."""

from __future__ import annotations

from chaffinch.report.attacks import audit_page
from chaffinch.risk.auditing import AuditResult


def audit(bound=0.4):
    findings = [
        {
            "pair": "narrow",
            "box": box,
            "verdict": "claim broken" if value > 1 else "not refuted",
            "measure": "epsilon",
            "bound": value,
            "claim": 1.0,
            "runs": 2000,
            "test_runs": 1000,
            "guesses": 900,
            "right": 500,
            "factor": factor,
            "attacker": "linear",
        }
        for box, value, factor in (("mechanism", bound, 2.3), ("black", 0.1, None))
    ]
    return AuditResult.from_dict(
        {
            "format": "chaffinch-audit",
            "version": 2,
            "synthesiser": "BayesNet(epsilon=1.0)",
            "verdict": "claim broken" if bound > 1 else "not refuted",
            "lead": "",
            "epsilon": 1.0,
            "delta": 1e-6,
            "neighbours": "add or remove one record",
            "level": 0.99,
            "level_each": 0.995,
            "findings": findings,
            "skipped": [{"pair": "empty", "box": "", "reason": "the synthesiser refuses <it>"}],
        }
    )


def test_a_page_is_whole_and_calls_nobody(whole_drawing):
    whole_drawing(audit_page(audit(2.0)))


def test_an_audit_says_broken_or_not_refuted():
    html = audit_page(audit(2.0))
    assert "The claim is broken" in html
    assert (
        "Claim broken: epsilon 1.0, delta 1e-06 (add or remove one record) is claimed, and epsilon is at least 2."
        in html
    )
    sound = audit_page(audit())
    assert "The claim is broken" not in sound
    assert "That is no proof" in sound
    assert (
        "A true epsilon of 2.3 times the claim would have been found with a probability of 80 %"
        in sound
    )
    assert "hardly any violation" in sound
    assert "the synthesiser refuses &lt;it&gt;" in sound
