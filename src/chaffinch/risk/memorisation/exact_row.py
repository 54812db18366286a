"""Is a person's whole row in the released table? Copies of records are found so, however few."""

from __future__ import annotations

import numpy as np

from ...stats.scores import Scores
from .protocol import MEMORISATION_TESTS, MemorisationTest, ReleaseCase


def exact_row(case: ReleaseCase) -> Scores:
    """Return for each person whether a released row has all their values: all columns but identifiers and free text."""
    released, people, size = case.whole_rows
    there = np.zeros(size, dtype=bool)
    there[released] = True
    return Scores(there[people], np.ones(case.n_people))


EXACT_ROW = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="exact_row",
        score=exact_row,
        title="Exact row",
        definition=(
            "Share of people whose whole row is in the released table, all columns but identifiers and free text, values as they stand in the file."
        ),
        sentence="The whole row is in the released table for {value} of the people in the data, and for {holdout} of people who are not",
        blindness=(
            "Rows that are changed in one value are not seen, and in a table of few columns rows are equal by chance, which hides copies."
        ),
        reference="The exact-match test of Raab, Nowok and Dibben (2024), held against people who are not in the data",
    )
)
