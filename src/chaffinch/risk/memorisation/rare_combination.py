"""Are pairs of values that hardly anybody has together in the released table, each of which many have?"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...stats.scores import Scores
from ...stats.splits import child
from .protocol import MEMORISATION_TESTS, MemorisationTest, NobodyConcernedError, ReleaseCase
from .rare_value import RARE_BELOW

MOST_PAIRS = 300
"""Pairs of columns that are looked at; of more, so many are drawn at random."""


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
    if len(pairs) > most_pairs:
        rng = np.random.default_rng(child(case.seed, 1))
        pairs = [pairs[i] for i in np.sort(rng.choice(len(pairs), most_pairs, replace=False))]
    numerator, weight = np.zeros(case.n_people), np.zeros(case.n_people)
    # Values that are not rare, numbered without gaps, so that most pairs of columns fit into a table of counts.
    ids = [np.cumsum(one) - 1 for one in common]
    sizes = [int(one.sum()) for one in common]
    for a, b in pairs:
        first, second = case.columns[a], case.columns[b]
        both = np.flatnonzero(common[a][first.people] & common[b][second.people])
        if not len(both):
            continue
        ours = ids[a][first.people[both]] * sizes[b] + ids[b][second.people[both]]
        there = common[a][first.released] & common[b][second.released]
        theirs = ids[a][first.released[there]] * sizes[b] + ids[b][second.released[there]]
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


RARE_COMBINATION = MEMORISATION_TESTS.register(
    MemorisationTest(
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
