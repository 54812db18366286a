"""Are values that hardly anybody has in the released table? A name of a village, an income to the penny."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...stats.scores import Scores
from .protocol import MEMORISATION_TESTS, MemorisationTest, NobodyConcernedError, ReleaseCase
from .values import ColumnValues

RARE_BELOW = 3
"""A value is rare if fewer people than this have it, members and others together."""


def rare_values(
    case: ReleaseCase, columns: Sequence[ColumnValues], rare_below: int = RARE_BELOW
) -> Scores:
    """Return for each person how many of their rare values are in the released table, of how many they have; missing is no value."""
    numerator, weight = np.zeros(case.n_people), np.zeros(case.n_people)
    for column in columns:
        rare = np.bincount(column.people, minlength=column.size)[column.people] < rare_below
        rare &= column.people < column.n_values
        there = np.bincount(column.released, minlength=column.size)[column.people] > 0
        numerator += rare & there
        weight += rare
    if not weight.any():
        raise NobodyConcernedError("There are no rare values: each is shared by more people.")
    return Scores(numerator, weight)


def _of_levels(case: ReleaseCase) -> Scores:
    return rare_values(case, [column for column in case.columns if not column.numeric])


def _of_numbers(case: ReleaseCase) -> Scores:
    return rare_values(case, [column for column in case.columns if column.numeric])


BLINDNESS = "Generators that never write rare values, or that draw numbers anew, pass; so does one that gives people away by common values."

RARE_LEVEL = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="rare_level",
        score=_of_levels,
        title="Rare level",
        definition=(
            "Of the levels of people that fewer than three people have, in the data or not: the share that stands in the released table, in the same column."
        ),
        sentence=(
            "Levels that fewer than three people have are in the released table in {value} of cases for the people in the data, and in {holdout} for "
            "people who are not"
        ),
        blindness=BLINDNESS,
    )
)

RARE_NUMBER = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="rare_number",
        score=_of_numbers,
        title="Rare number",
        definition=(
            "Of the numbers of people that fewer than three people have, in the data or not: the share that stands in the released table, in the same "
            "column."
        ),
        sentence=(
            "Numbers that fewer than three people have are in the released table in {value} of cases for the people in the data, and in {holdout} for "
            "people who are not"
        ),
        blindness=BLINDNESS,
    )
)
