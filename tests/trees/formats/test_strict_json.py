"""JSON from a stranger: what is not exactly JSON is refused, without a word of it."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import FileError
from chaffinch.trees.formats.strict_json import strict_json


@pytest.mark.parametrize(
    "text",
    ['{"secret": NaN}', '{"a": Infinity}', '{"secret": 1, "secret": 2}', "[" * 100_000, b"\xff", '{"secret"', ""],
)
def test_what_is_not_exactly_json_is_refused(text):
    with pytest.raises(FileError, match="'m' is not sound JSON") as error:
        strict_json(text, name="m")
    assert "secret" not in str(error.value)


def test_json_is_read():
    assert strict_json(b'{"a": [1, null, 2.5]}', name="m") == {"a": [1, None, 2.5]}
