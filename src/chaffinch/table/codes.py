"""Integer codes of a table, column-major, each column in the narrowest unsigned type that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError

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
    def from_columns(
        cls,
        columns: Sequence[NDArray[np.integer]],
        sizes: Sequence[int],
        *,
        n_rows: int | None = None,
    ) -> Codes:
        """Return codes from one array for each column; `n_rows` is needed only where there are no columns."""
        lengths = {len(column) for column in columns} or {n_rows or 0}
        if len(lengths) != 1 or len(columns) != len(sizes):
            raise InputError("Codes need one array for each size, all of one length.")
        (length,) = lengths
        codes = cls._empty(sizes, length)
        for j, column in enumerate(columns):
            if length and int(column.max()) >= sizes[j]:
                raise InputError(
                    f"A code lies outside its column: column {j} has {sizes[j]} codes."
                )
            codes[j][:] = column
        return codes._closed()

    @classmethod
    def gathered(cls, parts: Iterable[Codes], sizes: Sequence[int], n_rows: int) -> Codes:
        """Return the rows of several codes of the same columns, one after the other, `n_rows` in all: each is copied as it comes, and need not stay."""
        codes, start = cls._empty(sizes, n_rows), 0
        for batch in parts:
            if batch.sizes != codes.sizes or start + batch.n_rows > n_rows:
                raise InputError(
                    "Codes are gathered where they are of the same columns, and no more rows than were to come."
                )
            for j in range(len(codes)):
                codes[j][start : start + batch.n_rows] = batch[j]
            start += batch.n_rows
        if start != n_rows:
            raise InputError("Codes that are gathered must have all of the rows that were to come.")
        return codes._closed()

    @classmethod
    def _empty(cls, sizes: Sequence[int], n_rows: int) -> Codes:
        """Codes that are to be filled in."""
        return cls.laid_out(
            sizes, n_rows, lambda group, n_columns: np.empty((n_columns, n_rows), WIDTHS[group])
        )

    @classmethod
    def laid_out(
        cls, sizes: Sequence[int], n_rows: int, matrix: Callable[[int, int], NDArray[Any]]
    ) -> Codes:
        """Return codes in the matrices that are given for each width, by its number, and so many columns."""
        groups = np.array([WIDTHS.index(narrowest(size)) for size in sizes], dtype=np.int64)
        rows = np.zeros(len(sizes), dtype=np.int64)
        matrices = []
        for group in range(len(WIDTHS)):
            members = np.flatnonzero(groups == group)
            rows[members] = np.arange(len(members))
            matrices.append(matrix(group, len(members)))
        return cls(tuple(int(s) for s in sizes), tuple(matrices), groups, rows, n_rows)  # type: ignore[arg-type]

    def _closed(self) -> Codes:
        for matrix in self.matrices:
            matrix.flags.writeable = False
        return self

    def columns(self, places: Sequence[int]) -> Codes:
        """Return the codes of some columns, without a copy."""
        chosen = np.asarray(places, dtype=np.int64)
        return Codes(
            tuple(self.sizes[j] for j in places),
            self.matrices,
            self.groups[chosen],
            self.rows[chosen],
            self.n_rows,
        )

    def __getitem__(self, j: int) -> NDArray[np.unsignedinteger]:
        """Return the codes of column `j`, without a copy."""
        return self.matrices[self.groups[j]][self.rows[j]]

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def joined(cls, parts: Sequence[Codes]) -> Codes:
        """Return the rows of several codes of the same columns, one after the other."""
        first = parts[0]
        if any(batch.sizes != first.sizes for batch in parts):
            raise InputError("Codes are joined where they are of the same columns.")
        matrices = tuple(
            np.concatenate([batch.matrices[group] for batch in parts], axis=1)
            for group in range(len(WIDTHS))
        )
        return cls(
            first.sizes,
            matrices,  # type: ignore[arg-type]
            first.groups,
            first.rows,
            sum(batch.n_rows for batch in parts),
        )

    def between(self, start: int, stop: int) -> Codes:
        """Return the codes of rows start to stop, without a copy."""
        stop = min(stop, self.n_rows)
        matrices = tuple(matrix[:, start:stop] for matrix in self.matrices)
        return Codes(self.sizes, matrices, self.groups, self.rows, stop - start)  # type: ignore[arg-type]

    def take(self, rows: NDArray[np.int64] | slice) -> Codes:
        """Return the codes of the chosen rows."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        return Codes.from_columns(
            [self[j][rows] for j in range(len(self))], self.sizes, n_rows=n_rows
        )
