"""Universal Binary JSON (draft 12), as XGBoost saves its models by default: read from bytes, strictly, into plain data.

Only values are built, never objects, and no length is believed before the bytes for it are there.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ..._base.errors import FileError

_NUMBERS = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}
_WORDS: dict[str, Any] = {"Z": None, "T": True, "F": False}
_DEEPEST = 64


def is_ubjson(data: bytes) -> bool:
    """Return whether bytes start as an object of this form does: with the length of a key, or of the object, where JSON has a quote.

    Examples
    --------
    >>> is_ubjson(b"{i\\x01aZ}"), is_ubjson(b'{"a": null}')
    (True, False)
    """
    if data[:1] != b"{" or len(data) < 3:
        return False
    # Letters after the mark of a length would be JSON gone wrong, as {Infinity}: lengths of keys are small numbers.
    return data[1:2] in (b"#", b"$") or (
        data[1:2] in (b"i", b"U", b"I", b"l", b"L") and data[2] < 32
    )


def read_ubjson(data: bytes, *, name: str) -> Any:
    """Return what the bytes hold; FileError where they are damaged or truncated. `name` is for messages.

    Examples
    --------
    >>> read_ubjson(b"{i\\x01a[i\\x05T]}", name="the file")
    {'a': [5, True]}
    """
    try:
        reader = _Reader(data)
        value = reader.value(reader.mark(), 0)
        if reader.at != len(data):
            raise ValueError("bytes after the end")
        return value
    except (ValueError, IndexError, struct.error, OverflowError, MemoryError):
        raise FileError(
            f"'{name}' is not sound UBJSON: it is damaged, truncated or of another format."
        ) from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise ValueError("more was announced than is there")
        self.at += n
        return self.data[self.at - n : self.at]

    def mark(self) -> str:
        while (mark := self.take(1)) == b"N":  # means nothing
            continue
        return mark.decode("latin-1")

    def number(self, mark: str) -> int | float:
        form = f">{_NUMBERS[mark]}" if mark in _NUMBERS else None
        if form is None:
            raise ValueError("not a number")
        out: int | float = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return out

    def length(self) -> int:
        n = self.number(self.mark())
        if not isinstance(n, int) or n < 0:
            raise ValueError("not a length")
        return n

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def value(self, mark: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested without end")
        if mark in _WORDS:
            return _WORDS[mark]
        if mark in _NUMBERS:
            return self.number(mark)
        if mark == "S":
            return self.text()
        if mark == "C":
            return self.take(1).decode("latin-1")
        if mark == "[":
            return self._array(depth)
        if mark == "{":
            return self._object(depth)
        raise ValueError("an unknown mark")

    def _head(self) -> tuple[str | None, int | None]:
        """The type of all values and their number, where a container tells them."""
        kind, n = None, None
        if self.data[self.at : self.at + 1] == b"$":
            self.at += 1
            kind = self.take(1).decode("latin-1")
        if self.data[self.at : self.at + 1] == b"#":
            self.at += 1
            n = self.length()
        if (kind is not None and n is None) or (n is not None and n > len(self.data)):
            raise ValueError("a container without a sound length")
        return kind, n

    def _array(self, depth: int) -> list[Any]:
        kind, n = self._head()
        if kind in _NUMBERS and n is not None:
            form = np.dtype(f">{_NUMBERS[kind]}")
            return list(np.frombuffer(self.take(n * form.itemsize), dtype=form).tolist())
        if n is not None:
            return [self.value(kind or self.mark(), depth + 1) for _ in range(n)]
        out = []
        while (mark := self.mark()) != "]":
            out.append(self.value(mark, depth + 1))
        return out

    def _object(self, depth: int) -> dict[str, Any]:
        kind, n = self._head()
        out: dict[str, Any] = {}
        while n is None or len(out) < n:
            if n is None and self.data[self.at : self.at + 1] == b"}":
                self.at += 1
                break
            key = self.text()
            if key in out:
                raise ValueError("a key comes twice")
            out[key] = self.value(kind or self.mark(), depth + 1)
        return out
