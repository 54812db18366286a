"""Comparisons in ACRO's commands: groups of levels, events, and what is none."""

from __future__ import annotations

import ast

import pytest

from chaffinch.outputs.domain import Field
from chaffinch.outputs.readers.acro.commands import ComparedColumn, read_call, read_comparison
from chaffinch.outputs.readers.acro.read import UnclearError

AGE = Field("age", (20, 30, 40, 50))


def compared(text: str) -> ComparedColumn | None:
    call = read_call(f"s.crosstab({text}, df.uses)", "crosstab")
    assert call is not None
    return read_comparison(call.arguments["index"], call)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("df.age > 30", [40, 50]),
        ("30 < df.age", [40, 50]),
        ("df['age'] <= 30", [20, 30]),
        ("(df.age >= 40).astype(int)", [40, 50]),
        ("df.age.eq(20)", [20]),
        ("df.age != 20", [30, 40, 50]),
        ("df[df.sex == 1].age > 30", [40, 50]),
    ],
)
def test_a_comparison_holds_of_the_levels_that_python_says(text: str, true: list[int]) -> None:
    one = compared(text)
    assert one is not None
    assert [level for level, holds in zip(AGE.levels, one.holds(AGE), strict=True) if holds] == true


@pytest.mark.parametrize(
    "text",
    [
        "df.age",
        "df.a + df.b",
        "df.a > df.b",
        "df.a.map(names)",
        "20 < df.a < 30",
        "df.age > limit",
        "area > 3",
    ],
)
def test_other_expressions_are_none(text: str) -> None:
    assert compared(text) is None


def test_filters_on_the_way_are_kept() -> None:
    one = compared("df[df.sex == 1].age > 30")
    assert one is not None
    assert one.filters == ("sex == 1",)


def test_groups_are_ranges_of_numbers_and_lists_of_words() -> None:
    assert ComparedColumn("age", ast.Gt, 30).groups(AGE, ["0", "1"]) == {
        "0": [20, 30],
        "1": [40, 50],
    }
    state = Field("state", ("ill", "so so", "well"))
    assert ComparedColumn("state", ast.Eq, "so so").groups(state, ["False", "True"]) == {
        "False": ["ill", "well"],
        "True": ["so so"],
    }
    with pytest.raises(UnclearError, match="from those on both sides"):
        ComparedColumn("age", ast.Eq, 30).groups(AGE, ["False", "True"])
    with pytest.raises(UnclearError, match="other labels than True and False"):
        ComparedColumn("age", ast.Eq, 20).groups(AGE, ["young"])
    with pytest.raises(UnclearError, match="where its table has people"):
        ComparedColumn("age", ast.Gt, 90).groups(AGE, ["True"])


def test_an_event_is_one_level() -> None:
    assert ComparedColumn("age", ast.GtE, 50).level(AGE) == 50
    with pytest.raises(UnclearError, match="not one level"):
        ComparedColumn("age", ast.Gt, 30).level(AGE)
    with pytest.raises(UnclearError, match="no level of it"):
        ComparedColumn("age", ast.Gt, "x").level(AGE)
