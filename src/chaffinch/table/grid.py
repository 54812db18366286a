"""Arrow values to numbers on a line and back: integers, floats, decimals, dates, times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .types import is_words, value_type

__all__ = ["from_numbers", "is_whole", "to_numbers"]

Numbers = NDArray[Any]


def is_whole(kind: pa.DataType) -> bool:
    """Return whether values of a type are whole numbers of some unit: integers, dates and times."""
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def to_numbers(values: pa.Array) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the numbers of an Arrow array (int64 or float64) and which of them are not null.

    Dates and times become whole units of their type. Where an entry is null, the number is 0.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    present = np.ones(len(values), dtype=bool)
    if values.null_count:
        present = values.is_valid().to_numpy(zero_copy_only=False)
        values = values.fill_null(_zero(values.type))
    if pa.types.is_integer(values.type) or pa.types.is_temporal(values.type):
        if values.type.bit_width == 32 and pa.types.is_temporal(values.type):
            values = values.cast(pa.int32())
        numbers = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    else:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if pa.types.is_decimal(values.type):
            numbers = np.round(numbers, values.type.scale)  # the cast is not to the nearest float
    return numbers, present


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal(kind):
        return pa.scalar(0).cast(kind)
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.scalar(0, type=narrow).cast(kind)
    return pa.scalar(0, type=kind) if not pa.types.is_float16(kind) else pa.scalar(np.float16(0), type=kind)


def from_numbers(numbers: Numbers, present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return numbers as an Arrow array of a type, null where they are not present."""
    mask = None if present.all() else ~present
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(numbers, type=pa.int64(), mask=mask).cast(narrow).cast(kind)
    if pa.types.is_decimal(kind):
        # Whole units of the last digit, then the same bits with a scale: a cast from float cuts instead of rounding.
        units = np.rint(np.asarray(numbers, dtype=np.float64) * 10.0**kind.scale).astype(np.int64)
        whole = pa.array(units, mask=mask).cast(pa.decimal128(38, 0))
        return pa.Array.from_buffers(pa.decimal128(38, kind.scale), len(whole), whole.buffers()).cast(kind)
    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        held = np.clip(numbers, max(info.min, -(2**63)), min(info.max, 2**63 - 1))
        return pa.array(held.astype(np.int64), mask=mask).cast(kind)
    dtype: Any = np.float16 if pa.types.is_float16(kind) else np.float32 if pa.types.is_float32(kind) else np.float64
    out = pa.array(np.asarray(numbers).astype(dtype), mask=mask)
    return out.cast(kind) if is_words(kind) else out
