"""Anything that makes synthetic tables, brought to one form: a synthesiser with a fit, or a function (table, seed) -> table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.errors import InputError
from .._base.seeds import Seed
from ..table.table import Table


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
    def words(self) -> str:
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
