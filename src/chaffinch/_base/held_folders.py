"""Folders of records that are held by the process that made them: what a process that was killed left behind is told from what is in use, and removed.

A holder keeps a lock on a file in the folder; the system lets go of it when the process ends, however it ends. A folder whose lock can be
taken is nobody's. Folders of other users, links, and folders without such a file are left alone, as are all where locks are not to be had
(Windows, some network file systems).
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

__all__ = ["held", "remove_left_behind"]

LOCK = "held"
"""The file that the holder of a folder keeps locked."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder until the block ends: nobody removes it meanwhile as left behind."""
    handle = -1
    with contextlib.suppress(ImportError, OSError):  # without a lock it is never taken for left behind
        import fcntl

        handle = os.open(folder / f"{LOCK}.new", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(folder / f"{LOCK}.new", folder / LOCK)  # only now, so that nobody sees the file without its lock
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def remove_left_behind(place: Path, prefix: str) -> None:
    """Remove the folders in `place`, by the beginning of their names, that processes of this user held and did not remove."""
    try:
        import fcntl

        folders = [path for path in place.iterdir() if path.name.startswith(prefix)]
    except (ImportError, OSError):
        return
    for folder in folders:
        with contextlib.suppress(OSError):  # held, gone, not ours to open: left alone
            info = folder.lstat()
            if info.st_uid != os.getuid() or folder.is_symlink() or not folder.is_dir():
                continue
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
