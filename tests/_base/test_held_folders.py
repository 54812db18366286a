"""Folders that a killed process left behind are removed; those in use, of others, and links are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from chaffinch._base.errors import FileError
from chaffinch._base.files import LOCK, filling, held, holding, remove_left_behind

pytest.importorskip("fcntl", reason="locks of files are those of Unix")

HOLD = """
import sys, time
from pathlib import Path
from chaffinch._base.files import held
folder = Path(sys.argv[1])
folder.mkdir()
with held(folder):
    (folder / "records").write_text("x")
    print("held", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    folder = tmp_path / "codes-1"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
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
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "codes-file",
        "codes-link",
        "codes-unheld",
        "elsewhere",
    ]
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


FILL = """
import sys, time
from pathlib import Path
from chaffinch._base.files import filling
with filling(Path(sys.argv[1])) as part:
    (part / "records").write_text("x")
    print("filling", flush=True)
    time.sleep(60)
"""


def test_a_folder_that_another_process_fills_is_refused_and_free_when_it_was_killed(tmp_path):
    folder, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(folder)
    process = subprocess.Popen(
        [sys.executable, "-c", FILL, str(folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "filling\n"
        for name in (folder, tmp_path / "." / "out", link):  # by whatever name
            with pytest.raises(FileError, match=r"Another run writes into '.*' now"), filling(name):
                raise AssertionError
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert [one.name.endswith(".part") for one in tmp_path.glob(".out.*")].count(True) == 1
    with filling(folder) as part:
        (part / "mine").write_text("y")
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "link",
        "out",
    ]  # what the killed one left is gone, the lock too
    assert os.listdir(folder) == ["mine"]


def test_one_thread_may_hold_a_folder_twice(tmp_path):
    with (
        holding(tmp_path / "out") as alone,
        holding(tmp_path / "out"),
        filling(tmp_path / "out") as part,
    ):
        assert alone
        (part / "mine").write_text("y")
    assert os.listdir(tmp_path) == ["out"]
    with (
        pytest.raises(FileError, match="No such file or directory"),
        holding(tmp_path / "none" / "out"),
    ):
        pass
