"""How near is the nearest released row? DCR and NNDR, which people ask for, held against people who are not in the data."""

from __future__ import annotations

import numpy as np

from ...stats.scores import Scores
from .protocol import MEMORISATION_TESTS, MemorisationTest, ReleaseCase

BLINDNESS = (
    "Tables that pass it are broken by membership attacks all the same: it sees copies and near copies, not what a model gives away by the shares of "
    "its rows (Ganev and De Cristofaro, 2023; Yao and others, 2025). It is no evidence of privacy."
)


def nearest_distances(case: ReleaseCase) -> Scores:
    """Return the distance of each person to the nearest released row, 0 to 1."""
    return case.distances.scores(np.minimum(case.distances.nearest, 1.0))


def distance_ratios(case: ReleaseCase) -> Scores:
    """Return the distance to the nearest released row over that to the second nearest, 0 to 1; 1 where both are 0."""
    first, second = case.distances.nearest, case.distances.second
    known = np.isfinite(second) & (second > 0)
    return case.distances.scores(np.where(known, first / np.where(known, second, 1.0), 1.0))


DCR = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="dcr",
        score=nearest_distances,
        title="Distance to the closest record (DCR)",
        definition=(
            "Mean over people of Gower's distance to the nearest released row: numbers over the range of all people, 0 or 1 for levels, the mean over "
            "columns."
        ),
        sentence=(
            "The nearest released row is at a mean distance of {value} of the people in the data, and at {holdout} of people who are not"
        ),
        blindness=BLINDNESS,
        reference="Park and others (2018); held against a holdout as in Platzer and Reutterer (2021)",
        direction="higher is safer",
        share=False,
    )
)

NNDR = MEMORISATION_TESTS.register(
    MemorisationTest(
        name="nndr",
        score=distance_ratios,
        title="Nearest-neighbour distance ratio (NNDR)",
        definition="Mean over people of the distance to the nearest released row over the distance to the second nearest; 1 where both are 0.",
        sentence=(
            "The nearest released row is at a mean of {value} of the distance of the second nearest for the people in the data, and at {holdout} for "
            "people who are not"
        ),
        blindness=f"A person who is copied twice looks safe. {BLINDNESS}",
        reference="Lowe (2004); for synthetic data Zhao and others (2021)",
        direction="higher is safer",
        share=False,
    )
)
