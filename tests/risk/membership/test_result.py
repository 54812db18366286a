"""The result of a membership attack: there and back as plain data, in words, and under another threshold."""

import json

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.risk.finding import HEAD
from chaffinch.risk.membership import MembershipResult
from chaffinch.risk.membership.rates import LabelledScores, rates
from chaffinch.risk.membership.result import auc_finding


def result(shift=3.0, parts=(), **more):
    rng = np.random.default_rng(1)
    member = np.arange(400) % 2 == 1
    trials = LabelledScores.from_arrays(rng.normal(size=400) + shift * member, member)
    one = rates(trials, trials)
    options = {
        "targets": 1,
        "subset_rows": 20,
        "population": "<30",
        "duplicates": 0,
        "settings": {"shadows": 10},
        **more,
    }
    both = (
        auc_finding(name, one.auc, one.auc_interval, targets=1) for name in ("combined", "closest")
    )
    return MembershipResult(
        findings=(*both, *parts),
        pooled=one,
        closest=one,
        worst=one,
        target_aucs=(one.auc,),
        mean_aucs={part.attacker: part.value for part in parts},
        **options,
    )


def test_words_follow_the_interval():
    assert result().findings[0].word == "excess found"
    assert result().sentence.endswith("What is released tells who is in the data.")
    assert result(0.0).findings[0].word == "no excess found"
    assert result(0.0).sentence.endswith("a guess has 0.5. No more was found than guessing gives.")


def test_a_finding_is_beside_a_guess():
    finding = auc_finding("exact", 0.75, (0.5, 1.0), targets=3)
    assert (finding.guess, finding.excess, finding.excess_interval) == (0.5, 0.25, (0.0, 0.5))
    assert not finding.excess_found  # the interval begins at the guess
    assert auc_finding("exact", 0.75, (0.51, 1.0), targets=3).excess_found
    assert finding.sentence.replace("\xa0", " ") == (
        "By rare values that were released as they are members are distinguished from others with AUC 0.75; "
        "without a look at the table 0.5 would be: no more than chance gives."
    )


def parts(auc):
    return (
        auc_finding("linear", auc + 0.01, (auc - 0.02, 1.0), targets=1),
        auc_finding("extremes", auc, (auc - 0.03, auc), targets=1),
        auc_finding("density", 0.5, (0.4, 0.6), targets=1),
    )


def test_a_part_that_explains_it_is_named():
    one = result()
    assert (
        "The largest and smallest values alone tell them apart with AUC"
        in result(parts=parts(one.auc)).sentence
    )
    assert "alone tell" not in result(parts=parts(one.auc - 0.1)).sentence
    assert "alone tell" not in result(0.0, parts=parts(0.52)).sentence
    plain = json.loads(json.dumps(result(parts=parts(0.9)).to_dict()))
    assert plain["version"] == 2
    assert plain["findings"][3]["attacker"] == "extremes"
    assert plain["mean_aucs"]["extremes"] == 0.9
    again = MembershipResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.parts[1].interval == pytest.approx((0.87, 0.9))
    assert "mean_aucs" not in result().to_dict()


@pytest.mark.parametrize("threshold", [10, 30])
def test_plain_data_there_and_back(threshold):
    found = result(threshold=threshold, about={"data": "a.csv"}, policy={"max_auc": 0.6})
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain.get("threshold", 10) == threshold
    assert ("threshold" in plain) == (threshold != 10)
    again = MembershipResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.threshold == threshold
    assert again.findings == found.findings
    assert list(plain)[:4] == ["format", "version", "findings", "about"]
    # The curve of one person's target stays.
    assert plain["worst"]["fpr"] == plain["worst"]["tpr"] == []
    assert plain["pooled"]["fpr"][-1] == 1.0
    assert "each" not in plain
    assert again.confidential() == {"confidential": True, "targets": []}


def test_other_data_are_refused():
    with pytest.raises(InputError, match="chaffinch attack membership"):
        MembershipResult.from_dict({"format": "chaffinch-risk"})
    with pytest.raises(InputError, match=r"reads version 2 of 'chaffinch-membership'\. Got '1'"):
        MembershipResult.from_dict({**result().to_dict(), "version": 1})


@pytest.mark.parametrize(
    ("sizes", "line"),
    [
        ((1, 1, 1, 0), "1 target; subsets of 1 out of 1 record."),
        ((0, 1000, "<10", 0), "0 targets; subsets of 1,000 out of <10 records."),
        (
            (2, 20, 1234, "<10"),
            "2 targets; subsets of 20 out of 1,234 records; <10 left out, as others have the same values.",
        ),
    ],
)
def test_the_sizes_are_printed(sizes, line):
    names = ("targets", "subset_rows", "population", "duplicates")
    found = result(**dict(zip(names, sizes, strict=True)))
    assert found.lines()[0] == line
    assert found.lines(page=True) == (found.sentence,)


def test_it_is_a_table():
    found = result(parts=parts(0.9))
    assert [row[0] for row in found.rows()][-1] == "Density of rows"  # the worst first
    assert tuple(found.to_pandas().columns) == HEAD
    assert len(found.to_pandas()) == 5


def test_it_shows_itself(capsys, tmp_path):
    found = result()
    found.show()
    printed = capsys.readouterr().out
    assert "worst target" in printed
    assert found.sentence in printed
    assert "1 target; subsets of 20 out of <30 records." in printed
    page = found.to_html(tmp_path / "page.html")
    assert "worst target" in page
    assert "Was this person in the data?" in page
    assert (tmp_path / "page.html").exists()
