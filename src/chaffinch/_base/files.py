"""Files that are either the old one or the new one, never half of either; and small ones read whole.

What is there stays: an existing file or folder is refused, before any work is done and again when the new one takes its place, unless the caller
says `overwrite`, or all of a command may (`overwriting`). What a privacy budget was paid for is never overwritten: it cannot be made again for nothing.

Folders of records are held by the process that made them, so that what a killed process left behind is told from what is in use, and removed.
A holder keeps a lock on a file in the folder; the system lets go of it when the process ends, however it ends. A folder whose lock can be
taken is nobody's. Folders of other users, links, and folders without such a file are left alone, as are all where locks are not to be had
(Windows, some network file systems). A folder that results are written into is held in the same way, by a file beside it: of two runs into one folder the second is refused before it
reads anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from .errors import FileError

_written: list[Path] = []
"""Files that this process has written."""


def kept_files() -> list[Path]:
    """Return the files that were written so far and are there, each once: whole, whatever comes after."""
    return [path for path in dict.fromkeys(_written) if path.exists()]


_overwrite: ContextVar[bool] = ContextVar("overwrite", default=False)


@contextlib.contextmanager
def overwriting(allowed: bool = True) -> Iterator[None]:
    """Let everything that is written in the block replace what is there, as `--overwrite` does."""
    token = _overwrite.set(allowed)
    try:
        yield
    finally:
        _overwrite.reset(token)


def may_overwrite() -> bool:
    """Return whether what is there may be replaced, as `overwriting` says."""
    return _overwrite.get()


def check_free(
    path: str | os.PathLike[str], *, overwrite: bool = False, paid: bool = False
) -> None:
    """Raise if something is at `path` that may not be replaced; `paid` where what is to be written costs a privacy budget."""
    if not os.path.lexists(path):
        return
    if paid or is_paid_for(Path(path)):
        what = (
            "with --epsilon (epsilon= in Python) nothing is overwritten, since a privacy budget is spent once"
            if paid
            else "a privacy budget was spent on it"
        )
        raise FileError(f"Cannot write '{path}': it exists, and {what}. Name another.")
    if not (overwrite or _overwrite.get()):
        raise FileError(
            f"Cannot write '{path}': it exists. Name another, or replace it with --overwrite (overwrite=True in Python)."
        )


def is_paid_for(path: Path) -> bool:
    """Return whether a privacy budget was spent on what is at a path: a model file that says so, or the folder of a release with one."""
    if path.is_dir():
        return is_paid_for(path / "to-release" / "model.chaffinch")
    if not path.is_file():
        return False
    try:
        with open(path, "rb") as handle:
            size = int.from_bytes(handle.read(8), "little")
            if not 2 <= size <= 100 << 20:  # what safetensors takes for a header
                return False
            header = json.loads(handle.read(size))
        header_data = json.loads(header["__metadata__"]["chaffinch"])
        return header_data["format"] == "chaffinch-model" and header_data["confidential"] is False
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a file can be written there; raise before any work is done if not."""
    target = Path(path)
    if target.is_dir():
        raise FileError(f"Cannot write '{target}': it is a folder. Name a file in it.")
    folder = target.parent
    if not folder.is_dir():
        raise FileError(
            f"Cannot write '{target}': there is no folder '{folder}'. Make it first, or name another."
        )
    if not os.access(folder, os.W_OK):
        raise FileError(
            f"Cannot write '{target}': the folder '{folder}' is not writable. Name another."
        )
    return target


