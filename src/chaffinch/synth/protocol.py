"""The shapes of a synthesiser and of its model. Anything of these shapes can be saved, measured, attacked and released."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .._base.seeds import Seed
from .._base.svg import Drawing
from ..privacy.account import Account
from ..table.schema import Schema
from ..table.table import Table


@dataclass(frozen=True)
class ModelColumn:
    """A column of a model: its role ("label", "sensitive" or none), and in words what it depends on."""

    name: str
    role: str = ""
    detail: str = ""


@dataclass(frozen=True)
class ModelDescription:
    """What a model holds, for people: printed by `inspect`, shown in notebooks. No value of a record is in it."""

    method: str
    summary: str  # one line: how large it is and how it was learnt
    heading: str  # what the details of the columns are
    columns: tuple[ModelColumn, ...]  # in an order that reads well
    promise: str | None = None  # of privacy, in short
    notes: tuple[str, ...] = ()  # further sentences, such as what protection cut


@runtime_checkable
class Model(Protocol):
    """What was learnt. `synth.FittedModel` has all of this, and says what each is, but what a model draws and what it writes to its file."""

    @property
    def schema(self) -> Schema: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def confidential(self) -> bool: ...
    @property
    def privacy(self) -> Account | None: ...
    def sample(self, n_rows: int | None = None, *, seed: Seed = None) -> Table: ...
    def batches(self, n_rows: int | None = None, *, seed: Seed = None) -> Iterator[Table]: ...
    def describe(self) -> ModelDescription: ...
    def plot(self) -> Drawing | None: ...
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...


@runtime_checkable
class Synthesiser(Protocol):
    """What to learn: settings that fit a model to a table, a counter or whatever can be read as a table."""

    def fit(self, data: Any, *, seed: Seed = None) -> Any: ...


def promises_privacy(synthesiser: object) -> bool:
    """Return whether settings ask for a promise of privacy: they have an epsilon.

    How long such a fit takes is nothing that its budget covers, so it stands in no result of it.

    Examples
    --------
    >>> from chaffinch import BayesNet
    >>> promises_privacy(BayesNet()), promises_privacy(BayesNet(epsilon=1.0))
    (False, True)
    """
    return getattr(synthesiser, "epsilon", None) is not None
