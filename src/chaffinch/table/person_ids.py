"""Whose row it is: ids as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .spell import is_bytes, spell_values
from .types import is_words, whole_array


def person_numbers(
    ids: pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any],
) -> NDArray[np.int64]:
    """Return a number for each row: the same for rows of one id, one of its own for a row without.

    Ids are compared as they are stored; words without the blanks around them.

    Examples
    --------
    >>> person_numbers(["ann", "bob", " ann", None, None]).tolist()
    [0, 1, 0, 3, 4]
    """
    coded = plain_ids(ids).dictionary_encode()
    if is_bytes(coded.dictionary.type):
        distinct = coded.dictionary.to_pylist()
        # Two spellings of one id are one person, who would otherwise keep twice as many rows.
        first: dict[bytes, int] = {}
        number = np.array(
            [first.setdefault(word.strip(), i) for i, word in enumerate(distinct)] or [0],
            dtype=np.int64,
        )
        blank = np.array([not word.strip() for word in distinct] or [False])
    else:
        many = max(len(coded.dictionary), 1)
        number, blank = np.arange(many), np.zeros(many, dtype=bool)
    present = coded.indices.is_valid().to_numpy(zero_copy_only=False)
    indices = coded.indices.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    out = number[indices]
    alone = ~present | blank[indices]
    out[alone] = len(number) + np.arange(
        int(alone.sum())
    )  # or they would count among the rows of somebody else
    return np.asarray(out)


def plain_ids(ids: pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any]) -> pa.Array:
    """Return ids so that two that are equal are one: words as bytes, still with the blanks around them, null where there is none."""
    values = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids, from_pandas=True)
    values = whole_array(values)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_words(values.type):
        values = values.cast(pa.large_binary())  # bytes that are no text are an id like any other
    if pa.types.is_decimal(values.type):  # Arrow gives no numbers to those of 32 and 64 bits
        values = spell_values(values).cast(pa.large_binary())
    if pa.types.is_floating(values.type):  # NaN is no id, and 0 is -0
        values = pa.array(values.to_numpy(zero_copy_only=False) + 0.0, from_pandas=True)
    if pa.types.is_nested(values.type):
        raise InputError(
            f"A person cannot be told by a column of type {values.type}. Name one of words or numbers."
        )
    return values
