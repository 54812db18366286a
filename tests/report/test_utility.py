"""Sections of a result of utility: what is good and bad, columns, relations, and what is not there."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from chaffinch.report.sections import Details, Figure, Grid, Heading, Listing, Paragraph
from chaffinch.report.uses import sweep_plot, uses_sections
from chaffinch.report.utility import (
    column_picture,
    columns_figure,
    pair_picture,
    pairs_figure,
    utility_sections,
    verdict_section,
)
from chaffinch.utility import UtilityResult
from chaffinch.utility.shapes import ColumnShape, PairShape, TableShapes


@pytest.fixture
def result(study_of):
    return UtilityResult.from_dict(study_of(15))


def test_sections_and_what_they_hold(result):
    sections = {section.id: section for section in utility_sections(result)}
    assert list(sections) == [
        "where",
        "columns",
        "relations",
        "learning",
        "delta",
        "regression",
        "sweep",
    ]
    lead, grid = sections["where"].blocks
    assert isinstance(lead, Paragraph)
    assert isinstance(grid, Grid)
    assert [table.caption.split(" (")[0] for table in grid.tables] == [
        "Columns farthest from the original",
        "Columns nearest to the original",
        "Pairs whose relation changed most",
        "Pairs of values that no original record has: 14 pairs of columns, <10 combinations of values",
        "1-way tables farthest from the original",
        "2-way tables farthest from the original",
        "3-way tables farthest from the original",
    ]
    assert [block.id for block in sections["relations"].blocks if isinstance(block, Figure)] == [
        "fig-phi-k",
        "fig-pearson",
    ]
    assert len(sections["relations"].blocks[0].pictures) == 3


def test_the_verdict_has_a_row_for_each_metric_under_its_group(result):
    table, ladder = verdict_section(result.verdict).blocks[1:3]
    assert [row.text for row in table.rows if isinstance(row, Heading)] == [
        "Each column by itself",
        "How columns are related",
        "The table as a whole",
        "Working with the table",
    ]
    assert sum(not isinstance(row, Heading) for row in table.rows) == len(result.verdict)
    assert len(ladder.table.rows) == sum(row.share_kept is not None for row in result.verdict)


def test_without_a_value_the_reason_stands_in_its_place(study_of, no_value):
    study = {**study_of(15), "jensen_shannon": no_value("one"), "phi_k": no_value("two")}
    sections = {section.id: section for section in utility_sections(UtilityResult.from_dict(study))}
    assert sections["columns"].blocks == (Paragraph("Not applicable: one."),)
    assert sections["relations"].blocks[0] == Paragraph("phi_k: Not applicable: two.")


def test_an_empty_result_has_no_sections():
    assert (
        list(
            utility_sections(UtilityResult.from_dict({"format": "chaffinch-utility", "version": 1}))
        )
        == []
    )


SEX = ColumnShape("sex", "bars", ("f", "m", "other"), (0.6, 0.4, None), (0.5, 0.5, None))
AGE = ColumnShape(
    "<age>",
    "histogram",
    ("below 20", "20 to below 40", "40 or more"),
    (0.2, 0.8, None),
    (0.3, 0.7, 0.01),
)


def test_bars_are_as_long_as_their_shares():
    drawn = column_picture("k", SEX, 10)
    widths = [
        float(width)
        for width in re.findall(r'width="([\d.]+)" height="[\d.]+" fill="#0072B2"', drawn)
    ]
    assert abs(widths[0] / widths[1] - 1.5) < 0.01
    heights = [
        float(height)
        for height in re.findall(r'height="([\d.]+)" fill="#0072B2"', column_picture("k", AGE, 10))
    ]
    assert abs(heights[1] / heights[0] - 4) < 0.02


def test_what_is_hidden_looks_the_same_everywhere():
    drawn = column_picture("k", SEX, 10) + column_picture("k", AGE, 10)
    hidden = re.findall(r'<rect [^>]*class="hidden"/>', drawn)
    assert len(hidden) == 3
    assert all('width="4"' in box or 'height="4"' in box for box in hidden)
    assert "fewer than 10 people" in drawn


def test_farthest_columns_stand_first_with_their_numbers():
    figure = columns_figure(TableShapes((SEX, AGE), (), 3), {"sex": 0.01, "<age>": 0.2})
    assert "&lt;age&gt;: original" in figure.pictures[0]
    assert "JS 0.200" in figure.pictures[0]
    assert figure.caption.endswith("the first 2 of 3 columns")
    assert ("other", "fewer than 10 people", "fewer than 10 people") in figure.table.rows
    assert columns_figure(TableShapes(), {}) is None


PAIR = PairShape(
    ("sex", "town"),
    (("f", "m"), ("Leeds", "York")),
    (0.5, None, 0.1, 0.4),
    (0.25, 0.25, 0.25, 0.25),
    0.125,
)


def test_equal_shares_have_equal_shades_in_both_maps():
    drawn = pair_picture("k", PAIR, 10)
    cells = {
        said: shade
        for shade, said in re.findall(r'fill="(#\w+|none)"[^>]*><title>([^<]+)</title>', drawn)
    }
    assert len(cells) == 8
    assert len({shade for said, shade in cells.items() if said.startswith("synthetic")}) == 1
    assert next(shade for said, shade in cells.items() if "fewer than 10" in said) == "none"
    darkest = next(shade for said, shade in cells.items() if "original, f × Leeds" in said)
    assert darkest == "#08306b"


def test_what_was_chosen_is_said():
    figure = pairs_figure(TableShapes((), (PAIR,), 2), lambda names: "chosen: town is protected")
    assert "chosen: town is protected" in figure.pictures[0]
    assert figure.caption == "The pair of columns furthest from the original"
    assert ("f × York", "fewer than 10 people", "25\xa0%") in figure.table.rows
    assert pairs_figure(TableShapes(), lambda names: "") is None


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


def test_of_many_coefficients_those_that_overlap_least_are_shown(study_of):
    study = study_of(5)
    first = study["regression"]["rows"][0]
    rows = [{**first, "term": f"x{i}", "overlap": i / 60} for i in range(60)]
    study["regression"]["rows"] = rows
    sections = {section.id: section for section in uses_sections(UtilityResult.from_dict(study))}
    figure = figure_of(sections["regression"])
    assert "the 40 of 60 that overlap least" in figure.caption
    assert [row[0] for row in figure.table.rows] == [f"x{i}" for i in range(40)]


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
