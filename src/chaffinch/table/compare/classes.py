"""Equal rows: rows of several tables that agree in all columns share a number, and rows of one table are looked up in another.

*Classes* (`KeySpace`). Codes are folded into one mixed-radix number, column after column. Before the number outgrows a lookup table of a few
entries a row, it is squeezed to the dense ranks of the numbers that occur; where one column alone is too large for
that, by sorting. So nothing overflows, time is O((N + M) d) for lookups, and memory is O(N + M) whatever the number of
levels. Dense ids follow the order of the codes, not of the rows.

*Look-ups* (`KeyedRows`). One table is keyed once, the other is looked up in as many chunks as it comes in. A row's codes are folded into as few 64-bit numbers
as hold them without loss (*packed*); a hash table finds packed rows and compares them, so the answer is exact. Keying n rows takes O(n), looking
up a chunk of b rows O(b), whatever n is. Of a table that is too large to hold, a fixed slice of all possible rows is keyed. A row is in the slice by a hash
of its codes, in both tables alike, so a copy in the slice is found, and the share of equal rows in the slice estimates that of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints
from ..._base.compiled import jit
from ..._base.errors import InputError
from ..._base.masking import masked_count
from ..codes import Codes

Keys = NDArray[Any] | Sequence[NDArray[Any]]
"""Key columns: a matrix of rows x keys, or a sequence of code arrays, one a key."""

ROOM = 4
"""Entries of a lookup table for each row; beyond, numbers are sorted. 1 to 16 take about the same time."""

SMALL_ROOM = 1 << 16
"""A lookup table may always have this many entries."""

WIDEST = 1 << 32
"""Codes that span more than this are ranked first, so that class x code stays below 2^63."""


def class_ids(*tables: Keys) -> list[Ints]:
    """Return an id for each row of each table: ids are equal exactly where all keys are, also across tables.

    Ids are 0, 1, ... without gaps over all tables together.

    Examples
    --------
    >>> [ids.tolist() for ids in class_ids([np.array([5, 5, 9]), np.array([1, 2, 1])], [np.array([9, 5]), np.array([1, 1])])]
    [[0, 1, 2], [2, 0]]
    """
    return list(KeySpace.from_tables(*tables).classes().ids)


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """The key classes of several tables: `ids[t]` has the class of each row of table t, from 0 to `n_classes` - 1."""

    ids: tuple[Ints, ...]
    n_classes: int

    def __repr__(self) -> str:
        return f"Classes(classes: {masked_count(self.n_classes)}, rows: {', '.join(str(masked_count(len(i))) for i in self.ids)})"


@dataclass(frozen=True, eq=False, repr=False)
class KeySpace:
    """The key columns of several tables on common codes, ready for the classes of any subset of them.

    `codes` has one array a key with the rows of all tables one after the other, from 0 to below its entry of `sizes`.
    """

    codes: tuple[Ints, ...]
    sizes: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def from_tables(cls, *tables: Keys) -> KeySpace:
        """Return the space of tables that have the same keys in the same order."""
        if not tables:
            raise InputError("Key classes need at least one table. Got none.")
        split = [_columns(table) for table in tables]
        widths = {len(columns) for columns, _ in split}
        if len(widths) > 1:
            raise InputError(
                f"Tables must have the same number of keys. Got {', '.join(map(str, sorted(widths)))}."
            )
        joined = [zero_based([columns[j] for columns, _ in split]) for j in range(widths.pop())]
        return cls(
            tuple(c for c, _ in joined), tuple(s for _, s in joined), tuple(n for _, n in split)
        )

    @property
    def n_keys(self) -> int:
        """The number of keys."""
        return len(self.codes)

    def classes(self, columns: Sequence[int] | None = None) -> Classes:
        """Return the classes of some of the keys, by position; of all if not said. Of none: one class."""
        chosen = tuple(range(self.n_keys)) if columns is None else tuple(columns)
        return next(key_classes for _, key_classes in self.sweep([chosen]))

    def sweep(self, subsets: Iterable[Sequence[int]]) -> Iterator[tuple[tuple[int, ...], Classes]]:
        """Yield each subset with its classes, subsets sorted as words are.

        Subsets that begin alike share the work on their beginning: 56 foldings for the 42 subsets of 3 to 6 of 6
        keys, where each by itself makes 156. Memory: one number a row for each key of the longest subset.
        """
        n_rows = sum(self.lengths)
        path: list[tuple[int, Ints, int]] = []
        for subset in sorted(tuple(s) for s in subsets):
            self._check(subset)
            depth = 0
            while depth < len(path) and depth < len(subset) and path[depth][0] == subset[depth]:
                depth += 1
            del path[depth:]
            for column in subset[depth:]:
                number, domain = path[-1][1:] if path else (np.zeros(n_rows, dtype=np.int64), 1)
                path.append((column, *self._fold(number, domain, column)))
            number, domain = path[-1][1:] if path else (np.zeros(n_rows, dtype=np.int64), 1)
            ids, filled = squeeze(number, domain)
            ends = np.cumsum(self.lengths)[:-1]
            yield subset, Classes(tuple(np.split(ids, ends)), len(filled))

    def _fold(self, number: Ints, domain: int, column: int) -> tuple[Ints, int]:
        size = self.sizes[column]
        if domain > 1 and domain * size > room(len(number)):
            number, filled = squeeze(number, domain)
            domain = max(len(filled), 1)
        return number * size + self.codes[column], domain * size

    def _check(self, subset: tuple[int, ...]) -> None:
        for column in subset:
            if not 0 <= column < self.n_keys:
                raise InputError(f"Keys are numbered from 0 to {self.n_keys - 1}. Got {column}.")

    def __repr__(self) -> str:
        return f"KeySpace(keys: {self.n_keys}, rows: {', '.join(str(masked_count(n)) for n in self.lengths)})"


def zero_based(parts: Sequence[NDArray[Any]]) -> tuple[Ints, int]:
    """Return code arrays joined and moved to start at 0, and the size of their span; a wide span is ranked first."""
    joined = np.concatenate([_codes(codes) for codes in parts])
    if not len(joined):
        return joined, 1
    low, high = int(joined.min()), int(joined.max())
    if high - low >= WIDEST:
        levels, ranks = np.unique(joined, return_inverse=True)
        return ranks.astype(np.int64, copy=False), len(levels)
    return joined - low, high - low + 1


def squeeze(number: Ints, domain: int) -> tuple[Ints, Ints]:
    """Return the dense rank of each number from 0 to below `domain`, and the numbers that occur, sorted."""
    if domain > room(len(number)):
        filled, ids = np.unique(number, return_inverse=True)
        return ids.astype(np.int64, copy=False), filled
    seen = np.zeros(domain, dtype=bool)
    seen[number] = True
    filled = np.flatnonzero(seen)
    ranks = np.empty(domain, dtype=np.int64)
    ranks[filled] = np.arange(len(filled))
    return ranks[number], filled


def room(n_rows: int) -> int:
    """Return how many entries a lookup table for so many rows may have."""
    return max(SMALL_ROOM, ROOM * n_rows)


def _columns(table: Keys) -> tuple[list[NDArray[Any]], int]:
    """Return the columns of a matrix or of a sequence of columns, and the number of rows."""
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise InputError(
                f"Keys must be a matrix of rows x keys, or a sequence of arrays. Got {table.ndim} dimensions."
            )
        return [table[:, j] for j in range(table.shape[1])], len(table)
    columns = [np.asarray(column) for column in table]
    if not columns:
        raise InputError(
            "Keys as a sequence must hold at least one column. For no keys, give a matrix of width 0."
        )
    if len({column.shape for column in columns}) > 1:
        raise InputError(
            "Key columns must have one code for each row. Got columns of different lengths."
        )
    return columns, len(columns[0])


def _codes(column: NDArray[Any]) -> Ints:
    array = np.asarray(column)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise InputError(
            f"Codes must be a one-dimensional array of integers. Got {array.ndim} dimensions, {array.dtype}."
        )
    if array.dtype == np.uint64 and len(array) and int(array.max()) >= 1 << 63:
        raise InputError("Codes must be below 2^63. Rank the values first.")
    return array.astype(np.int64, copy=False)


# Look-ups.

PackedRows = NDArray[np.uint64]
"""A row for each row of a table, a column for each 64-bit word."""

WORD = 1 << 64
"""A word is below this."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with bits all over, 2^64 over the golden ratio: multiplying by it spreads words over all slots."""

