"""The result of singling out: there and back as plain data, in words, and under another threshold."""

import json

import pytest

from chaffinch.errors import InputError
from chaffinch.risk.singling_out import AttackerSkill, Isolation, SinglingOutResult


def result(success=0.6, **more):
    one = Isolation(3, success, (success - 0.1, success + 0.1), 0.001, 0.1, 0.2)
    options = {
        "targets": 5,
        "rows": 20,
        "population": 100,
        "duplicates": "<10",
        "settings": {},
        **more,
    }
    return SinglingOutResult(
        isolations=(one,),
        closest=one,
        guess=0.2,
        nobody=0.1,
        releases=50,
        attributes_that_suffice=2.5,
        skill=AttackerSkill(0.7, 0.6, 0.8),
        **options,
    )


def test_words_follow_the_interval():
    assert result().above_baseline
    assert result().sentence.endswith("the releases tell who is in the data.")
    assert not result(0.25).above_baseline
    assert result(0.25).sentence.endswith("no more was found than guessing gives.")


@pytest.mark.parametrize("threshold", [10, 40])
def test_plain_data_there_and_back(threshold):
    plain = json.loads(json.dumps(result(threshold=threshold).to_dict()))
    assert plain.get("threshold", 10) == threshold
    assert ("threshold" in plain) == (threshold != 10)
    again = SinglingOutResult.from_dict(plain)
    assert again.to_dict() == plain
    assert list(plain)[:4] == ["format", "version", "success", "interval"]
    assert again.confidential() == {"confidential": True, "predicates": []}


def test_a_study_without_attributes_is_refused():
    with pytest.raises(InputError, match="'by_attributes' is missing"):
        SinglingOutResult.from_dict({**result().to_dict(), "by_attributes": []})


def test_it_shows_itself(capsys):
    result().show()
    printed = capsys.readouterr().out
    assert "3, closest row" in printed
    assert result().sentence in printed
