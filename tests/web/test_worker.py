"""The worker keeps what a command said at its end, for its owner alone."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from chaffinch.web import worker
from chaffinch.web.project import write_json
from chaffinch.web.worker import COMMANDS, main


def test_a_worker_writes_how_its_command_ended(tmp_path: Path) -> None:
    write_json(
        tmp_path / "job.json",
        {"words": ["release", str(tmp_path / "none.csv"), "-o", str(tmp_path / "out")]},
    )
    assert main(tmp_path) == 2
    ended = json.loads((tmp_path / "ended.json").read_text())
    assert ended["code"] == 2
    assert "No such file" in ended["said"]
    assert stat.S_IMODE((tmp_path / "said.txt").stat().st_mode) == 0o600
    assert not (tmp_path / "out").exists()


def test_only_what_the_page_starts_is_run(tmp_path: Path) -> None:
    for words in ([], ["sample"], ["-c", "import os"]):
        write_json(tmp_path / "job.json", {"words": words})
        assert main(tmp_path) == 2
    assert not (tmp_path / "started.json").exists()
    assert frozenset(("release", "check", "look")) == COMMANDS


def test_a_link_that_was_put_in_the_place_of_the_file_is_not_followed(
    tmp_path: Path, table: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(table.read_text())
    write_json(tmp_path / "job.json", {"words": ["look", str(table), str(tmp_path)]})
    table.unlink()
    table.symlink_to(secret)
    assert main(tmp_path) == 2
    assert "is a link by now" in json.loads((tmp_path / "ended.json").read_text())["said"]
    assert not (tmp_path / "started.json").exists()


def test_nothing_is_kept_where_a_link_came_while_it_was_read(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Swapping(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            code = super().wait(timeout)
            (tmp_path / "out").mkdir()
            table.rename(tmp_path / "moved.csv")
            table.symlink_to(tmp_path / "moved.csv")
            return code

    monkeypatch.setattr(worker.subprocess, "Popen", Swapping)
    write_json(tmp_path / "job.json", {"words": ["release", str(table), "--nothing"]})
    assert main(tmp_path) == 2
    assert "Nothing is kept" in json.loads((tmp_path / "ended.json").read_text())["said"]
    assert not (tmp_path / "out").exists()


def test_a_job_that_was_stopped_before_it_began_does_not_begin(tmp_path: Path, table: Path) -> None:
    write_json(tmp_path / "job.json", {"words": ["look", str(table), str(tmp_path)]})
    (tmp_path / "stop").touch()
    assert main(tmp_path) == 130
    assert not (tmp_path / "started.json").exists()
