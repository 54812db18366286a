"""Without a holdout: a generator fitted on each half."""

from __future__ import annotations

import pytest

import chaffinch
from chaffinch import Independent
from chaffinch.risk import cross_fit

KEYS = ["wife_age", "wife_education", "num_children", "wife_religion", "wife_now_working"]
SENSITIVE = "husband_education"


def test_a_copying_generator_is_flagged_without_a_holdout(data):
    table = chaffinch.read(data / "cmc.csv")
    copies = cross_fit(
        table, lambda half, seed: half, keys=KEYS, sensitive=[SENSITIVE], attackers=["gcap"], numeric="values", seed=1
    )
    assert copies.family.p_value < 0.01
    assert copies.lower_bound > 0.1
    honest = cross_fit(table, Independent(), keys=KEYS, sensitive=[SENSITIVE], attackers=["gcap"], seed=1)
    assert honest.family.p_value > 0.01  # once in a hundred; seeded
    assert "models of half the size" in honest.about.notes[0]
    for study in (copies, honest):
        for attack in study.attacks:
            assert attack.excess == pytest.approx(attack.value - attack.holdout, abs=0.02)
