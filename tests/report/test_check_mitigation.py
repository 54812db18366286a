"""The section on mitigations says what is done, what is lost and what could not be mended; names of outputs are escaped on the page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from chaffinch.report.check import check_page, mitigation_blocks
from chaffinch.report.sections import Listing, PageTable, Paragraph
from chaffinch.workflows.check import check


def result_of(**options):
    rows = [
        (i, j)
        for i, j in np.ndindex(3, 3)
        for _ in range([[40, 30, 25], [35, 4, 28], [22, 31, 45]][i][j])
    ]
    data = pd.DataFrame({"x": [f"x{i}" for i, _ in rows], "y": [f"y{j}" for _, j in rows]})
    table = {"name": "<b>t</b>", "kind": "table", "by": ["x", "y"], "margins": True}
    wrong = {"name": "wrong", "kind": "table", "by": ["x"], "counts": [1, 2, 3]}
    document = {"format": "chaffinch-outputs", "version": 1, "outputs": [table, wrong]}
    return check(document, data, rules_only=True, mitigate=True, **options)


def test_the_section_says_what_is_done_and_what_is_not():
    plan = result_of().mitigation
    blocks = mitigation_blocks(plan)
    assert blocks[0] == Paragraph(plan.sentence)
    tables = [one for one in blocks if isinstance(one, PageTable)]
    assert [one.caption for one in tables] == [
        "What is done, least loss first",
        "Each way that was tried and breaks no rule, least loss first",
    ]
    assert len(tables[1].rows) == len(plan.options)
    (listing,) = [one for one in blocks if isinstance(one, Listing)]
    assert "Not mended: 'wrong'" in listing.items[0]


def test_the_page_has_it_and_escapes_names():
    page = check_page(result_of())
    assert "What would mend them" in page
    assert "<b>t</b>" not in page
    assert "x1" not in page  # no level


def test_a_check_without_it_has_no_such_section():
    data = pd.DataFrame({"x": ["a", "b"] * 40, "y": ["c"] * 80})
    document = {
        "format": "chaffinch-outputs",
        "version": 1,
        "outputs": [{"name": "t", "kind": "table", "by": ["x"]}],
    }
    assert "What would mend them" not in check_page(check(document, data, rules_only=True))
