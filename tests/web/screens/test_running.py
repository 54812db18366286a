"""Runs wait, run, end or are stopped, and the list of them is told from files alone."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaffinch
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.web.decisions import Checker, put_down
from chaffinch.web.fields import fields_of, label_of
from chaffinch.web.project import write_json

from ..conftest import Visitor


def test_nothing_runs_before_it_was_decided_what_becomes_of_a_name(known: Visitor) -> None:
    assert "Say first what becomes of column &#39;surname&#39;" in known.post("/runs")
    assert list(known.project.path("runs").iterdir()) == []


def test_a_run_keeps_its_choices_and_can_be_stopped(opened: Visitor) -> None:
    opened.post("/runs")
    opened.until("/runs", "Run 1: runs")
    folder = opened.project.path("runs", "0001")
    assert (folder / "schema.toml").read_text() == opened.project.schema_text()
    assert json.loads((folder / "job.json").read_text())["words"][0] == "release"
    opened.post("/runs/1/stop")
    text = opened.until("/runs", "Run 1: stopped")
    assert "Stop run 1" not in text
    assert not (folder / "out").exists()
    assert not list(folder.glob(".out*"))


def test_the_rules_of_a_run_are_those_on_the_screen_whatever_was_decided_of_a_name(
    visitor: Visitor, people_file: Path
) -> None:
    rng = np.random.default_rng(1)
    rows = zip(
        rng.choice(["Adler", "Berg", "Cohen", "Diaz"], 200),
        rng.integers(0, 90, 200),
        rng.integers(0, 60, 200),
        rng.integers(0, 90, 200),
        strict=True,
    )
    people_file.write_text(
        "surname,before,change,after,age,later\n"
        + "".join(f"{name},{a},{b},{a + b},{c},{c + 18}\n" for name, a, b, c in rows)
    )
    visitor.post("/open", path=str(people_file))
    assert "age = later - 18" in visitor.wait_for_columns()
    visitor.post("/columns", **{"output-0": "drop"})
    text = visitor.project.schema_text().replace(
        '    "age = later - 18",', '    # "age = later - 18",'
    )
    screen = visitor.post("/columns/text", text=text)
    visitor.post("/runs")
    visitor.until("/runs", "Run 1: done")
    out = visitor.project.path("runs", "0001", "out")
    model = chaffinch.load(out / "confidential" / "model.chaffinch")
    shown = (
        html.unescape(screen)
        .partition("<textarea")[2]
        .partition(">")[2]
        .partition("</textarea>")[0]
    )
    assert model.schema.rules == schema_from_toml(shown).rules == ("after = before + change",)
    drawn = chaffinch.read(out / "to-release" / "synthetic.csv").to_pandas()
    assert (drawn["after"] == drawn["before"] + drawn["change"]).all()
    assert not (drawn["later"] == drawn["age"] + 18).all()


def test_states_are_shown_in_words(opened: Visitor) -> None:
    for number, ended in (
        (1, {"code": 0, "said": ""}),
        (2, {"code": 1, "said": ""}),
        (3, {"code": 2, "said": "Error: no <good>"}),
    ):
        (folder := opened.project.path("runs", f"000{number}")).mkdir()
        write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", str(folder / "out")]})
        write_json(folder / "ended.json", {**ended, "time": 1.0})
    (folder := opened.project.path("runs", "0004")).mkdir()
    write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", str(folder / "out")]})
    text = opened.get("/runs")
    assert [
        words in text
        for words in (
            "Run 1: done<",
            "Run 2: done, and above the limit",
            "Run 3: failed",
            "Run 4: waits",
        )
    ] == [True] * 4
    assert "no &lt;good&gt;" in text
    assert "Start run 4" in text
    assert "does not wait" in opened.post("/runs/1/start")
    assert "There is no run 9" in opened.post("/runs/9/stop")


def test_how_far_it_is_comes_as_a_fragment(opened: Visitor) -> None:
    (folder := opened.project.path("runs", "0001")).mkdir()
    write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", str(folder / "out")]})
    write_json(
        folder / "progress.json",
        {"doing": "2 of 6, learning", "share": 0.25, "seconds": 9.0, "left": 27.0},
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", "chaffinch.web.jobs"],
        start_new_session=True,
    )
    try:
        write_json(folder / "begun.json", {"pid": worker.pid, "time": time.time()})
        text = opened.get("/runs/live")
    finally:
        worker.kill()
        worker.wait()
    assert "2 of 6, learning; about 27 s left of this." in text
    assert 'value="0.25"' in text
    assert "<html" not in text
    (folder / "begun.json").unlink()


@pytest.mark.parametrize(
    ("verdicts", "code", "words"),
    [
        (["pass", "pass"], 0, "done: of 2 outputs 2 passed"),
        (["not assessed"], 1, "done: of 1 output 1 not assessed"),
        (
            ["fail", "review", "pass"],
            1,
            "done: of 3 outputs 1 to be held back, 1 to be looked at, 1 passed",
        ),
        ([], 0, "done, without an output to check"),
        (None, 1, "done, and not passed"),
    ],
)
def test_a_check_stands_by_its_verdicts_and_nobody_decided_it(
    opened: Visitor, verdicts: Any, code: int, words: str
) -> None:
    """Exit code 1 of a check says neither that a limit was set nor that anybody refused it."""
    (folder := opened.project.path("runs", "0001")).mkdir()
    (folder / "out").mkdir()
    write_json(folder / "job.json", {"words": ["check", "outputs.toml"]})
    write_json(folder / "ended.json", {"code": code, "said": "", "time": 1.0})
    if verdicts is not None:
        write_json(
            folder / "out" / "check.json",
            {"summary": [{"output": "t", "verdict": verdict} for verdict in verdicts]},
        )
    runs, decide = opened.get("/runs"), opened.get("/decide")
    assert f"Check 1: {words}" in runs
    assert f"Check 1</a>: {words}; not decided" in decide
    for wrong in ("refused", "above the limit"):
        assert wrong not in re.sub(r"<[^>]+>", " ", runs)
        assert wrong not in re.sub(r"<[^>]+>", " ", decide)
    (opened.project.path("decisions", "0001")).mkdir()
    put_down(
        opened.project.path("decisions", "0001"),
        "rejected",
        run=1,
        reason="x",
        checkers=[Checker.now("Ann")],
        waiting=False,
        about={},
    )
    assert f"{words}; rejected by Ann" in opened.get("/decide")


def test_every_option_of_a_release_is_a_field_and_goes_into_the_command(opened: Visitor) -> None:
    page = opened.get("/runs")
    for name, setting in fields_of("release").items():
        assert f'name="{name}"' in page, name
        assert label_of(setting) in page
    fields = {"with-options": "yes", "parents": "3", "search": "greedy", "tolerance": "age=5"}
    opened.post("/runs", go="columns", **fields)
    assert opened.project.choices().options == ("parents=3", "search=greedy", "tolerance=age=5")
    page = opened.get("/runs")
    assert "--parents 3 --search greedy --tolerance age=5" in page
    assert "<option selected>greedy</option>" in page
    assert opened.project.path("runs").exists()
    assert not list(opened.project.path("runs").iterdir())


def test_a_field_that_breaks_its_rule_is_said_in_the_options_words_and_stays(
    opened: Visitor,
) -> None:
    fields = {"with-options": "yes", "parents": "0", "leaf": "20"}
    page = opened.post("/runs", **fields)
    assert "parents must be a whole number of at least 1. Got 0." in page
    assert 'name="parents" type="text" value="0"' in page
    assert 'name="leaf" type="text" value="20"' in page
    assert opened.project.choices().options == ()
    assert not list(opened.project.path("runs").iterdir())
