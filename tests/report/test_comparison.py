"""Two reports side by side: as plain data, as text and as a page."""

from __future__ import annotations

import json

from chaffinch.report.compare import compare
from chaffinch.report.page import report_of


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
    assert compare(result, result).to_dict()["attacks"] == compare(plain, plain).to_dict()["attacks"]
