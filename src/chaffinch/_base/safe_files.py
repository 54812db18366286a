"""Files that are either the old one or the new one, never half of either; and small ones read whole."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from .errors import FileError

__all__ = ["check_outputs", "check_writable", "filling", "kept_files", "read_small", "replacing", "write_text"]


_written: list[Path] = []
"""Files that this process has written."""


def kept_files() -> list[Path]:
    """Return the files that were written so far and are there, each once: whole, whatever comes after."""
    return [path for path in dict.fromkeys(_written) if path.exists()]


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a file can be written there; raise before any work is done if not."""
    target = Path(path)
    if target.is_dir():
        raise FileError(f"Cannot write '{target}': it is a folder. Name a file in it.")
    folder = target.parent
    if not folder.is_dir():
        raise FileError(f"Cannot write '{target}': there is no folder '{folder}'. Make it first, or name another.")
    if not os.access(folder, os.W_OK):
        raise FileError(f"Cannot write '{target}': the folder '{folder}' is not writable. Name another.")
    return target


def check_outputs(source: Path | None, *outputs: Path | None) -> None:
    """Raise unless every output can be written, is not the input, and is not another output."""
    seen = {} if source is None else {source.resolve(): "the input"}
    for path in outputs:
        if path is None:
            continue
        check_writable(path)
        if (place := path.resolve()) in seen:
            raise FileError(f"Cannot write '{path}': it is {seen[place]}. Name another file.")
        seen[place] = "another output"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int = 0o644) -> Iterator[Path]:
    """Give a new file beside `path` to write to, and rename it into place when the block ends well.

    A reader, or a kill at any moment, finds the old file or the whole new one. If the block raises, the
    old file stays and the new one is removed. After a `kill -9` a leftover named `.NAME.*.part` may remain.
    """
    target = check_writable(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            yield part
            with open(part, "rb+") as handle:
                os.fsync(handle.fileno())
            os.replace(part, target)
            _written.append(target)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"Cannot write '{target}': {error.strerror or 'the system refused'}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def read_small(path: str | os.PathLike[str], *, what: str, most: int, next_step: str) -> str:
    """Return the text of a small file that somebody wrote; FileError where it is absent, over `most` bytes, or not UTF-8.

    For messages: `what` it holds ("schema"), and the `next_step` where there is no such file.
    """
    file = Path(path)
    try:
        raw = file.read_bytes() if file.stat().st_size <= most else None
    except FileNotFoundError:
        raise FileError(f"No such file: '{file}'. {next_step}") from None
    except OSError as error:
        raise FileError(f"Cannot read '{file}': {error.strerror or 'the system refused'}.") from None
    if raw is None:
        raise FileError(f"'{file}' is over {most >> 20} MiB: no {what} is that large.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"'{file}' is not UTF-8, which a {what} is.") from None


def write_text(path: str | os.PathLike[str], text: str, *, mode: int = 0o644) -> None:
    """Write text to a file, wholly or not at all."""
    with replacing(path, mode=mode) as part:
        part.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def filling(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new folder to write files to, and move them into `folder` when the block ends well; make it if need be.

    If the block raises, the new folder is removed and `folder` is as it was. Files of other names in `folder` stay. The
    folder itself is readable as the system's defaults say; files and folders in it keep their own modes.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise FileError(f"Cannot write into '{target}': it is a file. Name a folder.")
    check_writable(target / "file" if target.is_dir() else target)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(mode=0o700)
        yield part
        target.mkdir(exist_ok=True)
        places = sorted(part.rglob("*"))
        for place in places:
            if place.is_dir():
                (inside := target / place.relative_to(part)).mkdir(exist_ok=True)
                inside.chmod(place.stat().st_mode & 0o777)
        for place in places:
            if place.is_file():
                os.replace(place, target / place.relative_to(part))
                _written.append(target / place.relative_to(part))
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"Cannot write into '{target}': {error.strerror or 'the system refused'}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
