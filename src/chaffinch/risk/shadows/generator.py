"""Anything that makes synthetic tables, brought to one form: rows of a population and a seed in, synthetic tables out.

A shadow is what a release is: the subset's records are read as a file of them would be, so that levels, bins and what is drawn inside bins are
the subset's own; a model is fitted; values are drawn. Attackers see these values, and their codes on the population's grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.seeds import child
from ...synth.protocol import TableGenerator, promises_privacy
from ...table.align import align
from ...table.refit import SubsetReader
from ...table.rows import as_rows
from ...table.schema import Schema
from ...table.table import Table
from .settings import Grid
from .values import ValueReader


@dataclass(frozen=True, eq=False)
class Released:
    """What one fit gave: codes of its tables, (tables, rows, columns), the model if there is one, and what was seen of its values.

    `values`: (tables, targets, features), where something looked.
    """

    codes: NDArray[Any]
    model: Any
    values: NDArray[np.float32] | None = None


def unknown_code(dtype: Any) -> int:
    """Return the code of a value that the population does not have: the largest of the type. It equals no record's."""
    return int(np.iinfo(dtype).max)


def code_array(table: Table) -> NDArray[Any]:
    """Return a table's codes as one array (rows, columns), columns in the order of the schema."""
    dtype = _narrow(table)
    out = np.empty((table.n_rows, len(table.schema.names)), dtype=dtype)
    for j in range(out.shape[1]):
        out[:, j] = table.codes[j]
    return out


def _narrow(table: Table) -> Any:
    """The narrowest type that has room for every level and for an unknown one."""
    largest = max(table.schema.sizes, default=0)
    if largest >= 1 << 16:
        raise InputError(
            "A column has more than 65,535 levels: too many to look for matches in. Leave it out or bin it."
        )
    return np.uint8 if largest < 1 << 8 else np.uint16


def value_reader(population: Table) -> ValueReader:
    """Return what reads released tables in the population's values, with the unknown code of its codes."""
    return ValueReader.from_population(population, unknown_code(_narrow(population)))


@dataclass(frozen=True, eq=False)
class Generator(TableGenerator):
    """A synthesiser (settings with `fit`) or a plain function `(table, seed) -> table`, for tables like `base`.

    `maker`: see `TableGenerator`. A function is called once for every table that is asked for. `base`: the population: what is released
    is coded on its levels and bins. A value that it does not have gets the code `unknown_code` and matches nobody.

    `grid`: "release": a subset is read anew, as the file of a release is. "population": it has the population's levels and bins,
    as in the literature, and is cheaper. A synthesiser that promises privacy has a grid that was declared, and keeps it.
    """

    base: Table
    grid: Grid = "release"

    def subset(self, rows: NDArray[np.int64]) -> Table:
        """Return rows of the population as the table that a release of them would be fitted to."""
        return self.base.take(rows) if self._reading is None else self._reading.read(rows)

    def release(
        self,
        table: Table,
        *,
        tables: int,
        rows: int,
        seed: np.random.SeedSequence,
        sight: Any = None,
    ) -> Released:
        """Return what a fit on `table` releases. The fit and each table have random streams of their own.

        `sight`: what looks at released values: an object with `look(values)`.
        """
        streams = [child(seed, number) for number in range(tables + 1)]
        model = self.fit(table, streams[0])
        parts = [self._draw_table(model, table, rows, stream, sight) for stream in streams[1:]]
        seen = None if sight is None else np.stack([values for _, values in parts])
        return Released(np.stack([codes for codes, _ in parts]), model, seen)

    def _draw_table(
        self, model: Any, table: Table, rows: int, stream: np.random.SeedSequence, sight: Any
    ) -> tuple[NDArray[Any], Any]:
        # Rules may change what was drawn: what is attacked is what leaves.
        plain = model is not None and hasattr(model, "draw_codes") and not model.schema.rules
        if sight is None and plain and self._same_grid(model.schema):
            drawn = model.draw_codes(rows, np.random.default_rng(stream))
            out = np.empty((rows, len(self.base.schema.names)), dtype=self._dtype)
            for j, name in enumerate(self.base.schema.names):
                out[:, j] = drawn[name]
            return out, None
        released, codes = self._read(self.draw(model, table, rows, stream), rows)
        if released.n_rows < rows:
            raise InputError(
                f"The generator returned fewer rows than the {rows:,} that were asked for."
            )
        if codes is not None and sight is None:
            return codes, None
        values = self._reader.read(released)
        if codes is None:
            codes = self._reader.grid_codes(values, self._dtype)
        return codes, None if sight is None else sight.look(values)

    def codes_of(self, table: Any) -> NDArray[Any]:
        """Return the codes of any table on the levels and bins of the population."""
        same, codes = self._read(table, None)
        return (
            self._reader.grid_codes(self._reader.read(same), self._dtype)
            if codes is None
            else codes
        )

    def _read(self, table: Any, rows: int | None) -> tuple[Table, NDArray[Any] | None]:
        """A released table in the population's types, cut to so many rows, and its codes on the population's grid where these are at hand."""
        names = self.base.schema.names
        if (given := as_rows(table)) is not None:
            table = given.table()
            table = table if rows is None or table.n_rows <= rows else table.take(np.arange(rows))
            if self._same_grid(table.schema):
                return table, np.stack(
                    [table.code(name).astype(self._dtype) for name in names], axis=1
                )
            if self._reader.reads(table):
                return table, None
        grid, same = align(self._grid, table, names=("generated",))
        same = same if rows is None or same.n_rows <= rows else same.take(np.arange(rows))
        out = np.empty((same.n_rows, len(names)), dtype=self._dtype)
        for j, name in enumerate(names):
            # From the shared grid, which has room for what only the other table has, back to the population's codes.
            back = np.full(grid.schema[name].size, unknown_code(self._dtype), dtype=self._dtype)
            back[grid.code(name)] = self._grid.code(name)
            out[:, j] = back[same.code(name)]
        return same, out

    def _same_grid(self, schema: Schema) -> bool:
        """Whether codes under a schema mean the same as the population's: a fit may have read levels of its own from its subset."""
        return all(
            name in schema.names and schema[name].codec is self.base.schema[name].codec
            for name in self.base.schema.names
        )

    @cached_property
    def _reading(self) -> SubsetReader | None:
        """What reads subsets anew; None where they keep the population's grid."""
        if self.grid == "population" or promises_privacy(self.maker) or self.base.schema.sealed:
            return None
        return SubsetReader.from_table(self.base)

    @cached_property
    def _reader(self) -> ValueReader:
        return value_reader(self.base)

    @cached_property
    def _dtype(self) -> Any:
        return _narrow(self.base)

    @cached_property
    def _grid(self) -> Table:
        """A few rows of the population that have all its levels between them: cheap to compare with, the same grid."""
        firsts = [
            np.unique(self.base.codes[j], return_index=True)[1]
            for j in range(len(self.base.schema.names))
        ]
        rows = np.unique(np.concatenate([*firsts, np.arange(min(2, self.base.n_rows))]))
        return self.base.take(rows)
