"""What a tree format is: one entry of `TREE_FORMATS`, with how its files or objects are known, read as plain trees and, pruned, written back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..._base.errors import ChaffinchError, FileError
from ..._base.registry import Registry
from ..tree import Ensemble
from .ubjson import is_ubjson

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

    name: str  # in results: "onnx"
    title: str = ""  # in `--help` and messages: "ONNX"
    ending: str = ""  # of files that are written so; empty where none is
    recognise: Callable[[ModelFile], bool] | None = None
    read: Callable[[ModelFile], OpenedModel] | None = None
    write: Callable[[Ensemble, Any], bytes] | None = (
        None  # of trees and of the object that holds them, if there is one
    )
    accepts: Callable[[Any], bool] | None = None
    trees: Callable[[Any, Sequence[str] | None], Ensemble] | None = (
        None  # of an object, and names for its columns
    )
    rebuild: Callable[[Any, Ensemble], Any] | None = (
        None  # the object with other trees; None: only plain trees are pruned
    )


TREE_FORMATS: Registry[TreeFormat] = Registry("tree format")
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
