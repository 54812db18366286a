"""The worker keeps what a command said at its end, for its owner alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from chaffinch.web.project import write_json
from chaffinch.web.worker import COMMANDS, main


def test_a_worker_writes_how_its_command_ended(tmp_path: Path) -> None:
    write_json(tmp_path / "job.json", {"words": ["release", str(tmp_path / "none.csv"), "-o", str(tmp_path / "out")]})
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
