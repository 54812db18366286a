"""Which drawn rows occur in an original of any size: all rows of one that fits, a fixed slice of all possible rows of one that does not.

A row is in the slice by a hash of its codes, in the original and in what is drawn alike, so a copy in the slice is found. Of the drawn rows in
the slice the share that equals an original one estimates that of all drawn rows; which rows are in it hangs on nothing but the codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..table.codes import Codes
from .equal import KeyedRows

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
            out = (out + codes[j]) * np.uint64(0x9E3779B97F4A7C15)
            out ^= out >> np.uint64(29)
        out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out ^= out >> np.uint64(31)
    return np.asarray(out & np.uint64((1 << bits) - 1) == 0)
