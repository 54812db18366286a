"""What an attacker reads off a released table: a few numbers for each table, the same for every table.

A `BlackBox` is made once, for a schema, and used for shadows and released tables alike, so that features line up: the sample of subsets is
drawn when it is made and kept in it. (Drawn anew for the attacked table, as in Sedlmeyr's (2024) code for more than 16 columns, they would not.)

Most are numbers of rows that match a target on subsets of columns: all 2^F of them, or a stored sample. The rows that match on every column of a subset are those whose match mask (bit j: equal in column j) contains it. So all 2^F counts are one
histogram of masks and a sum over supersets, n x F + F x 2^(F-1) additions for a table where a query at a time takes n x 2^F. For a sample
of subsets each column's matches are a string of bits, one for each row, and a count is an AND of strings, 64 rows to an instruction.

Codes are unsigned, (tables, rows, columns). The highest code of their type (255, or 65535) stands for a value that is unknown: it matches
nothing, itself included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, compress, pairwise
from math import prod
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.compiled import jit
from ..._base.errors import InputError, TooLargeError, unknown_name
from ..._base.runtime import thread_count, thread_map
from ..._base.seeds import Seed, generator
from ..shadows.generator import unknown_code

BlackBoxName = Literal["queries", "naive", "histogram", "closest"]


BLACK_BOXES = ("queries", "naive", "histogram", "closest")


MOST = 20_000
"""Subsets of columns that are counted where all are too many."""


ALL_UP_TO = 16
"""The most columns for which all subsets are counted: 65,536 numbers for each table."""


PIECES = 4
"""Pieces of work for each thread, so that none waits long for the last."""


def black_box(
    name: BlackBoxName,
    sizes: Sequence[int],
    *,
    columns: Sequence[str] | None = None,
    ordered: Sequence[bool] | None = None,
    max_subsets: int = MOST,
    seed: Seed = None,
) -> BlackBox:
    """Return how tables with so many codes in each column become features of one kind.

    Parameters
    ----------
    name
        "queries": numbers of rows that match the target on all columns of a subset, for all 2^F subsets up to F = 16, for a sample of
        `max_subsets` subsets above (Sedlmeyr 2024, section 5.1; Achilles' Heels). Raw counts.
        "naive": for each column the number of levels that occur, the shares of rows with the most and the least frequent of them, and
        where its codes are ordered their mean, median and variance (Stadler et al., "Groundhog Day", 2022).
        "histogram": the number of rows with each code of each column.
        "closest": minus the Hamming distance of the closest row to the target, from -F to 0: the cheapest attacker.
    columns
        Names of the columns; numbered if there are none.
    ordered
        Whether the order of each column's codes means something; taken for all if not given. A level for missing values comes last
        in the order, which a mean takes at its word.
    seed
        For the sample of subsets. With the same seed it is the same sample.

    Examples
    --------
    >>> box = black_box("queries", [2, 3], columns=["sex", "area"])
    >>> box.names
    ('rows', 'rows that match: sex', 'rows that match: area', 'rows that match: sex, area')
    >>> box.features(np.array([[[0, 1], [0, 2], [1, 255]]], dtype=np.uint8), [0, 2]).tolist()
    [[3.0, 2.0, 1.0, 1.0]]
    """
    if name not in BLACK_BOXES:
        raise unknown_name("kind of feature", name, BLACK_BOXES)
    if not len(sizes) or min(sizes) < 0:
        raise InputError("Features need at least one column, and for each the number of its codes.")
    named = [f"column {j}" for j in range(len(sizes))] if columns is None else list(columns)
    in_order = [True] * len(sizes) if ordered is None else [bool(o) for o in ordered]
    if len(named) != len(sizes) or len(in_order) != len(sizes):
        raise InputError(
            f"columns and ordered need one entry for each of the {len(sizes)} columns."
        )

    sampled = name == "queries" and len(sizes) > ALL_UP_TO
    subsets = subset_sample(len(sizes), max_subsets=max_subsets, seed=seed) if sampled else None
    return BlackBox(name, tuple(named), tuple(int(s) for s in sizes), tuple(in_order), subsets)


@dataclass(frozen=True, eq=False)
class BlackBox:
    """How tables become features. Make one with `black_box`.

    `name`: "queries", "naive", "histogram" or "closest". `columns`: the names of the columns. `sizes`: the number of codes of each
    column. `ordered`: whether the order of a column's codes means something ("naive"). `subsets`: the sample of subsets ("queries" of
    more than 16 columns), or None: all of them.
    """

    name: BlackBoxName
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    subsets: NDArray[np.uint64] | None = field(default=None, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each feature is, in the order of `of`."""
        if self.name == "queries":
            subsets = (
                subset_sample(len(self.sizes), max_subsets=1 << 17)
                if self.subsets is None
                else self.subsets
            )
            memberships = subset_columns(subsets, len(self.sizes)).tolist()
            return tuple(
                f"rows that match: {', '.join(compress(self.columns, row))}" if any(row) else "rows"
                for row in memberships
            )
        if self.name == "naive":
            both = zip(self.columns, self.ordered, strict=True)
            return tuple(f"{c}: {what}" for c, o in both for what in _NAIVE[: 6 if o else 3])
        if self.name == "histogram":
            return tuple(
                f"{c}: code {i}"
                for c, size in zip(self.columns, self.sizes, strict=True)
                for i in range(size)
            )
        return ("closeness",)

    def features(
        self, tables: NDArray[Any], target: ArrayLike, *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return (..., d) features of tables (..., rows, columns) of codes, as seen by an attacker who looks for the target (columns,).

        "naive" and "histogram" do not look at the target. Unknown codes (255 or 65535) neither match nor count as a level.
        """
        if tables.ndim < 3 or tables.shape[-1] != len(self.sizes):
            raise InputError(
                f"Tables must be an array of tables, rows and columns, with {len(self.sizes)} columns."
            )
        flat = tables.reshape(
            prod(tables.shape[:-2]), *tables.shape[-2:]
        )  # not -1: tables may be without rows
        checked_tables(flat)
        if max(self.sizes, default=0) > unknown_code(flat.dtype):
            raise InputError(
                f"Codes of type {flat.dtype} do not hold all levels and the unknown one. Use a wider type."
            )
        if self.name == "queries" and self.subsets is None:
            out = match_counts(flat, target, dtype=np.float32, threads=threads)
        elif self.name == "queries":
            out = sampled_counts(
                flat, target, cast(Any, self.subsets), dtype=np.float32, threads=threads
            )
        elif self.name == "closest":
            near = closest_matches(flat, target, threads=threads)
            out = (near - np.int32(len(self.sizes)))[:, None].astype(np.float32)
        else:
            counts = level_counts(flat, self.sizes, threads=threads)
            out = counts.astype(np.float32) if self.name == "histogram" else self._naive(counts)
        return out.reshape(*tables.shape[:-2], out.shape[-1])

    def _naive(self, counts: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the naive features from the numbers of rows with each code."""
        out = []
        offset = 0
        for size, ordered in zip(self.sizes, self.ordered, strict=True):
            out += _summary(counts[:, offset : offset + size], ordered=ordered)
            offset += size
        return (
            np.stack(out, axis=1).astype(np.float32)
            if out
            else np.zeros((len(counts), 0), dtype=np.float32)
        )


_NAIVE = (
    "levels that occur",
    "share of the most frequent",
    "share of the least frequent",
    "mean",
    "median",
    "variance",
)


def _summary(counts: NDArray[np.int32], *, ordered: bool) -> list[NDArray[np.float64]]:
    """Return summaries of one column of each table, from its counts (T, size); 0 where nothing is known."""
    total = counts.sum(axis=1)
    rows = np.maximum(total, 1)
    smallest = np.where(counts > 0, counts, np.iinfo(np.int32).max).min(
        axis=1, initial=np.iinfo(np.int32).max
    )
    out = [
        (counts > 0).sum(axis=1).astype(np.float64),
        counts.max(axis=1, initial=0) / rows,
        np.where(total > 0, smallest, 0) / rows,
    ]
    if not ordered:
        return out
    codes = np.arange(counts.shape[1], dtype=np.float64)
    mean = counts @ codes / rows
    spread = (counts * (codes - mean[:, None]) ** 2).sum(axis=1) / rows
    # The two middle rows, one and the same where their number is odd: each is where the running count passes its rank.
    running = counts.cumsum(axis=1)
    middle = [(running <= rank[:, None]).sum(axis=1) for rank in ((total - 1) // 2, total // 2)]
    return [*out, mean, np.where(total > 0, (middle[0] + middle[1]) / 2, 0.0), spread]


def match_counts(
    tables: NDArray[Any], target: ArrayLike, *, dtype: Any = np.int32, threads: int | None = None
) -> NDArray[Any]:
    """Return (T, 2^F) numbers of rows that match the target on every column of a subset; bit j of the place is column j.

    Place 0, the empty subset, counts all rows; a larger subset never has more. `dtype` may be a float type: float32 holds counts up to
    2^24 exactly. The result does not depend on `threads`.

    Examples
    --------
    >>> one_table = np.array([[[0, 1], [0, 2], [3, 1]]], dtype=np.uint8)
    >>> match_counts(one_table, [0, 1]).tolist()  # all rows; first column 0; second column 1; both
    [[3, 2, 2, 1]]
    """
    checked_tables(tables)
    n_tables, _, n_columns = tables.shape
    if n_columns > ALL_UP_TO:
        raise TooLargeError(
            f"All subsets are counted for up to {ALL_UP_TO} columns. Got {n_columns}: count a sample, subset_sample()."
        )
    wanted, bits = _wanted_bits(target, n_columns, tables.dtype)
    out = np.zeros((n_tables, 1 << n_columns), dtype=dtype)
    return _each(tables, out, threads, lambda chunk, filled: _fill_all(chunk, wanted, bits, filled))


def closest_matches(
    tables: NDArray[Any], target: ArrayLike, *, threads: int | None = None
) -> NDArray[np.int32]:
    """Return (T,) the most columns on which any one row matches: F less the smallest Hamming distance; 0 without rows.

    Examples
    --------
    >>> closest_matches(np.array([[[0, 1], [0, 2]], [[4, 5], [6, 7]]], dtype=np.uint8), [0, 1]).tolist()
    [2, 0]
    """
    checked_tables(tables)
    wanted, bits = _wanted_bits(target, tables.shape[2], tables.dtype)
    out = np.zeros(len(tables), dtype=np.int32)
    return _each(
        tables, out, threads, lambda chunk, filled: _fill_closest(chunk, wanted, bits, filled)
    )


def level_counts(
    tables: NDArray[Any], sizes: Sequence[int], *, threads: int | None = None
) -> NDArray[np.int32]:
    """Return (T, sum of sizes) numbers of rows with each code of each column, column after column; unknown codes count nowhere.

    Examples
    --------
    >>> level_counts(np.array([[[0, 1], [0, 255], [1, 1]]], dtype=np.uint8), [2, 3]).tolist()
    [[2, 1, 0, 2, 0]]
    """
    checked_tables(tables)
    if tables.shape[2] != len(sizes):
        raise InputError(
            f"Tables must have {len(sizes)} columns, one for each size. Got {tables.shape[2]}."
        )
    starts = np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])
    out = np.zeros((len(tables), int(starts[-1])), dtype=np.int32)
    unknown = unknown_code(tables.dtype)
    return _each(
        tables, out, threads, lambda chunk, filled: _fill_levels(chunk, starts, unknown, filled)
    )


def subset_sample(
    n_columns: int, *, max_subsets: int = 20_000, seed: Seed = None
) -> NDArray[np.uint64]:
    """Return distinct subsets of columns to count, at most `max_subsets`: (Q, words) where bit j % 64 of word j // 64 is column j.

    Draw it once and use it for every table, or features do not line up. All subsets in the order of `match_counts` where they are few
    enough; else the empty one, each column, each pair if all pairs fit, random ones, and last all columns. Random subsets have a size drawn
    evenly from 2 (3 with all pairs) to F - 1: of subsets drawn with even odds almost all hold about half of the columns, and hardly
    a row matches on those. (Where `max_subsets` is above a quarter of all subsets, random ones are drawn evenly after all.)

    Examples
    --------
    >>> subset_sample(2).ravel().tolist()
    [0, 1, 2, 3]
    >>> subset_sample(70, max_subsets=3000, seed=1).shape
    (3000, 2)
    """
    if n_columns < 0 or max_subsets < n_columns + 2:
        raise InputError(
            f"max_subsets must be at least the number of columns plus 2, {n_columns + 2}. Got {max_subsets}."
        )
    if n_columns < 62 and 1 << n_columns <= max_subsets:
        return np.arange(1 << n_columns, dtype=np.uint64)[:, None]
    rng = generator(seed)
    pairs = n_columns * (n_columns - 1) // 2
    sizes = [0, 1, 2] if n_columns + pairs + 2 <= max_subsets else [0, 1]
    fixed = np.zeros((n_columns + 1 + pairs * (2 in sizes), n_columns), dtype=bool)
    for index, chosen in enumerate(
        c for size in sizes for c in combinations(range(n_columns), size)
    ):
        fixed[index, list(chosen)] = True
    masks = dict.fromkeys(row.tobytes() for row in _pack_bits(fixed))
    few = n_columns < 62 and 1 << n_columns <= 4 * max_subsets
    while len(masks) < max_subsets - 1:
        if few:  # by sizes the last new ones would be long in coming
            drawn = rng.permutation((1 << n_columns) - 1).astype(np.uint64)[:, None]
        else:
            size = rng.integers(sizes[-1] + 1, n_columns, size=4096)
            drawn = _pack_bits(rng.random((len(size), n_columns)).argsort(axis=1) < size[:, None])
        for row in drawn:
            masks.setdefault(row.tobytes())
            if len(masks) == max_subsets - 1:
                break
    packed = np.frombuffer(b"".join(masks), dtype=np.uint64).reshape(len(masks), -1)
    return np.concatenate([packed, _pack_bits(np.ones((1, n_columns), dtype=bool))])


def subset_columns(subsets: NDArray[np.uint64], n_columns: int) -> NDArray[np.bool_]:
    """Return (Q, F) which columns each subset holds.

    Examples
    --------
    >>> subset_columns(np.array([[0], [2], [3]], dtype=np.uint64), 2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    packed = np.asarray(subsets, dtype=np.uint64)
    packed = packed[:, None] if packed.ndim == 1 else packed
    if packed.shape[1] != max(1, -(-n_columns // 64)):
        raise InputError(
            f"Subsets of {n_columns} columns need one word of 64 bits for each 64 of them."
        )
    spread = (packed[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    memberships = spread.reshape(len(packed), -1).astype(bool)
    if memberships[:, n_columns:].any():
        raise InputError(f"A subset holds a column beyond the {n_columns} that there are.")
    return np.ascontiguousarray(memberships[:, :n_columns])


def sampled_counts(
    tables: NDArray[Any],
    target: ArrayLike,
    subsets: NDArray[np.uint64],
    *,
    dtype: Any = np.int32,
    threads: int | None = None,
) -> NDArray[Any]:
    """Return (T, Q) numbers of rows that match the target on every column of each subset (see `subset_sample`).

    Any number of columns; subsets of up to 64 may also be given as (Q,) masks.

    Examples
    --------
    >>> one_table = np.array([[[0, 1], [0, 2], [3, 1]]], dtype=np.uint8)
    >>> sampled_counts(one_table, [0, 1], np.array([3, 0], dtype=np.uint64)).tolist()
    [[1, 3]]
    """
    checked_tables(tables)
    n_tables, _, n_columns = tables.shape
    wanted, bits = _wanted_bits(target, n_columns, tables.dtype)
    memberships = subset_columns(subsets, n_columns)
    columns = np.nonzero(memberships)[1]
    starts = np.concatenate([[0], np.cumsum(memberships.sum(axis=1))])
    out = np.zeros((n_tables, len(memberships)), dtype=dtype)
    return _each(
        tables,
        out,
        threads,
        lambda chunk, filled: _fill_sampled(chunk, wanted, bits, columns, starts, filled),
    )


def checked_tables(tables: NDArray[Any]) -> None:
    """Raise unless tables are (tables, rows, columns) of unsigned codes."""
    if tables.ndim != 3:
        raise InputError(
            f"Tables must be one array of tables, rows and columns. Got {tables.ndim} dimensions."
        )
    if tables.dtype.kind != "u":
        raise InputError(f"Codes must be unsigned, uint8 or uint16. Got {tables.dtype}.")


def _wanted_bits(
    target: ArrayLike, n_columns: int, kind: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """Return the target's codes, and the bit that each column sets where it matches: none where the target's value is unknown."""
    codes = np.asarray(target)
    if codes.shape != (n_columns,) or codes.dtype.kind not in "ui":
        raise InputError(
            f"A target needs one code for each of the {n_columns} columns of the tables."
        )
    highest = unknown_code(kind)
    # A code that the type does not hold would wrap round and match another value.
    known = (codes >= 0) & (codes < highest) & (codes != unknown_code(codes.dtype))
    column_bit = np.uint64(1) << (np.arange(n_columns, dtype=np.uint64) % np.uint64(64))
    return np.where(known, codes, highest).astype(kind), np.where(known, column_bit, np.uint64(0))


def _each(
    tables: NDArray[Any], out: NDArray[Any], threads: int | None, fill: Callable[[Any, Any], None]
) -> NDArray[Any]:
    """Return `out` after its rows were filled from the tables, a few slices of them for each thread."""
    pieces = min(len(tables), PIECES * thread_count(threads))
    edges = [len(tables) * i // max(pieces, 1) for i in range(pieces + 1)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    thread_map(
        lambda chunk: fill(np.ascontiguousarray(tables[chunk]), out[chunk]), parts, threads=threads
    )
    return out


def _pack_bits(memberships: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return (Q, F) memberships as (Q, words) of 64 bits; the lowest bit is the first column."""
    short = -memberships.shape[1] % 64 if memberships.shape[1] else 64
    padded = np.concatenate([memberships, np.zeros((len(memberships), short), dtype=bool)], axis=1)
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


@jit
def _fill_all(tables, wanted, bits, out):  # type: ignore[no-untyped-def]
    """Add to `out`, zero before, the match masks of each table's rows; then sum over supersets, a column at a time."""
    n_columns = wanted.size
    for t in range(tables.shape[0]):
        row = out[t]
        for i in range(tables.shape[1]):
            mask = np.uint64(0)
            for j in range(n_columns):
                if tables[t, i, j] == wanted[j]:
                    mask |= bits[j]
            row[mask] += 1
        for j in range(n_columns):
            bit = 1 << j
            for start in range(0, row.size, 2 * bit):
                without, having = row[start : start + bit], row[start + bit : start + 2 * bit]
                for s in range(bit):
                    without[s] += having[s]


@jit
def _fill_closest(tables, wanted, bits, out):  # type: ignore[no-untyped-def]
    for t in range(tables.shape[0]):
        best_match = 0
        for i in range(tables.shape[1]):
            alike = 0
            for j in range(wanted.size):
                alike += (tables[t, i, j] == wanted[j]) & (bits[j] != 0)
            best_match = max(best_match, alike)
        out[t] = best_match


@jit
def _fill_levels(tables, starts, unknown, out):  # type: ignore[no-untyped-def]
    for t in range(tables.shape[0]):
        for i in range(tables.shape[1]):
            for j in range(tables.shape[2]):
                code = np.int64(tables[t, i, j])
                cell = starts[j] + code
                if cell < starts[j + 1] and code != unknown:
                    out[t, cell] += 1


@jit
def _ones(word):  # type: ignore[no-untyped-def]
    """Return the number of set bits: sums of 2, 4 and 8 neighbours, then all bytes by one product."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@jit
def _fill_sampled(tables, wanted, bits, columns, starts, out):  # type: ignore[no-untyped-def]
    n_rows, n_columns = tables.shape[1], tables.shape[2]
    n_words = (n_rows + 63) // 64
    alike = np.zeros((n_columns, n_words), np.uint64)
    matching = np.zeros(n_words, np.uint64)
    for t in range(tables.shape[0]):
        alike[:] = 0
        for i in range(n_rows):
            bit = np.uint64(1) << np.uint64(i % 64)
            for j in range(n_columns):
                if tables[t, i, j] == wanted[j] and bits[j] != 0:
                    alike[j, i // 64] |= bit
        for q in range(starts.size - 1):
            if starts[q] == starts[q + 1]:
                out[t, q] = n_rows
                continue
            matching[:] = alike[columns[starts[q]]]
            for c in range(starts[q] + 1, starts[q + 1]):
                any_left = np.uint64(0)
                column = alike[columns[c]]
                for w in range(n_words):
                    matching[w] &= column[w]
                    any_left |= matching[w]
                if any_left == 0:  # most large subsets are left without rows after a few columns
                    break
            met = np.int64(0)
            for w in range(n_words):
                met += np.int64(_ones(matching[w]))
            out[t, q] = met
