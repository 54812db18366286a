"""A decision is a record with names, times and hashes; what leaves is the table, the page and the record, and nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from chaffinch.errors import FileError, InputError
from chaffinch.web.decisions import (
    Checker,
    approve,
    other_name,
    put_down,
    read_records,
    record_in,
    withdraw,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a decision."""
    (made := tmp_path / "0003").mkdir()
    return made


def test_an_approval_holds_three_files_with_their_hashes(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "synthetic.csv"
    table.write_text("a\n1\n")
    approve(
        folder,
        [table],
        "<p>page</p>",
        run=2,
        reason="fine",
        checkers=[Checker.now("Ann")],
        about={"policy": {}},
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "decision.json",
        "page.html",
        "synthetic.csv",
    ]
    record = json.loads((folder / "decision.json").read_text())
    assert record["files"] == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("synthetic.csv", "page.html")
    }
    assert (record["decision"], record["run"], record["checkers"][0]["name"]) == (
        "approved",
        2,
        "Ann",
    )


def test_a_table_that_is_gone_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError):
        approve(
            folder,
            [tmp_path / "none.csv"],
            "",
            run=1,
            reason="x",
            checkers=[Checker.now("Ann")],
            about={},
        )
    assert list(folder.iterdir()) == []


def test_a_record_is_read_back(folder: Path) -> None:
    put_down(
        folder,
        "returned",
        run=4,
        reason="  too coarse ",
        checkers=[Checker("Ann", "t")],
        waiting=False,
        about={},
    )
    record = record_in(folder)
    assert record is not None
    assert (
        record.number,
        record.run,
        record.word,
        record.reason,
        record.checkers,
        record.waiting,
    ) == (3, 4, "returned", "too coarse", (Checker("Ann", "t"),), False)
    assert read_records(folder.parent) == [record]
    (folder / "decision.json").write_text("{")
    assert record_in(folder) is None


@pytest.mark.parametrize(
    ("word", "reason"), [("perhaps", "x"), ("approved", " "), ("approved", "x" * 9000)]
)
def test_a_decision_has_a_word_and_a_reason(folder: Path, word: str, reason: str) -> None:
    with pytest.raises(InputError):
        put_down(
            folder,
            word,
            run=1,
            reason=reason,
            checkers=[Checker.now("Ann")],
            waiting=False,
            about={},
        )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["Ann Lee", "ann  lee", "ANN-LEE", " Ann Lee ", "Ánn Lee", "Lee, Ann", "AnnLee"]
)
def test_the_second_checker_is_another_person_however_spelled(name: str) -> None:
    with pytest.raises(InputError, match="another person"):
        other_name(name, [Checker.now("Ann Lee")])
    assert other_name("Bo Kim", [Checker.now("Ann Lee")]).name == "Bo Kim"


@pytest.mark.parametrize("name", ["", " ", "A", "x" * 200])
def test_a_checker_has_a_name(name: str) -> None:
    with pytest.raises(InputError):
        Checker.now(name)


@pytest.mark.parametrize("word", ["rejected", "returned"])
def test_an_approval_of_a_run_that_is_rejected_later_is_marked(
    folder: Path, tmp_path: Path, word: str
) -> None:
    table = tmp_path / "synthetic.csv"
    table.write_text("a\n1\n")
    approve(
        folder,
        [table],
        "<p>page</p>",
        run=2,
        reason="fine",
        checkers=[Checker("Ann", "t")],
        about={"policy": {}},
    )
    for number, run, waiting in ((4, 7, False), (5, 2, True), (6, 2, False)):
        (other := tmp_path / f"{number:04d}").mkdir()
        put_down(
            other,
            "approved" if number < 6 else word,
            run=run,
            reason="a copy was found",
            checkers=[Checker("Bo", "t2")],
            waiting=waiting,
            about={},
        )
    by = record_in(tmp_path / "0006")
    assert by is not None
    withdraw(tmp_path, by)
    mark = (folder / "WITHDRAWN.txt").read_text()
    assert mark.startswith("WITHDRAWN. What is in this folder may not leave any more.")
    assert f"Decision 6: run 2 {word} by Bo (t2).\nReason: a copy was found" in mark
    record = json.loads((folder / "decision.json").read_text())
    assert (record["decision"], record["was"], record["reason"], record["checkers"]) == (
        "withdrawn",
        "approved",
        "fine",
        [{"name": "Ann", "time": "t"}],
    )
    assert record["files"].keys() == {"synthetic.csv", "page.html"}
    assert record["withdrawn"]["by_decision"] == 6
    found = {
        one.number: (one.word, one.waiting, one.withdrawn_by) for one in read_records(tmp_path)
    }
    assert found == {
        3: ("withdrawn", False, 6),
        4: ("approved", False, 0),
        5: ("withdrawn", False, 6),
        6: (word, False, 0),
    }
