"""How a workflow runs: its clock, and the files that its result goes to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaffinch._base.runtime import silent
from chaffinch.errors import InputError
from chaffinch.workflows.run import (
    Destinations,
    ResultFolder,
    Stopwatch,
    check_inputs,
    start_run,
)


class Result:
    """A result with a number and a secret."""

    def to_dict(self):
        return {"value": 0.5}

    def confidential(self):
        return {"cells": ["a"]}


def page(*, public=False):
    return "may leave" if public else "inside"


def test_each_file_has_its_form_and_its_mode(tmp_path):
    names = ("json", "html", "public", "confidential")
    files = Destinations(**{name: tmp_path / name for name in names})
    lines = files.write(Result(), page)
    ends = (".", ".", ".", ": confidential.")
    assert lines == tuple(
        f"Wrote {tmp_path / name}{end}" for name, end in zip(names, ends, strict=True)
    )
    assert json.loads(files.json.read_text()) == {"value": 0.5}
    assert json.loads(files.confidential.read_text()) == {"cells": ["a"]}
    assert (files.html.read_text(), files.public.read_text()) == ("inside", "may leave")
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in names}
    assert modes["html"] == modes["confidential"] == 0o600  # readable by the owner alone
    assert modes["public"] & 0o077
    assert modes["json"] & 0o077


def test_without_files_nothing_is_rendered():
    assert Destinations().write(None, lambda: 1 / 0) == ()


def test_other_data_stand_in_the_json(tmp_path):
    files = Destinations(json=tmp_path / "r.json")
    files.write(Result(), data={"rows": 2})
    assert json.loads(files.json.read_text()) == {"rows": 2}


def test_the_clock_adds_up_blocks_of_one_step_that_end_well():
    clock = Stopwatch()
    for step in ("read", "fit", "read"):
        with clock.timed(step):
            pass
    with pytest.raises(ZeroDivisionError), clock.timed("draw"):
        1 / 0  # noqa: B018
    assert list(clock.seconds) == ["read", "fit"]
    assert all(seconds >= 0 for seconds in clock.seconds.values())


def test_a_run_from_python_is_silent_where_no_notebook_watches():
    with start_run(seed=1, threads=2) as run:
        assert run.options == {"seed": 1, "threads": 2, "progress": silent}


def test_values_that_take_time_are_timed_as_they_come() -> None:
    clock = Stopwatch()
    assert list(clock.iterate("draw", [None, 0, 1])) == [None, 0, 1]
    assert list(clock.seconds) == ["draw"]
    assert clock.elapsed >= clock.seconds["draw"] >= 0


def test_a_folder_of_results_says_what_may_leave(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path)
    (folder.leaving / "table.csv").write_text("a\n1\n")
    (folder.inside / "notes.txt").write_text("inside")
    assert folder.finish() == ["confidential/notes.txt", "to-release/table.csv"]
    assert (tmp_path / "confidential" / "notes.txt").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "confidential").stat().st_mode & 0o777 == 0o700
    folder.refuse()
    assert folder.finish() == ["confidential/notes.txt", "confidential/refused/table.csv"]
    assert not (tmp_path / "to-release").exists()
    (tmp_path / "confidential" / "refused" / "table.csv").unlink()
    assert folder.finish() == ["confidential/notes.txt"]
    assert not (tmp_path / "confidential" / "refused").exists()


def test_an_input_where_results_are_written_is_refused(tmp_path: Path) -> None:
    check_inputs(tmp_path, [None, tmp_path / "a.csv", tmp_path / "to-release-not" / "a.csv"])
    inside = tmp_path / "confidential" / "deeper" / "a.csv"
    with pytest.raises(InputError, match=r"a\.csv' lies in '.*' where the release is written"):
        check_inputs(tmp_path, [inside])
    check_inputs(tmp_path, [inside], names=["to-release"])


def test_destinations_outside_a_folder(tmp_path: Path) -> None:
    files = Destinations(json=tmp_path / "out" / "a.json", public=tmp_path / "a.html")
    assert files.outside(tmp_path / "out") == (tmp_path / "a.html",)
