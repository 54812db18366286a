"""Names of types: every type that a column may have is named and found again, and no other name is taken."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch._base.errors import SchemaError
from chaffinch.table.types import is_nested, is_numeric, is_words, parse_type, type_name, value_type

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
