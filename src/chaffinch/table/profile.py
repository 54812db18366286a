"""What a column holds, as counts of its values: all that inference and fitting need.

Counts add, so a profile is built from one batch or from a million. Exact up to a million
distinct values; beyond that numbers are merged into small groups of neighbours (each kept at its mean), with
values that carry real mass and the ends kept exact, so memory stays bounded and ranks stay right to about one in a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .codec import Scalar
from .grid import Numbers, to_numbers
from .tails import REACH
from .types import is_nested, is_numeric, is_words, value_type, whole_array

__all__ = ["FULL_PRECISION", "MOST_DISTINCT", "NumberTally", "Profile"]

MOST_DISTINCT = 1 << 20
GROUPS = 1 << 17
FULL_PRECISION = 10
"""Decimals from which a float column counts as having full precision."""


class NumberTally:
    """Distinct numbers and their counts, exact up to `most` distinct ones."""

    def __init__(self, most: int = MOST_DISTINCT) -> None:
        self.most = most
        self.exact = True
        self._parts: list[tuple[Numbers, NDArray[np.float64]]] = []
        self._n_numbers = 0

    def add(self, numbers: Numbers) -> Numbers:
        """Add a batch and return its distinct numbers."""
        values, counts = np.unique(numbers, return_counts=True)
        self._parts.append((values, counts.astype(np.float64)))
        self._n_numbers += len(values)
        if self._n_numbers > 2 * self.most:
            self._merge()
        return values

    def result(self) -> tuple[Numbers, NDArray[np.float64]]:
        """Return the sorted numbers and how many records have each."""
        self._merge()
        return self._parts[0] if self._parts else (np.empty(0), np.empty(0))

    def _merge(self) -> None:
        if not self._parts or (len(self._parts) == 1 and self._n_numbers <= self.most):
            return
        values = np.concatenate([part[0] for part in self._parts])
        counts = np.concatenate([part[1] for part in self._parts])
        values, inverse = np.unique(values, return_inverse=True)
        counts = np.bincount(inverse, weights=counts).astype(np.float64)
        if len(values) > self.most:
            values, counts = _compress(values, counts, min(GROUPS, self.most // 2))
            self.exact = False
        self._parts = [(values, counts)]
        self._n_numbers = len(values)


def _compress(values: Numbers, counts: NDArray[np.float64], groups: int) -> tuple[Numbers, NDArray[np.float64]]:
    """Return about `groups` numbers: heavy values and the ends as they are, runs of light neighbours as their mean.

    The ends stay apart so that an outlier is no part of the mean of a run, which would be looked at (see `tails`).
    """
    heavy = counts >= counts.sum() / groups
    heavy[: REACH * THRESHOLD] = heavy[-REACH * THRESHOLD :] = True
    light, weights = values[~heavy].astype(np.float64), counts[~heavy]
    group = np.floor((np.cumsum(weights) - weights / 2) * (groups / max(weights.sum(), 1))).astype(np.int64)
    _, group = np.unique(group, return_inverse=True)
    summed = np.bincount(group, weights=weights)
    means = np.bincount(group, weights=weights * light) / summed
    if values.dtype == np.int64:
        means = np.rint(means).astype(np.int64)
    merged, again = np.unique(np.concatenate([values[heavy], means]), return_inverse=True)
    return merged, np.bincount(again, weights=np.concatenate([counts[heavy], summed])).astype(np.float64)


@dataclass
class Profile:
    """Counts of what one column holds. Grows by `add`; read it when all batches are in."""

    kind: pa.DataType
    missing: tuple[Scalar, ...] = ()
    n_rows: int = 0
    n_null: int = 0
    n_missing: dict[Scalar, int] = field(default_factory=dict)
    n_nan: int = 0
    n_infinite: int = 0
    n_fraction: int = 0
    decimals: NDArray[np.int64] = field(default_factory=lambda: np.zeros(FULL_PRECISION + 1, dtype=np.int64))
    words: dict[Scalar, int] = field(default_factory=dict)
    too_many_words: bool = False
    numbers: NumberTally = field(default_factory=NumberTally)
    categories: dict[Scalar, None] = field(default_factory=dict)
    largest: float = 0.0
    rising: bool = True
    last: float = -np.inf
    most_words: int = MOST_DISTINCT

    def add(self, values: pa.Array, tokens: NDArray[np.int16] | None = None) -> None:
        """Add a batch. `tokens` says which missing code a text file spelled for a null, -1 for none."""
        values = whole_array(values)
        self.n_rows += len(values)
        self.n_null += values.null_count
        if tokens is not None:
            for code, n in zip(*np.unique(tokens[tokens >= 0], return_counts=True), strict=True):
                self._count_missing(self.missing[code], int(n))
                self.n_null -= int(n)
        if pa.types.is_dictionary(values.type):
            self.categories.update(dict.fromkeys(values.dictionary.to_pylist()))
        inner = value_type(self.kind)
        if is_nested(self.kind) or pa.types.is_null(inner):
            return
        if is_numeric(inner) and not pa.types.is_dictionary(self.kind):
            self._add_numbers(values)
        else:
            self._add_words(values)

    @property
    def n_present(self) -> int:
        """Records that are neither null nor NaN nor a missing code."""
        return self.n_rows - self.n_null - self.n_nan - sum(self.n_missing.values())

    def value_counts(self) -> list[tuple[Scalar, int]]:
        """Return values and counts: words by their own order, numbers ascending."""
        if self.words or is_words(self.kind):
            known = list(self.categories) if pa.types.is_dictionary(self.kind) else []
            words = sorted(self.words, key=lambda w: (isinstance(w, str), w))
            order = [w for w in known if w is not None] + [w for w in words if w not in self.categories]
            return [(word, self.words.get(word, 0)) for word in order]
        values, counts = self.numbers.result()
        return [(value, int(count)) for value, count in zip(values.tolist(), counts.tolist(), strict=True)]

    def _count_missing(self, code: Scalar, n: int) -> None:
        if n:
            self.n_missing[code] = self.n_missing.get(code, 0) + n

    def _add_words(self, values: pa.Array) -> None:
        if self.too_many_words:
            return
        for entry in pc.value_counts(values.drop_null()).to_pylist():
            word, n = entry["values"], entry["counts"]
            if word in self.missing and not isinstance(word, bool):
                self._count_missing(word, n)
            else:
                self.words[word] = self.words.get(word, 0) + n
        if len(self.words) > self.most_words:
            self.too_many_words = True
            self.words.clear()

    def _add_numbers(self, values: pa.Array) -> None:
        numbers, present = to_numbers(values)
        numbers = numbers[present]
        if numbers.dtype == np.float64:
            is_nan = np.isnan(numbers)
            self.n_nan += int(is_nan.sum())
            numbers = numbers[~is_nan]
            infinite = np.isinf(numbers)
            self.n_infinite += int(infinite.sum())
            numbers = numbers[~infinite]
        for code in self.missing:
            if isinstance(code, int | float) and not isinstance(code, bool):
                hit = numbers == code
                if hit.any():
                    self._count_missing(code, int(hit.sum()))
                    numbers = numbers[~hit]
        if self.rising and len(numbers):
            self.rising = bool(numbers[0] > self.last and (numbers[1:] > numbers[:-1]).all())
            self.last = float(numbers[-1])
        distinct = self.numbers.add(numbers)
        if numbers.dtype == np.float64 and len(distinct):
            self.largest = max(self.largest, float(np.abs(distinct).max()))
            self._add_decimals(numbers, distinct)

    def _add_decimals(self, numbers: NDArray[np.float64], distinct: NDArray[np.float64]) -> None:
        """Count records by the decimals they need; full precision, once common, is not looked into further."""
        self.n_fraction += int((np.rint(numbers) != numbers).sum())
        if self.decimals[FULL_PRECISION] >= THRESHOLD:
            return
        single = self.kind == pa.float32() or self.kind == pa.float16()
        dtype = np.float32 if single else np.float64
        left = numbers
        for d in (FULL_PRECISION - 1, *range(FULL_PRECISION - 1)):
            with np.errstate(over="ignore"):  # a number near the largest is whole, and rounds to infinity
                fits = (np.round(left, d).astype(dtype) == left.astype(dtype)) | (np.abs(left) >= 2.0**53)
            if d == FULL_PRECISION - 1:
                self.decimals[FULL_PRECISION] += int((~fits).sum())
                if self.decimals[FULL_PRECISION] >= THRESHOLD:
                    return
                left = left[fits]
            else:
                self.decimals[d] += int(fits.sum())
                left = left[~fits]
            if not len(left):
                return
        self.decimals[FULL_PRECISION - 1] += len(left)
