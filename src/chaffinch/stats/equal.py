"""Which rows of a table occur in another: the one is keyed once, the other is looked up in as many parts as it comes in.

A row's codes are folded into as few 64-bit numbers as hold them without loss, its *words*; a hash table finds rows by their words and
compares these, so the answer is exact. Keying n rows takes O(n), looking up a part of b rows O(b), whatever n is.

**Originals of any size** (`KeyedSlice`): all rows of one that fits are keyed, a fixed slice of all possible rows of one that does not. A row is in the slice by a hash of its codes, in the original and in what is drawn alike, so a copy in the slice is found. Of the drawn rows in
the slice the share that equals an original one estimates that of all drawn rows; which rows are in it hangs on nothing but the codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import compiled
from .._base.errors import InputError
from .._base.masking import masked_count
from ..table.codes import Codes
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


MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with bits all over, 2^64 over the golden ratio: multiplying by it spreads words over all slots."""


@compiled
def _slot(words, i, slots):  # type: ignore[no-untyped-def]
    """Return the slot at which row i is looked for first."""
    key = np.uint64(0)
    for j in range(words.shape[1]):
        key = (key ^ words[i, j]) * MULTIPLIER
        key ^= key >> np.uint64(32)
    return np.int64((key * MULTIPLIER) & np.uint64(slots.size - 1))


@compiled
def _same(words, i, others, k):  # type: ignore[no-untyped-def]
    j = 0
    while j < words.shape[1] and words[i, j] == others[k, j]:
        j += 1
    return j == words.shape[1]


@compiled
def fill(words, slots):  # type: ignore[no-untyped-def]
    """Put the number of the first of equal rows into `slots` (-1 all over; a power of two, more than rows); return how many."""
    distinct = 0
    for i in range(words.shape[0]):
        at = _slot(words, i, slots)
        while slots[at] >= 0 and not _same(words, i, words, slots[at]):
            at = (at + 1) & (slots.size - 1)
        if slots[at] < 0:
            slots[at] = i
            distinct += 1
    return distinct


@compiled
def look_up(words, known, slots, out):  # type: ignore[no-untyped-def]
    """Set `out` to whether each row of `words` equals one of `known`, whose numbers are in `slots`; rows whose `out` is False stay so."""
    for i in range(words.shape[0]):
        if out[i]:
            at = _slot(words, i, slots)
            while slots[at] >= 0 and not _same(words, i, known, slots[at]):
                at = (at + 1) & (slots.size - 1)
            out[i] = slots[at] >= 0


MOST_KEYED = 1 << 22
"""Rows of an original up to which all are held; of a larger one about as many are."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyedSlice:
    """Rows of an original, ready to be looked up; it holds records, and stays inside. `bits`: one row in 2^bits is in the slice."""

    keyed: KeyedRows
    bits: int

    @classmethod
    def of(cls, parts: Iterable[Codes], sizes: Sequence[int], n_rows: int) -> KeyedSlice:
        """Return the rows of a table that comes in parts, which has so many rows and codes."""
        bits = max(0, (max(n_rows, 1) - 1).bit_length() - (MOST_KEYED - 1).bit_length())
        chosen = [_columns(codes, _in_slice(codes, bits)) for codes in parts]
        if not chosen:
            chosen = [[np.empty(0, dtype=np.uint8) for _ in sizes]]
        columns = (
            chosen[0]
            if len(chosen) == 1
            else [np.concatenate([part[j] for part in chosen]) for j in range(len(sizes))]
        )
        return cls(KeyedRows.of_codes(columns), bits)

    @property
    def all_rows(self) -> bool:
        """Whether every row is looked up."""
        return self.bits == 0

    def look_up(self, codes: Codes) -> tuple[int, int]:
        """Return how many rows equal one of the original, of how many that were looked up."""
        columns = _columns(codes, _in_slice(codes, self.bits))
        n_rows = len(columns[0]) if columns else 0
        return int(self.keyed.holds_codes(columns).sum()) if n_rows else 0, n_rows


def _columns(codes: Codes, rows: NDArray[np.bool_] | None) -> list[NDArray[np.unsignedinteger]]:
    return [codes[j] if rows is None else codes[j][rows] for j in range(len(codes))]


def _in_slice(codes: Codes, bits: int) -> NDArray[np.bool_] | None:
    """Which rows are in the slice, by the last steps of SplitMix64 over their codes; None: all."""
    if not bits:
        return None
    out = np.zeros(codes.n_rows, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for j in range(len(codes)):
            out = (out + codes[j]) * MULTIPLIER
            out ^= out >> np.uint64(29)
        out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out ^= out >> np.uint64(31)
    return np.asarray(out & np.uint64((1 << bits) - 1) == 0)
