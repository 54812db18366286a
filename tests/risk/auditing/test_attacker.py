"""An attacker of audits is one place: a toy one, registered, is tried, chosen where it is best, and moves no other's draws."""

from __future__ import annotations

import numpy as np

import chaffinch
from chaffinch.report.audit import audit_page
from chaffinch.risk.auditing import ATTACKERS, AuditAttacker, AuditResult
from chaffinch.risk.auditing.attacker import attack

TOY = AuditAttacker(
    name="oracle", definition="Knows which feature tells.", learn=lambda train, member, seed: lambda features: features[:, 0]
)  # fmt: skip


DULL = AuditAttacker(
    name="dull", definition="Says the same of every run.", learn=lambda train, member, seed: lambda features: 0 * features[:, 0]
)  # fmt: skip


def test_an_attacker_more_moves_no_other(monkeypatch):
    rng, member = np.random.default_rng(1), np.arange(400) % 2 == 1
    features = rng.normal(size=(400, 4)) + 0.5 * member[:, None]
    options = {"delta": 0.0, "level": 0.99, "seed": np.random.SeedSequence(1)}
    without = attack(features, member, **options)
    monkeypatch.setattr(ATTACKERS, "_entries", {"dull": DULL, **ATTACKERS._entries})
    assert attack(features, member, **options) == without
    assert [one.stream for one in ATTACKERS][1:] == [0, 1, 2]


def test_a_toy_attacker_is_in_the_result_and_on_the_page(monkeypatch):
    monkeypatch.setattr(ATTACKERS, "_entries", {})
    ATTACKERS.register(TOY)
    result = chaffinch.audit(
        lambda table, seed: table, epsilon=0.1, neighbours="add-remove", pairs=["narrow"], runs=80, seed=1, threads=1
    )
    assert {finding.attacker for finding in result.findings} == {"oracle"}
    assert AuditResult.from_dict(result.to_dict()) == result
    assert "oracle" in audit_page(result)
    assert "oracle" in result.to_html()
    result.show()
