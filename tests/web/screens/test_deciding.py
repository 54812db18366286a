"""Deciding: nothing is ticked before, a second checker is another person, and what leaves is three files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaffinch import release
from chaffinch.web.project import write_json

from ..conftest import Visitor


@pytest.fixture
def ran(opened: Visitor, table: Path) -> Visitor:
    """Return a visitor with a run that came to an end: made here, as the command makes it."""
    (folder := opened.project.path("runs", "0001")).mkdir()
    result = release(
        str(table), schema={"surname": "drop"}, keys=["age", "sex"], sensitive=["ill"], measures=["tvd"], attackers=["gcap"], max_excess=0.5, seed=1
    )
    result.save(folder / "out")
    write_json(folder / "job.json", {"words": ["release", str(table), "-o", str(folder / "out")]})
    write_json(folder / "ended.json", {"code": 0, "said": "", "time": 1.0})
    return opened


@pytest.mark.slow
def test_a_decision_needs_a_word_a_reason_and_a_name(ran: Visitor) -> None:
    text = ran.get("/decide")
    assert "checked>" not in text
    assert "The limit is an excess of 0.5: it is kept to." in text
    assert "Choose one" in ran.post("/decide/1", reason="x", name="Ann")
    assert "A decision has a reason" in ran.post("/decide/1", word="approved", name="Ann")
    assert "has a name under it" in ran.post("/decide/1", word="approved", reason="x")
    assert list(ran.project.path("decisions").iterdir()) == []
    assert "run 1 rejected" in ran.post("/decide/1", word="rejected", reason="too near", name="Ann")
    assert sorted(one.name for one in ran.project.path("decisions", "0001").iterdir()) == ["decision.json"]
    assert "run 1 approved" in ran.post("/decide/1", word="approved", reason="fine", name="Ann")
    folder = ran.project.path("decisions", "0002")
    assert sorted(one.name for one in folder.iterdir()) == ["decision.json", "page.html", "synthetic.csv"]
    assert "May leave." in (folder / "page.html").read_text()
    record = json.loads((folder / "decision.json").read_text())
    assert record["policy"] == {"max_excess": 0.5, "passed": True}
    assert str(ran.project.folder) not in json.dumps(record)
    ran.project.change(second=True)
    assert "waits for a second name" in ran.post("/decide/1", word="approved", reason="fine", name="Ann Lee")
    folder = ran.project.path("decisions", "0003")
    assert sorted(one.name for one in folder.iterdir()) == ["decision.json"]
    assert "another person" in ran.post("/decide/3/second", word="approved", name="ann-lee")
    assert "A decision has a reason" in ran.post("/decide/3/second", word="rejected", name="Bo Kim")
    assert "waits for a second name" not in ran.post("/decide/3/second", word="approved", name="Bo Kim")
    assert sorted(one.name for one in folder.iterdir()) == ["decision.json", "page.html", "synthetic.csv"]
    assert [one["name"] for one in json.loads((folder / "decision.json").read_text())["checkers"]] == ["Ann Lee", "Bo Kim"]
    assert "There is no such approval" in ran.post("/decide/3/second", word="approved", name="Cy Poe")


def test_nothing_is_decided_of_a_run_without_a_result(opened: Visitor) -> None:
    (folder := opened.project.path("runs", "0001")).mkdir()
    write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", "out"]})
    assert "has no report" in opened.post("/decide/1", word="approved", reason="x", name="Ann")
    assert list(opened.project.path("decisions").iterdir()) == []
