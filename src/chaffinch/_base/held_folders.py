"""Folders of records that are held by the process that made them: what a process that was killed left behind is told from what is in use, and removed.

A holder keeps a lock on a file in the folder; the system lets go of it when the process ends, however it ends. A folder whose lock can be
taken is nobody's. Folders of other users, links, and folders without such a file are left alone, as are all where locks are not to be had
(Windows, some network file systems).

A folder that results are written into is held in the same way, by a file beside it: of two runs into one folder the second is refused before it
reads anything.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from .errors import FileError

LOCK = "held"
"""The file that the holder of a folder keeps locked."""

MOMENT = 10.0
"""Seconds after which a file that nobody holds is taken for left behind: between being made and being held it is nobody's."""

_mine: set[tuple[int, Path]] = set()
"""Folders that are written into now, each with the thread that does it."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder until the block ends: nobody removes it meanwhile as left behind."""
    handle = -1
    with contextlib.suppress(
        ImportError, OSError
    ):  # without a lock it is never taken for left behind
        import fcntl

        handle = os.open(folder / f"{LOCK}.new", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(
            folder / f"{LOCK}.new", folder / LOCK
        )  # only now, so that nobody sees the file without its lock
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def remove_left_behind(place: Path, prefix: str, suffix: str = "") -> None:
    """Remove the folders in `place`, by the beginning and the end of their names, that processes of this user held and did not remove."""
    try:
        import fcntl

        folders = [
            path
            for path in place.iterdir()
            if path.name.startswith(prefix) and path.name.endswith(suffix)
        ]
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
                if os.path.samestat(
                    os.fstat(handle), os.lstat(folder / LOCK)
                ):  # else its holder took the file away before it let go
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


@contextlib.contextmanager
def held_file(path: Path, mode: int) -> Iterator[None]:
    """Make a file that is not there yet, and hold it until the block ends, whatever is done with it by its name."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        import fcntl

        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # where there are no locks an open file cannot be renamed either
        os.close(handle)
        handle = -1
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def remove_files_left_behind(place: Path, name: re.Pattern[str]) -> None:
    """Remove the files in `place`, by their names, that processes of this user held and did not remove; none that was written a moment ago."""
    try:
        import fcntl

        files = [path for path in place.iterdir() if name.fullmatch(path.name)]
    except (ImportError, OSError):
        return
    for path in files:
        with contextlib.suppress(OSError):  # held, gone, not ours to open: left alone
            info = path.lstat()
            if (
                info.st_uid != os.getuid()
                or not stat.S_ISREG(info.st_mode)
                or time.time() - info.st_mtime < MOMENT
            ):
                continue
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(handle)


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[bool]:
    """Hold a folder that is written into, there or yet to be made, until the block ends; FileError where another run holds it.

    Gives whether the system keeps others out: not where it has no locks. The thread that holds a folder may hold it again.
    """
    place = Path(os.path.realpath(folder))
    mine = (threading.get_ident(), place)
    if mine in _mine:
        yield True
        return
    lock = place.with_name(f".{place.name}.lock")
    handle = _locked(lock, folder)
    _mine.add(mine)
    try:
        yield handle >= 0
    finally:
        _mine.discard(mine)
        if handle >= 0:
            with contextlib.suppress(OSError):
                lock.unlink()  # before the lock is let go: whoever waits for this file sees that it has no name any more
            os.close(handle)


def _locked(lock: Path, folder: Path) -> int:
    """Return an open file with its lock; -1 where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return -1
    while True:
        try:
            handle = os.open(lock, os.O_CREAT | os.O_RDONLY | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise FileError(
                f"Cannot write into '{folder}': {error.strerror or 'the system refused'} (its lock, '{lock}')."
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise FileError(
                f"Another run writes into '{folder}' now. Wait until it has ended, or name another folder."
            ) from None
        except FileNotFoundError:  # whoever held it removed it in between
            pass
        except OSError:  # a file system without locks
            os.close(handle)
            with contextlib.suppress(OSError):
                lock.unlink()
            return -1
        os.close(handle)
