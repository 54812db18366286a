"""The shape of a synthesiser. Anything of this shape can be measured and attacked."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from .._base.seeds import Seed
from ..table.table import Table

__all__ = ["Model", "Synthesiser"]


@runtime_checkable
class Model(Protocol):
    """What was learnt: draws tables."""

    def sample(self, n_rows: int, *, seed: Seed = None) -> Table:
        """Return a table of new rows."""


@runtime_checkable
class Synthesiser(Protocol):
    """What to learn: settings with a fit."""

    def fit(self, data: Any, *, seed: Seed = None) -> Model:
        """Return a model of a table or a counter."""
