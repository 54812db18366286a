from __future__ import annotations

from collections import Counter

import numpy as np

from chaffinch.risk.memorisation.key_matches import k_map, replicated_uniques

from .conftest import case_of, distinct_people


def test_each_person_is_one_of_those_with_the_same_keys(rng: np.random.Generator) -> None:
    released, members, others = (distinct_people(70, rng, 4) for _ in range(3))
    scores = k_map(case_of(released, members, others, keys=("age", "c0")))
    keys = [(row["age"], row["c0"]) for row in members.to_pylist() + others.to_pylist()]
    there, alike = {(row["age"], row["c0"]) for row in released.to_pylist()}, Counter(keys)
    assert np.allclose(scores.numerator, [(key in there) / alike[key] for key in keys])
    assert 0 < (scores.value or 0) < 1


def test_people_alone_with_their_keys_who_are_one_row(rng: np.random.Generator) -> None:
    released, members, others = (distinct_people(70, rng, 4) for _ in range(3))
    scores = replicated_uniques(case_of(released, members, others, keys=("age", "c0")))
    keys = [(row["age"], row["c0"]) for row in members.to_pylist() + others.to_pylist()]
    rows, alike = Counter((row["age"], row["c0"]) for row in released.to_pylist()), Counter(keys)
    assert scores.numerator.tolist() == [alike[key] == 1 and rows[key] == 1 for key in keys]
    assert scores.numerator.any()
