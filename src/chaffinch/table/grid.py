"""Arrow values to numbers on a line and back: integers, floats, decimals, dates, times."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .types import PER_SECOND, is_words, value_type, whole_array

Numbers = NDArray[Any]

_OFFSET = re.compile("([+-])([0-9]{2}):?([0-9]{2})")

LARGEST = 2**63 - 1024
"""The largest whole number that both int64 and float64 hold."""


def is_whole(kind: pa.DataType) -> bool:
    """Return whether values of a type are whole numbers of some unit: integers, dates and times."""
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def to_numbers(values: pa.Array) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the numbers of an Arrow array (int64 or float64) and which of them are not null.

    Dates and times become whole units of their type; moments with a fixed offset from UTC those of its clock, on which whole
    hours and days fall. Where an entry is null, the number is 0.
    """
    values = whole_array(values)
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())  # Arrow 17 cannot fill the nulls of halves
    present = np.ones(len(values), dtype=bool)
    if values.null_count:
        present = values.is_valid().to_numpy(zero_copy_only=False)
        values = values.fill_null(_zero(values.type))
    if pa.types.is_integer(values.type) or pa.types.is_temporal(values.type):
        if values.type.bit_width == 32 and pa.types.is_temporal(values.type):
            values = values.cast(pa.int32())
        numbers = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        if shift := clock_shift(values.type):
            numbers = numbers + shift
    else:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if pa.types.is_decimal(values.type):
            numbers = np.round(numbers, values.type.scale)  # the cast is not to the nearest float
    return numbers, present


def clock_shift(kind: pa.DataType) -> int:
    """Return the units between the clock of a type with a fixed offset from UTC and UTC itself; 0 for all other types."""
    fixed = _OFFSET.fullmatch(kind.tz) if pa.types.is_timestamp(kind) and kind.tz else None
    if fixed is None:
        return 0
    minutes = int(fixed[2]) * 60 + int(fixed[3])
    return (-minutes if fixed[1] == "-" else minutes) * 60 * PER_SECOND[kind.unit]


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(0), type=kind)
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.scalar(0, type=narrow).cast(kind)
    return (
        pa.scalar(0, type=kind)
        if not pa.types.is_float16(kind)
        else pa.scalar(np.float16(0), type=kind)
    )


def from_numbers(numbers: Numbers, present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return numbers as an Arrow array of a type, null where they are not present; what the type cannot hold is the nearest that it can."""
    mask = None if present.all() else ~present
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _whole_numbers(np.asarray(numbers) - clock_shift(kind), mask, narrow).cast(kind)
    if pa.types.is_decimal(kind):
        return _decimals(np.where(present, numbers, 0.0), mask, kind)
    if pa.types.is_integer(kind):
        return _whole_numbers(numbers, mask, kind)
    dtype: Any = (
        np.float16
        if pa.types.is_float16(kind)
        else np.float32
        if pa.types.is_float32(kind)
        else np.float64
    )
    with np.errstate(over="ignore"):  # too large for a narrow float: infinite
        out = pa.array(np.asarray(numbers).astype(dtype), mask=mask)
    return out.cast(kind) if is_words(kind) else out


def _whole_numbers(numbers: Numbers, mask: NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    info = np.iinfo(str(kind))
    if np.asarray(numbers).dtype.kind == "f":
        numbers = np.clip(numbers, -LARGEST, LARGEST)
    whole = np.clip(
        np.asarray(numbers).astype(np.int64), max(info.min, -(2**63)), min(info.max, 2**63 - 1)
    )
    return pa.array(whole, mask=mask).cast(kind)


def _decimals(numbers: Numbers, mask: NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    """Return numbers as decimals, made of whole units of the last digit: a cast from float cuts instead of rounding.

    A float is some 53 bits and a power of two, so it is split into words of 64 bits without error.
    """
    most = np.nextafter(10.0**kind.precision, 0.0)
    with np.errstate(over="ignore"):
        units = np.clip(
            np.rint(np.asarray(numbers, dtype=np.float64) * 10.0**kind.scale), -most, most
        )
    rest, limbs = np.abs(units), []
    for _ in range(kind.bit_width // 64):
        limbs.append(np.fmod(rest, 2.0**64).astype(np.uint64))
        rest = np.floor(rest / 2.0**64)
    bits = np.stack(limbs, axis=1)
    bits[units < 0] = ~bits[units < 0]  # two's complement: all bits turned, and one added
    carry = units < 0
    for limb in range(bits.shape[1]):
        bits[carry, limb] += np.uint64(1)
        carry = carry & (bits[:, limb] == 0)
    whole = pa.Array.from_buffers(
        kind, len(units), [None, pa.py_buffer(bits.astype("<u8").tobytes())]
    )
    return whole if mask is None else pc.if_else(pa.array(mask), pa.scalar(None, kind), whole)
