"""What a study returns: what leaves, and what does not."""

from __future__ import annotations

import json

import chaffinch

KEYS = ["wife_age", "wife_education", "num_children", "wife_religion", "wife_now_working"]
SENSITIVE = "husband_education"


def test_what_leaves_holds_no_record_and_the_rest_says_it_is_confidential(halves):
    study = chaffinch.risk(
        halves[0],
        halves[0],
        halves[1],
        keys=KEYS,
        sensitive=[SENSITIVE],
        attackers=["gcap"],
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
