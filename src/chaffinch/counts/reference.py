"""The slow, plain counter that the others must equal: one Python loop, one dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..table.scan import CodedBatch
from ..table.schema import Schema
from ..table.table import Table
from .marginal import Marginal
from .tally import resolve


@dataclass(frozen=True, eq=False)
class ReferenceCounter:
    """Counts marginals row by row. For tests and for reading; hours where the others take a second."""

    table: Table
    weight: str | None = None

    @property
    def schema(self) -> Schema:
        """The fitted schema of the table."""
        return self.table.schema

    @property
    def n_rows(self) -> int:
        """The number of records."""
        return self.table.n_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique, in the order given."""
        weights = (
            [1] * self.n_rows if self.weight is None else self.table.weights(self.weight).tolist()
        )
        dtype = np.int64 if self.weight is None else np.float64
        out = []
        for clique in cliques:
            positions = resolve(self.schema, clique)
            sizes = tuple(self.schema.sizes[j] for j in positions)
            seen: dict[tuple[int, ...], float] = {}
            for row in range(self.n_rows):
                cell = tuple(int(self.table.codes[j][row]) for j in positions)
                seen[cell] = seen.get(cell, 0) + weights[row]
            cells = sorted(cell for cell, value in seen.items() if value)
            counts = np.array([seen[cell] for cell in cells], dtype=dtype)
            sparse = Marginal(
                tuple(clique),
                sizes,
                counts,
                np.array(cells, dtype=np.uint32).reshape(len(cells), len(sizes)),
            )
            small = prod(sizes) <= 1 << 16
            out.append(Marginal(sparse.columns, sizes, sparse.dense()) if small else sparse)
        return out

    def coded(self) -> Iterator[CodedBatch]:
        """Return the codes of all rows, in one batch."""
        yield CodedBatch(
            self.table.codes, None if self.weight is None else self.table.weights(self.weight)
        )
