"""Files are the old one or the new one, whole; folders too, and what is in use is told from what a killed run left."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chaffinch._base.files import (
    LOCK,
    check_outputs,
    check_writable,
    filling,
    holding,
    kept_files,
    mark_in_use,
    overwriting,
    read_small,
    remove_left_behind,
    replacing,
    write_text,
)
from chaffinch.errors import FileError

needs_locks = pytest.mark.skipif(
    importlib.util.find_spec("fcntl") is None, reason="locks of files are those of Unix"
)


@contextlib.contextmanager
def process_in(place: Path, block: str):
    """A process that stays in a block over a folder until it is killed, after the block here."""
    program = f"""
import sys, time
from pathlib import Path
from chaffinch._base.files import filling, mark_in_use
place = Path(sys.argv[1])
with {block}(place) as part:
    ((part or place) / "records").write_text("x")
    print("there", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "there\n"
            yield
        finally:
            process.kill()


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def half():
        with replacing(path, overwrite=True) as part:
            part.write_text("half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_mode_that_was_asked_for(tmp_path):
    write_text(tmp_path / "t.txt", "é", mode=0o600)
    assert (tmp_path / "t.txt").read_bytes() == "é".encode()
    assert stat.S_IMODE((tmp_path / "t.txt").stat().st_mode) == 0o600


def test_where_no_file_can_be_written(tmp_path):
    with pytest.raises(FileError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(FileError, match="there is no folder"):
        check_writable(tmp_path / "none" / "t.csv")


def test_outputs_are_neither_the_input_nor_one_another(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    check_outputs(one, two, None)
    with pytest.raises(FileError, match="it is the input"):
        check_outputs(one, two, tmp_path / "." / "a.csv")
    with pytest.raises(FileError, match="it is another output"):
        check_outputs(None, two, two)


def test_what_is_there_is_not_overwritten_unless_it_is_said(tmp_path):
    path = tmp_path / "t.txt"
    write_text(path, "old")
    with pytest.raises(
        FileError, match=r"it exists\. Name another, or replace it with --overwrite"
    ):
        write_text(path, "new")
    with pytest.raises(FileError, match="it exists"):
        check_outputs(None, path)
    check_outputs(None, updated=[path])
    assert path.read_text() == "old"
    with overwriting():
        check_outputs(None, path)
        write_text(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(FileError, match="it exists"):
        write_text(path, "after the block")
    write_text(path, "newer", overwrite=True)
    assert path.read_text() == "newer"
    with overwriting(), pytest.raises(FileError, match="a privacy budget is spent once"):
        check_outputs(None, path, paid=[path])
    with (
        overwriting(),
        pytest.raises(FileError, match="a privacy budget is spent once"),
        replacing(path, paid=True) as part,
    ):
        part.write_text("paid")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")  # a name that leads nowhere is taken too
    with pytest.raises(FileError, match="it exists"):
        write_text(tmp_path / "link", "new")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "t.txt"]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_comes_meanwhile_is_not_overwritten(tmp_path, monkeypatch, links):
    path = tmp_path / "t.txt"

    def no_links(*_):
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", no_links)

    def late():
        with replacing(path) as part:
            part.write_text("mine")
            path.write_text("theirs")

    with pytest.raises(FileError, match="it exists"):
        late()
    assert path.read_text() == "theirs"
    path.unlink()
    with replacing(path) as part:
        part.write_text("mine")
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["t.txt"]


def test_of_many_that_write_one_file_one_says_that_it_did(tmp_path):
    ready, wrote = threading.Barrier(8), []

    def write(number):
        with replacing(tmp_path / "t.txt") as part:
            part.write_text(str(number))
            ready.wait()  # all have seen that it is free
        wrote.append(number)

    def quietly(number):
        with contextlib.suppress(FileError):
            write(number)

    threads = [threading.Thread(target=quietly, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrote) == 1
    assert (tmp_path / "t.txt").read_text() == str(wrote[0])
    assert os.listdir(tmp_path) == ["t.txt"]


def test_a_folder_that_holds_something_is_refused_and_an_earlier_result_replaced_whole(tmp_path):
    folder = tmp_path / "out"

    def fill(text, **options):
        with filling(folder, names=["inside"], mark="inside/report", **options) as part:
            (part / "inside").mkdir()
            (part / "inside" / "report").write_text(text)

    folder.mkdir()
    (folder / ".keep").write_text("")
    (folder / "mine.txt").write_text("stays")
    fill("first")  # nothing of its names is there
    with pytest.raises(FileError, match="it exists"), filling(folder):
        raise AssertionError
    (folder / "inside" / "stale").write_text("goes")
    with pytest.raises(FileError, match="it exists"):
        fill("second")
    with pytest.raises(FileError, match="a privacy budget is spent once"):
        fill("second", overwrite=True, paid=True)
    assert (folder / "inside" / "report").read_text() == "first"
    fill("second", overwrite=True)
    assert {str(one.relative_to(folder)) for one in folder.rglob("*")} == {
        ".keep",
        "mine.txt",
        "inside",
        "inside/report",
    }
    assert (folder / "inside" / "report").read_text() == "second"
    (folder / "inside" / "report").unlink()
    (folder / "inside" / "diary").write_text("no result of ours")
    with pytest.raises(
        FileError, match=r"'inside' in it is of no earlier result, which has 'inside/report'"
    ):
        fill("third", overwrite=True)
    assert (folder / "inside" / "diary").exists()
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_comes_meanwhile_is_not_overwritten(tmp_path):
    folder = tmp_path / "out"

    def late():
        with filling(folder) as part:
            (part / "a").write_text("mine")
            folder.mkdir()
            (folder / "a").write_text("theirs")

    with pytest.raises(FileError, match="it exists"):
        late()
    assert (folder / "a").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["out"]


def test_when_the_exchange_fails_the_earlier_result_is_back(tmp_path, monkeypatch):
    folder, rename = tmp_path / "out", os.rename

    def fill(text):
        with filling(folder, overwrite=True) as part:
            for name in ("a", "b", "c"):
                (part / name).mkdir()
                (part / name / "x").write_text(text)

    fill("first")

    def failing(old, new):
        if str(new) == str(folder / "b") and ".part" in str(old):
            raise OSError(28, "No space left on device")
        rename(old, new)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(FileError, match="No space left"):
        fill("second")
    assert {name: (folder / name / "x").read_text() for name in os.listdir(folder)} == {
        "a": "first",
        "b": "first",
        "c": "first",
    }
    assert os.listdir(tmp_path) == ["out"]


def test_a_search_that_goes_on_keeps_its_files_and_renews_its_release(tmp_path):
    folder = tmp_path / "out"
    (folder / "leaves").mkdir(parents=True)
    (folder / "leaves" / "table").write_text("of an earlier choice")
    (folder / "tried").write_text("kept")
    with filling(folder, resume=True, renewed=["leaves", "absent"]) as part:
        (part / "page").write_text("new")
    assert sorted(os.listdir(folder)) == ["page", "tried"]


def test_a_folder_is_filled_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "out"

    def fill(fails):
        with filling(folder, resume=True) as part:
            (part / "a.txt").write_text("new")
            (part / "inner").mkdir(mode=0o700)
            (part / "inner" / "b.txt").write_text("secret")
            if fails:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        fill(True)
    assert list(tmp_path.iterdir()) == []
    fill(False)
    (folder / "mine.txt").write_text("stays")
    (folder / "a.txt").write_text("old")
    with pytest.raises(RuntimeError):
        fill(True)
    assert (folder / "a.txt").read_text() == "old"
    fill(False)
    assert {file.name: file.read_text() for file in folder.iterdir() if file.is_file()} == {
        "a.txt": "new",
        "mine.txt": "stays",
    }
    assert (folder / "inner" / "b.txt").read_text() == "secret"
    assert {folder / "a.txt", folder / "inner" / "b.txt"} <= set(kept_files())
    assert (folder / "inner").stat().st_mode & 0o077 == 0
    with pytest.raises(FileError, match="it is a file"), filling(folder / "a.txt"):
        pass


def test_small_files(tmp_path):
    path = tmp_path / "s.toml"
    options = {"what": "schema", "max_bytes": 1 << 20, "next_step": "Write one."}
    with pytest.raises(FileError, match=r"No such file: '.*'. Write one."):
        read_small(path, **options)
    path.write_bytes("\ufeffa = 1".encode())
    assert read_small(path, **options) == "a = 1"
    path.write_bytes(b"\xff")
    with pytest.raises(FileError, match="is not UTF-8, which a schema is"):
        read_small(path, **options)
    path.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(FileError, match="is over 1 MiB: no schema is that large"):
        read_small(path, **options)


KILLED = """
import os, signal, sys
from chaffinch._base.files import filling, replacing
with filling(sys.argv[1]) as folder, replacing(sys.argv[2]) as file:
    (folder / "records").write_text("x")
    file.write_text("x")
    print("written", flush=True)
    {end}
"""


def _left(tmp_path: Path) -> list[str]:
    return sorted(
        re.sub("[0-9a-f]{8}", "*", place.name)
        for place in tmp_path.iterdir()
        if place.name.endswith(".part")
    )


@needs_locks
def test_what_a_killed_run_left_is_removed_by_the_next_run_beside_it(tmp_path):
    words = [
        sys.executable,
        "-c",
        KILLED.format(end="os.kill(os.getpid(), signal.SIGKILL)"),
        str(tmp_path / "out"),
        str(tmp_path / "t.csv"),
    ]
    assert subprocess.run(words, check=False, capture_output=True).returncode == -signal.SIGKILL
    assert _left(tmp_path) == [".out.*.part", ".t.csv.*.part"]
    with replacing(
        tmp_path / "t.csv"
    ) as part:  # written a moment ago: it may be somebody's who is about to hold it
        part.write_text("y")
    assert _left(tmp_path) == [".out.*.part", ".t.csv.*.part"]
    for place in tmp_path.glob(".t.csv.*.part"):
        os.utime(place, (0, 0))
    with (
        replacing(tmp_path / "t.csv", overwrite=True) as part,
        filling(tmp_path / "other") as folder,
    ):
        part.write_text("z")
        (folder / "a").write_text("a")
        assert len(_left(tmp_path)) == 2  # those of this run
    assert _left(tmp_path) == []
    assert sorted(place.name for place in (tmp_path / "other").iterdir()) == ["a"]
    assert sorted(place.name for place in tmp_path.iterdir()) == [
        "other",
        "t.csv",
    ]  # no locks either


@needs_locks
def test_what_another_run_writes_is_left_alone(tmp_path):
    words = [
        sys.executable,
        "-c",
        KILLED.format(end="sys.stdin.read()"),
        str(tmp_path / "out"),
        str(tmp_path / "t.csv"),
    ]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        for place in tmp_path.glob(".t.csv.*.part"):
            os.utime(place, (0, 0))
        (
            tmp_path / ".theirs.0123abcd.part"
        ).mkdir()  # without a lock in it, as Spark's: nobody can tell
        with overwriting(), replacing(tmp_path / "t.csv") as part, filling(tmp_path / "other"):
            part.write_text("z")
        assert _left(tmp_path) == [".out.*.part", ".t.csv.*.part", ".theirs.*.part"]
        (tmp_path / "t.csv").unlink()
        process.stdin.close()
    assert process.returncode == 0
    assert (tmp_path / "out" / "records").read_text() == (tmp_path / "t.csv").read_text() == "x"
    assert _left(tmp_path) == [".theirs.*.part"]


@needs_locks
def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    folder = tmp_path / "codes-1"
    folder.mkdir()
    with process_in(folder, "mark_in_use"):
        remove_left_behind(tmp_path, "codes-")
        assert (folder / "records").exists()
    remove_left_behind(tmp_path, "other-")
    assert (folder / "records").exists()
    remove_left_behind(tmp_path, "codes-")
    assert not folder.exists()


@needs_locks
def test_folders_without_a_lock_and_links_are_left_alone(tmp_path):
    (tmp_path / "codes-unheld").mkdir()
    (tmp_path / "elsewhere").mkdir()
    with mark_in_use(tmp_path / "elsewhere"):
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


@needs_locks
def test_folders_of_other_users_are_left_alone(tmp_path, monkeypatch):
    (tmp_path / "codes-1").mkdir()
    with mark_in_use(tmp_path / "codes-1"):
        pass
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    remove_left_behind(tmp_path, "codes-")
    assert (tmp_path / "codes-1").exists()
    monkeypatch.setattr(os, "getuid", lambda: mine)
    remove_left_behind(tmp_path, "codes-")
    assert not (tmp_path / "codes-1").exists()


@needs_locks
def test_a_folder_that_another_process_fills_is_refused_and_free_when_it_was_killed(tmp_path):
    folder, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(folder)
    with process_in(folder, "filling"):
        for name in (folder, tmp_path / "." / "out", link):  # by whatever name
            with pytest.raises(FileError, match=r"Another run writes into '.*' now"), filling(name):
                raise AssertionError
    assert [one.name.endswith(".part") for one in tmp_path.glob(".out.*")].count(True) == 1
    with filling(folder) as part:
        (part / "mine").write_text("y")
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "link",
        "out",
    ]  # what the killed one left is gone, the lock too
    assert os.listdir(folder) == ["mine"]


@needs_locks
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
