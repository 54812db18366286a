"""The page as a whole: every path answers, files are few and named, and a fault of ours tells nothing of the data."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chaffinch.web import app
from chaffinch.web.page import STEPS, SentForm
from chaffinch.web.project import write_json
from chaffinch.web.screens import opening

from .conftest import Visitor


@pytest.mark.parametrize(
    "path",
    ["/open", "/columns", "/attackers", "/promise", "/runs", "/result", "/compare", "/decide"],
)
def test_every_step_answers_before_anything_was_opened(visitor: Visitor, path: str) -> None:
    text = visitor.get(path)
    assert "<main" in text
    assert not re.search(r"Internal fault", text)


def test_a_first_visit_leads_to_opening_a_table(visitor: Visitor) -> None:
    assert "Open a table" in visitor.get("/")


@pytest.mark.parametrize("name", sorted(app.STATIC))
def test_the_page_loads_its_own_files(visitor: Visitor, name: str) -> None:
    status, headers, text = visitor.ask("GET", f"/static/{name}")
    assert status == 200
    assert text
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/guard.py",
        "/static/..%2fguard.py",
        "/static/../app.py",
        "/nothing",
        "/runs/1/../../etc",
        "/result/99999",
    ],
)
def test_nothing_else_is_served(visitor: Visitor, path: str) -> None:
    status, _, text = visitor.ask("GET", path)
    assert status in (400, 404)
    assert "def " not in text


def test_nothing_comes_from_elsewhere(opened: Visitor) -> None:
    for path in ("/open", "/columns", "/attackers", "/promise", "/runs", "/compare", "/decide"):
        text = opened.get(path)
        assert not re.search(r'(src|href|action)="(https?:)?//', text)
        assert "<script>" not in text
        assert not re.search(r'\son\w+="', text)


def test_a_fault_of_ours_shows_no_value(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("Meyer, 54, ill")

    monkeypatch.setattr(opening, "_screen", broken)
    status, _, text = visitor.ask("GET", "/open")
    assert status == 500
    assert "RuntimeError" in text
    assert "Meyer" not in text


def test_every_form_of_every_screen_carries_its_key(opened: Visitor) -> None:
    for path in ("/open", "/columns", "/attackers", "/promise", "/runs", "/decide"):
        text = opened.get(path)
        assert (
            text.count('method="post"')
            == text.count(f'name="form_key" value="{opened.keys.form}"')
            > 0
        )


@pytest.mark.parametrize(
    ("where", "fields"),
    [
        ("/columns", {"role-1": "other"}),
        ("/columns/text", {"text": "changed"}),
        ("/attackers", {"max_excess": "0.9"}),
        ("/promise", {"kind": "epsilon", "epsilon": "3"}),
        ("/runs", {}),
        ("/open", {"path": "people.csv", "encoding": "latin-1"}),
    ],
)
def test_a_tab_that_fell_behind_changes_nothing_and_is_told_so(
    opened: Visitor, where: str, fields: dict[str, str]
) -> None:
    behind = opened.project.stamp()
    opened.post("/attackers", max_excess="0.1")  # in another tab
    before = opened.project.stamp()
    for stamp in (behind, "", "x"):
        text = opened.post(where, choices=stamp, **fields)
        assert "has been changed since this form was loaded" in text
        assert opened.project.stamp() == before
        assert list(opened.project.path("runs").iterdir()) == []
    assert f'name="choices" value="{before}"' in text


def test_changes_from_many_tabs_at_once_are_taken_one_by_one(opened: Visitor) -> None:
    stamp = opened.project.stamp()
    with ThreadPoolExecutor(12) as tabs:
        texts = list(
            tabs.map(
                lambda i: opened.post("/attackers", choices=stamp, max_excess=f"0.{i + 1:02d}"),
                range(12),
            )
        )
    refused = ["has been changed since" in text for text in texts]
    assert refused.count(False) == 1
    assert opened.project.choices().max_excess == float(f"0.{refused.index(False) + 1:02d}")


def test_names_of_columns_are_words_wherever_they_stand(
    visitor: Visitor, people_file: Path
) -> None:
    names = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "'; drop",
        "{{ 7*7 }}",
        "a&b</textarea><b>",
        "line\u202etxt",
    ]
    rows = "\n".join(",".join(f"{i * j % 4}" for j in range(1, len(names) + 1)) for i in range(120))
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    people_file.write_text(f"{quoted}\n{rows}\n", encoding="utf-8")
    visitor.post("/open", path=str(people_file))
    visitor.wait_for_columns()
    visitor.post(
        "/columns", **{"role-0": "key", "role-1": "key", "role-2": "sensitive", "role-4": "label"}
    )
    for path in ("/open", "/columns", "/attackers", "/promise", "/runs", "/compare", "/decide"):
        text = visitor.get(path)
        assert not re.search(r"<script>|<img|<b>", text), path
        assert (path != "/columns") or "{{ 7*7 }}" in text
        assert text.count("</textarea>") == text.count("<textarea")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in visitor.get("/attackers")


@pytest.mark.parametrize(
    "path",
    [
        "/open?folder=%0d%0aset-cookie:%20a=b",
        "/compare?run=%0d%0ax:y",
        "/decide?run=1%0d%0a",
        "/result/1?column=%0d%0ax:%20y",
        "/enter?token=%0d%0ax:y",
    ],
)
def test_no_word_of_an_address_becomes_a_header(opened: Visitor, path: str) -> None:
    status, headers, _ = opened.ask("GET", path)
    assert status in (200, 303, 400, 403)
    assert not {"set-cookie", "x"} & set(headers)


def test_only_screens_that_load_themselves_again_have_a_script(opened: Visitor) -> None:
    for path in ("/open", "/columns", "/attackers", "/promise", "/runs", "/compare", "/decide"):
        _, headers, text = opened.ask("GET", path)
        assert (
            ("<script" in text)
            == ("script-src 'self'" in headers["content-security-policy"])
            == (path == "/runs")
        ), path


def test_files_of_a_stranger_in_the_folder_are_data(opened: Visitor) -> None:
    for number, (job, ended) in enumerate(
        (
            ({"words": "release"}, {"code": []}),
            ({"words": [1, {}]}, {"code": "x", "said": {"<b>": 1}}),
            ({}, {"code": True}),
        ),
        start=1,
    ):
        (folder := opened.project.path("runs", f"000{number}")).mkdir()
        write_json(folder / "job.json", job)
        write_json(folder / "ended.json", ended)
        write_json(folder / "progress.json", {"share": "<b>", "seconds": [], "left": {}})
    (folder := opened.project.path("runs", "0004")).mkdir()
    write_json(folder / "job.json", {"words": ["release", "/etc/passwd", "-o", "/etc/cron.d"]})
    shutil.copyfile(opened.project.path("project.toml"), folder / "project.toml")
    shutil.copyfile(opened.project.path("schema.toml"), folder / "schema.toml")
    text = opened.get("/runs")
    assert "Run 4: waits" in text
    assert "<b>" not in text
    assert "is not the one that its choices make" in opened.post("/runs/4/start")
    (folder / "project.toml").write_text(
        'format = "chaffinch-project"\nversion = 1\nsource = "/etc/passwd"\n'
    )
    assert "outside the folders that were opened" in opened.post("/runs/4/start")
    assert "Run 4: waits" in opened.get("/runs")


def test_a_form_is_read_by_name() -> None:
    form = SentForm((("a", "  x "), ("b", "1\r\n2"), ("a", "y")))
    assert (
        form.word("a"),
        form.word("a", 1),
        form.word("c"),
        form.text("b"),
        form.values("a"),
    ) == (
        "x",
        "x",
        "",
        "1\n2",
        ("  x ", "y"),
    )


def test_the_frame_names_all_steps_and_marks_one(visitor: Visitor) -> None:
    text = visitor.get("/decide")
    assert all(f'href="/{path}"' in text for path, _ in STEPS)
    assert text.count('aria-current="step"') == 1
    form = visitor.get("/promise")  # where a form is filled in, the steps are buttons that save it
    assert all(f'<button form="kept" name="go" value="{path}"' in form for path, _ in STEPS)
    assert form.count('aria-current="step"') == 1
    assert "<strong>Keep inside.</strong>" in text
