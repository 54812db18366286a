"""Deciding: nothing is ticked before, a second checker is another person, and what leaves is three files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaffinch import release
from chaffinch.risk.verdict import LimitVerdict
from chaffinch.stats.intervals import LimitState
from chaffinch.web.project import write_json
from chaffinch.workflows.release import ReleaseResult

from ..conftest import Visitor


@pytest.fixture(scope="module")
def made(looked: Path) -> ReleaseResult:
    """Return what a run makes, made here as the command makes it."""
    return release(
        str(looked / "people.csv"),
        schema={"surname": "drop"},
        keys=["age", "sex"],
        sensitive=["ill"],
        measures=["tvd"],
        attackers=["matching", "memorisation"],
        max_excess=0.5,
        seed=1,
    )


@pytest.fixture
def ran(opened: Visitor, people_file: Path, made: ReleaseResult) -> Visitor:
    """Return a visitor with a run that came to an end."""
    (folder := opened.project.path("runs", "0001")).mkdir()
    made.save(folder / "out")
    write_json(
        folder / "job.json", {"words": ["release", str(people_file), "-o", str(folder / "out")]}
    )
    write_json(folder / "ended.json", {"code": 0, "said": "", "time": 1.0})
    return opened


@pytest.mark.slow
def test_a_decision_needs_a_word_a_reason_and_a_name(ran: Visitor) -> None:
    text = ran.get("/decide")
    assert "checked>" not in text
    assert (
        "UNDECIDED: an excess of at most 0.5 is neither shown to hold nor shown to be exceeded."
        in text
    )
    assert "Choose one" in ran.post("/decide/1", reason="x", name="Ann")
    assert "A decision has a reason" in ran.post("/decide/1", word="approved", name="Ann")
    assert "has a name under it" in ran.post("/decide/1", word="approved", reason="x")
    assert list(ran.project.path("decisions").iterdir()) == []
    assert "run 1 rejected" in ran.post("/decide/1", word="rejected", reason="too near", name="Ann")
    assert sorted(one.name for one in ran.project.path("decisions", "0001").iterdir()) == [
        "decision.json"
    ]
    assert "run 1 approved" in ran.post("/decide/1", word="approved", reason="fine", name="Ann")
    folder = ran.project.path("decisions", "0002")
    assert sorted(one.name for one in folder.iterdir()) == [
        "decision.json",
        "page.html",
        "synthetic.csv",
    ]
    assert "May leave." in (folder / "page.html").read_text()
    record = json.loads((folder / "decision.json").read_text())
    assert record["policy"] == {"max_excess": 0.5, "state": "undecided"}
    assert str(ran.project.folder) not in json.dumps(record)
    ran.project.change(second=True)
    assert "waits for a second name" in ran.post(
        "/decide/1", word="approved", reason="fine", name="Ann Lee"
    )
    folder = ran.project.path("decisions", "0003")
    assert sorted(one.name for one in folder.iterdir()) == ["decision.json"]
    assert "another person" in ran.post("/decide/3/second", word="approved", name="ann-lee")
    assert "A decision has a reason" in ran.post("/decide/3/second", word="rejected", name="Bo Kim")
    assert "waits for a second name" not in ran.post(
        "/decide/3/second", word="approved", name="Bo Kim"
    )
    assert sorted(one.name for one in folder.iterdir()) == [
        "decision.json",
        "page.html",
        "synthetic.csv",
    ]
    assert [
        one["name"] for one in json.loads((folder / "decision.json").read_text())["checkers"]
    ] == ["Ann Lee", "Bo Kim"]
    assert "There is no such approval" in ran.post(
        "/decide/3/second", word="approved", name="Cy Poe"
    )
    text = ran.post(
        "/decide/1", word="rejected", reason="a copy was found", name="Cy Poe"
    )  # after it was approved
    for number in (2, 3):
        assert f"{number}: run 1 approved, withdrawn by decision 4" in text
        assert (ran.project.path("decisions", f"{number:04d}") / "WITHDRAWN.txt").exists()
    assert text.count("It may not leave any more. If a copy has left, call it back.") == 2


def test_nothing_is_decided_of_a_run_without_a_result(opened: Visitor) -> None:
    (folder := opened.project.path("runs", "0001")).mkdir()
    write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", "out"]})
    assert "has no report" in opened.post("/decide/1", word="approved", reason="x", name="Ann")
    assert list(opened.project.path("decisions").iterdir()) == []


def test_a_refused_table_cannot_be_approved_and_no_limit_is_no_pass(
    opened: Visitor, people_file: Path
) -> None:
    result = release(
        str(people_file),
        schema={"surname": "drop"},
        keys=["age", "sex"],
        sensitive=["ill"],
        measures=["tvd"],
        attackers=["matching", "memorisation"],
        seed=1,
    )
    over = LimitVerdict(max_excess=0.01, state=LimitState.EXCEEDS, lower_bound=0.1, attacks=3)
    refused = replace(
        result, report=replace(result.report, risk=replace(result.risk, policy=over.to_dict()))
    )
    for number, (one, code) in enumerate(((result, 0), (refused, 1)), start=1):
        (folder := opened.project.path("runs", f"{number:04d}")).mkdir()
        one.save(folder / "out")
        write_json(
            folder / "job.json", {"words": ["release", str(people_file), "-o", str(folder / "out")]}
        )
        write_json(folder / "ended.json", {"code": code, "said": "", "time": 1.0})
    assert "EXCEEDS THE LIMIT: an excess of at most 0.01 is allowed" in opened.get("/decide?run=2")
    assert "exceeds its limit, so its table was refused and cannot be approved" in opened.post(
        "/decide/2", word="approved", reason="fine", name="Ann"
    )
    assert list(opened.project.path("decisions").iterdir()) == []
    assert "run 2 rejected" in opened.post(
        "/decide/2", word="rejected", reason="too much", name="Ann"
    )
    assert "run 1 approved" in opened.post("/decide/1", word="approved", reason="fine", name="Ann")
    records = [
        json.loads(opened.project.path("decisions", name, "decision.json").read_text())
        for name in ("0001", "0002")
    ]
    assert [record["policy"] for record in records] == [
        {"max_excess": 0.01, "state": "exceeds", "passed": False},
        {},
    ]
