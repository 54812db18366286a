"""What tells that a file is the one that was opened: it is read several times, and figures of two versions must not be mixed.

Compared before and after every pass: the file's number on its disk, its size, when it was written and when the system last recorded a change of it, and a
digest of its last bytes, where Parquet has its footer. That is two looks at the system and 16 KiB a file and pass, whatever the rows. The time of the
recorded change is the system's own: whoever writes a file and sets its time of writing back changes it all the same. So does a change of rights or
of links, which is refused too.

What it cannot see: a file of the same size and end that is written to within the tick of the file system's clock (some milliseconds; two seconds on FAT), or through
a system that reports times late or not at all, as network file systems may; and on Windows, where no time of change is told, one whose time of writing is set back.
Rows are counted besides.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..._base.errors import InputError

TAIL = 1 << 14
"""Last bytes of a file that are compared."""


@dataclass(frozen=True)
class FileIdentity:
    """A file as it was at one moment: `number` on its device, `size` in bytes, nanoseconds of its last writing and change, and a digest of its end."""

    path: Path
    number: tuple[int, int]
    size: int
    written: int
    changed: int
    end: bytes

    @classmethod
    def of(cls, path: Path) -> FileIdentity | None:
        """Return what a file is now; None where it is no regular file, as a pipe is not."""
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return None
        with path.open("rb") as handle:
            handle.seek(max(found.st_size - TAIL, 0))
            end = hashlib.blake2b(handle.read(TAIL), digest_size=16).digest()
        changed = (
            found.st_ctime_ns if os.name == "posix" else 0
        )  # elsewhere it is when the file was made
        return cls(
            path, (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns, changed, end
        )


def identities(paths: Iterable[str | os.PathLike[str]]) -> tuple[FileIdentity, ...]:
    """Return what files are now; those that cannot be looked at are left out, since reading them says what is wrong."""
    out = []
    for path in paths:
        try:
            out.append(FileIdentity.of(Path(path)))
        except OSError:
            continue
    return tuple(one for one in out if one is not None)


def check_unchanged(name: str, files: Sequence[FileIdentity]) -> None:
    """Raise if a file is not what it was; `name` is what messages call the table."""
    for file in files:
        try:
            same = FileIdentity.of(file.path) == file
        except OSError:
            same = False
        if not same:
            raise InputError(
                f"'{name}' was changed or replaced while it was read, so figures of two versions would be mixed: '{file.path.name}' is not the file that was opened. "
                "Work on a file that nobody writes to, such as a copy."
            )
