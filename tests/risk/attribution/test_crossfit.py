"""Without a holdout: a generator fitted on each half."""

from __future__ import annotations

import json

import pytest

import chaffinch
from chaffinch import Independent
from chaffinch.risk import cross_fit

KEYS = ["wife_age", "wife_education", "num_children", "wife_religion", "wife_now_working"]
SENSITIVE = "husband_education"


def test_a_copying_generator_is_flagged_without_a_holdout(data):
    table = chaffinch.read(data / "cmc.csv")
    copies = cross_fit(
        table,
        lambda half, seed: half,
        keys=KEYS,
        sensitive=[SENSITIVE],
        attackers=["gcap"],
        numeric="values",
        seed=1,
    )
    assert copies.family.p_value < 0.01
    assert copies.lower_bound > 0.1
    honest = cross_fit(
        table, Independent(), keys=KEYS, sensitive=[SENSITIVE], attackers=["gcap"], seed=1
    )
    assert honest.family.p_value > 0.01  # once in a hundred; seeded
    assert "models of half the size" in honest.about.notes[0]
    for study in (copies, honest):
        for attack in study.attacks:
            assert attack.excess == pytest.approx(attack.value - attack.holdout, abs=0.02)


def test_another_threshold_masks_by_it(data):
    """1,473 people: their number is told in tens under a threshold of ten, and not at all under 5,000."""
    table = chaffinch.read(data / "cmc.csv")
    options = {
        "keys": KEYS[:2],
        "sensitive": [SENSITIVE],
        "measures": ["cap", "disco"],
        "attackers": ["gcap"],
        "resamples": 2,
        "seed": 1,
    }
    shown, hidden = (
        cross_fit(table, lambda half, seed: half, threshold=at, **options) for at in (10, 5000)
    )
    assert shown.about.original.rows == 1470
    assert hidden.about.original.rows == "<5000"
    assert all(attack.value is None for attack in hidden.attacks)
    assert all("fewer than 5000 people" in attack.reason for attack in hidden.attacks)
    plain = json.dumps(hidden.to_dict())
    assert '"<10"' not in plain
    assert hidden.to_dict()["about"]["settings"]["threshold"] == 5000
    assert "threshold" not in shown.to_dict()["about"]["settings"]
