"""Are people whom the keys single out replicated, as one released row? repU, held against people who are not in the data."""

from __future__ import annotations

import numpy as np

from ...stats.scores import Scores
from .protocol import MEMORISATION_TESTS, MemorisationTest, ReleaseCase


def replicated_uniques(case: ReleaseCase) -> Scores:
    """Return for each person whether nobody else has their keys, and exactly one released row does."""
    released, people, size = case.classes(case.keys)
    alone = np.bincount(people, minlength=size)[people] == 1
    once = np.bincount(released, minlength=size)[people] == 1
    return Scores(alone & once, np.ones(case.n_people))


REPLICATED_UNIQUES = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="replicated_uniques",
        score=replicated_uniques,
        title="Replicated uniques",
        definition="Share of people whose keys nobody else has, in the data or not, and exactly one released row.",
        sentence=(
            "Nobody else has the keys, and one released row does, for {value} of the people in the data, and for {holdout} of people who are not"
        ),
        blindness="Values beside the keys are not looked at: the row may be somebody else's in all of them.",
        reference="repU of Raab, Nowok and Dibben (2024), with people in the data and the holdout together in place of the original",
        needs_keys=True,
    )
)
