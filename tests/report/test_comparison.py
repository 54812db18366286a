"""Two reports side by side: as plain data, as text and as a page."""

from __future__ import annotations

import json

from chaffinch.report.compare import compare
from chaffinch.report.result import report_of


def test_plain_data_text_and_page(study_of):
    hostile = "<script>alert(1)</script>"
    names = [hostile, "b", "c", "d"]
    found = compare(study_of(names, noise=2.0), report_of(study_of(names, seed=2), title=hostile))
    told = found.to_dict()
    assert (told["format"], told["version"]) == ("chaffinch-comparison", 1)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    text = found.to_text()
    lines = text.splitlines()
    assert lines[0] == "A: synthetic.parquet"
    assert lines[1] == f"B: {hostile}"  # the titles differ
    assert len(found.rows()) == len(found.measures) == 14
    for row in found.rows():
        assert any(line.startswith(row[0]) and line.endswith(row[-1]) for line in lines)
    html = found.to_html()
    assert "<script" not in html
    assert html.count("<table>") == 4
    assert "&lt;script&gt;" in html
    assert found._repr_html_().count("<tr>") == 15


def test_sides_are_called_a_and_b_in_plain_data(risk_of):
    """A comparison of results and one of their JSON are the same."""
    from chaffinch.risk import RiskResult

    plain = risk_of(("a", "b"), ("s",), measures=("cap",), extras=False)
    row = compare(plain, plain).to_dict()["attacks"][0]
    assert {"A", "B", "interval_A", "interval_B", "excess_A", "excess_B"} <= set(row)
    result = RiskResult.from_dict(plain)
    assert (
        compare(result, result).to_dict()["attacks"] == compare(plain, plain).to_dict()["attacks"]
    )


def with_test_of(risk_of, *, p_family, excess=0.154, **more):
    """A study whose memorisation test has an excess that is found, or not."""
    risk = risk_of(("a", "b"), ("s",), measures=("cap",), extras=False)
    finding = {
        "test": "rare_combination",
        "value": 0.7,
        "holdout": 0.7 - excess,
        "excess": excess,
        "excess_interval": [excess - 0.01, excess + 0.01],
    }
    risk["memorisation_tests"] = [
        {
            **finding,
            "p_value": p_family,
            "p_family": p_family,
            "lower_bound": excess - 0.1,
            "n_people": 300,
            **more,
        }
    ]
    return risk


def test_an_excess_that_one_table_has_is_said_first(risk_of):
    found = compare(
        with_test_of(risk_of, p_family=0.007), with_test_of(risk_of, p_family=0.9, excess=0.0)
    )
    (row,) = found.tests
    assert (row.word_a, row.word_b, row.safer, row.keys) == (
        "excess found",
        "no excess found",
        "B",
        (),
    )
    assert found.findings[0] is row
    assert found.answers[0].sentence == "A: excess found. B: no excess found."
    assert "an excess of +0.154" in found.answers[0].notes[0]
    lines = found.to_text().splitlines()
    assert any(
        line.startswith("Rare combination") and "+0.154, excess found" in line for line in lines
    )
    assert "What does it give away? A: excess found. B: no excess found." in lines
    plain = found.to_dict()["tests"][0]
    assert (plain["word_A"], plain["word_B"], plain["excess_A"]) == (
        "excess found",
        "no excess found",
        0.154,
    )
    page = found.to_html()
    assert "+0.154, excess found" in page
    assert "of 2 attacks and tests in both, excess found by 1, no excess found by 1" in page


def test_a_test_that_one_report_has_alone_is_said(risk_of):
    with_test = with_test_of(risk_of, p_family=0.007)
    without = {**with_test, "memorisation_tests": []}
    found = compare(with_test, without)
    assert found.tests == ()
    assert "1 test is in A only, 1 of them with an excess found." in found.notes


def test_a_test_without_an_excess_is_not_ranked(risk_of):
    hidden = with_test_of(risk_of, p_family=0.3, excess=0.1) | {}
    hidden["memorisation_tests"][0] |= {
        "excess": None,
        "excess_interval": None,
        "holdout": None,
        "value": None,
        "reason": "It is about fewer than 10 people.",
    }
    (row,) = compare(with_test_of(risk_of, p_family=0.5), hidden).tests
    assert (row.safer, row.why) == (None, "no excess in B: It is about fewer than 10 people")
    assert (row.word_b, row.b) == ("no excess found", None)


def test_settings_of_attacks_that_differ_are_listed(risk_of):
    one, other = (risk_of(("a", "b"), ("s",), measures=("cap",), extras=False) for _ in "AB")
    other["about"]["settings"] |= {"numeric": "values", "resamples": 50}
    found = compare(one, other)
    assert {(row.setting, row.matters) for row in found.settings} == {
        ("numeric", True),
        ("resamples", False),
    }
    assert found.attacks[0].safer is None
