"""What may be said of a file, checked before it is opened."""

from __future__ import annotations

import pytest

from chaffinch.errors import InputError
from chaffinch.table.formats.format import ReadOptions


def test_what_is_said_is_kept():
    options = ReadOptions.of(
        {
            "encoding": "latin-1",
            "delimiter": ";",
            "decimal": ",",
            "header": False,
            "comment": "%",
            "table": "May",
        }
    )
    assert options == ReadOptions("latin-1", ";", ",", "no", "%", "May")
    assert ReadOptions.of({}, tolerant=True) == ReadOptions(tolerant=True)
    assert [
        ReadOptions.of({"header": header}).header for header in (True, "units", "3", 3, None)
    ] == ["yes", "units", 3, 3, None]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"encoding": "klingon"}, "Unknown encoding 'klingon'"),
        ({"encoding": "zlib"}, "Unknown encoding 'zlib'"),  # a codec of Python, but of no text
        ({"encoding": "a\0b"}, "Unknown encoding"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"comment": '"'}, "comment must be one character, and no quote"),
        ({"decimal": "x"}, "decimal must be"),
        ({"header": "maybe"}, "header must be one of yes, no, units"),
        ({"header": 0}, "header must be one of"),
        ({"header": "-1"}, "header must be one of"),
    ],
)
def test_what_cannot_be_said(options, says):
    with pytest.raises(InputError, match=says):
        ReadOptions.of(options)
