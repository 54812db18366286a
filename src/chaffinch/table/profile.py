"""What a column holds, as counts of its values: all that inference and fitting need.

Counts add, so a profile is built from one batch or from a million, and profiles of parts of a table
merge. Exact up to a million distinct values; beyond that numbers are merged into small groups of
neighbours (each kept at its mean), with values that carry real mass and the ends kept exact, so
memory stays bounded and ranks stay right to about one in a thousand. Groups are made at the ends of
blocks of 2^18 rows, so that the same rows give the same groups in whatever batches they come.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .domain import Scalar
from .tails import REACH, summed_counts
from .types import Numbers, is_nested, is_numeric, is_words, to_numbers, value_type, whole_array

MOST_DISTINCT = 1 << 20
GROUPS = 1 << 17
FEW_NUMBERS = 1024
BLOCK_ROWS = 1 << 18
"""Rows after which numbers of a column with too many distinct ones are grouped."""
CLOSE = 16
"""Whole numbers from the lowest to the highest, for each number given, up to which counting is
quicker than sorting.
"""
FULL_PRECISION = 10
"""Decimals from which a float column counts as having full precision."""
VERSION = 1
"""Of profiles as Arrow data."""

_SINGLE = (
    "n_rows",
    "n_null",
    "n_nan",
    "n_infinite",
    "n_fraction",
    "too_many_words",
    "largest",
    "rising",
    "first",
    "last",
    "most_words",
)


class NumberTally:
    """Distinct numbers and their counts, exact up to `most` distinct ones."""

    def __init__(self, max_distinct: int = MOST_DISTINCT) -> None:
        self.max_distinct = max_distinct
        self.exact = True
        self._parts: list[tuple[Numbers, NDArray[np.float64]]] = []
        self._open: list[tuple[Numbers, NDArray[np.float64]]] = []
        self._n_numbers = 0

    def add(self, numbers: Numbers, *, ends_block: bool = True) -> Numbers:
        """Add a batch and return its distinct numbers; what is added until a block ends is grouped
        together.
        """
        values, counts = _distinct(numbers)
        self._open.append((values, counts.astype(np.float64)))
        if ends_block:
            self._close()
        return values

    def merge(self, other: NumberTally) -> None:
        """Add the counts of another tally. Beyond `max_distinct` distinct numbers, groups depend on
        the order of merging.
        """
        self._close()
        other._close()
        self._parts += other._parts
        self._n_numbers += other._n_numbers
        self.exact &= other.exact
        if self._n_numbers > 2 * self.max_distinct:
            self._merge()

    def result(self) -> tuple[Numbers, NDArray[np.float64]]:
        """Return the sorted numbers and how many records have each."""
        self._close()
        self._merge()
        return self._parts[0] if self._parts else (np.empty(0), np.empty(0))

    @classmethod
    def from_counts(
        cls, values: Numbers, counts: NDArray[np.float64], *, exact: bool
    ) -> NumberTally:
        """Return the tally whose `result` these are."""
        tally = cls()
        tally.exact = exact
        if len(values):
            tally._parts, tally._n_numbers = [(values, counts)], len(values)
        return tally

    def _close(self) -> None:
        if not self._open:
            return
        counted = self._open[0] if len(self._open) == 1 else summed_counts(self._open)
        self._open = []
        self._parts.append(counted)
        self._n_numbers += len(counted[0])
        if self._n_numbers > 2 * self.max_distinct:
            self._merge()

    def _merge(self) -> None:
        if not self._parts or (len(self._parts) == 1 and self._n_numbers <= self.max_distinct):
            return
        values, counts = summed_counts(self._parts)
        if len(values) > self.max_distinct:
            values, counts = _compress(values, counts, min(GROUPS, self.max_distinct // 2))
            self.exact = False
        self._parts = [(values, counts)]
        self._n_numbers = len(values)


def _one_column(
    codes: list[Any], numbers: Numbers, kind: pa.DataType, *, has_numbers: bool
) -> pa.Array:
    """Return missing codes and then numbers in one column; nulls where the numbers are of another
    type.
    """
    return pa.concat_arrays(
        [
            pa.array(codes, type=kind),
            pa.array(numbers, type=kind) if has_numbers else pa.nulls(len(numbers), kind),
        ]
    )


def _distinct(numbers: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """Return the sorted distinct numbers and their counts: by counting where they lie close
    together, which sorting takes ten times as long for.
    """
    if len(numbers) < FEW_NUMBERS:
        return np.unique(numbers, return_counts=True)
    low, high = numbers.min(), numbers.max()
    near = int(high) - int(low) <= CLOSE * len(
        numbers
    )  # Python's numbers: the difference may be beyond 64 bits
    if near and numbers.dtype == np.float64:
        near = bool(max(abs(low), abs(high)) < 2.0**52 and (np.rint(numbers) == numbers).all())
    if not near:
        return np.unique(numbers, return_counts=True)
    counts = np.bincount((numbers - low).astype(np.int64, copy=False))
    places = np.flatnonzero(counts)
    return (places + low).astype(numbers.dtype, copy=False), counts[places]


def _compress(
    values: Numbers, counts: NDArray[np.float64], groups: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """Return about `groups` numbers: heavy values and the ends as they are, runs of light
    neighbours as their mean.

    The ends stay apart so that an outlier is no part of the mean of a run, which would be looked at
    (see `tails`).
    """
    heavy = counts >= counts.sum() / groups
    heavy[: REACH * THRESHOLD] = heavy[-REACH * THRESHOLD :] = True
    light, weights = values[~heavy].astype(np.float64), counts[~heavy]
    group = np.floor((np.cumsum(weights) - weights / 2) * (groups / max(weights.sum(), 1))).astype(
        np.int64
    )
    _, group = np.unique(group, return_inverse=True)
    summed = np.bincount(group, weights=weights)
    means = np.bincount(group, weights=weights * light) / summed
    if values.dtype == np.int64:
        means = np.rint(means).astype(np.int64)
    merged, again = np.unique(np.concatenate([values[heavy], means]), return_inverse=True)
    return merged, np.bincount(again, weights=np.concatenate([counts[heavy], summed])).astype(
        np.float64
    )


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
    decimals: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(FULL_PRECISION + 1, dtype=np.int64)
    )
    word_counts: dict[Scalar, int] = field(default_factory=dict)
    too_many_words: bool = False
    numbers: NumberTally = field(default_factory=NumberTally)
    categories: dict[Scalar, None] = field(default_factory=dict)
    largest: float = 0.0
    rising: bool = True
    first: float = np.inf
    last: float = -np.inf
    most_words: int = MOST_DISTINCT

    def add(self, values: pa.Array, tokens: NDArray[np.int16] | None = None) -> None:
        """Add a batch. `tokens` says which missing code a text file spelled for a null, -1 for
        none.
        """
        values = whole_array(values)
        self.n_null += values.null_count
        if tokens is not None:
            for code, n in zip(*np.unique(tokens[tokens >= 0], return_counts=True), strict=True):
                self._count_missing(self.missing[code], int(n))
                self.n_null -= int(n)
        if pa.types.is_dictionary(values.type) and pa.types.is_dictionary(self.kind):
            self.categories.update(dict.fromkeys(values.dictionary.to_pylist()))
        inner = value_type(self.kind)
        before, self.n_rows = self.n_rows, self.n_rows + len(values)
        if is_nested(self.kind) or pa.types.is_null(inner):
            return
        if not is_numeric(inner) or pa.types.is_dictionary(self.kind):
            self._add_words(values)
            return
        start = 0
        while start < len(values):  # up to the end of a block, counted from the first row
            stop = min(len(values), start + BLOCK_ROWS - (before + start) % BLOCK_ROWS)
            self._add_numbers(values[start:stop], ends_block=(before + stop) % BLOCK_ROWS == 0)
            start = stop

    def merge(self, other: Profile) -> None:
        """Add what a profile of later rows of the same column holds.

        Counts add, so the result is that of one profile of all rows, but for columns of more than a
        million distinct numbers: merge parts in the order of their rows, always the same parts, to
        have the same groups of neighbours again.
        """
        if (self.kind, self.missing) != (other.kind, other.missing):
            raise InputError(
                "Profiles merge where they are of one column: its type and its missing codes must be the same."
            )
        self.rising &= other.rising and (not np.isfinite(other.first) or other.first > self.last)
        self.first = self.first if np.isfinite(self.first) else other.first
        self.last = other.last if np.isfinite(other.last) else self.last
        self.largest = max(self.largest, other.largest)
        for name in ("n_rows", "n_null", "n_nan", "n_infinite", "n_fraction"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.decimals = self.decimals + other.decimals
        for code, n in other.n_missing.items():
            self._count_missing(code, n)
        self.categories.update(other.categories)
        self.numbers.merge(other.numbers)
        if self.too_many_words or other.too_many_words:
            self._give_words_up()
        else:
            self._count_words(other.word_counts.keys(), other.word_counts.values())

    def to_arrow(self) -> pa.RecordBatch:
        """Return the profile as Arrow data, which travels between processes and machines: it holds
        values, and is confidential.
        """
        numbers, counts = self.numbers.result()
        values, inner = [*self.word_counts, *self.categories], value_type(self.kind)
        known, more = len(self.missing) + len(values) + len(self.decimals), len(numbers)
        lengths = {
            "missing": len(self.missing),
            "word": len(self.word_counts),
            "category": len(self.categories),
            "decimals": len(self.decimals),
            "number": more,
        }
        integral = numbers.dtype == np.int64
        codes = [*self.missing, *[None] * (known - len(self.missing))]
        small = [
            *(self.n_missing.get(code, 0) for code in self.missing),
            *self.word_counts.values(),
            *[0] * len(self.categories),
            *self.decimals.tolist(),
        ]
        columns = {
            "part": pa.array(
                [section for section, n in lengths.items() for _ in range(n)], type=pa.string()
            ),
            "value": pa.concat_arrays(
                [
                    pa.nulls(len(self.missing), inner),
                    pa.array(values, type=inner),
                    pa.nulls(known + more - len(self.missing) - len(values), inner),
                ]
            ),
            "text": pa.array(
                [*(code if isinstance(code, str) else None for code in codes), *[None] * more],
                type=pa.string(),
            ),
            "whole": _one_column(
                [code if isinstance(code, int) else None for code in codes],
                numbers,
                pa.int64(),
                has_numbers=integral,
            ),
            "real": _one_column(
                [code if isinstance(code, float) else None for code in codes],
                numbers,
                pa.float64(),
                has_numbers=not integral,
            ),
            "count": pa.array(
                np.concatenate([np.array(small, dtype=np.int64), counts.astype(np.int64)])
            ),
            "kind": pa.nulls(known + more, self.kind),
        }
        head = {
            **{name: getattr(self, name) for name in _SINGLE},
            "exact": self.numbers.exact,
            "version": VERSION,
        }
        return pa.RecordBatch.from_pydict(columns).replace_schema_metadata(
            {"chaffinch.profile": json.dumps(head)}
        )

    @classmethod
    def from_arrow(cls, batch: pa.RecordBatch) -> Profile:
        """Return the profile that `to_arrow` wrote."""
        head = json.loads((batch.schema.metadata or {}).get(b"chaffinch.profile", b"{}"))
        if head.get("version") != VERSION:
            raise InputError(
                f"This is no profile of version {VERSION}: both machines need the same version of Chaffinch."
            )
        by_section = {
            section: batch.filter(pc.equal(batch.column("part"), section))
            for section in ("missing", "word", "category", "decimals", "number")
        }
        counts = {section: rows.column("count").to_numpy() for section, rows in by_section.items()}
        spelled = [
            by_section["missing"].column(name).to_pylist() for name in ("text", "whole", "real")
        ]
        missing = [
            next(code for code in codes if code is not None) for codes in zip(*spelled, strict=True)
        ]
        profile = cls(
            batch.schema.field("kind").type,
            tuple(missing),
            **{name: head[name] for name in _SINGLE},
        )
        profile.n_missing = {
            code: n for code, n in zip(missing, counts["missing"].tolist(), strict=True) if n
        }
        profile.word_counts = dict(
            zip(
                by_section["word"].column("value").to_pylist(), counts["word"].tolist(), strict=True
            )
        )
        profile.categories = dict.fromkeys(by_section["category"].column("value").to_pylist())
        profile.decimals = counts["decimals"].astype(np.int64)
        integers, reals = by_section["number"].column("whole"), by_section["number"].column("real")
        profile.numbers = NumberTally.from_counts(
            (reals if integers.null_count else integers).to_numpy(),
            counts["number"].astype(np.float64),
            exact=head["exact"],
        )
        return profile

    @property
    def n_present(self) -> int:
        """Records that are neither null nor NaN nor a missing code."""
        return self.n_rows - self.n_null - self.n_nan - sum(self.n_missing.values())

    def value_counts(self) -> list[tuple[Scalar, int]]:
        """Return values and counts: words by their own order, numbers ascending."""
        if self.word_counts or is_words(self.kind):
            known = list(self.categories) if pa.types.is_dictionary(self.kind) else []
            ordered_words = sorted(self.word_counts, key=lambda w: (isinstance(w, str), w))
            order = [w for w in known if w is not None] + [
                w for w in ordered_words if w not in self.categories
            ]
            return [(word, self.word_counts.get(word, 0)) for word in order]
        values, counts = self.numbers.result()
        return [
            (value, int(count))
            for value, count in zip(values.tolist(), counts.tolist(), strict=True)
        ]

    def _count_missing(self, code: Scalar, n: int) -> None:
        if n:
            self.n_missing[code] = self.n_missing.get(code, 0) + n

    def _add_words(self, values: pa.Array) -> None:
        if self.too_many_words:
            return
        if (
            pa.types.is_dictionary(values.type)
            and len(values.dictionary) <= 4 * len(values) + FEW_NUMBERS
        ):
            indices, n_words = values.indices, len(values.dictionary)
            if indices.null_count:  # null as one word more, which is not counted
                indices = (
                    indices
                    if n_words <= np.iinfo(indices.type.to_pandas_dtype()).max
                    else indices.cast(pa.int64())
                ).fill_null(n_words)
            counts = np.bincount(indices.to_numpy(zero_copy_only=False), minlength=n_words)[
                :n_words
            ]
            places = np.flatnonzero(counts)
            self._count_words(
                values.dictionary.take(pa.array(places)).to_pylist(), counts[places].tolist()
            )
        else:
            entries = pc.value_counts(values.drop_null())
            self._count_words(
                entries.field("values").to_pylist(), entries.field("counts").to_pylist()
            )

    def _count_words(self, values: Iterable[Scalar], counts: Iterable[int]) -> None:
        for value, n in zip(values, counts, strict=True):
            if value in self.missing and not isinstance(value, bool):
                self._count_missing(value, n)
            else:
                self.word_counts[value] = self.word_counts.get(value, 0) + n
        if len(self.word_counts) > self.most_words:
            self._give_words_up()

    def _give_words_up(self) -> None:
        self.too_many_words = True
        self.word_counts.clear()

    def _add_numbers(self, values: pa.Array, *, ends_block: bool) -> None:
        numbers, present = to_numbers(values)
        if values.null_count:
            numbers = numbers[present]
        if numbers.dtype == np.float64:
            strange = ~np.isfinite(numbers)
            if strange.any():
                n_nan = int(np.isnan(numbers).sum())
                self.n_nan += n_nan
                self.n_infinite += int(strange.sum()) - n_nan
                numbers = numbers[~strange]
        for code in self.missing:
            if isinstance(code, int | float) and not isinstance(code, bool):
                hit = numbers == code
                if hit.any():
                    self._count_missing(code, int(hit.sum()))
                    numbers = numbers[~hit]
        if len(numbers):
            self.first = float(numbers[0]) if not np.isfinite(self.first) else self.first
            if self.rising:
                self.rising = bool(numbers[0] > self.last and (numbers[1:] > numbers[:-1]).all())
            self.last = float(numbers[-1])
        distinct = self.numbers.add(numbers, ends_block=ends_block)
        if numbers.dtype == np.float64 and len(distinct):
            self.largest = max(self.largest, float(np.abs(distinct).max()))
            self._add_decimals(numbers, distinct)

    def _add_decimals(self, numbers: NDArray[np.float64], distinct: NDArray[np.float64]) -> None:
        """Count records by the decimals they need; full precision, once common, is not looked into
        further.
        """
        self.n_fraction += int((np.rint(numbers) != numbers).sum())
        if self.decimals[FULL_PRECISION] >= THRESHOLD:
            return
        single = self.kind == pa.float32() or self.kind == pa.float16()
        dtype = np.float32 if single else np.float64
        remaining = numbers
        for d in (FULL_PRECISION - 1, *range(FULL_PRECISION - 1)):
            with np.errstate(
                over="ignore"
            ):  # a number near the largest is whole, and rounds to infinity
                fits = (np.round(remaining, d).astype(dtype) == remaining.astype(dtype)) | (
                    np.abs(remaining) >= 2.0**53
                )
            if d == FULL_PRECISION - 1:
                self.decimals[FULL_PRECISION] += int((~fits).sum())
                if self.decimals[FULL_PRECISION] >= THRESHOLD:
                    return
                remaining = remaining[fits]
            else:
                self.decimals[d] += int(fits.sum())
                remaining = remaining[~fits]
            if not len(remaining):
                return
        self.decimals[FULL_PRECISION - 1] += len(remaining)
