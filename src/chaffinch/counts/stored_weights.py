"""Weights of records beside a cache of codes: eight bytes a row, summed as those of a table in memory are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..table.code_cache import writing_to
from ..table.fit_schema import CellValues
from ..table.schema import Column, Schema
from ..table.table import weights_of
from ..table.weights import WeightSums, constant_weight_schema, weight_sums


@dataclass(frozen=True)
class StoredWeights:
    """The weights of records in a file beside a cache of codes, in the order of rows; confidential, as the cache is.

    `column`: the weights as they are. `schema`: with one code for all of them. `sums`: None while they are being written.
    """

    column: Column
    schema: Schema
    file: Path
    sums: WeightSums | None = None

    @classmethod
    def waiting(cls, schema: Schema, file: Path) -> StoredWeights | None:
        """Return where the weights of a table go, whose mean is not known yet; None where records have none."""
        name = schema.only("weight")
        if name is None or not schema[name].modelled:
            return None
        return cls(schema[name], constant_weight_schema(schema, name, 0.0), file)

    def add(self, cells: CellValues) -> None:
        """Write the weights of some rows; raise where one is no weight."""
        weights = weights_of(self.column, cells[self.column.name][0])
        with writing_to(self.file.parent), self.file.open("ab") as handle:
            handle.write(np.ascontiguousarray(weights, dtype=np.float64).data)

    def summed(self) -> StoredWeights:
        """Return the weights with their sums, and the schema with their mean."""
        sums = weight_sums(self._parts())
        own = replace(self.schema, columns=self._columns(self.schema, self.column))
        return replace(
            self,
            sums=sums,
            schema=constant_weight_schema(own, self.column.name, sums.mean_of(self.column.name)),
        )

    def in_schema(self, schema: Schema) -> Schema:
        """Return a schema of the same columns with the code that stands for the mean weight."""
        return replace(schema, columns=self._columns(schema, self.schema[self.column.name]))

    def reader(self) -> Callable[[int], NDArray[np.float64]]:
        """Return a function that gives the weights of the next rows, scaled to as many records as they tell of."""
        assert self.sums is not None
        weights: NDArray[np.float64] = (
            np.memmap(self.file, dtype=np.float64, mode="r") if self.sums.n_rows else np.empty(0)
        )
        scale, start = self.sums.scale, 0

        def read(n_rows: int) -> NDArray[np.float64]:
            nonlocal start
            start += n_rows
            return np.asarray(weights[start - n_rows : start] * scale)

        return read

    def _columns(self, schema: Schema, column: Column) -> tuple[Column, ...]:
        return tuple(column if own.name == column.name else own for own in schema)

    def _parts(self) -> Iterator[NDArray[np.float64]]:
        if self.file.exists():
            with self.file.open("rb") as handle:
                while len(part := np.fromfile(handle, dtype=np.float64, count=1 << 20)):
                    yield part
