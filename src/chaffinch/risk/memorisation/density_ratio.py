"""Are there more released rows around a person than other people? A copy, exact or not, makes the released rows dense where people are not."""

from __future__ import annotations

import numpy as np

from ...stats.scores import Scores
from .protocol import MEMORISATION_TESTS, MemorisationTest, ReleaseCase


def density_ratio(case: ReleaseCase) -> Scores:
    """Return for each person p / (p + q), with p the density of released rows and q that of other people, at the person's place.

    It is the logistic function of log p - log q, and 1/2 where both are 0. The density of people is of all others, members or not: with
    the holdout's alone, members and others would be held against different references, and could not be exchanged.
    """
    places = case.distances
    released, people = places.released_density, places.people_density
    total = released + people
    return places.scores(np.where(total > 0, released / np.where(total > 0, total, 1.0), 0.5))


DENSITY_RATIO = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="density_ratio",
        score=density_ratio,
        title="Density ratio",
        definition=(
            "Mean over people of p / (p + q): p is the density of released rows at the person's place, q that of other people. 1/2 where the "
            "released rows are as dense as people are."
        ),
        sentence=(
            "Released rows around a person are at {value} of the two densities for the people in the data, and at {holdout} for people who are not "
            "(50 % is as dense as people are)"
        ),
        blindness="A mean over people hides a few who are copied among many who are not, and distances over many columns are all alike.",
        reference="After van Breugel, Sun, Qian and van der Schaar (2023), DOMIAS, with a kernel estimate and a reference of all people",
    )
)
