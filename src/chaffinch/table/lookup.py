"""Codes by looking them up: words by their place in a dictionary, whole numbers that lie close together by a list of the code of each.

What cannot be looked up (a value outside the levels, a number beyond its bounds, fractions, numbers far apart) is left to `encode.py`, which
knows what to say of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .codec import OTHER, Categories, Codec, Intervals, Scalar
from .codes import narrowest
from .grid import to_numbers
from .schema import Column
from .types import is_numeric, is_words

MOST_LISTED = 1 << 21
"""Numbers from the lowest to the highest that a list may have: a byte or two each, which stay in the processor's memory."""

NUMBERS_A_ROW = 16
"""Numbers of a list for each row up to which it is worth making."""

Codes1D = NDArray[np.unsignedinteger[Any]]


def looked_up(column: Column, values: pa.Array) -> Codes1D | None:
    """Return the codes of a column's values in the narrowest type; None where some of them are not to be had by looking up."""
    codec = column.fitted_codec
    if isinstance(codec, Categories) and not is_numeric(values.type):
        codes: Codes1D | None = _of_words(codec, values)
    elif pa.types.is_integer(values.type):
        codes = _of_numbers(column, codec, values)
    else:
        return None
    if codes is None or (len(codes) and int(codes.max()) >= codec.size):
        return None
    return codes.astype(narrowest(codec.size), copy=False)


def word_codes(codec: Categories) -> dict[Any, int]:
    """Return the code of each level and of each missing code."""
    codes: dict[Any, int] = {level: code for code, level in enumerate(codec.levels)}
    if codec.other:
        codes.setdefault(
            OTHER, len(codec.levels)
        )  # a level of that name, as one that nothing else was found beside, is itself
    for i, code in enumerate(codec.missing):
        codes[code] = codec.n_values + codec.null + i
    return codes


def _null_code(codec: Codec, values: pa.Array) -> int:
    """The code of null; one too many where there is none."""
    if codec.null:
        return codec.n_values
    return codec.n_values - 1 if codec.other and not is_words(values.type) else codec.size


def _of_words(codec: Categories, values: pa.Array) -> Codes1D:
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    lookup, words = word_codes(codec), values.dictionary.to_pylist()
    lookup[None] = null = _null_code(codec, values)
    outside = len(codec.levels) if codec.other else codec.size
    table = np.array(
        [*(lookup.get(word, outside) for word in words), null], dtype=narrowest(codec.size + 1)
    )
    indices = values.indices
    if indices.null_count:
        if len(words) > np.iinfo(indices.type.to_pandas_dtype()).max:
            indices = indices.cast(pa.int64())
        indices = indices.fill_null(len(words))
    codes: Codes1D = table[indices.to_numpy(zero_copy_only=False)]
    return codes


def _of_numbers(column: Column, codec: Codec, values: pa.Array) -> Codes1D | None:
    if isinstance(codec, Intervals) and not codec.whole:
        return None
    known = codec.number_list
    if not 0 < known.length <= NUMBERS_A_ROW * len(values):
        return None
    numbers, present = to_numbers(values)
    bounds = (codec.bounds if isinstance(codec, Intervals) else None) or (
        (column.edges[0], column.edges[-1]) if column.edges else None
    )
    if bounds is not None and not (numbers.min() >= bounds[0] and numbers.max() <= bounds[1]):
        return None
    if known.low:
        numbers = np.clip(
            numbers, known.low, known.low + known.length - 1
        )  # before the difference, which might be beyond 64 bits
        numbers -= known.low
    codes: Codes1D = np.take(known.codes, numbers, mode="clip")
    if values.null_count:
        codes[~present] = _null_code(codec, values)
    return codes


@dataclass(frozen=True, eq=False)
class NumberList:
    """The codes of all whole numbers from `low` on, made when they are first asked for; `length` 0 where they would be too many.

    It ends on each side with a number that has no code of its own, so that all beyond have the same; a code one too many stands for none.
    """

    codec: Codec
    low: int
    length: int

    @classmethod
    def of(cls, codec: Codec) -> NumberList:
        """Return the list for a codec of whole numbers."""
        own = [*codec.missing, *(codec.levels if isinstance(codec, Categories) else ())]
        ends = [number for number, _ in _numbers(own)]
        if isinstance(codec, Intervals):
            ends += [
                int(end)
                for cuts in (codec.atoms, codec.starts)
                if len(cuts)
                for end in (cuts[0], cuts[-1])
            ]
        if (
            not ends or max(map(abs, ends)) >= 1 << 52
        ):  # beyond, numbers are not told apart as floats
            return cls(codec, 0, 0)
        low, high = min(ends) - 1, max(ends) + 1
        low = 0 if low > 0 and high < MOST_LISTED else low  # then the numbers are their own places
        return cls(codec, low, high - low + 1) if high - low < MOST_LISTED else cls(codec, 0, 0)

    @cached_property
    def codes(self) -> Codes1D:
        """The code of each number."""
        codec = self.codec
        if isinstance(codec, Intervals):
            codes = codec.encode(np.arange(self.low, self.low + self.length, dtype=np.int64))
        else:
            codes = np.full(
                self.length, len(codec.levels) if codec.other else codec.size, dtype=np.int64
            )
            for number, code in reversed(_numbers(codec.levels)):
                codes[number - self.low] = code
            if not codec.n_values and codec.null:
                codes[:] = codec.n_values  # too few numbers to keep: made missing
        for number, i in _numbers(codec.missing):
            codes[number - self.low] = codec.n_values + codec.null + i
        out: Codes1D = codes.astype(narrowest(codec.size + 1))
        out.flags.writeable = False
        return out


def _numbers(values: Sequence[Scalar]) -> list[tuple[int, int]]:
    """The whole numbers among levels or missing codes, with their places."""
    numbers = (
        (x, i)
        for i, x in enumerate(values)
        if isinstance(x, int | float) and not isinstance(x, bool)
    )
    return [(int(x), i) for x, i in numbers if np.isfinite(x) and x == int(x)]