MAX_KEYED = 1 << 22
"""Rows up to which all rows of a table are keyed; of a larger one about as many are."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyedRows:
    """The rows of a table, ready to be looked up; it holds records, and stays inside.

    `sizes`: the number of codes of each column. `packed`: the packed rows. `slots`: the hash table: numbers of rows, -1 where empty.
    `bits`: one row in 2^bits is in the slice.
    """

    sizes: tuple[int, ...]
    packed: PackedRows
    slots: NDArray[np.signedinteger[Any]]
    bits: int

    @classmethod
    def from_chunks(cls, chunks: Iterable[Codes], sizes: Sequence[int], n_rows: int) -> KeyedRows:
        """Return the rows of a table that comes in chunks, which has so many rows and codes."""
        bits = max(0, (max(n_rows, 1) - 1).bit_length() - (MAX_KEYED - 1).bit_length())
        folded = [_pack_rows(codes, sizes, bits) for codes in chunks]
        packed = np.concatenate([np.empty((0, len(_folds(sizes))), dtype=np.uint64), *folded])
        width: Any = np.int32 if len(packed) < 1 << 31 else np.int64
        slots: NDArray[Any] = np.full(1 << (2 * len(packed)).bit_length(), -1, dtype=width)
        fill(packed, slots)
        return cls(tuple(sizes), packed, slots, bits)

    @property
    def all_rows(self) -> bool:
        """Whether every row is looked up."""
        return self.bits == 0

    def look_up(self, codes: Codes) -> tuple[int, int]:
        """Return how many rows of a chunk under the same schema equal a row here, of how many that are in the slice.

        Examples
        --------
        >>> first, second = (Codes.from_columns([np.array(a), np.array(b)], [3, 2]) for a, b in (([0, 0, 2], [1, 1, 0]), ([0, 0, 2, 1], [1, 0, 0, 1])))
        >>> KeyedRows.from_chunks([first], [3, 2], 3).look_up(second)
        (2, 4)
        """
        packed = _pack_rows(codes, self.sizes, self.bits)
        return int(count_known(packed, self.packed, self.slots)), len(packed)

    def __repr__(self) -> str:
        return f"KeyedRows({masked_count(len(self.packed))})"


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


def _pack_rows(codes: Codes, sizes: Sequence[int], bits: int) -> PackedRows:
    """Return the mixed-radix number of the columns of each word, for each row in the slice."""
    if len(codes) != len(sizes):
        raise InputError(
            f"Tables must have the same number of columns. Got {len(sizes)} and {len(codes)}."
        )
    rows: Any = _in_slice(codes, bits) if bits else slice(None)
    n_rows = int(np.count_nonzero(rows)) if bits else codes.n_rows
    folds = _folds(sizes)
    out: PackedRows = np.zeros((n_rows, len(folds)), dtype=np.uint64)
    for k, fold in enumerate(folds):
        for j in fold:
            out[:, k] = out[:, k] * np.uint64(sizes[j]) + codes[j][rows]
    return out


def _in_slice(codes: Codes, bits: int) -> NDArray[np.bool_]:
    """Which rows are in the slice, by the last steps of SplitMix64 over their codes."""
    out = np.zeros(codes.n_rows, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for j in range(len(codes)):
            out = (out + codes[j]) * MULTIPLIER
            out ^= out >> np.uint64(29)
        out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out ^= out >> np.uint64(31)
    return np.asarray(out & np.uint64((1 << bits) - 1) == 0)


@jit
def _slot(packed, i, known, slots):  # type: ignore[no-untyped-def]
    """Return the slot of the row of `known` that row i equals, or the empty one in which it would stand."""
    key = np.uint64(0)
    for j in range(packed.shape[1]):
        key = (key ^ packed[i, j]) * MULTIPLIER
        key ^= key >> np.uint64(32)
    slot = np.int64((key * MULTIPLIER) & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        j = 0
        while j < packed.shape[1] and packed[i, j] == known[slots[slot], j]:
            j += 1
        if j == packed.shape[1]:
            break
        slot = (slot + 1) & (slots.size - 1)
    return slot


@jit
def fill(packed, slots):  # type: ignore[no-untyped-def]
    """Put the number of one of equal rows into `slots` (-1 all over; a power of two, more than rows)."""
    for i in range(packed.shape[0]):
        slots[_slot(packed, i, packed, slots)] = i


@jit
def count_known(packed, known, slots):  # type: ignore[no-untyped-def]
    """Return how many rows of `packed` equal one of `known`, whose numbers are in `slots`."""
    total = 0
    for i in range(packed.shape[0]):
        total += slots[_slot(packed, i, known, slots)] >= 0
    return total
