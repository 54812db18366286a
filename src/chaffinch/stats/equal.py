"""Which rows of a table occur in another: the one is keyed once, the other is looked up in as many parts as it comes in.

A row's codes are folded into as few 64-bit numbers as hold them without loss, its *words*; a hash table finds rows by their words and
compares these, so the answer is exact. Keying n rows takes O(n), looking up a part of b rows O(b), whatever n is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import masked_count
from ..table.table import Table

Columns = Sequence[NDArray[Any]]
Words = NDArray[np.uint64]
"""One row for each row of the table, one column for each word."""

WORD = 1 << 64
"""A word is below this."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyedRows:
    """The rows of a table, ready to be looked up; it holds records, and stays inside.

    `sizes`: the largest code of each column and one; a row with a larger one is not here. `folds`: the columns of each word, by
    position. `words`: the words of each row. `slots`: the hash table: numbers of rows, -1 where empty. `n_distinct`: the number of
    distinct rows.
    """

    sizes: tuple[int, ...]
    folds: tuple[tuple[int, ...], ...]
    words: Words
    slots: NDArray[np.signedinteger[Any]]
    n_distinct: int

    @classmethod
    def of(cls, table: Table) -> KeyedRows:
        """Return the rows of a table, by the codes of its modelled columns."""
        return cls.of_codes([table.codes[j] for j in range(len(table.codes))])

    @classmethod
    def of_codes(cls, codes: Columns) -> KeyedRows:
        """Return the rows of columns of codes, which are whole numbers from 0 on."""
        from .equal_kernels import fill

        n_rows = len(codes[0]) if len(codes) else 0
        sizes = tuple(int(column.max()) + 1 if n_rows else 0 for column in codes)
        folds = _folds(sizes)
        words = _words(codes, sizes, folds)
        width: Any = np.int32 if n_rows < 1 << 31 else np.int64
        slots: NDArray[Any] = np.full(1 << (2 * n_rows).bit_length(), -1, dtype=width)
        return cls(sizes, folds, words, slots, int(fill(words, slots)))

    def holds(self, other: Table) -> NDArray[np.bool_]:
        """Return for each row of another table under the same schema whether an equal row is here."""
        return self.holds_codes([other.codes[j] for j in range(len(other.codes))])

    def holds_codes(self, codes: Columns) -> NDArray[np.bool_]:
        """Return for each row of columns of codes whether an equal row is here.

        Examples
        --------
        >>> rows = KeyedRows.of_codes([np.array([0, 0, 2]), np.array([1, 1, 0])])
        >>> rows.holds_codes([np.array([0, 0, 2, 9]), np.array([1, 0, 0, 1])]).tolist()
        [True, False, True, False]
        """
        from .equal_kernels import look_up

        if len(codes) != len(self.sizes):
            raise InputError(
                f"Tables must have the same number of columns. Got {len(self.sizes)} and {len(codes)}."
            )
        out = np.ones(len(codes[0]) if len(codes) else 0, dtype=bool)
        for column, size in zip(codes, self.sizes, strict=True):
            out &= column < size
        look_up(_words(codes, self.sizes, self.folds), self.words, self.slots, out)
        return out

    def share(self, other: Table) -> float:
        """Return the share of another table's rows that equal one here, codes compared: 0 none, 1 all; 0 without rows."""
        return float(self.holds(other).mean()) if other.n_rows else 0.0

    def __repr__(self) -> str:
        return f"KeyedRows(rows: {masked_count(len(self.words))}, distinct: {masked_count(self.n_distinct)})"


def _folds(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return which columns go into each word: as many one after the other as fit.

    Examples
    --------
    >>> _folds([1 << 32, 1 << 32, 2])
    ((0, 1), (2,))
    """
    out: list[tuple[int, ...]] = []
    span = WORD
    for j, size in enumerate(sizes):
        span *= max(size, 1)
        if not out or span > WORD:
            out.append(())
            span = max(size, 1)
        out[-1] += (j,)
    return tuple(out)


def _words(codes: Columns, sizes: Sequence[int], folds: Sequence[tuple[int, ...]]) -> Words:
    """Return the mixed-radix number of the columns of each word, for each row. A code beyond its size gives some number."""
    out: Words = np.empty((len(codes[0]) if len(codes) else 0, len(folds)), dtype=np.uint64)
    for k, fold in enumerate(folds):
        word = codes[fold[0]].astype(np.uint64)
        for j in fold[1:]:
            word *= np.uint64(sizes[j])
            word += codes[j].astype(np.uint64, copy=False)
        out[:, k] = word
    return out
