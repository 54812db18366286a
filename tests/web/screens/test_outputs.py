"""Outputs of others: each is approved or rejected by a person, and an ACRO folder gets the words back in a copy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ..conftest import Visitor

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def checked(visitor: Visitor, people_file: Path, request: pytest.FixtureRequest) -> Visitor:
    """Return a visitor with a check that came to an end, of a file or of a folder."""
    name = request.param
    place = people_file.parent / Path(name).name
    (shutil.copytree if (EXAMPLES / name).is_dir() else shutil.copyfile)(EXAMPLES / name, place)
    visitor.project.change(source=str(EXAMPLES / "data" / "cmc.csv"))
    visitor.post("/outputs", path=place.name)
    visitor.until("/runs", "See the result")
    return visitor


@pytest.mark.slow
@pytest.mark.parametrize("checked", ["outputs/acro_cmc"], indirect=True)
def test_each_output_is_decided_on(checked: Visitor) -> None:
    text = checked.get("/outputs/1")
    names = [
        one["output"]
        for one in json.loads(
            checked.project.path("runs", "0001", "out", "check.json").read_text()
        )["summary"]
    ]
    assert len(names) > 3
    assert "checked" not in text.split("<body")[1].split('class="report"')[0]
    fields = {f"word-{i}": "approved" for i in range(len(names))}
    assert "is open" in checked.post("/outputs/1", name="Ann", **{**fields, "word-0": ""})
    assert "Say why" in checked.post("/outputs/1", name="Ann", **{**fields, "word-0": "rejected"})
    assert "has a name under it" in checked.post("/outputs/1", **fields)
    assert list(checked.project.path("decisions").iterdir()) == []
    checked.post(
        "/outputs/1", name="Ann", **{**fields, "word-0": "rejected", "reason-0": "a small cell"}
    )
    folder = checked.project.path("decisions", "0001")
    record = json.loads((folder / "decision.json").read_text())
    assert record["outputs"][0] == {
        "output": names[0],
        "decision": "rejected",
        "reason": "a small cell",
    }
    assert record["decision"] == "returned"
    results = json.loads((folder / "acro" / "results.json").read_text())["results"]
    assert results[names[0]]["comments"][-1].startswith("rejected by Ann")


@pytest.mark.slow
@pytest.mark.parametrize("checked", ["outputs/check_cmc.toml"], indirect=True)
def test_a_file_of_outputs_is_decided_on(checked: Visitor) -> None:
    assert "rules" in checked.get("/outputs/1").lower()
    count = len(
        json.loads(checked.project.path("runs", "0001", "out", "check.json").read_text())["summary"]
    )
    checked.post("/outputs/1", name="Ann", **{f"word-{i}": "approved" for i in range(count)})
    assert (
        json.loads(checked.project.path("decisions", "0001", "decision.json").read_text())[
            "decision"
        ]
        == "approved"
    )


def test_a_run_that_is_no_check_has_no_outputs(opened: Visitor) -> None:
    assert "outside the folders" in opened.post("/outputs", path="/etc/passwd")
    assert "There is no run 1" in opened.get("/outputs/1")
