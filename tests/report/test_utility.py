"""Sections of a result of utility: what is good and bad, columns, relations, and what is not there."""

from __future__ import annotations

import pytest

from chaffinch.report.sections import Figure, Grid, Heading, Paragraph
from chaffinch.report.utility import utility_sections, verdict_section
from chaffinch.utility import UtilityResult


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
    assert len(ladder.table.rows) == sum(row.kept is not None for row in result.verdict)


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
