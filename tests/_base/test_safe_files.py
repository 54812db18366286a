"""Files are the old one or the new one, whole; folders too; small files are read whole or refused in words."""

from __future__ import annotations

import stat

import pytest

from chaffinch._base.errors import FileError
from chaffinch._base.safe_files import (
    check_outputs,
    check_writable,
    filling,
    kept_files,
    read_small,
    replacing,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def half():
        with replacing(path) as part:
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


def test_a_folder_is_filled_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "out"

    def fill(fails):
        with filling(folder) as part:
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
    assert {file.name: file.read_text() for file in folder.iterdir() if file.is_file()} == {"a.txt": "new", "mine.txt": "stays"}
    assert (folder / "inner" / "b.txt").read_text() == "secret"
    assert {folder / "a.txt", folder / "inner" / "b.txt"} <= set(kept_files())
    assert (folder / "inner").stat().st_mode & 0o077 == 0
    with pytest.raises(FileError, match="it is a file"), filling(folder / "a.txt"):
        pass


def test_small_files(tmp_path):
    path = tmp_path / "s.toml"
    options = {"what": "schema", "most": 1 << 20, "next_step": "Write one."}
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
