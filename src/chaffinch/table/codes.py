"""Integer codes of a table, column-major, each column in the narrowest unsigned type that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError

__all__ = ["Codes", "narrowest"]

WIDTHS = (np.uint8, np.uint16, np.uint32)


def narrowest(size: int) -> type[np.unsignedinteger]:
    """Return the narrowest unsigned type that holds codes 0 to size - 1.

    Examples
    --------
    >>> narrowest(256).__name__, narrowest(257).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


@dataclass(frozen=True, eq=False)
class Codes:
    """The codes of a table: one matrix for each integer width, one row of it for each column.

    Column `j` stands in row `rows[j]` of matrix `groups[j]`: matrices of 8, 16 and 32 bits. Compiled kernels
    take the three matrices as they are, so one compiled function serves every mix of widths. The
    arrays are read-only.
    """

    sizes: tuple[int, ...]
    matrices: tuple[NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint32]]
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    n_rows: int

    @classmethod
    def of(
        cls, columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], *, n_rows: int | None = None
    ) -> Codes:
        """Return codes from one array for each column; `n_rows` is needed only where there are no columns."""
        lengths = {len(column) for column in columns} or {n_rows or 0}
        if len(lengths) != 1 or len(columns) != len(sizes):
            raise InputError("Codes need one array for each size, all of one length.")
        (length,) = lengths
        groups = np.array([WIDTHS.index(narrowest(size)) for size in sizes], dtype=np.int64)
        rows = np.zeros(len(sizes), dtype=np.int64)
        matrices = []
        for group, width in enumerate(WIDTHS):
            members = np.flatnonzero(groups == group)
            matrix = np.empty((len(members), length), dtype=width)
            for row, j in enumerate(members.tolist()):
                rows[j] = row
                if length and int(columns[j].max()) >= sizes[j]:
                    raise InputError(f"A code lies outside its column: column {j} has {sizes[j]} codes.")
                matrix[row] = columns[j]
            matrix.flags.writeable = False
            matrices.append(matrix)
        return cls(tuple(int(s) for s in sizes), tuple(matrices), groups, rows, length)  # type: ignore[arg-type]

    def __getitem__(self, j: int) -> NDArray[np.unsignedinteger]:
        """Return the codes of column `j`, without a copy."""
        return self.matrices[self.groups[j]][self.rows[j]]

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def joined(cls, parts: Sequence[Codes]) -> Codes:
        """Return the rows of several codes of the same columns, one after the other."""
        first = parts[0]
        if any(part.sizes != first.sizes for part in parts):
            raise InputError("Codes are joined where they are of the same columns.")
        matrices = tuple(np.concatenate([part.matrices[group] for part in parts], axis=1) for group in range(len(WIDTHS)))
        return cls(first.sizes, matrices, first.groups, first.rows, sum(part.n_rows for part in parts))  # type: ignore[arg-type]

    def between(self, start: int, stop: int) -> Codes:
        """Return the codes of rows start to stop, without a copy."""
        stop = min(stop, self.n_rows)
        matrices = tuple(matrix[:, start:stop] for matrix in self.matrices)
        return Codes(self.sizes, matrices, self.groups, self.rows, stop - start)  # type: ignore[arg-type]

    def take(self, rows: NDArray[np.int64] | slice) -> Codes:
        """Return the codes of the chosen rows."""
        return Codes.of([self[j][rows] for j in range(len(self))], self.sizes, n_rows=self.n_rows)
