"""What a function maps to, as plain data and back; anything else is refused."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import SchemaError
from chaffinch.table.schema import FunctionMap


def test_plain_data_and_back():
    function = FunctionMap("a", "b", (0, 2, -1), (None, 3.5, None))
    assert FunctionMap.from_dict(function.to_dict()) == function


@pytest.mark.parametrize(
    "change",
    [
        {"codes": [0, True, 1]},
        {"codes": "abc"},
        {"numbers": [None]},
        {"left": 3},
        {"numbers": ["x", None, None]},
    ],
)
def test_anything_else_is_refused(change):
    with pytest.raises(SchemaError):
        FunctionMap.from_dict(
            FunctionMap("a", "b", (0, 2, -1), (None, 3.5, None)).to_dict() | change
        )
    with pytest.raises(SchemaError):
        FunctionMap.from_dict({"left": "a"})
