"""How few people can a released row be, by the keys that an outsider knows? One over the number of people with the same keys."""

from __future__ import annotations

import numpy as np

from ...stats.scores import Scores
from .protocol import MEMORISATION_TESTS, MemorisationTest, ReleaseCase


def k_map(case: ReleaseCase) -> Scores:
    """Return for each person one over the number of people with their keys, 0 where no released row has these."""
    released, people, size = case.classes(case.keys)
    there = np.bincount(released, minlength=size)[people] > 0
    alike = np.bincount(people, minlength=size)[people]
    return Scores(there / alike, np.ones(case.n_people))


K_MAP = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="k_map",
        score=k_map,
        title="k-map",
        definition=(
            "Mean over people of one over the number of people with the same keys, in the data or not; 0 where no released row has the keys: the "
            "chance to be right for someone who links a released row to one of the people it may be."
        ),
        sentence=(
            "Linking a released row to one of the people with its keys is right for {value} of the people in the data, and for {holdout} of people who are not"
        ),
        blindness="A row of a model is nobody's, so a match need not be a disclosure; and other keys tell other things.",
        reference="Sweeney (2002); the journalist's risk of El Emam and Dankar (2008), people in the data and the holdout as the population",
        needs_keys=True,
    )
)