def check_outputs(
    source: Path | None,
    *outputs: Path | None,
    inputs: Sequence[Path | None] = (),
    updated: Sequence[Path | None] = (),
    paid: Collection[Path | None] = (),
) -> None:
    """Raise unless every output can be written, is free or may be overwritten, is not the input, and is not another output.

    `inputs`: other files that are read. `updated`: files that are read and written anew, as a ledger is. `paid`: those of the outputs that cost a privacy budget.
    """
    seen = {file.resolve(): "the input" for file in (source, *inputs) if file is not None}
    for path in (*outputs, *updated):
        if path is None:
            continue
        check_writable(path)
        if (resolved := path.resolve()) in seen:
            raise FileError(f"Cannot write '{path}': it is {seen[resolved]}. Name another file.")
        seen[resolved] = "another output"
    for path in outputs:
        if path is not None:
            check_free(path, paid=path in paid)


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], *, mode: int = 0o644, overwrite: bool = False, paid: bool = False
) -> Iterator[Path]:
    """Give a new file beside `path` to write to, and rename it into place when the block ends well.

    A reader, or a kill at any moment, finds the old file or the whole new one. If the block raises, the
    old file stays and the new one is removed. What a `kill -9` leaves, `.NAME.*.part`, is removed by the next that writes a file of that name.
    A file that is there, or comes to be there meanwhile, is refused unless it may be overwritten: see `check_free`.
    """
    target = check_writable(path)
    check_free(target, overwrite=overwrite, paid=paid)
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part")
    _remove_unheld(target.parent, name, files=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with held_file(partial, mode):
                yield partial
                with open(partial, "rb+") as handle:
                    os.fsync(handle.fileno())
                check_free(target, overwrite=overwrite, paid=paid)
                if paid or not (overwrite or _overwrite.get()):
                    _put(partial, target)
                else:
                    os.replace(partial, target)
            _written.append(target)
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"Cannot write '{target}': {error.strerror or 'the system refused'}."
            ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _put(partial: Path, target: Path) -> None:
    """Rename a file to a name that nothing has; of two that come at the same moment one is refused."""
    try:
        try:
            os.link(partial, target)
        except FileExistsError:
            raise
        except (
            OSError
        ):  # a file system without hard links: an empty file keeps the name until it is replaced
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(partial, target)
    except FileExistsError:
        raise FileError(
            f"Cannot write '{target}': somebody else has written it meanwhile. Name another."
        ) from None


def read_small(path: str | os.PathLike[str], *, what: str, max_bytes: int, next_step: str) -> str:
    """Return the text of a small file that somebody wrote; FileError where it is absent, over `max_bytes` bytes, or not UTF-8.

    For messages: `what` it holds ("schema"), and the `next_step` where there is no such file.
    """
    file = Path(path)
    try:
        raw = file.read_bytes() if file.stat().st_size <= max_bytes else None
    except FileNotFoundError:
        raise FileError(f"No such file: '{file}'. {next_step}") from None
    except OSError as error:
        raise FileError(
            f"Cannot read '{file}': {error.strerror or 'the system refused'}."
        ) from None
    if raw is None:
        raise FileError(f"'{file}' is over {max_bytes >> 20} MiB: no {what} is that large.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"'{file}' is not UTF-8, which a {what} is.") from None


def write_text(
    path: str | os.PathLike[str], text: str, *, mode: int = 0o644, overwrite: bool = False
) -> None:
    """Write text to a file, wholly or not at all; over one that is there only if it may be overwritten."""
    with replacing(path, mode=mode, overwrite=overwrite) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(
    path: str | os.PathLike[str],
    data: Any,
    *,
    indent: int = 2,
    mode: int = 0o644,
    overwrite: bool = False,
) -> None:
    """Write plain data to a file as JSON, wholly or not at all; over one that is there only if it may be overwritten."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
    write_text(path, f"{text}\n", mode=mode, overwrite=overwrite)


def check_folder(
    folder: str | os.PathLike[str],
    *,
    names: Sequence[str] = (),
    mark: str = "",
    overwrite: bool = False,
    paid: bool = False,
) -> Path:
    """Return a folder that results may be written into: one that holds none of their `names`, or an earlier result that may be overwritten.

    Without `names` it must be new or empty, but for hidden files. `mark`: the file by which an earlier result is known; what has the names and not the
    mark is somebody else's, and never overwritten.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise FileError(f"Cannot write into '{target}': it is a file. Name a folder.")
    check_writable(target / "file" if target.is_dir() else target)
    taken = (
        [
            entry.name
            for entry in sorted(target.iterdir())
            if (entry.name in names if names else not entry.name.startswith("."))
        ]
        if target.is_dir()
        else []
    )
    if taken:
        check_free(target, overwrite=overwrite, paid=paid)
        if mark and not (target / mark).is_file():
            raise FileError(
                f"Cannot overwrite '{target}': '{taken[0]}' in it is of no earlier result, which has '{mark}'. Name another folder."
            )
    return target


def files_in(folder: Path) -> list[str]:
    """Return the files in a folder and in those below it by their names within it, sorted, but for the lock of whoever writes them."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path != folder / LOCK
    )


@contextlib.contextmanager
def filling(
    folder: str | os.PathLike[str],
    *,
    names: Sequence[str] = (),
    mark: str = "",
    overwrite: bool = False,
    paid: bool = False,
    resume: bool = False,
    renewed: Sequence[str] = (),
) -> Iterator[Path]:
    """Give a new folder to write files to, and move them into `folder` when the block ends well; make it if need be.

    If the block raises, the new folder is removed and `folder` is as it was. The folder itself is readable as the system's defaults say; files and
    folders in it keep their own modes. Meanwhile no other run may write into it. A folder that `check_folder` refuses is refused; where it lets one be
    overwritten, files and folders of the same names on its first level are replaced whole, those of `names` also by nothing, and others stay. With `resume` files of
    the same names are replaced one by one, wherever they are, and all others stay, but for those `renewed`: they go, written anew or not.
    """
    target = Path(folder)
    with holding(target) as alone:
        if resume:
            if target.exists() and not target.is_dir():
                raise FileError(f"Cannot write into '{target}': it is a file. Name a folder.")
            check_writable(target / "file" if target.is_dir() else target)
        else:
            check_folder(target, names=names, mark=mark, overwrite=overwrite, paid=paid)
        if alone:
            _remove_parts(target)
            _remove_parts_beside(target)
        real = Path(os.path.realpath(target))
        partial = real.with_name(f".{real.name}.{secrets.token_hex(4)}.part")
        try:
            partial.mkdir(mode=0o700)
            with mark_in_use(partial):
                yield partial
                (partial / LOCK).unlink(
                    missing_ok=True
                )  # while it is held: nobody finds it free and removes what is moved next
            if not resume:
                check_folder(
                    target, names=names, mark=mark, overwrite=overwrite, paid=paid
                )  # as it is by now
            target.mkdir(exist_ok=True)
            files = files_in(partial)
            if resume:
                _merge(partial, real, renewed)
            else:
                _exchange(partial, real, names)
            _written.extend(target / name for name in files)
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"Cannot write into '{target}': {error.strerror or 'the system refused'}."
            ) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _remove_parts(target: Path) -> None:
    """Remove what runs into this folder left behind that were killed: whoever holds its lock knows that nobody else writes."""
    real = Path(os.path.realpath(target))
    name = re.compile(rf"\.{re.escape(real.name)}\.[0-9a-f]{{8}}\.part")
    for entry in real.parent.iterdir():
        if name.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)


def _remove_parts_beside(target: Path) -> None:
    """Remove what runs into other folders beside this one left behind that were killed, and their locks."""
    parent = Path(os.path.realpath(target)).parent
    before = [
        entry for entry in parent.iterdir() if re.fullmatch(r"\..+\.[0-9a-f]{8}\.part", entry.name)
    ]
    remove_left_behind(parent, ".", ".part")
    for folder in before:
        if not folder.exists():
            with (
                contextlib.suppress(FileError),
                holding(parent / folder.name[1 : -len(".01234567.part")]),
            ):
                pass  # whoever held it last takes its file away


def _merge(partial: Path, target: Path, renewed: Sequence[str]) -> None:
    for name in renewed:
        if (replaced := target / name).is_dir() and not replaced.is_symlink():
            shutil.rmtree(replaced)
        elif not (partial / name).exists():
            replaced.unlink(missing_ok=True)
    places = sorted(partial.rglob("*"))
    for path in places:
        if path.is_dir():
            (inside := target / path.relative_to(partial)).mkdir(exist_ok=True)
            inside.chmod(path.stat().st_mode & 0o777)
    for path in places:
        if path.is_file():
            os.replace(path, target / path.relative_to(partial))


def _exchange(partial: Path, target: Path, names: Sequence[str] = ()) -> None:
    """Move what is in one folder into another, and what was there by these names away; all of it, or nothing. What has one of `names` goes, also where nothing replaces it."""
    old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    old.mkdir(mode=0o700)
    done: list[tuple[Path, Path]] = []
    try:
        for path in sorted(partial.iterdir()):
            if os.path.lexists(before := target / path.name):
                os.rename(before, old / path.name)
                done.append((old / path.name, before))
            os.rename(path, before)
            done.append((before, path))
        for name in names:
            if not any(then == partial / name for _, then in done) and os.path.lexists(
                before := target / name
            ):
                os.rename(before, old / name)
                done.append((old / name, before))
    except BaseException:
        for now, then in reversed(done):
            with contextlib.suppress(OSError):
                os.rename(now, then)
        with contextlib.suppress(OSError):
            old.rmdir()  # not what could not be moved back
        raise
    shutil.rmtree(old, ignore_errors=True)


LOCK = "held"
"""The file that the holder of a folder keeps locked."""

MOMENT = 10.0
"""Seconds after which a file that nobody holds is taken for left behind: between being made and being held it is nobody's."""

_mine: set[tuple[int, Path]] = set()
"""Folders that are written into now, each with the thread that does it."""


@contextlib.contextmanager
def mark_in_use(folder: Path) -> Iterator[None]:
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


def remove_left_behind(parent: Path, prefix: str, suffix: str = "") -> None:
    """Remove the folders in `parent`, by the beginning and the end of their names, that processes of this user held and did not remove."""
    name = re.compile(f"{re.escape(prefix)}.*{re.escape(suffix)}", re.DOTALL)
    _remove_unheld(parent, name, files=False)


def _remove_unheld(parent: Path, name: re.Pattern[str], *, files: bool) -> None:
    """Remove the files or the folders in `parent`, by their names, that processes of this user held and did not remove; no file that was written a moment ago."""
    try:
        import fcntl

        paths = [path for path in parent.iterdir() if name.fullmatch(path.name)]
    except (ImportError, OSError):
        return
    for path in paths:
        with contextlib.suppress(OSError):  # held, gone, not ours to open: left alone
            info = path.lstat()
            kind_fits = stat.S_ISREG(info.st_mode) if files else stat.S_ISDIR(info.st_mode)
            is_new = files and time.time() - info.st_mtime < MOMENT
            if info.st_uid != os.getuid() or not kind_fits or is_new:
                continue
            lock = path if files else path / LOCK
            handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if files:
                    path.unlink()
                elif os.path.samestat(
                    os.fstat(handle), os.lstat(lock)
                ):  # else its holder took the file away before it let go
                    shutil.rmtree(path, ignore_errors=True)
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


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[bool]:
    """Hold a folder that is written into, there or yet to be made, until the block ends; FileError where another run holds it.

    Gives whether the system keeps others out: not where it has no locks. The thread that holds a folder may hold it again.
    """
    real = Path(os.path.realpath(folder))
    mine = (threading.get_ident(), real)
    if mine in _mine:
        yield True
        return
    lock = real.with_name(f".{real.name}.lock")
    handle = _open_lock(lock, folder)
    _mine.add(mine)
    try:
        yield handle >= 0
    finally:
        _mine.discard(mine)
        if handle >= 0:
            with contextlib.suppress(OSError):
                lock.unlink()  # before the lock is let go: whoever waits for this file sees that it has no name any more
            os.close(handle)


def _open_lock(lock: Path, folder: Path) -> int:
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
