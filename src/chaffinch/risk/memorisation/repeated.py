"""Does a row, or a value, of one person's own come back from release to release? What chance puts into one table it seldom puts into the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...stats.rates import Scores
from ..attacker import ATTACKERS, Attacker
from .protocol import (
    NotApplicableError,
    ReleaseCase,
)
from .rare_values import RARE_BELOW, rare_scores

Codes = NDArray[np.integer]


def repeated_rows(case: ReleaseCase) -> Scores:
    """Return for each person with a row that nobody else has, in how many releases beyond one it is, of how many there are beyond one."""
    further = _further(case)
    released, people, size = case.whole_rows
    alone = np.bincount(people, minlength=size)[people] == 1
    return Scores(np.where(alone, further(released, people, size), 0.0), np.ones(case.n_people))


def repeated_values(case: ReleaseCase, rare_below: int = RARE_BELOW) -> Scores:
    """Return the same of each person's rare values, summed, and how many rare values the person has; missing is no value."""
    further = _further(case)
    return rare_scores(
        case,
        case.columns,
        rare_below,
        lambda column: further(column.released, column.people, column.size),
    )


def _further(case: ReleaseCase) -> Callable[[Codes, Codes, int], NDArray[np.float64]]:
    """Return the function that gives, for codes of released rows and of people, the share of further releases that have a person's code."""
    number = case.release_of
    if number is None or (releases := int(number.max(initial=0)) + 1) < 2:
        raise NotApplicableError("It needs several releases of the same people.")

    def share(released: Codes, people: Codes, size: int) -> NDArray[np.float64]:
        times = np.zeros(size)
        for k in range(releases):
            is_released = np.zeros(size, dtype=bool)
            is_released[released[number == k]] = True
            times += is_released
        out: NDArray[np.float64] = np.maximum(times[people] - 1.0, 0.0) / (releases - 1)
        return out

    return share


ATTACKERS.register(
    Attacker(
        name="repeated_row",
        score=repeated_rows,
        title="Repeated row",
        definition=(
            "Mean over people of the share of further releases that have their whole row, which nobody else has, once one release has it: 0 where at most one "
            "has it, 1 where all have."
        ),
        sentence="Rows of one person's own come back in {value} of the further releases for the people in the data, and in {holdout} for people who are not",
        blindness="Rows that others have too, and rows that are changed in one value, are not seen.",
        needs=("releases",),
    )
)

ATTACKERS.register(
    Attacker(
        name="repeated_value",
        score=repeated_values,
        title="Repeated rare value",
        definition=(
            "Of the values of people that fewer than three people have: the mean share of further releases that have it in the same column, once one has it."
        ),
        sentence=(
            "Values that fewer than three people have come back in {value} of the further releases for the people in the data, and in {holdout} for people "
            "who are not"
        ),
        blindness="Generators that never write rare values, or that draw numbers anew, pass.",
        needs=("releases",),
    )
)
