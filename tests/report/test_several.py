"""Three reports or more: hand-worked bests, one picture, and what keeps them from being compared."""

from __future__ import annotations

import json

import pytest

import chaffinch
from chaffinch.report.compare import compare_all
from chaffinch.report.result import report_of
from chaffinch.report.several import _best

from .test_accessible import outline


def reports(study_of, risk_of):
    return [
        report_of(
            study_of(6, noise=noise),
            title=f"noise {noise}",
            risk=risk_of(excess=seed / 100),
            synthesis={"network": {"method": "bayesnet", "parents": k}},
        )
        for noise, seed, k in ((1.0, 1, 1), (2.0, 2, 2), (4.0, 3, 3))
    ]


@pytest.mark.parametrize(
    ("values", "intervals", "higher", "wanted"),
    [
        ((0.1, 0.2, 0.3), (None,) * 3, False, ("A",)),
        ((0.1, 0.2, 0.3), (None,) * 3, True, ("C",)),
        ((0.1, 0.2, 0.3), ((0.05, 0.15), (0.14, 0.26), (0.29, 0.31)), False, ("A", "B")),
        ((0.1, None, 0.3), (None,) * 3, False, ()),
        ((0.1, 0.1, 0.1), (None,) * 3, False, ("A", "B", "C")),
    ],
)
def test_the_best_and_those_that_cannot_be_told_from_it(values, intervals, higher, wanted):
    assert _best(values, intervals, higher=higher) == wanted


def test_three_reports_in_one(study_of, risk_of):
    found = compare_all(reports(study_of, risk_of))
    assert found.names == ("noise 1.0: parents 1", "noise 2.0: parents 2", "noise 4.0: parents 3")
    two = next(row for row in found.measures if row.id == "tvd_2")
    assert two.values == (0.034, 0.068, 0.136)
    assert two.nearest == ("A",)  # intervals are ten per cent either way
    assert [row[0] for row in found.picture.table.rows] == ["A", "B", "C"]
    assert "B: noise 2.0: parents 2" in found.picture.note
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["reports"] == {"A": found.names[0], "B": found.names[1], "C": found.names[2]}
    page = found.to_html()
    outline(page)
    assert "3 reports compared" in page
    assert page.count('class="answer"') == 3
    assert "<strong>May leave.</strong>" in page
    assert found.to_text().startswith("A: noise 1.0: parents 1")


def test_other_settings_keep_numbers_apart(study_of):
    one, two, three = study_of(6), study_of(6), study_of(6)
    three["phi_k"]["settings"]["bins"] = 99
    found = compare_all([one, two, three])
    assert next(row for row in found.measures if row.id == "phi_k").nearest == ()
    assert any("bins" in note and " in C" in note for note in found.notes)


def test_reports_without_attacks_say_so(study_of):
    found = compare_all([study_of(6), study_of(6, noise=2.0), study_of(6, noise=3.0)])
    assert found.picture is None
    assert found.answers[0].sentence.startswith("Not compared: ")


def test_one_report_or_other_columns_are_refused(study_of):
    with pytest.raises(chaffinch.errors.InputError, match="two reports or more"):
        compare_all([study_of(3)])
    with pytest.raises(chaffinch.errors.InputError, match="only in C"):
        compare_all([study_of(3), study_of(3), study_of(4)])


def test_tests_of_whole_records_are_compared_too(study_of, risk_of):
    """The excess of one test is found in B alone: it comes first, and no sentence says that the tables are alike."""
    told = []
    for excess, p_family in ((0.01, 0.8), (0.154, 0.007), (0.02, 0.6)):
        risk = risk_of(extras=False)
        finding = {
            "test": "rare_combination",
            "value": 0.7,
            "holdout": 0.7 - excess,
            "excess": excess,
            "excess_interval": [excess - 0.05, excess + 0.05],
        }
        risk["memorisation_tests"] = [
            {
                **finding,
                "p_value": p_family,
                "p_family": p_family,
                "lower_bound": excess - 0.1,
                "n_people": 300,
            }
        ]
        told.append(report_of(study_of(6), title="", risk=risk))
    found = compare_all(told, ["run 3", "run 5", "run 9"])
    assert [name.split(":")[0] for name in found.names] == ["run 3", "run 5", "run 9"]
    (test,) = found.tests
    assert test.words == ("no excess found", "excess found", "no excess found")
    assert found.answers[0].sentence == "A, C: no excess found. B: excess found."
    text = found.to_text()
    first = next(line for line in text.splitlines() if line.startswith("Rare combination"))
    assert "+0.154, excess found" in first
    page = found.to_html()
    for words in ("excess found", "run 5", "Rare combination"):
        assert words in page
    assert "told apart" not in found.answers[0].sentence + " ".join(found.answers[0].notes)
    assert found.to_dict()["tests"][0]["words"] == list(test.words)
