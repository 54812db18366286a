"""What a study returns: what leaves, and what does not."""

from __future__ import annotations

import json

import pyarrow as pa

import chaffinch
from chaffinch.risk.finding import Finding, column_findings
from chaffinch.risk.result import ladder_plot, sides_of

KEYS = ["wife_age", "wife_education", "num_children", "wife_religion", "wife_now_working"]
SENSITIVE = "husband_education"


def test_what_leaves_holds_no_record_and_the_rest_says_it_is_confidential(halves):
    study = chaffinch.risk(
        halves[0],
        halves[0],
        halves[1],
        keys=KEYS,
        sensitive=[SENSITIVE],
        attackers=["matching", "memorisation"],
        seed=1,
    )
    told = json.dumps(study.to_dict())
    assert "record_risk" not in told
    secrets = study.confidential()
    assert next(iter(secrets)) == "confidential"
    assert secrets["confidential"] is True
    part = secrets["attacks"][0]
    assert len(part["record_risk"]) == 737
    exposed = [row for group in part["exposed_classes"] for row in group["rows"]]
    assert len(exposed) == len(set(exposed))
    assert all(part["record_risk"][row] == 1.0 for row in exposed)
    assert sum(group["people"] for group in part["exposed_classes"]) == len(exposed)
    assert repr(study).startswith("RiskResult(")
    for record in study.to_dict()["records"]:
        assert all(share is None or share == 0 or share * 737 >= 9.9 for share in record["shares"])


def test_a_ratio_over_a_handful_of_people_does_not_leave():
    rows = {"a": [f"l{i % 40:02d}" for i in range(160)], "s": ["u", "v"] * 80}
    other = {"a": ["l00", "l01"] * 20, "s": ["u"] * 20 + ["v"] * 20}
    study = chaffinch.risk(
        chaffinch.read(pa.table(rows), rare="keep"),
        pa.table(other),
        keys=["a"],
        sensitive=["s"],
        attackers=["cap", "memorisation"],
        seed=1,
    )
    (attack,) = column_findings(study.findings)
    assert attack.value is None
    assert attack.n_matched == "<10"
    assert "fewer than 10 people" in attack.reason
    for step in study.to_dict()["funnel"]:
        for name in ("iS", "DiS", "DiSCO", "DiSDiO", "repU"):
            share = step[name]
            assert share is None or share == 0 or share * 160 >= 9.99


ATTACKS = [
    Finding(
        attacker="dcap",
        keys=("age", "sex"),
        sensitive="ill",
        value=0.6,
        guess=0.5,
        interval=(0.5, 0.7),
    ),
    Finding(attacker="gcap_vote", keys=("age",), sensitive="ill", value=0.4, holdout=0.3),
]


def test_sides_are_those_that_some_attack_has():
    assert sides_of(ATTACKS) == ["value", "holdout", "guess"]
    assert sides_of([]) == []


def test_lines_name_their_keys_where_there_are_several_sets():
    one, many = (
        str(ladder_plot("key", "Caption", ATTACKS, several=several)) for several in (False, True)
    )
    assert "DCAP: age, sex" in many
    assert "DCAP: age, sex" not in one
    for picture in (one, many):
        assert picture.count("<svg") == 1
        assert "synthetic 0.6" in picture
