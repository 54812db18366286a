"""Folders that a killed process left behind are removed; those in use, of others, and links are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from chaffinch._base.held_folders import LOCK, held, remove_left_behind

pytest.importorskip("fcntl", reason="locks of files are those of Unix")

HOLD = """
import sys, time
from pathlib import Path
from chaffinch._base.held_folders import held
folder = Path(sys.argv[1])
folder.mkdir()
with held(folder):
    (folder / "records").write_text("x")
    print("held", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    folder = tmp_path / "codes-1"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "held\n"
        remove_left_behind(tmp_path, "codes-")
        assert (folder / "records").exists()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    remove_left_behind(tmp_path, "other-")
    assert (folder / "records").exists()
    remove_left_behind(tmp_path, "codes-")
    assert not folder.exists()


def test_folders_without_a_lock_and_links_are_left_alone(tmp_path):
    (tmp_path / "codes-unheld").mkdir()
    (tmp_path / "elsewhere").mkdir()
    with held(tmp_path / "elsewhere"):
        pass
    (tmp_path / "codes-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "codes-file").write_text("x")
    remove_left_behind(tmp_path, "codes-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codes-file", "codes-link", "codes-unheld", "elsewhere"]
    assert (tmp_path / "elsewhere" / LOCK).exists()
    remove_left_behind(tmp_path / "nowhere", "codes-")


def test_folders_of_other_users_are_left_alone(tmp_path, monkeypatch):
    (tmp_path / "codes-1").mkdir()
    with held(tmp_path / "codes-1"):
        pass
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    remove_left_behind(tmp_path, "codes-")
    assert (tmp_path / "codes-1").exists()
    monkeypatch.setattr(os, "getuid", lambda: mine)
    remove_left_behind(tmp_path, "codes-")
    assert not (tmp_path / "codes-1").exists()
