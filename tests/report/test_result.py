"""A report as a typed result, read from its JSON."""

from __future__ import annotations

import pytest

from chaffinch.errors import InputError
from chaffinch.report.result import ReportResult, report_of


def test_a_report_is_read_back(study_of):
    study = study_of(3)
    report = report_of(
        study, title="T", synthesis={"seed": 3, "network": {"method": "m"}}
    ).to_dict()
    result = ReportResult.from_dict(report)
    assert result.title == "T"
    assert result.synthesis.seed == 3
    assert result.synthesis.model.method == "m"
    assert [row.to_dict() for row in result.rows] == [
        row for row in report["verdict"] if row["section"] != "promise"
    ]
    assert result.risk is None
    assert result.to_dict() == report


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "Got 'list'"),
        ({"format": "x"}, "Got 'x'"),
        ({"format": "chaffinch-report"}, "version 1"),
    ],
)
def test_anything_else_is_refused(data, words):
    with pytest.raises(InputError, match=words):
        ReportResult.from_dict(data)
