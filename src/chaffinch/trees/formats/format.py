"""What a tree format is: one entry of `TREE_FORMATS`, with how its files or objects are known, read as plain trees and, pruned, written back.

Files of strangers are read strictly: JSON, and Universal Binary JSON (draft 12), as XGBoost saves its models by default. Only values are built, never objects, and no length is believed before the bytes for it are there.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.errors import ChaffinchError, FileError
from ..._base.registry import Registry
from ..tree import Ensemble

STAGES = "Trees of boosting fit what earlier ones left over: their leaves hold no classes, only how many records fell in."
SETS = "Splits on sets of categories are not supported yet. Encode them as numbers before the fit."


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model that was given as a file or an object: its trees, and the object itself where it can be pruned in place."""

    form: str
    ensemble: Ensemble
    model: Any = None


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The bytes of a file, which no format may run, and its name for messages."""

    data: bytes
    name: str

    @property
    def is_json(self) -> bool:
        """Whether the file starts as JSON does."""
        return self.data.lstrip()[:1] in (b"{", b"[") and not is_ubjson(self.data)

    @cached_property
    def json(self) -> Any:
        """What the file holds as JSON, None where it does not start so; FileError where it is damaged."""
        return strict_json(self.data, name=self.name) if self.is_json else None

    @property
    def text(self) -> str:
        """The file as text; FileError where it is none."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            raise FileError(
                f"'{self.name}' is not sound text: it is damaged or of another format."
            ) from None


@dataclass(frozen=True)
class TreeFormat:
    """A way in which trees are published. A new one is a file in this folder, or one that a user registers in `TREE_FORMATS`.

    `recognise` says by its content whether a file is of this format, and `accepts` whether an object in memory is a model of this kind:
    neither may run anything of it, nor import its library. `read` raises InputError or FileError where a file is damaged.
    """

    name: str
    """In results: "onnx"."""
    title: str = ""
    """In `--help` and messages: "ONNX"."""
    ending: str = ""
    """Of files that are written so; empty where none is."""
    recognise: Callable[[ModelFile], bool] | None = None
    read: Callable[[ModelFile], OpenedModel] | None = None
    write: Callable[[Ensemble, Any], bytes] | None = None
    """Of trees and of the object that holds them, if there is one."""
    accepts: Callable[[Any], bool] | None = None
    trees: Callable[[Any, Sequence[str] | None], Ensemble] | None = None
    """Of an object, and names for its columns."""
    rebuild: Callable[[Any, Ensemble], Any] | None = None
    """The object with other trees; None: only plain trees are pruned."""


TREE_FORMATS: Registry[TreeFormat] = Registry(
    "tree format",
    __package__,
    "from_sklearn",
    "skops_files",
    "plain",
    "onnx_trees",
    "dumps",
)
"""Every tree format there is, asked in this order. `TREE_FORMATS.register` adds another."""

_MISFITS: tuple[type[Exception], ...] = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    OverflowError,
    AttributeError,
)
"""What parts that do not fit together end in."""
_FAULTS: tuple[type[Exception], ...] = (ChaffinchError, RecursionError, MemoryError, *_MISFITS)


@contextmanager
def sound(fault: ChaffinchError, *others: type[Exception]) -> Iterator[None]:
    """Raise a fault where the parts of what is read do not fit together; our own errors say more, and pass."""
    try:
        yield
    except ChaffinchError:
        raise
    except _MISFITS + others:
        raise fault from None


@contextmanager
def naming(fault: str, otherwise: str = "Its parts do not fit together.") -> Iterator[None]:
    """Say what is wrong with the content of a file as a fault of the file."""
    try:
        yield
    except _FAULTS as error:
        raise FileError(
            f"{fault} {error if isinstance(error, ChaffinchError) else otherwise}"
        ) from None


def strict_json(text: str | bytes, *, name: str) -> Any:
    """Return what JSON from a stranger says; raise for NaN, keys that come twice, numbers beyond all bounds and nesting without end."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError, MemoryError):  # a UnicodeDecodeError is a ValueError too
        raise FileError(
            f"'{name}' is not sound JSON: it is damaged, truncated or not what it claims to be."
        ) from None


def _no_constant(word: str) -> Any:
    raise ValueError("NaN and infinity are not JSON")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key comes twice")
    return out


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
