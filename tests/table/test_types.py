"""Arrow types: each that a column may have is named and found again, no other name is taken; and numbers become values of them."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.errors import SchemaError
from chaffinch.table.types import (
    LARGEST,
    from_numbers,
    is_nested,
    is_numeric,
    is_words,
    parse_type,
    to_numbers,
    type_name,
    value_type,
)

TYPES = [
    pa.uint16(),
    pa.float16(),
    pa.bool_(),
    pa.string_view(),
    pa.date64(),
    pa.null(),
    pa.timestamp("ms"),
    pa.timestamp("us", "Europe/Berlin"),
    pa.time32("s"),
    pa.duration("ns"),
    pa.decimal128(12, 2),
    pa.decimal256(40, -3),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.timestamp("s", "UTC"), ordered=True),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_type_is_found_again_by_its_name(kind):
    assert parse_type(type_name(kind)) == kind
    assert not is_nested(kind)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "int",
        "timestamp[h]",
        "decimal128(99, 2)",
        "list<item: int64>",
        "dictionary<double, string>",
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(SchemaError, match="Unknown type"):
        parse_type(name)


def test_what_values_are():
    words = pa.dictionary(pa.int8(), pa.large_string())
    assert (is_words(words), is_numeric(words), value_type(words)) == (
        True,
        False,
        pa.large_string(),
    )
    assert is_numeric(pa.date32())
    assert not is_numeric(pa.month_day_nano_interval())
    assert is_nested(pa.list_(pa.int64()))
    assert is_nested(pa.binary())


DECIMALS = [
    pa.decimal128(10, 2),
    pa.decimal128(38, 0),
    pa.decimal128(38, 20),
    pa.decimal128(9, -3),
    pa.decimal256(76, 10),
]


@given(st.lists(st.floats(-1e30, 1e30), max_size=6), st.sampled_from(DECIMALS))
@settings(deadline=None, max_examples=150)
def test_decimals_are_the_whole_units_nearest_to_a_number(numbers, kind):
    """Against Python's decimals: the product with a power of ten, rounded, cut to the digits that the type has."""
    found = from_numbers(
        np.array(numbers, dtype=np.float64), np.ones(len(numbers), dtype=bool), kind
    )
    found.validate(full=True)
    most = 10**kind.precision - 1
    with localcontext(prec=200):
        for number, value in zip(numbers, found.to_pylist(), strict=True):
            product = Decimal(number * 10.0**kind.scale)
            units = int(product.to_integral_value(ROUND_HALF_EVEN))
            wanted = min(max(units, -most), most)
            exact = int(value.scaleb(kind.scale))
            assert exact == wanted if abs(units) <= most else abs(exact - wanted) <= most * 2.0**-52


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint64(),
        pa.int64(),
        pa.date32(),
        pa.time32("s"),
        pa.timestamp("ns"),
        pa.float16(),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_nearest_that_a_type_can_hold(kind, dtype, recwarn):
    numbers = np.array([LARGEST, -LARGEST, 1, 0], dtype=dtype)
    found = from_numbers(numbers, np.array([True, True, True, False]), kind)
    assert found.type == kind
    assert found.null_count == 1
    width = (
        8 * np.dtype(kind.to_pandas_dtype()).itemsize
        if pa.types.is_integer(kind)
        else kind.bit_width
    )
    most = {8: 127, 16: np.inf, 32: 2**31 - 1, 64: LARGEST}[width]
    least = 0 if kind == pa.uint64() else {8: -128, 16: -np.inf, 32: -(2**31), 64: -LARGEST}[width]
    assert to_numbers(found)[0].tolist() == [most, least, 1, 0]
    assert not recwarn.list
