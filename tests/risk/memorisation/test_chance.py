from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaffinch.risk.memorisation.chance import RATIO, chance_of_row

from .conftest import case_of, people


def test_the_chance_of_a_row_is_a_kernel_over_other_people_scaled_to_equal_pairs(
    rng: np.random.Generator,
) -> None:
    tables = [people(40, rng, 5).select(["c0", "c1", "c2"]) for _ in range(3)]
    case = case_of(*tables)
    rows = [tuple(row.values()) for table in tables[1:] for row in table.to_pylist()]
    n = len(rows)
    kernel, equal = np.zeros(n), 0
    for i in range(n):
        for j in range(n):
            if i != j:
                kernel[i] += RATIO ** sum(a != b for a, b in zip(rows[i], rows[j], strict=True))
                equal += rows[i] == rows[j]
    chances = chance_of_row(case, np.arange(n))
    assert equal > 0
    assert np.allclose(chances, kernel * equal / kernel.sum() / (n - 1))
    assert np.allclose(chance_of_row(case, np.array([7, 3])), chances[[7, 3]])


def test_where_no_two_people_are_alike_nothing_is_equal_by_chance() -> None:
    table, other = (
        pa.table({"x": np.sqrt(np.arange(40) + shift), "y": ["a", "b"] * 20})
        for shift in (2.0, 50.0)
    )
    assert chance_of_row(case_of(table, table, other), np.arange(80)).tolist() == [0.0] * 80


def test_of_very_many_people_some_are_enough(rng: np.random.Generator) -> None:
    tables = [people(400, rng, 5).select(["c0", "c1", "c2"]) for _ in range(3)]
    case = case_of(*tables)
    every, few = (chance_of_row(case, np.arange(800), most_rows=most) for most in (800, 400))
    assert abs(every.mean() - few.mean()) < 0.2 * every.mean()
    assert np.corrcoef(every, few)[0, 1] > 0.7
