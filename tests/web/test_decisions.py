"""A decision is a record with names, times and hashes; what leaves is the table, the page and the record, and nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from chaffinch.errors import FileError, InputError
from chaffinch.web.decisions import (
    Checker,
    DecisionState,
    approve,
    other_name,
    put_down,
    read_record,
    read_records,
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
        checkers=[Checker(name="Ann", time="t")],
        waiting=False,
        about={},
    )
    record = read_record(folder)
    assert record is not None
    assert (
        record.number,
        record.run,
        record.state,
        record.reason,
        record.checkers,
    ) == (3, 4, DecisionState.RETURNED, "too coarse", (Checker(name="Ann", time="t"),))
    assert read_records(folder.parent) == [record]
    (folder / "decision.json").write_text("{")
    assert read_record(folder) is None


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
        checkers=[Checker(name="Ann", time="t")],
        about={"policy": {}},
    )
    for number, run, waiting in ((4, 7, False), (5, 2, True), (6, 2, False)):
        (other := tmp_path / f"{number:04d}").mkdir()
        put_down(
            other,
            "approved" if number < 6 else word,
            run=run,
            reason="a copy was found",
            checkers=[Checker(name="Bo", time="t2")],
            waiting=waiting,
            about={},
        )
    later = read_record(tmp_path / "0006")
    assert later is not None
    withdraw(tmp_path, later)
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
    states = {record.number: record.state for record in read_records(tmp_path)}
    assert states == {3: "withdrawn", 4: "approved", 5: "withdrawn", 6: word}
    assert [
        record.withdrawn.by_decision for record in read_records(tmp_path) if record.withdrawn
    ] == [6, 6]


def test_an_approval_waits_for_a_second_name_until_it_is_taken_back(tmp_path: Path) -> None:
    for number, word in ((1, "approved"), (2, "rejected")):
        (folder := tmp_path / f"{number:04d}").mkdir()
        put_down(
            folder,
            word,
            run=7,
            reason="x",
            checkers=[Checker(name="Ann", time="t")],
            waiting=number == 1,
            about={},
        )
    later = read_record(tmp_path / "0002")
    assert [record.state for record in read_records(tmp_path)] == ["rejected", "waiting"]
    withdraw(tmp_path, later)
    assert [record.state for record in read_records(tmp_path)] == ["rejected", "withdrawn"]


OLD = {
    "format": "chaffinch-decision",
    "version": 1,
    "decision": "withdrawn",
    "reason": "fine",
    "checkers": [{"name": "Ann", "time": "t"}],
    "waiting_for_a_second_checker": False,
    "run": 2,
    "chaffinch": "0.1.0",
    "policy": {"max_excess": 0.1, "state": "undecided", "passed": None},
    "versions": {"chaffinch": "0.1.0"},
    "made": "2026-01-01",
    "command": ["release", "a.csv"],
    "files": {"synthetic.csv": "0"},
    "was": "approved",
    "withdrawn": {
        "by_decision": 6,
        "decision": "rejected",
        "reason": "r",
        "checkers": [{"name": "Bo", "time": "t"}],
    },
}
"""A record as earlier releases wrote it."""


def test_a_record_of_an_earlier_release_is_read_and_written_as_it_was(folder: Path) -> None:
    (folder / "decision.json").write_text(json.dumps(OLD))
    record = read_record(folder)
    assert record.state is DecisionState.WITHDRAWN
    record.write(folder)
    assert list(json.loads((folder / "decision.json").read_text()).items()) == list(OLD.items())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "x"}, 'is no decision: it must say format = "chaffinch-decision"'),
        ({"version": 2}, "must have version = 1"),
        ({"decison": "approved"}, "Unknown key 'decison'. Did you mean 'decision'?"),
        ({"decision": "perhaps"}, "'decision' is not as it should be"),
        ({"run": "2"}, "'run' is not as it should be: input should be a valid integer"),
        ({"run": True}, "'run' is not as it should be: input should be a valid integer"),
        ({"checkers": "Ann"}, "'checkers' is not as it should be"),
        ({"checkers": [{"name": 1, "time": "t"}]}, "'checkers' is not as it should be"),
        (
            {"waiting_for_a_second_checker": "no"},
            "'waiting_for_a_second_checker' is not as it should be",
        ),
        ({"withdrawn": {}}, "'withdrawn' is missing."),
    ],
)
def test_a_record_that_somebody_changed_is_refused_in_words(
    folder: Path, change: dict[str, object], says: str
) -> None:
    (folder / "decision.json").write_text(json.dumps({**OLD, **change}))
    with pytest.raises(InputError) as error:
        read_records(folder.parent)
    assert f"'{folder / 'decision.json'}'" in str(error.value)
    assert says in str(error.value)
