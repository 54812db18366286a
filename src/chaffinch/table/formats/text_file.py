"""Text files as bytes that can be read again and again: packed or not, in an archive, without lines that are comments."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from .packing import PACKINGS, check_ratio, open_unpacked, packing_of


@dataclass(frozen=True)
class TextFile:
    """A text file, packed or not, or one in an archive: its name in messages, and how it is opened as bytes, again and again.

    `stream` opens it for Arrow, which unpacks without Python where it can; `packed` is its size where it is packed.
    """

    name: str
    open: Callable[[], BinaryIO]
    stream: Callable[[], Any]
    packed: int | None = None

    @classmethod
    def of(cls, path: Path, *, by_name: bool = False) -> TextFile:
        """Return the text file at a path, packed as its first bytes say, or, `by_name`, as its name does."""
        if by_name:
            packing = next(
                (packing for packing in PACKINGS if path.name.lower().endswith(packing.ending)),
                None,
            )
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


def recoded(raw: BinaryIO, encoding: str) -> Any:
    """Return a stream of bytes as UTF-8; a byte that is no text in the encoding stops it."""
    return raw if encoding == "utf-8" else codecs.EncodedFile(raw, "utf-8", encoding)


class Uncommented(io.RawIOBase):
    """A stream of UTF-8 without lines that start with a sign, but for those that start so inside quotes."""

    def __init__(self, raw: Any, comment: str) -> None:
        self._raw, self._sign = raw, comment.encode()
        self._rest, self._quoted, self._ended = b"", False, False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ended:
            piece = self._raw.read(size)
            self._ended = not piece
            block = self._rest + piece
            cut = len(block) if self._ended else block.rfind(b"\n") + 1
            whole, self._rest = block[:cut], block[cut:]
            if lines := b"".join(
                line for line in whole.splitlines(keepends=True) if self._is_record(line)
            ):
                return lines
        return b""

    def readinto(self, into: Any) -> int:
        raise NotImplementedError  # Arrow reads by `read`

    def _is_record(self, line: bytes) -> bool:
        if not self._quoted and line.startswith(self._sign):
            return False
        self._quoted ^= line.count(b'"') % 2 == 1
        return True
