"""The shapes of a synthesiser and of its model. Anything of these shapes can be saved, measured, attacked and released."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .._base.drawing import Drawing
from .._base.seeds import Seed
from ..privacy.account import Account
from ..table.schema import Schema
from ..table.table import Table

__all__ = ["Model", "ModelColumn", "ModelDescription", "Synthesiser", "promises_privacy"]


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
    """What was learnt. `synth.FittedModel` has all of this but what a model draws and what it writes to its file."""

    @property
    def schema(self) -> Schema:
        """The fitted schema of what is drawn."""

    @property
    def n_rows(self) -> int:
        """The number of records it learnt from: what may be known of it, where the fit was private."""

    @property
    def confidential(self) -> bool:
        """Whether it is as confidential as the data."""

    @property
    def privacy(self) -> Account | None:
        """What a private fit spent; None without a promise."""

    def sample(self, n_rows: int | None = None, *, seed: Seed = None) -> Table:
        """Return a table of new rows, by default as many as it learnt from, in the kind of object that came in."""

    def batches(self, n_rows: int | None = None, *, seed: Seed = None) -> Iterator[Table]:
        """Return the same rows as smaller tables."""

    def describe(self) -> ModelDescription:
        """Return what it holds, for people."""

    def plot(self) -> Drawing | None:
        """Return a drawing of it; None where there is nothing to draw."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file that `chaffinch.load` reads."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for reports: at least the `method` and the `nodes`."""


@runtime_checkable
class Synthesiser(Protocol):
    """What to learn: settings with a fit."""

    def fit(self, data: Any, *, seed: Seed = None) -> Any:
        """Return a model of a table, a counter or whatever can be read as a table."""


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
