"""What several releases tell together, in words and as plain data."""

from __future__ import annotations

from chaffinch.risk.attribution.together import JOINT_HEAD, JointFinding, Together

ADDS = JointFinding(
    kind="test",
    measure="exact_row",
    value=0.08,
    holdout=0.0,
    excess=0.08,
    alone=(0.02, None),
    added=0.06,
    added_interval=(0.04, 0.08),
    added_p=0.001,
    added_p_family=0.002,
)
NOTHING = JointFinding(
    measure="dcap",
    keys=("age", "sex"),
    sensitive="ill",
    excess=0.01,
    alone=(0.01, 0.01),
    added=0.0,
    added_p_family=0.7,
)


def test_the_sentence_is_about_what_adds_most() -> None:
    sentence = Together(tables=2, findings=(NOTHING, ADDS)).sentence
    assert sentence.startswith(
        "Whoever holds 2 tables finds more than from one of them: by Exact row the excess is +0.080"
    )
    assert "+0.060 (95 % interval 0.04 to 0.08)" in sentence


def test_nothing_added_is_said_with_its_chance() -> None:
    sentence = Together(tables=1, model_rows=500, findings=(NOTHING,)).sentence
    assert "the table and the model was not seen to find more" in sentence
    assert "is 0.7." in sentence


def test_what_is_about_few_people_has_no_number() -> None:
    few = JointFinding(kind="test", measure="exact_row", alone=(None, None), added_p_family=0.01)
    assert "about too few people to be said" in Together(tables=2, findings=(few,)).sentence


def test_without_a_holdout_the_reason_is_given() -> None:
    assert (
        Together(tables=2, findings=(JointFinding(measure="dcap"),), reason="No holdout.").sentence
        == "Attacked together: No holdout."
    )


def test_rows_stand_in_order_of_what_is_added() -> None:
    rows = Together(tables=2, findings=(NOTHING, ADDS)).rows()
    assert [row[0] for row in rows] == ["Exact row", "DCAP"]
    assert rows[0][6] == "+0.020, masked"
    assert all(len(row) == len(JOINT_HEAD) for row in rows)


def test_plain_data_are_read_back() -> None:
    joint = Together(tables=2, names=("2024", "2025"), findings=(NOTHING, ADDS))
    assert Together.from_dict(joint.to_dict()) == joint
