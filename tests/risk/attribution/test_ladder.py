"""The picture of attacks between their references."""

from chaffinch.risk.attribution.attack import Attack
from chaffinch.risk.attribution.result import ladder_plot, sides_of

ATTACKS = [
    Attack(
        measure="dcap",
        keys=("age", "sex"),
        sensitive="ill",
        value=0.6,
        guess=0.5,
        interval=(0.5, 0.7),
    ),
    Attack(measure="gcap_vote", keys=("age",), sensitive="ill", value=0.4, holdout=0.3),
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
