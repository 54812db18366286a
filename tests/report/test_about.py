"""What stands before and after a page's figures."""

from __future__ import annotations

import pytest

from chaffinch.report.release import closing_sections, header, render
from chaffinch.report.result import report_of
from chaffinch.report.synthesis import synthesis_section
from chaffinch.report.text import UTILITY_ALONE, UTILITY_BESIDE


def test_no_holdout_no_label_no_seed(study_of):
    facts = dict(header(report_of(study_of(15, holdout=False, label=False), title="t")))
    assert facts["Holdout"].startswith("none given")
    assert facts["Label"].startswith("none given")
    assert facts["Seed"].startswith("none given")
    assert "Not applicable: no label was named." in render(
        report_of(study_of(15, label=False), title="t")
    )


def test_the_first_limit_says_whether_the_table_was_attacked(study_of, risk_of):
    for risk, sentence in ((None, UTILITY_ALONE), (risk_of(), UTILITY_BESIDE)):
        limits = next(closing_sections(report_of(study_of(3), title="t", risk=risk)))
        assert limits.blocks[0].items[0] == sentence


def test_how_a_table_was_made_is_told_where_it_is_known(study_of):
    assert synthesis_section(None, None) is None
    made = {
        "seed": 3,
        "network": {"method": "bayesnet", "parents": 2, "nodes": ["a", "b"], "edges": [["a", "b"]]},
    }
    section = synthesis_section(report_of(study_of(3), title="t", synthesis=made).synthesis, None)
    assert section.blocks[0].rows == (
        ("Method", "bayesnet"),
        ("Most parents of a column", "2"),
        ("Columns, edges", "2, 1"),
        ("Seed", "3"),
    )


@pytest.mark.parametrize(
    ("share", "words"), [("<0.0125", "fewer than 1.25\xa0%"), (0.25, "25\xa0%"), (0.0, "0\xa0%")]
)
def test_few_rows_that_equal_an_original_are_a_bound(study_of, share, words):
    made = {"network": {"method": "bayesnet"}, "rows_equal_to_an_original": share}
    rows = dict(
        synthesis_section(report_of(study_of(3), title="t", synthesis=made).synthesis, None)
        .blocks[0]
        .rows
    )
    assert rows["Rows equal to an original one"].startswith(f"{words}, codes compared")


def test_a_bound_that_is_none_is_not_told(study_of):
    made = {"network": {"method": "bayesnet"}, "rows_equal_to_an_original": "<<script>"}
    rows = dict(
        synthesis_section(report_of(study_of(3), title="t", synthesis=made).synthesis, None)
        .blocks[0]
        .rows
    )
    assert "Rows equal to an original one" not in rows
