"""What readers of codebooks share."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import SchemaError
from chaffinch.table.codebooks.building import bounds_of, codes_of, declared_column, first_name


def test_a_range_needs_two_ends_that_rise():
    assert bounds_of(0, 1, "float", "a") == (0, 1)
    assert bounds_of(1, 1, "float", "a") is None
    assert bounds_of(0, "INF", "float", "a") is None
    assert bounds_of(0, 1, "categorical", "a") is None
    assert bounds_of("1970-01-01T01:00:00+01:00", "1970-01-01T00:00:30Z", "datetime", "a") == (
        0,
        30,
    )
    with pytest.raises(SchemaError, match="no date"):
        bounds_of("x", "y", "date", "a")


def test_missing_codes_are_values_of_the_column():
    assert codes_of(["", "x", "1.5", "2.0", "2", None], "float") == ("x", 1.5, 2)
    assert codes_of(["9"], "categorical", (1, 2)) == (9,)
    assert codes_of(["a", "b"], "categorical", ("a",)) == ("b",)
    assert codes_of("NA", "float") == ()


def test_the_name_is_the_one_that_the_data_have():
    assert first_name(["Age", "age"], ["x", "age"], 1) == "age"
    assert first_name(["Age", "age"], None, 1) == "Age"


def test_personal_and_free_columns_have_no_levels():
    assert declared_column("a", "identifier", source="x", levels=("a",)).levels is None
    assert declared_column("a", None, source="x").lacks == "kind"
