"""Rows chosen by a keyed hash: the same ones whatever the batches they come in, and without holding
the others.

By *place*, each row has the same chance, whatever it holds: a simple random sample. By *values*,
rows that are equal are chosen together, in one table and across tables: what is chosen of an
original, a synthetic table and a holdout are their rows in one slice of the space of rows, in which
a copy is still a copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .persons import person_numbers, plain_ids
from .rows import UNKNOWN, Rows, Step
from .table import Table
from .types import to_numbers, whole_array

ChosenBy = Literal["place", "values", "person"]
Hashes = NDArray[np.uint64]

FEW = 50
"""Rows by which a slice may be off its share, however small that is."""

_STEP = np.uint64(0x9E3779B97F4A7C15)


def choose_rows(
    tables: Mapping[str, Rows], n_rows: int, *, key: int, by: ChosenBy
) -> dict[str, Table]:
    """Return tables of chosen rows, in their order: of the largest about `n_rows`, of the others
    the same share.

    Where the largest has no more than `n_rows`, all rows of all tables.
    """
    share = _share(tables, n_rows)
    return {name: _choose_rows(rows, ChooseRows(share, key, by)) for name, rows in tables.items()}


def choose_slice(
    tables: Mapping[str, Rows], n_rows: int, *, key: int
) -> tuple[dict[str, Table], ChosenBy]:
    """Return tables of rows chosen by their values; or by their places, where rows that are equal
    are so many that a slice is no fair share.

    A slice of the first table that has less than half or more than twice the rows that it should is
    no fair share.
    """
    share = _share(tables, n_rows)
    chosen: dict[str, Table] = {}
    for name, rows in tables.items():
        fair = share * rows.n_rows
        limit = inf if share == 1.0 else 2 * fair + FEW
        chosen[name] = _choose_rows(rows, ChooseRows(share, key, "values"), limit)
        too_few = len(chosen) == 1 and chosen[name].n_rows < 0.5 * fair - FEW
        if too_few or chosen[name].n_rows > limit:
            return choose_rows(tables, n_rows, key=key, by="place"), "place"
    return chosen, "values"


def choose_people(rows: Rows, n_rows: int, *, key: int, person: str | None = None) -> Table:
    """Return about `n_rows` rows, chosen by their places, as a table; all rows where there are no
    more.

    `person`: a column that says whose row it is: all rows of a person are then chosen together, or
    none.
    """
    by: ChosenBy = "place" if person is None else "person"
    table = _choose_rows(rows, ChooseRows(_share({"": rows}, n_rows), key, by, person))
    if person is None:
        return table
    return replace(table, person_of=person_numbers(table.data.column(person)))


def _share(tables: Mapping[str, Rows], n_rows: int) -> float:
    """Return the share of rows to choose: all of tables that are in memory."""
    if all(rows.in_memory for rows in tables.values()):
        return 1.0
    return min(1.0, n_rows / max(1, *(rows.n_rows for rows in tables.values())))


def _choose_rows(rows: Rows, step: ChooseRows, limit: float = inf) -> Table:
    if step.share == 1.0:
        return rows.table()
    return rows.map(step, rows.schema, n_rows=UNKNOWN, notes=rows.notes).table(limit)


@dataclass(frozen=True, eq=False)
class ChooseRows(Step):
    """Leaves a share of the rows of a chunk, chosen by a keyed hash of their numbers, of their
    values, or of whose they are (the column `person`).
    """

    share: float
    key: int
    by: ChosenBy
    person: str | None = None

    values = True
    filters = True

    def __call__(self, chunk: Table) -> Table:
        if self.by == "values":
            hashes = hashes_of_values(chunk, self.key)
        elif self.person is not None:
            hashes = hashes_of_persons(chunk.data.column(self.person), chunk.first_row, self.key)
        else:
            hashes = hashes_of_places(chunk.first_row, chunk.n_rows, self.key)
        return chunk.take(np.flatnonzero(hashes < below_share(self.share)))


def below_share(share: float) -> np.uint64:
    """Return the number that hashes of a share of all rows are below."""
    return np.uint64(min(int(share * 2.0**64), 2**64 - 1))


def hashes_of_places(start: int, n_rows: int, key: int) -> Hashes:
    """Return a hash of the number of each row from `start` on.

    Examples
    --------
    >>> bool((hashes_of_places(3, 2, 9) == hashes_of_places(0, 5, 9)[3:]).all())
    True
    """
    return hashes_of(np.arange(start, start + n_rows), key)


def hashes_of(places: NDArray[np.int64], key: int) -> Hashes:
    """Return a hash of each number of a row."""
    return _mix_bits(_mix_bits(places.astype(np.uint64) + _seed(key, "place")))


def hashes_of_persons(ids: pa.Array | pa.ChunkedArray, start: int, key: int) -> Hashes:
    """Return a hash of each id, the same for rows of one person; of a row without one, which stands
    at `start` or after it, that of its place.

    Examples
    --------
    >>> hashes = hashes_of_persons(pa.array(["ann", "bob", " ann", None]), 0, 9)
    >>> bool(hashes[0] == hashes[2] != hashes[1]), bool(hashes[3] == hashes_of_places(3, 1, 9)[0])
    (True, True)
    """
    coded = plain_ids(ids).dictionary_encode()
    texts = [
        value.strip() if isinstance(value, bytes) else str(value).encode()
        for value in coded.dictionary.to_pylist()
    ]
    hashes = np.array([*(_digest(key, b"person " + text) for text in texts), 0], dtype=np.uint64)
    blank = np.array([*(not text for text in texts), True])
    places: NDArray[np.int64] = (
        coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return np.where(blank[places], hashes_of_places(start, len(places), key), hashes[places])


def hashes_of_values(table: Table, key: int) -> Hashes:
    """Return a hash of the values of each row, of all modelled columns: equal where all values are.

    Tables must share a schema. Levels are distinguished by their codes, those that share the code
    `(other)` by their words, numbers by value.
    """
    out = np.full(table.n_rows, _seed(key, "values"))
    for j, cells in enumerate(_cells(table, key)):
        out = _mix_bits(out * _STEP + _mix_bits(cells + np.uint64(j)))
    return out


def hashes_without(table: Table, key: int, blocks: int) -> Hashes:
    """Return a hash of the values of each row, and beside it one for each block of columns that
    leaves the block out: a row of them for each row.

    Fractions are compared as 32-bit floats, so that a column that was stored so in one of two files
    is equal in both.

    Examples
    --------
    >>> from chaffinch.table.read import read
    >>> hashes = hashes_without(read(pa.table({"a": ["x", "x", "y"] * 10, "b": ["u", "v", "u"] * 10})), 9, 2)
    >>> bool(hashes[0, 1] == hashes[2, 1]), bool(hashes[0, 2] == hashes[1, 2]), len(set(hashes[:3, 0].tolist()))
    (True, True, 3)
    """
    columns = table.schema.modelled
    out = np.zeros((table.n_rows, blocks + 1), dtype=np.uint64)
    for j, cells in enumerate(_cells(table, key, coarse=True)):
        mixed = _mix_bits(cells ^ _seed(key, f"column {j}"))
        out[:, 0] += mixed
        if blocks:
            out[:, 1 + j * blocks // len(columns)] += mixed
    out[:, 1:] = out[:, :1] - out[:, 1:]
    return out


def _cells(table: Table, key: int, *, coarse: bool = False) -> Iterator[Hashes]:
    """Yield a number for each cell of each modelled column, equal where the values are; `coarse`:
    fractions as 32-bit floats.
    """
    for column in table.schema.modelled:
        codec = column.fitted_codec
        codes = table.code(column.name)
        cells = codes.astype(np.uint64)
        if not codec.numeric:
            others = np.flatnonzero(codec.is_other(codes))
            if len(others):
                cells[others] = _of_words(
                    whole_array(table.data.column(column.name)).take(others), key
                )
        else:
            present = codes < codec.n_values
            numbers = (
                to_numbers(table.data.column(column.name))[0].astype(np.float64) + 0.0
            )  # no minus zero
            if coarse and column.kind == "float":
                with np.errstate(over="ignore"):
                    numbers = numbers.astype(np.float32).astype(np.float64)
            cells = np.where(present, numbers.view(np.uint64), cells)
        yield cells


def _of_words(values: Any, key: int) -> Hashes:
    """Return a hash of each value by how it is written; whole numbers alike whatever their type."""
    coded = values.dictionary_encode() if not hasattr(values, "dictionary") else values
    hashes = [
        _seed(key, str(float(v)) if isinstance(v, int | float) else str(v))
        for v in coded.dictionary.to_pylist()
    ]
    all_hashes = np.array([*hashes, _seed(key, "missing")], dtype=np.uint64)
    places: NDArray[np.int64] = (
        coded.indices.fill_null(len(hashes)).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return all_hashes[places]


def _seed(key: int, word: str) -> np.uint64:
    return _digest(key, word.encode())


def _digest(key: int, word: bytes) -> np.uint64:
    digest = hashlib.blake2b(word, key=key.to_bytes(16, "little"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _mix_bits(numbers: Hashes) -> Hashes:
    """Return numbers with their bits mixed: the finaliser of SplitMix64 (Steele, Lea and Flood
    2014), a permutation of 64-bit numbers.
    """
    out = numbers ^ (numbers >> np.uint64(30))
    out = out * np.uint64(0xBF58476D1CE4E5B9)
    out ^= out >> np.uint64(27)
    out = out * np.uint64(0x94D049BB133111EB)
    out ^= out >> np.uint64(31)
    return out
