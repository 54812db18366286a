"""Plain data and back: what JSON holds becomes the same dataclass again, and a fault names its place, never a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch._base.results import from_plain, to_plain


@dataclass(frozen=True)
class Part:
    columns: tuple[str, ...]
    value: float | None


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    by_name: Mapping[str, float]
    count: int | str
    flag: bool = False


parts = st.builds(
    Part,
    st.lists(st.text(max_size=3), max_size=3).map(tuple),
    st.none() | st.floats(allow_nan=False),
)
wholes = st.builds(
    Whole,
    st.lists(parts, max_size=3).map(tuple),
    st.dictionaries(
        st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False), max_size=3
    ),
    st.integers() | st.text(max_size=4),
    st.booleans(),
)


@given(wholes)
def test_what_json_held_is_the_same_again(whole: Whole) -> None:
    assert from_plain(Whole, json.loads(json.dumps(to_plain(whole))), what="the test") == whole


def test_numbers_of_numpy_become_plain() -> None:
    plain = to_plain({"a": np.float64(0.5), "b": np.arange(2), "c": (np.int32(1),)})
    assert plain == {"a": 0.5, "b": [0, 1], "c": [1]}
    assert [type(plain["a"]), type(plain["c"][0])] == [float, int]


def test_a_fault_names_its_place_and_no_value() -> None:
    data = {"parts": [{"columns": ["a"], "value": "secret"}], "by_name": {}, "count": 1}
    with pytest.raises(
        InputError, match=r"The data of the report are not as they should be at 'parts\.0\.value'"
    ) as caught:
        from_plain(Whole, data, what="the report")
    assert "secret" not in str(caught.value)
