"""Sections of what one does with the table: their tables against the results they show."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from chaffinch.report.sections import Details, Figure, Listing, Paragraph
from chaffinch.report.uses import sweep_plot, uses_sections
from chaffinch.utility import UtilityResult

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"&'\u202e\x00"


@pytest.fixture
def sections(study_of):
    study = study_of(15)
    study["delta"]["skipped"] = [{"label": "race", "why": "it has one class"}]
    study["regression"]["rows"][1]["note"] = "not determined in the synthetic table"
    return {section.id: section for section in uses_sections(UtilityResult.from_dict(study))}


def figure_of(section):
    return next(block for block in section.blocks if isinstance(block, Figure))


def test_learning_shows_every_model_and_table(sections):
    table = figure_of(sections["learning"]).table
    assert table.head == (
        "Model",
        "Learnt from",
        "Accuracy",
        "Standard deviation",
        "Precision",
        "Recall",
        "F2",
        "AUC",
    )
    assert table.rows[0] == (
        "Naive Bayes",
        "original",
        "0.800",
        "0.004",
        "0.700",
        "0.550",
        "0.570",
        "0.890",
    )
    assert len(table.rows) == 15
    (matrices,) = (block for block in sections["learning"].blocks if isinstance(block, Details))
    assert matrices.summary == "Confusion matrices (6)"
    assert matrices.blocks[1].tables[0].rows == (
        ("<=50K", "6,830", "590"),
        (">50K", "1,010", "<10"),
    )


def test_labels_stand_by_how_far_they_are_off_and_skipped_ones_are_said(sections):
    table = figure_of(sections["delta"]).table
    assert len(table.rows) == 7
    assert all(len(row) == 5 for row in table.rows)
    assert sections["delta"].blocks[-1] == Listing(("race: left out, it has one class",))


def test_coefficients_with_notes(sections):
    table = figure_of(sections["regression"]).table
    assert table.head[-1] == "Note"
    assert table.rows[1][-1] == "not determined in the synthetic table"
    assert sections["regression"].blocks[0] == Paragraph("Logistic regression: income ~ age + sex")


def test_a_sweep_has_a_plot_for_each_measure(sections):
    figure = figure_of(sections["sweep"])
    assert len(figure.pictures) == 3
    assert len(figure.table.rows) == 15


def test_what_does_not_apply_says_why(study_of, no_value):
    study = {**study_of(3, label=False), "delta": no_value("no label is left.")}
    sections = {section.id: section for section in uses_sections(UtilityResult.from_dict(study))}
    assert sections["learning"].blocks == (Paragraph("Not applicable: no label was named."),)
    assert sections["delta"].blocks == (Paragraph("Not applicable: no label is left."),)


@pytest.mark.parametrize(
    "settings", [[0.01, 0.1, 1.0], [1.0, 2.0, 3.0], ["a", "b", HOSTILE], [2.0], [1.0, "x"]]
)
def test_a_sweep_has_a_point_for_each_synthesis(settings):
    points = [(place, 0.1 * copy) for place in settings for copy in (1, 2)]
    root = ET.fromstring(sweep_plot("k", "mu", HOSTILE, points))
    assert len(list(root.iter(f"{SVG}circle"))) == len(points)
