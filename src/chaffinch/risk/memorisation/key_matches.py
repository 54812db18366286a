"""Who can a released row be, by the keys that an outsider knows: one of how few people (k-map), and one whom the keys single out (repU)?"""

from __future__ import annotations

import numpy as np

from ...stats.rates import Scores
from ..attacker import ATTACKERS, Attacker
from .protocol import ReleaseCase


def k_map(case: ReleaseCase) -> Scores:
    """Return for each person one over the number of people with their keys, 0 where no released row has these."""
    released, people, size = case.classes(case.keys)
    is_released = np.bincount(released, minlength=size)[people] > 0
    alike = np.bincount(people, minlength=size)[people]
    return Scores(is_released / alike, np.ones(case.n_people))


ATTACKERS.register(
    Attacker(
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
        needs=("keys",),
    )
)


def replicated_uniques(case: ReleaseCase) -> Scores:
    """Return for each person whether nobody else has their keys, and exactly one released row does."""
    released, people, size = case.classes(case.keys)
    alone = np.bincount(people, minlength=size)[people] == 1
    once = np.bincount(released, minlength=size)[people] == 1
    return Scores(alone & once, np.ones(case.n_people))


ATTACKERS.register(
    Attacker(
        name="replicated_uniques",
        score=replicated_uniques,
        title="Replicated uniques",
        definition="Share of people whose keys nobody else has, in the data or not, and exactly one released row.",
        sentence=(
            "Nobody else has the keys, and one released row does, for {value} of the people in the data, and for {holdout} of people who are not"
        ),
        blindness="Values beside the keys are not looked at: the row may be somebody else's in all of them.",
        reference="repU of Raab, Nowok and Dibben (2024), with people in the data and the holdout together in place of the original",
        needs=("keys",),
    )
)
