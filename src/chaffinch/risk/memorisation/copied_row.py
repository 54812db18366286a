"""Is a person's whole row in the released table, though chance would hardly put it there? A match counts by the chance that it is a copy."""

from __future__ import annotations

import numpy as np

from ...stats.scores import Scores
from .chance import chance_of_row
from .protocol import MEMORISATION_TESTS, MemorisationTest, ReleaseCase

COPIES = 0.005
"""The share of members who are copied, of which a match's chance to be a copy is worked out: the test is sharpest for shares of about this."""


def copied_row(case: ReleaseCase, copies: float = COPIES) -> Scores:
    """Return for each person the chance that a released row with all their values is a copy; 0 where there is none.

    With a share e of members copied, and p the chance that a random row is equal to the person's, a member's row is copied with the chance e
    and met by chance with about n p: the chance of a copy is e / (e + n p), n half of the people. It is close to the likelihood ratio
    of "copied", by which the most powerful test would count matches, with p estimated from all people (`chance.py`).
    """
    released, people, size = case.whole_rows
    there = np.zeros(size, dtype=bool)
    there[released] = True
    matched = np.flatnonzero(there[people])
    score = np.zeros(case.n_people)
    score[matched] = copies / (copies + case.n_people / 2 * chance_of_row(case, matched))
    return Scores(score, np.ones(case.n_people))


COPIED_ROW = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="copied_row",
        score=copied_row,
        title="Copied row",
        definition=(
            "Mean over people of the chance that a released row with all their values is a copy, were one person in 200 copied: near 1 for a row that "
            "hardly anybody could have, near 0 for one that many have; 0 where no released row has all values."
        ),
        sentence=(
            "Whole rows that chance hardly gives are in the released table for {value} of the people in the data, and for {holdout} of people who are not "
            "(each counted by the chance that it is a copy)"
        ),
        blindness="Rows that are changed in one value are not seen, nor copies of rows that many people have.",
        reference="A likelihood ratio; the chance of a row by a kernel over levels (Aitchison and Aitken, 1976)",
        level_share=0.5,
    )
)
