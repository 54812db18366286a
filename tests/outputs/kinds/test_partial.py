"""Models whose numbers may be absent: what is announced, what is there, what is changed."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from chaffinch.outputs.kinds.base import PartialSpec


class Pair(PartialSpec):
    NUMBERS: ClassVar[tuple[str, ...]] = ("first", "second")
    BESIDE: ClassVar[tuple[str, ...]] = ("second",)

    name: str = "p"
    first: int | None = None
    second: int | None = None


@pytest.mark.parametrize(
    ("entry", "published"),
    [
        ({}, (False, False)),
        ({"first": 1}, (True, False)),
        ({"second": True}, (False, True)),
        ({"second": False}, (False, False)),
        ({"first": None, "second": 2}, (False, True)),
    ],
)
def test_what_is_there_or_announced_is_published(
    entry: dict[str, Any], published: tuple[bool, bool]
) -> None:
    pair = Pair.model_validate(entry)
    assert (pair.publishes("first"), pair.publishes("second")) == published


def test_nothing_may_be_announced_where_numbers_are_required() -> None:
    with pytest.raises(ValidationError):
        Pair.model_validate({"second": True}, context={"numbers": "required"})


def test_changes_leave_the_rest() -> None:
    pair = Pair.model_validate({"first": 1, "second": 2})
    recipe = pair.changed(drop=["first", "second"], announced={"second": True})
    assert (recipe.first, recipe.second, recipe.publishes("second")) == (None, None, True)
    assert recipe.model_fields_set == set()
    again = recipe.changed(second=3, announced={})
    assert (again.second, again.publishes("first")) == (3, False)
    assert (pair.first, pair.second) == (1, 2)
