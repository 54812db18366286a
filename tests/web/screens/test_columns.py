"""Columns: kinds and roles by a form or as text, in step; a column that says who somebody is stops everything."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaffinch.web.commands import Roles
from chaffinch.web.jobs import JobState
from chaffinch.web.page import ProfileState, profile_state
from chaffinch.web.project import FOUND, write_json

from ..conftest import SURNAMES, Visitor


def test_columns_show_kinds_reasons_and_pictures_and_no_rare_value(
    visitor: Visitor, people_file: Path
) -> None:
    people_file.write_text(people_file.read_text() + "Unique,33,f,no,1\n")
    visitor.post("/open", path=str(people_file))
    text = visitor.wait_for_columns()
    assert text.count("<svg") == 5
    assert "perhaps key: others often know it of a person" in text
    assert "1 column looks as if it said who somebody is" in text
    assert "Unique" not in text
    assert not any(name in text for name in SURNAMES)


def test_the_form_and_the_text_are_in_step(opened: Visitor) -> None:
    roles = Roles(keys=("age", "sex"), sensitive=("ill",), decisions=(("surname", "drop"),))
    assert _roles(opened) == roles
    text = opened.project.schema_text()
    assert '[columns.age]\nkind = "integer"' in text
    opened.post("/columns/text", text=text.replace('role = "sensitive"', 'role = "label"'))
    assert _roles(opened) == Roles(
        label="ill", keys=("age", "sex"), decisions=(("surname", "drop"),)
    )


def test_what_is_wrong_is_said_and_not_kept(opened: Visitor) -> None:
    before = opened.project.schema_text()
    assert "is not valid TOML" in opened.post("/columns/text", text="[[")
    assert "has no entry for column" in opened.post(
        "/columns/text", text=before.replace("[columns.area]", "[columns.region]")
    )
    assert "Only one column can have the role label" in opened.post(
        "/columns", **{"role-1": "label", "role-2": "label"}
    )
    assert "Unknown role" in opened.post("/columns", **{"role-1": "king"})
    assert "Unknown kind" in opened.post("/columns", **{"kind-1": "king"})
    assert "Unknown decision" in opened.post("/columns", **{"output-1": "king"})
    assert opened.project.schema_text() == before


def test_a_click_on_the_bar_keeps_what_was_chosen_and_typed(opened: Visitor) -> None:
    """The steps are buttons of the form: without a script, nothing that was filled in is lost on the way."""
    text = opened.get("/columns")
    assert '<button form="kept" name="go" value="promise"' in text
    assert '<a href="/promise"' not in text
    assert "<h1>Promise</h1>" in opened.post("/columns", go="promise", **{"role-4": "key"})
    assert _roles(opened).keys == ("age", "sex", "area")
    written = opened.project.schema_text()
    edited = written.replace('role = "sensitive"', 'role = "label"').replace(
        "\n", "\r\n"
    )  # as browsers send it
    assert "<h1>Decide</h1>" in opened.post(
        "/columns", go="decide", text=edited, **{"role-4": "other"}
    )
    assert _roles(opened) == Roles(
        label="ill", keys=("age", "sex"), decisions=(("surname", "drop"),)
    )
    text = opened.post(
        "/columns", go="decide", text="[[", **{"role-4": "weight"}
    )  # what cannot be saved stays on the screen
    assert "is not valid TOML" in text
    assert ">[[</textarea>" in text
    assert 'aria-label="What area is for"' in text
    assert (
        "<option selected>weight</option>"
        in text.partition('aria-label="What area is for"')[2].partition("</select>")[0]
    )
    assert _roles(opened).weight == ""
    opened.post(
        "/attackers", max_excess="0.1", second="yes"
    )  # in another tab: a form of which nothing was changed may still be left
    assert "<h1>Decide</h1>" in opened.post(
        "/columns", choices="-", go="decide", text=opened.project.schema_text()
    )
    assert "<h1>Columns</h1>" in opened.post(
        "/columns", go="https://elsewhere.example", text=opened.project.schema_text()
    )


def test_live_progress_is_a_fragment_that_ends_by_loading_the_screen(opened: Visitor) -> None:
    status, headers, text = opened.ask("GET", "/columns/live")
    assert (status, headers.get("hx-refresh"), text) == (200, "true", "")


def _roles(visitor: Visitor) -> Roles:
    from chaffinch.web.commands import roles_of

    return roles_of(visitor.project.schema_text())


def test_first_rows_are_shown_while_all_are_read_and_what_was_chosen_meanwhile_is_kept(
    opened: Visitor,
) -> None:
    project = opened.project
    whole = json.loads(project.path("columns.json").read_text())
    for name in ("columns.json", "schema.toml"):
        project.path(name).unlink()
    write_json(project.path(FOUND), {**whole, "part": True, "rows": 250})
    worker = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", "chaffinch.web.jobs"],
        start_new_session=True,
    )
    try:
        write_json(
            project.path("look", "job.json"),
            {"words": ["look", whole["source"], str(project.folder)]},
        )
        write_json(project.path("look", "begun.json"), {"pid": worker.pid, "time": time.time()})
        text = opened.get("/columns")
        assert "This is how its first 250 rows look: kinds and pictures may change" in text
        assert "All rows of the file are being read once" in opened.get("/columns/live?part=yes")
        assert "disabled" in text
        before = project.stamp()
        assert "Who might attack" in opened.post(
            "/columns", next="yes", **{"role-1": "key", "output-0": "drop"}
        )
        assert "still being read" in opened.post("/runs")
        assert "Edit the text when all rows were read" in opened.post(
            "/columns/text", text=project.schema_text()
        )
        tab = project.stamp()  # of a tab that was loaded by now
        write_json(project.path(FOUND), {**whole, "part": False})
        assert "All rows were read. What you chose is kept" in opened.get("/columns/live?part=yes")
        assert _roles(opened) == Roles(keys=("age",), decisions=(("surname", "drop"),))
        opened.post(
            "/columns", choices=tab, **{"role-1": "key", "role-3": "sensitive", "output-0": "drop"}
        )
        assert _roles(opened).sensitive == ("ill",)
        assert "has been changed since this form was loaded" in opened.post(
            "/columns", choices=before, **{"role-3": "key"}
        )
        assert "300 rows." in opened.get("/columns")
    finally:
        worker.kill()
        worker.wait()


def test_a_look_that_ended_without_a_word_is_said_and_can_be_asked_for_again(
    opened: Visitor,
) -> None:
    project = opened.project
    source = project.choices().source
    for name in ("columns.json", "schema.toml", FOUND):
        project.path(name).unlink()
    write_json(project.path("look", "job.json"), {"words": ["look", source, str(project.folder)]})
    write_json(project.path("look", "begun.json"), {"pid": 2**22 - 1, "time": 1.0})
    assert "Reading the file ended without a word" in opened.get("/columns")
    opened.post("/open", path=source)
    assert "300 rows." in opened.wait_for_columns()


def test_another_file_ends_the_look_at_the_one_before(visitor: Visitor, people_file: Path) -> None:
    other = people_file.with_name("other.csv")
    other.write_text("x,y\n" + "1,a\n2,b\n" * 30)
    visitor.post("/open", path=str(people_file))
    visitor.post("/open", path=str(other))
    assert "60 rows." in visitor.wait_for_columns()
    time.sleep(1.0)
    assert "60 rows." in visitor.get("/columns")


WHOLE, PART = {"columns": []}, {"columns": [], "part": True}


@pytest.mark.parametrize(
    ("columns", "job_state", "state"),
    [
        (None, None, ProfileState.UNREAD),
        (None, JobState.STOPPED, ProfileState.UNREAD),
        (None, JobState.WAITING, ProfileState.READING),
        (None, JobState.RUNNING, ProfileState.READING),
        (None, JobState.FAILED, ProfileState.FAILED),
        (None, JobState.LOST, ProfileState.FAILED),
        (None, JobState.DONE, ProfileState.FAILED),
        (PART, None, ProfileState.UNREAD),
        (PART, JobState.STOPPED, ProfileState.UNREAD),
        (PART, JobState.RUNNING, ProfileState.READING_REST),
        (PART, JobState.FAILED, ProfileState.FAILED),
        *((WHOLE, job_state, ProfileState.COMPLETE) for job_state in (None, *JobState)),
    ],
)
def test_how_far_a_file_is_read_is_told_by_its_columns_and_the_look_at_it(
    columns: dict[str, object] | None, job_state: JobState | None, state: ProfileState
) -> None:
    assert profile_state(columns, job_state) is state


def test_a_screen_loads_again_where_there_is_news_alone(known: Visitor) -> None:
    def live(query: str = "") -> tuple[bool, str]:
        _, headers, text = known.ask("GET", f"/columns/live{query}")
        return "hx-refresh" in headers, text

    columns = json.loads(known.project.path("columns.json").read_text())
    look = known.project.path("look")
    assert live() == (True, "")  # all is known: there are columns to show
    refresh, text = live("?part=yes")
    assert not refresh
    assert "All rows were read" in text
    known.project.path(FOUND).unlink()
    write_json(known.project.path("columns.json"), {**columns, "part": True})
    assert live("?part=yes") == (True, "")  # nobody reads the rest
    write_json(look / "job.json", {"words": ["look", "a.csv", str(look)]})
    refresh, text = live("?part=yes")
    assert not refresh
    assert "All rows of the file are being read once" in text
    assert live() == (True, "")
    write_json(look / "ended.json", {"code": 2, "said": "Error: no", "time": 1.0})
    assert live("?part=yes") == (True, "")
    assert '<p class="alarm" role="alert">no' in known.get("/columns")
