"""How a result was made: only what is known is written."""

from chaffinch._base.results import RunFacts


def test_what_is_not_known_is_left_out():
    assert RunFacts().to_dict() == {}
    assert RunFacts(date="2026-01-02").to_dict() == {"date": "2026-01-02"}


def test_seconds_are_rounded_to_the_millisecond_and_stand_first():
    facts = RunFacts({"fit": 1.23456, "draw": 2.0}, {"numpy": "2.0"}, command=("chaffinch", "fit"))
    assert list(facts.to_dict().items()) == [
        ("seconds", {"fit": 1.235, "draw": 2.0}),
        ("versions", {"numpy": "2.0"}),
        ("command", ("chaffinch", "fit")),
    ]
