"""The result of a membership attack: there and back as plain data, in words, and under another threshold."""

import json

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.risk.membership import MembershipResult, PartStrength
from chaffinch.risk.membership.rates import LabelledScores, rates


def result(shift=3.0, **more):
    rng = np.random.default_rng(1)
    member = np.arange(400) % 2 == 1
    trials = LabelledScores.of(rng.normal(size=400) + shift * member, member)
    one = rates(trials, trials)
    options = {
        "targets": 1,
        "rows": 20,
        "population": "<30",
        "duplicates": 0,
        "settings": {"shadows": 10},
        **more,
    }
    return MembershipResult(pooled=one, closest=one, worst=one, target_aucs=(one.auc,), **options)


def test_words_follow_the_interval():
    assert result().above_baseline
    assert result().sentence.endswith("What is released tells who is in the data.")
    assert result(0.0).sentence.endswith("no more was found than guessing gives.")


def strengths(auc):
    return (
        PartStrength("linear", auc + 0.01, (auc - 0.02, 1.0), auc, ""),
        PartStrength("extremes", auc, (auc - 0.03, auc), auc, "the largest and smallest values"),
        PartStrength("density", 0.5, (0.4, 0.6), 0.5, "the density of rows at a target"),
    )


def test_a_part_that_explains_it_is_named():
    one = result()
    assert (
        "The largest and smallest values alone tell them apart with AUC"
        in result(strengths=strengths(one.auc)).sentence
    )
    assert "alone tell" not in result(strengths=strengths(one.auc - 0.1)).sentence
    assert "alone tell" not in result(0.0, strengths=strengths(0.52)).sentence
    plain = json.loads(json.dumps(result(strengths=strengths(0.9)).to_dict()))
    assert plain["version"] == 1
    assert plain["parts"][1]["name"] == "extremes"
    again = MembershipResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.strengths[1].interval == pytest.approx((0.87, 0.9))
    assert "parts" not in result().to_dict()


@pytest.mark.parametrize("threshold", [10, 30])
def test_plain_data_there_and_back(threshold):
    found = result(threshold=threshold, about={"data": "a.csv"}, policy={"max_auc": 0.6})
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain.get("threshold", 10) == threshold
    assert ("threshold" in plain) == (threshold != 10)
    again = MembershipResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.threshold == threshold
    assert list(plain)[:4] == ["format", "version", "about", "auc"]
    assert "roc" not in plain["worst_target"]
    assert again.confidential() == {"confidential": True, "targets": []}


def test_other_data_are_refused():
    with pytest.raises(InputError, match="chaffinch attack membership"):
        MembershipResult.from_dict({"format": "chaffinch-risk"})


def test_it_shows_itself(capsys, tmp_path):
    found = result()
    found.show()
    printed = capsys.readouterr().out
    assert "worst target" in printed
    assert found.sentence in printed
    assert "target told best" in found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
