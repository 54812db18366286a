"""Small pictures of the box that a page opens with."""

from __future__ import annotations

import re

from chaffinch.report.decision import answers_of, decision_of
from chaffinch.report.heads import (
    DecisionFigure,
    TestedLine,
    bars_picture,
    dots_picture,
    looks_picture,
)
from chaffinch.report.result import report_of


def test_three_answers_each_with_a_picture(study_of, risk_of):
    answers = answers_of(decision_of(report_of(study_of(6), title="t", risk=risk_of())))
    assert len(answers) == 3
    assert all(answer.picture is not None and "<desc" in answer.picture for answer in answers)


def test_what_was_not_measured_has_no_picture(study_of, risk_of):
    assert [
        answer.picture is None
        for answer in answers_of(decision_of(report_of(study_of(6), title="t")))
    ] == [True, False, False]
    assert [
        answer.picture is None
        for answer in answers_of(decision_of(report_of(title="t", risk=risk_of())))
    ] == [False, True, False]


def test_dots_stand_where_their_values_are():
    figures = (
        DecisionFigure("guess", 0.0),
        DecisionFigure("people not in the data", 0.5),
        DecisionFigure("people in the data", 1.0, (0.9, 1.0)),
    )
    drawn = dots_picture("k", "t", (*figures, DecisionFigure("detectable excess", 0.25)))
    first = float(re.search(r"<title>guess.*?M([\d.]+) ", drawn)[1])
    middle = (
        float(re.search(r"<title>people not.*?M([\d.]+) ", drawn)[1]) + 4.5
    )  # a square starts at its left edge
    last = float(re.search(r'<title>people in the.*?cx="([\d.]+)"', drawn)[1])
    assert abs((first + last) / 2 - middle) < 0.2
    band = re.search(r'<rect x="([\d.]+)" y="8.0" width="([\d.]+)"', drawn)
    assert abs(float(band[1]) - middle) < 0.2
    assert abs(float(band[2]) - (last - first) / 4) < 0.2


def test_bars_end_where_their_shares_are():
    drawn = bars_picture(
        "k",
        "t",
        (DecisionFigure("a", 0.5, (0.25, 0.75), "weak"), DecisionFigure("b", 1.0)),
        ("none", "all"),
    )
    half, whole = (
        float(width) for width in re.findall(r'width="([\d.]+)" height="11" fill="#0072B2"', drawn)
    )
    assert half * 2 == whole
    assert "a: weak" in drawn


def test_what_was_looked_at_is_told_by_shape_too():
    drawn = looks_picture(
        "k",
        "t",
        (TestedLine("a", "yes", "x"), TestedLine("b", "no", "y"), TestedLine("c", "part", "<z>")),
    )
    shapes = {re.sub(r"[\d. ]+", "", path) for path in re.findall(r'<path d="([^"]+)"', drawn)}
    assert len(shapes) == 3
    assert "&lt;z&gt;" in drawn
