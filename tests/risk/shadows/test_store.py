"""Finished shadows on disk."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.risk.shadows.run import FolderStore, ShadowPart, UnnamedStore, store_for, stored_seed


def part(first, shadows, **seen):
    codes = np.random.default_rng(first).integers(0, 9, (shadows, 2, 5, 3)).astype(np.uint8)
    return ShadowPart(np.arange(first, first + shadows), codes, **seen)


def same(one, other):
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.codes, other.codes)
    assert one.codes.dtype == other.codes.dtype
    for what in ("nodes", "cells", "values"):
        ours, theirs = getattr(one, what), getattr(other, what)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("named", [True, False])
def test_parts_come_back_as_they_were(named, tmp_path):
    store = store_for(tmp_path / "s" if named else None, "f")
    parts = [part(0, 3), part(3, 4, values=np.ones((4, 2, 1, 6), dtype=np.float32)), part(7, 1)]
    for one in parts:
        store.add(one)
    for ours, theirs in zip(store.parts(), parts, strict=True):
        same(ours, theirs)


def test_a_store_without_a_name_can_be_left_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = UnnamedStore("f")
    store.add(part(0, 3))
    assert list(tmp_path.iterdir()) == []
    folder = store.leave()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    same(FolderStore(folder, "f").parts()[0], part(0, 3))
    with pytest.raises(InputError, match="other data"):
        FolderStore(folder, "g")


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_shadows(how, tmp_path):
    code = (
        "import os, numpy as np\n"
        "from chaffinch.risk.shadows.run import ShadowPart, UnnamedStore\n"
        "store = UnnamedStore('f')\n"
        "store.add(ShadowPart(np.arange(2), np.ones((2, 1, 500, 3), dtype=np.uint8)))\n"
        f"os.kill(os.getpid(), {int(how)})\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
    )
    assert ended.returncode == -how
    assert list(tmp_path.iterdir()) == []


def test_a_kept_run_without_a_seed_keeps_its_seed(tmp_path):
    first = stored_seed(tmp_path / "s", None)
    assert stored_seed(tmp_path / "s", None) == first
    assert stored_seed(tmp_path / "s", 5) == 5
    assert stored_seed(None, None) is None
    assert stored_seed(tmp_path / "given", 5) == 5
    assert stored_seed(tmp_path / "given", None) == 5
