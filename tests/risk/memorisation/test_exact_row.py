from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaffinch.risk.memorisation.whole_rows import exact_row
from chaffinch.stats.excess import excess

from .conftest import case_of, people, with_copies


def rows_of(table: pa.Table) -> list[tuple]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_rows_are_compared_as_they_stand_in_the_files(rng: np.random.Generator) -> None:
    members, others, fresh = (people(60, rng, 3) for _ in range(3))
    released = with_copies(fresh, members, 0.2)
    scores = exact_row(case_of(released, members, others))
    there = set(rows_of(released))
    assert scores.numerator.tolist() == [row in there for row in rows_of(members) + rows_of(others)]
    assert scores.numerator[:60].sum() >= 12


def test_a_level_that_only_one_person_has_is_no_other_level(rng: np.random.Generator) -> None:
    # Pooled, the two would be one level, and the row would be there.
    members = pa.table({"town": ["A"] * 59 + ["rare"], "x": [1] * 60})
    released = pa.table({"town": ["A"] * 59 + ["scarce"], "x": [2] * 59 + [1]})
    assert exact_row(case_of(released, members, members)).numerator.sum() == 0


def test_a_hundredth_of_copied_rows_is_found(rng: np.random.Generator) -> None:
    # 20 of 2,000 members are copied and no other row is there by chance: the chance of so many among members alone is 2^-20.
    members, others, fresh = (people(2000, rng, 12) for _ in range(3))
    for share, significant in ((0.01, True), (0.0, False)):
        scores = exact_row(case_of(with_copies(fresh, members, share), members, others))
        groups = [
            (scores.numerator[part], scores.weight[part])
            for part in (slice(2000), slice(2000, None))
        ]
        result = excess(*groups, seed=1)
        assert ((result.p_value or 1.0) < 0.01) == significant
