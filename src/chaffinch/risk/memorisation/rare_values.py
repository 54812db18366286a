"""Are values, or pairs of values, that hardly anybody has in the released table? A name of a village, an income to the penny."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.seeds import child
from ...stats.rates import Scores
from ..attacker import ATTACKERS, Attacker
from .protocol import (
    ColumnValues,
    NobodyConcernedError,
    ReleaseCase,
    draw_at_most,
)

RARE_BELOW = 3
"""A value is rare if fewer people than this have it, members and others together."""


MOST_PAIRS = 300
"""Pairs of columns that are looked at; of more, so many are drawn at random."""


BLINDNESS = "Generators that never write rare values, or that draw numbers anew, pass; so does one that gives people away by common values."


def is_rare(column: ColumnValues, rare_below: int) -> NDArray[np.bool_]:
    """Return for each person whether fewer than so many people have the person's value; missing is no value."""
    counts = np.bincount(column.people, minlength=column.size)
    return (counts[column.people] < rare_below) & (column.people < column.n_values)


def rare_scores(
    case: ReleaseCase,
    columns: Sequence[ColumnValues],
    rare_below: int,
    released_share: Callable[[ColumnValues], NDArray[Any]],
) -> Scores:
    """Return for each person the sum of a share over their rare values, and how many of these they have; missing is no value."""
    numerator, weight = np.zeros(case.n_people), np.zeros(case.n_people)
    for column in columns:
        rare = is_rare(column, rare_below)
        numerator += np.where(rare, released_share(column), 0.0)
        weight += rare
    if not weight.any():
        raise NobodyConcernedError("There are no rare values: each is shared by more people.")
    return Scores(numerator, weight)


def rare_values(
    case: ReleaseCase, columns: Sequence[ColumnValues], rare_below: int = RARE_BELOW
) -> Scores:
    """Return for each person how many of their rare values are in the released table, of how many they have; missing is no value."""
    return rare_scores(
        case,
        columns,
        rare_below,
        lambda column: np.bincount(column.released, minlength=column.size)[column.people] > 0,
    )


ATTACKERS.register(
    Attacker(
        name="rare_level",
        score=lambda case: rare_values(case, [c for c in case.columns if not c.numeric]),
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


ATTACKERS.register(
    Attacker(
        name="rare_number",
        score=lambda case: rare_values(case, [c for c in case.columns if c.numeric]),
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


def rare_combinations(
    case: ReleaseCase, rare_below: int = RARE_BELOW, most_pairs: int = MOST_PAIRS
) -> Scores:
    """Return for each person how many of their rare pairs of values are in the released table, of how many they have.

    Values that are rare by themselves are left out: their pairs are rare whatever they stand with.
    """
    common = [
        np.bincount(column.people, minlength=column.size) >= rare_below for column in case.columns
    ]
    pairs = list(combinations(range(len(case.columns)), 2))
    rng = np.random.default_rng(child(case.seed, 1))
    pairs = [pairs[i] for i in draw_at_most(len(pairs), most_pairs, rng)]
    numerator, weight = np.zeros(case.n_people), np.zeros(case.n_people)
    # Values that are not rare, numbered without gaps, so that most pairs of columns fit into a table of counts.
    ids = [np.cumsum(is_common) - 1 for is_common in common]
    sizes = [int(is_common.sum()) for is_common in common]
    for a, b in pairs:
        first, second = case.columns[a], case.columns[b]
        both = np.flatnonzero(common[a][first.people] & common[b][second.people])
        if not len(both):
            continue
        ours = ids[a][first.people[both]] * sizes[b] + ids[b][second.people[both]]
        are_common = common[a][first.released] & common[b][second.released]
        theirs = ids[a][first.released[are_common]] * sizes[b] + ids[b][second.released[are_common]]
        if sizes[a] * sizes[b] <= 4 * case.n_people:
            counts = np.bincount(ours, minlength=sizes[a] * sizes[b])[ours]
            seen = np.bincount(theirs, minlength=sizes[a] * sizes[b])[ours] > 0
        else:
            _, inverse, repeats = np.unique(ours, return_inverse=True, return_counts=True)
            counts, seen = repeats[inverse], np.isin(ours, theirs)
        rare = counts < rare_below
        weight[both[rare]] += 1
        numerator[both[rare & seen]] += 1
    if not weight.any():
        raise NobodyConcernedError(
            "There are no rare pairs of values: each is shared by more people."
        )
    return Scores(numerator, weight)


ATTACKERS.register(
    Attacker(
        name="rare_combination",
        score=rare_combinations,
        title="Rare combination",
        definition=(
            "Of the pairs of values of people that fewer than three people have together, while more have each: the share that stands in the released "
            f"table, in one row. All pairs of columns, at most {MOST_PAIRS}."
        ),
        sentence=(
            "Pairs of values that fewer than three people have together are in the released table in {value} of cases for the people in the data, and in "
            "{holdout} for people who are not"
        ),
        blindness="Combinations of three and more values are not looked at, nor pairs with a value that is rare by itself.",
    )
)
