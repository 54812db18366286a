"""One attack between its references: masks and summaries."""

from __future__ import annotations

import pyarrow as pa

import chaffinch


def test_a_ratio_over_a_handful_of_people_does_not_leave():
    rows = {"a": [f"l{i % 40:02d}" for i in range(160)], "s": ["u", "v"] * 80}
    other = {"a": ["l00", "l01"] * 20, "s": ["u"] * 20 + ["v"] * 20}
    study = chaffinch.risk(
        chaffinch.read(pa.table(rows), rare="keep"),
        pa.table(other),
        keys=["a"],
        sensitive=["s"],
        measures=["cap"],
        attackers=["gcap"],
        seed=1,
    )
    (attack,) = study.attacks
    assert attack.value is None
    assert attack.n_matched == "<10"
    assert "fewer than 10 people" in attack.reason
    for step in study.to_dict()["funnel"]:
        for name in ("iS", "DiS", "DiSCO", "DiSDiO", "repU"):
            share = step[name]
            assert share is None or share == 0 or share * 160 >= 9.99
