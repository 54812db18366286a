"""What a tree format is: one entry of `TREE_FORMATS`, with how its files or objects are known, read as plain trees and, pruned, written back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..._base.errors import FileError, InputError
from ..._base.registry import Registry
from ..tree import Ensemble
from .strict_json import strict_json

__all__ = ["TREE_FORMATS", "ModelFile", "OpenedModel", "TreeFormat", "as_dump"]


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
        return self.data.lstrip()[:1] in (b"{", b"[")

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
            raise FileError(f"'{self.name}' is not sound text: it is damaged or of another format.") from None


@dataclass(frozen=True)
class TreeFormat:
    """A way in which trees are published. A new one is a file in this folder, or one that a user registers in `TREE_FORMATS`.

    Parameters
    ----------
    name
        In results: "onnx".
    title
        In `--help` and messages: "ONNX".
    ending
        Of files that are written so; empty where none is.
    recognise
        Whether a file is of this format, by what is in it. Must not run anything of it.
    read
        The trees of such a file; InputError or FileError where it is damaged.
    write
        The bytes of a file for trees and the model object that holds them (None where there is none).
    accepts
        Whether an object in memory is a model of this kind; must not import its library.
    trees
        The trees of such an object; the second argument names its columns where it does not.
    rebuild
        The object with other trees in it, which pruning releases: None where only plain trees can be pruned.
    """

    name: str
    title: str = ""
    ending: str = ""
    recognise: Callable[[ModelFile], bool] | None = None
    read: Callable[[ModelFile], OpenedModel] | None = None
    write: Callable[[Ensemble, Any], bytes] | None = None
    accepts: Callable[[Any], bool] | None = None
    trees: Callable[[Any, Sequence[str] | None], Ensemble] | None = None
    rebuild: Callable[[Any, Ensemble], Any] | None = None


TREE_FORMATS: Registry[TreeFormat] = Registry("tree format")
"""Every tree format there is, asked in this order. `TREE_FORMATS.register` adds another."""


def as_dump(read: Callable[[Any], Ensemble], content: Any, name: str) -> Ensemble:
    """Return the trees of a dump, what is wrong with it said of the file."""
    try:
        return read(content)
    except (InputError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, InputError) else "It is nested without end."
        raise FileError(f"'{name}' cannot be read as trees. {reason}") from None
