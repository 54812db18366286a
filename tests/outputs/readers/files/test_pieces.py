"""What help says of a model, and counts as programs print them."""

from __future__ import annotations

from chaffinch.outputs.readers.files import read  # noqa: F401  readers register themselves
from chaffinch.outputs.readers.files.numbers import whole
from chaffinch.outputs.readers.files.protocol import READERS, Help, Piece, fit_keys


def test_help_gives_only_what_it_says() -> None:
    assert fit_keys(Help()) == {}
    assert fit_keys(Help(kind="ols", formula="y ~ x", n=3)) == {
        "kind": "ols",
        "formula": "y ~ x",
        "n": 3,
        "label": "y",
    }


def test_counts_have_separators_or_none() -> None:
    assert [whole(text) for text in ("1,473", "1473", "1.473")] == [1473, 1473, 1473]


def test_a_piece_begins_at_its_first_line_and_readers_are_registered() -> None:
    assert Piece(range(3, 9), "R", lambda given: None).line == 3  # type: ignore[arg-type, return-value]
    assert {"r models", "r tables", "r tests", "stata logs", "drawn tables"} <= set(READERS.names)
