from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk.memorisation.distances import distance_ratios, nearest_distances
from chaffinch.risk.memorisation.protocol import MEMORISATION_TESTS

from .conftest import case_of, people


def test_a_table_worked_by_hand() -> None:
    # Distances are (|x - y| / 100 + [a != b]) / 2, since x runs from 0 to 100 among people, each twice.
    members = pa.table(
        {"x": [float(i) for i in range(0, 100, 2)] * 2, "a": ["u"] * 50 + ["v"] * 50}
    )
    others = pa.table({"x": [float(i) for i in range(2, 102, 2)] * 2, "a": ["u"] * 100})
    released = pa.table({"x": [10.0, 20.0, 90.0], "a": ["u", "u", "u"]})
    case = case_of(released, members, others)
    dcr, nndr = nearest_distances(case).numerator, distance_ratios(case).numerator
    assert dcr[[5, 7, 57, 149]] == pytest.approx(
        [0.0, 4 / 200, 4 / 200 + 1 / 2, 10 / 200]
    )  # x = 10, 14, 14 with v, 100
    assert nndr[[5, 7, 57]] == pytest.approx([0.0, 4 / 6, 104 / 106], abs=1e-5)


def test_a_person_copied_twice_has_a_ratio_of_one(rng: np.random.Generator) -> None:
    members = people(50, rng)
    twice = pa.concat_tables([members, members])
    assert distance_ratios(case_of(twice, members, members)).value == 1.0
    assert nearest_distances(case_of(twice, members, members)).value == 0.0


def test_higher_is_safer_and_the_known_blindness_is_said() -> None:
    for name in ("dcr", "nndr"):
        assert MEMORISATION_TESTS[name].direction == "higher is safer"
        assert "no evidence of privacy" in MEMORISATION_TESTS[name].blindness
