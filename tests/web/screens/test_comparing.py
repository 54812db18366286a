"""Comparing: with one result there is nothing beside it; going back brings a run's choices again and loses no run."""

from __future__ import annotations

from typing import Any

from chaffinch.report.result import report_of
from chaffinch.web.project import write_json

from ..conftest import Visitor


def test_with_no_result_there_is_nothing_to_compare(opened: Visitor) -> None:
    assert "There is no result so far" in opened.get("/compare")


def test_going_back_brings_the_choices_of_a_run_again(opened: Visitor) -> None:
    (folder := opened.project.path("runs", "0001")).mkdir()
    for name in ("project.toml", "schema.toml", "columns.json"):
        (folder / name).write_text(opened.project.path(name).read_text())
    write_json(
        folder / "job.json",
        {"words": ["release", "a.csv", "-o", str(folder / "out"), "--seed", "1"]},
    )
    write_json(folder / "ended.json", {"code": 0, "said": "", "time": 1.0})
    opened.post("/columns", **{"role-1": "other"})
    opened.project.change(max_excess=0.3)
    assert "There is one result so far" in opened.get("/compare")
    assert "--seed 1" in opened.get("/compare")
    opened.post("/compare/1/back")
    assert opened.project.choices().max_excess is None
    assert '[columns.age]\nkind = "integer"' in opened.project.schema_text()
    assert opened.project.schema_text() == (folder / "schema.toml").read_text()
    assert folder.exists()


def test_each_letter_of_a_comparison_is_a_run(opened: Visitor, risk_of: Any) -> None:
    for number, parents in ((1, 2), (2, 5)):
        folder = opened.project.path("runs", f"{number:04}")
        (folder / "out" / "confidential").mkdir(parents=True)
        write_json(
            folder / "job.json",
            {"words": ["release", "a.csv", "-o", str(folder / "out"), "--seed", "1"]},
        )
        write_json(folder / "ended.json", {"code": 0, "said": "", "time": 1.0})
        report = report_of(
            title="",
            risk=risk_of(),
            synthesis={"network": {"method": "bayesnet", "parents": parents}},
        )
        write_json(folder / "out" / "confidential" / "report.json", report.to_dict())
    page = opened.get("/compare")
    assert "run 1: parents 2" in page
    assert "run 2: parents 5" in page
