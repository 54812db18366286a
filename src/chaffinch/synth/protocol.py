"""The shapes of a synthesiser and of its model: anything of these shapes can be saved, measured, attacked and released. And anything that makes tables, brought to one form."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._base.errors import InputError
from .._base.seeds import Seed
from .._base.svg import Drawing
from ..privacy.ledger import Account
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
    summary: str
    """One line: how large it is and how it was learnt."""
    heading: str
    """What the details of the columns are."""
    columns: tuple[ModelColumn, ...]
    """In an order that reads well."""
    promise: str | None = None
    """The promise of privacy, in short."""
    notes: tuple[str, ...] = ()
    """Further sentences, such as what protection cut."""


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


@dataclass(frozen=True, eq=False)
class TableGenerator:
    """What makes tables: settings with `fit(table, seed=...)`, or a function that gets a `Table` and a whole number as seed.

    A function may return anything that can be read as a table with the same columns.
    """

    maker: Any

    def __post_init__(self) -> None:
        if not hasattr(self.maker, "fit") and not callable(self.maker):
            raise InputError(
                "A synthesiser must have a method fit(table, seed=...) or be a function (table, seed) -> table. "
                f"Got {type(self.maker).__name__}."
            )

    @property
    def fits(self) -> bool:
        """Whether there is a model between the data and the tables."""
        return hasattr(self.maker, "fit")

    @property
    def description(self) -> str:
        """What makes the tables, in a line that holds settings and no data."""
        if self.fits:
            return repr(self.maker)
        return f"{getattr(self.maker, '__module__', '')}.{getattr(self.maker, '__qualname__', type(self.maker).__name__)}"

    def fit(self, table: Table, seed: Seed) -> Any:
        """Return the model of a table; None for a function."""
        return self.maker.fit(table, seed=seed) if self.fits else None

    def draw(self, model: Any, table: Table, n_rows: int, seed: np.random.SeedSequence) -> Any:
        """Return a table drawn from a model, or what a function makes of the table: as many rows as it likes."""
        if model is not None:
            return model.sample(n_rows, seed=seed)
        return self.maker(table, int(seed.generate_state(1, np.uint32)[0]))

    def synthesis(self, table: Table, seed: int, draw_seed: int) -> Any:
        """Return one synthetic table of the same size; whole numbers as seeds, since that is what any generator takes."""
        return self.syntheses(table, seed, draw_seed, 1)[0]

    def syntheses(self, table: Table, seed: int, draw_seed: int, copies: int) -> list[Any]:
        """Return several synthetic tables of the same size, from one model where there is one."""
        if self.fits:
            model = self.fit(table, seed)
            return [model.sample(table.n_rows, seed=draw_seed + number) for number in range(copies)]
        return [self.maker(table, seed + number) for number in range(copies)]
