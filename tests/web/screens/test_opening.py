"""Opening a file: by its path or in a folder; what is outside, absent or no table is said so, and nothing is kept of it."""

from __future__ import annotations

from pathlib import Path

from ..conftest import Visitor


def test_a_file_is_opened_and_what_was_understood_is_said(
    visitor: Visitor, people_file: Path
) -> None:
    assert "people.csv" in visitor.get("/open")
    visitor.post("/open", path="people.csv")
    visitor.wait_for_columns()
    text = visitor.get("/open")
    assert "What was understood" in text
    assert "<dd>300</dd>" in text
    assert f"chaffinch describe {people_file}" in text


def test_a_path_outside_or_absent_is_refused(visitor: Visitor, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n")
    assert "outside the folders" in visitor.post("/open", path=str(tmp_path / "other.csv"))
    assert "outside the folders" in visitor.post("/open", path="../other.csv")
    assert "No such file" in visitor.post("/open", path="none.csv")
    assert "Name a file" in visitor.post("/open", path="")
    assert visitor.project.choices().source == ""


def test_a_folder_is_looked_into(visitor: Visitor, people_file: Path) -> None:
    (people_file.parent / "deep").mkdir()
    (people_file.parent / "deep" / "more.csv").write_text("a\n1\n")
    assert "more.csv" in visitor.get("/open?folder=deep")
    assert "more.csv" in visitor.post("/open", path="deep")
    assert "outside the folders" in visitor.get("/open?folder=/etc")


def test_a_file_that_is_no_table_is_said_so(visitor: Visitor, people_file: Path) -> None:
    (people_file.parent / "empty.csv").write_text("")
    visitor.post("/open", path="empty.csv")
    assert "is empty" in visitor.until("/columns", "is empty")


def test_another_file_puts_the_choices_away_and_the_same_one_keeps_them(
    opened: Visitor, people_file: Path
) -> None:
    opened.project.change(max_excess=0.1)
    opened.post("/open", path=str(people_file))
    assert opened.project.choices().max_excess == 0.1
    (people_file.parent / "b.csv").write_text("x,y\n" + "1,a\n2,b\n" * 30)
    opened.post("/open", path="b.csv")
    assert opened.project.choices().max_excess is None
    assert "x</bdi>" in opened.wait_for_columns()
