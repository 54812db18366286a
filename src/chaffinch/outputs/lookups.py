"""Look-ups on the codes of a record: the numbers, or the few (equation, value) pairs, of a combination of levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .columns import Codes, Floats

__all__ = ["Ints", "Lookup", "Terms"]

Ints = NDArray[np.int64]


def _keys(columns: Sequence[int], sizes: Sequence[int], codes: Codes) -> Ints:
    """The number of each record's combination of levels, last column fastest (C order)."""
    key = np.zeros(len(codes), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * size + codes[:, column]
    return key


@dataclass(frozen=True, eq=False)
class Lookup:
    """A number, or a few, for each combination of levels of some columns.

    Parameters
    ----------
    columns, sizes
        Positions of the columns, and their numbers of levels; none for a constant.
    values
        Shape (combinations, width), combinations in C order.

    Examples
    --------
    >>> Lookup((1,), (3,), np.array([[0.0], [0.5], [2.0]])).of(np.array([[0, 2], [1, 1]], dtype=np.int32))
    array([[2. ],
           [0.5]])
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    values: Floats

    def __post_init__(self) -> None:
        _check_shape("A look-up", self.columns, self.sizes, len(self.values))
        if self.values.ndim != 2 or not np.isfinite(self.values).all():
            raise InputError("The values of a look-up must be a matrix of finite numbers.")

    def of(self, codes: Codes) -> Floats:
        """Return the numbers of each record, (n, width)."""
        return self.values[_keys(self.columns, self.sizes, codes)]


@dataclass(frozen=True, eq=False)
class Terms:
    """The (equation, value) pairs that each combination of levels of some columns adds, in compressed rows.

    Examples
    --------
    A dummy for the second of two levels, as equation 1 of 2:

    >>> terms = Terms.dense((0,), (2,), np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> terms.starts.tolist(), terms.equations.tolist(), terms.values.tolist()
    ([0, 0, 1], [1], [1.0])
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: Ints
    equations: Ints
    values: Floats

    def __post_init__(self) -> None:
        _check_shape("Terms", self.columns, self.sizes, len(self.starts) - 1)
        if not np.isfinite(self.values).all():
            raise InputError("The values of terms must be finite.")

    @classmethod
    def dense(cls, columns: Sequence[int], sizes: Sequence[int], matrix: Floats) -> Terms:
        """Return the terms of a matrix (combinations, equations), zeros left out."""
        rows, equations = np.nonzero(matrix)
        return cls.sparse(columns, sizes, rows, equations, np.asarray(matrix[rows, equations], dtype=float))

    @classmethod
    def sparse(
        cls,
        columns: Sequence[int],
        sizes: Sequence[int],
        rows: NDArray[np.integer],
        equations: NDArray[np.integer],
        values: Floats,
    ) -> Terms:
        """Return the terms of entries: the number of a combination, an equation and a value each."""
        order = np.lexsort((equations, rows))
        counts = np.bincount(rows, minlength=int(np.prod(sizes, dtype=np.int64)))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(tuple(columns), tuple(sizes), starts, equations[order].astype(np.int64), values[order])

    def keys(self, codes: Codes) -> Ints:
        """Return the number of each record's combination of levels."""
        return _keys(self.columns, self.sizes, codes)

    def times(self, vectors: Floats) -> Lookup:
        """Return terms times vectors (equations, width): with coefficients, this part of the linear predictor."""
        out = np.zeros((len(self.starts) - 1, vectors.shape[1]))
        rows = np.repeat(np.arange(len(out)), np.diff(self.starts))
        np.add.at(out, rows, self.values[:, None] * vectors[self.equations])
        return Lookup(self.columns, self.sizes, out)

    def of(self, codes: Codes, size: int) -> Floats:
        """Return the terms of each record as a dense matrix (n, size); for tests and small tables."""
        return self.times(np.eye(size)).of(codes)


def _check_shape(what: str, columns: tuple[int, ...], sizes: tuple[int, ...], combinations: int) -> None:
    if len(set(columns)) < len(columns) or len(columns) != len(sizes):
        raise InputError(f"{what} must name different columns, and the number of levels of each.")
    if int(np.prod(sizes, dtype=np.int64)) != combinations:
        raise InputError(f"{what} must have a row for each of {int(np.prod(sizes))} combinations. Got {combinations}.")
