"""Files as bytes that can be read again and again: plain, or packed as a whole by gzip, zstandard,
bzip2 or xz, which are known by their first bytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from ..._base.errors import FileError

MOST_RATIO = 1000
"""A file that grows by more than this, and beyond `FREE_BYTES`, is taken for one that is made to
fill a memory.
"""

FREE_BYTES = 1 << 28
"""Bytes that a packed file may hold whatever it grows by."""

ZIP = b"PK\x03\x04"
"""First bytes of a zip archive that is not empty."""


@dataclass(frozen=True)
class Packing:
    """A way to pack a file: its name, ending and first bytes, what Arrow calls it (None: Arrow does
    not unpack it), and how it is opened.
    """

    name: str
    ending: str
    magic: bytes
    codec: str | None
    open: Callable[[Path], BinaryIO]


def _open(kind: Callable[..., Any], path: Path) -> BinaryIO:
    return cast(BinaryIO, kind(path, "rb"))


def _open_zstd(path: Path) -> BinaryIO:
    return cast(
        BinaryIO, io.BufferedReader(cast(Any, pa.input_stream(str(path), compression="zstd")))
    )


PACKINGS = (
    Packing("gzip", ".gz", b"\x1f\x8b", "gzip", partial(_open, gzip.GzipFile)),
    Packing("zstandard", ".zst", b"\x28\xb5\x2f\xfd", "zstd", _open_zstd),
    Packing("bzip2", ".bz2", b"BZh", "bz2", partial(_open, bz2.BZ2File)),
    Packing("xz", ".xz", b"\xfd7zXZ\x00", None, partial(_open, lzma.LZMAFile)),
)
"""Every way to pack a file that is understood."""


ENDINGS = tuple(packing.ending for packing in PACKINGS)


def packing_of(path: Path) -> Packing | None:
    """Return how a file is packed, by its first bytes; None where it is not."""
    with open(path, "rb") as handle:
        head = handle.read(8)
    return next((packing for packing in PACKINGS if head.startswith(packing.magic)), None)


def packing_by_name(path: Path) -> Packing | None:
    """Return how a file is packed, by the ending of its name; None where it is not."""
    endings = (packing for packing in PACKINGS if path.name.lower().endswith(packing.ending))
    return next(endings, None)


def open_unpacked(path: Path) -> BinaryIO:
    """Return a file as a stream of its bytes, unpacked where it is packed."""
    packing = packing_of(path)
    return open(path, "rb") if packing is None else packing.open(path)


def unpacked_head(path: Path, n_bytes: int = 512) -> bytes:
    """Return the first bytes of a file, unpacked where it is packed."""
    with open_unpacked(path) as handle:
        return handle.read(n_bytes)


def archive_names(path: Path) -> bytes:
    """Return the names of the files in a zip archive, a line each: they tell a workbook from other
    archives. Nothing for other files.
    """
    with open(path, "rb") as handle:
        if handle.read(4) != ZIP:
            return b""
    try:
        with zipfile.ZipFile(path) as archive:
            return (
                b"\n"
                + b"\n".join(
                    name.encode("utf-8", "replace") for name in archive.namelist()[:10_000]
                )
                + b"\n"
            )
    except (zipfile.BadZipFile, NotImplementedError, ValueError, UnicodeError):
        return b""


def check_archive(path: Path) -> None:
    """Raise where an archive, a workbook among them, would fill a memory when it is unpacked, or is
    locked.
    """
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.flag_bits & 1:
                raise FileError(
                    f"'{path}' is locked by a password. Save it without one, inside your own walls, and name that file."
                )
            check_ratio(str(path), member.file_size, member.compress_size)


def check_ratio(name: str, unpacked: int, packed: int) -> None:
    """Raise where a packed file unpacks to so much more than it is that it may be made to fill a
    memory.
    """
    if unpacked > FREE_BYTES and unpacked > MOST_RATIO * max(packed, 1):
        raise FileError(
            f"'{name}' unpacks to more than {MOST_RATIO:,} times its size: no table does. If you trust it, unpack it first and name the "
            "unpacked file."
        )


@dataclass(frozen=True)
class TextFile:
    """A text file, packed or not, or one in an archive: its name in messages, and how it is opened
    as bytes, again and again.

    `stream` opens it for Arrow, which unpacks without Python where it can; `packed` is its size
    where it is packed.
    """

    name: str
    open: Callable[[], BinaryIO]
    stream: Callable[[], Any]
    packed: int | None = None

    @classmethod
    def from_path(cls, path: Path, *, by_name: bool = False) -> TextFile:
        """Return the text file at a path, packed as its first bytes say, or, `by_name`, as its name
        does.
        """
        if by_name:
            packing = packing_by_name(path)
            opened: Callable[[], Any] = (
                partial(open, path, "rb") if packing is None else partial(packing.open, path)
            )
        else:
            packing, opened = packing_of(path), partial(open_unpacked, path)
        if packing is None or packing.codec is not None:
            codec = None if packing is None else packing.codec
            stream: Callable[[], Any] = lambda: pa.input_stream(str(path), compression=codec)  # noqa: E731
        else:
            stream = lambda: pa.PythonFile(opened(), mode="r")  # noqa: E731
        return cls(str(path), opened, stream, None if packing is None else path.stat().st_size)

    def check(self, n_bytes: int) -> None:
        """Raise where it unpacks to more than a table would."""
        if self.packed is not None:
            check_ratio(self.name, n_bytes, self.packed)
