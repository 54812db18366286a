from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaffinch.risk import ATTACKERS
from chaffinch.risk.memorisation.whole_rows import (
    COPIES,
    RATIO,
    alike_weights,
    chance_of_row,
    copied_row,
    exact_row,
)
from chaffinch.stats.excess import excess

from .conftest import case_of, distinct_people, with_copies


def coarse(n: int, rng: np.random.Generator) -> pa.Table:
    """Return people many of whom are alike: most have common values, a few have rare ones."""
    return pa.table({f"c{j}": np.minimum(rng.geometric(0.5, n), 9).astype(str) for j in range(9)})


def test_a_match_counts_by_the_chance_that_it_is_a_copy(rng: np.random.Generator) -> None:
    members, others, released = (coarse(200, rng) for _ in range(3))
    case = case_of(released, members, others)
    scores, matches = copied_row(case).numerator, exact_row(case).numerator
    chances = chance_of_row(case, np.arange(400))
    assert np.allclose(scores, matches * COPIES / (COPIES + 200 * chances))
    assert 0 < np.count_nonzero(scores) < 400


def test_copies_are_found_where_chance_matches_hide_them(rng: np.random.Generator) -> None:
    # 40 draws with 1 % of 1,500 members copied. Counted alike, matches find them in few draws.
    found = np.zeros((40, 2), dtype=bool)
    for draw in range(40):
        members, others, fresh = (coarse(1500, rng) for _ in range(3))
        case = case_of(with_copies(fresh, members, 0.01), members, others)
        for k, score in enumerate((exact_row(case), copied_row(case))):
            groups = [
                (score.numerator[part], score.weight[part])
                for part in (slice(1500), slice(1500, None))
            ]
            found[draw, k] = (excess(*groups, resamples=200, seed=draw).p_value or 1.0) <= 0.05
    plain, weighted = found.mean(axis=0)
    assert plain < 0.6
    assert weighted > plain + 0.3


def test_it_spends_half_of_the_level_whatever_else_is_run() -> None:
    assert ATTACKERS["copied_row"].level_share == 0.5


def test_where_nobody_is_matched_nobody_scores(rng: np.random.Generator) -> None:
    members, others, released = (distinct_people(60, rng, 12) for _ in range(3))
    assert copied_row(case_of(released, members, others)).numerator.sum() == 0


def test_weights_are_summed_over_all_rows_but_a_persons_own() -> None:
    rng = np.random.default_rng(3)
    people, rows = (rng.integers(0, 3, (4, n)).astype(np.int32) for n in (6, 11))
    own = np.array([-1, 0, 10, -1, 4, 5])
    weights = np.array([1.0, 0.5, 0.2, 0.1, 0.0])
    out = np.empty(6)
    alike_weights(people, rows, own, weights, out)
    differing = (people[:, :, None] != rows[:, None, :]).sum(axis=0)
    plain = [sum(weights[k] for r, k in enumerate(differing[i]) if r != own[i]) for i in range(6)]
    assert np.allclose(out, plain)


def test_the_chance_of_a_row_is_a_kernel_over_other_people_scaled_to_equal_pairs(
    rng: np.random.Generator,
) -> None:
    tables = [distinct_people(40, rng, 5).select(["c0", "c1", "c2"]) for _ in range(3)]
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
    tables = [distinct_people(400, rng, 5).select(["c0", "c1", "c2"]) for _ in range(3)]
    case = case_of(*tables)
    every, few = (chance_of_row(case, np.arange(800), most_rows=most) for most in (800, 400))
    assert abs(every.mean() - few.mean()) < 0.2 * every.mean()
    assert np.corrcoef(every, few)[0, 1] > 0.7


def rows_of(table: pa.Table) -> list[tuple]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_rows_are_compared_as_they_stand_in_the_files(rng: np.random.Generator) -> None:
    members, others, fresh = (distinct_people(60, rng, 3) for _ in range(3))
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
    members, others, fresh = (distinct_people(2000, rng, 12) for _ in range(3))
    for share, significant in ((0.01, True), (0.0, False)):
        scores = exact_row(case_of(with_copies(fresh, members, share), members, others))
        groups = [
            (scores.numerator[part], scores.weight[part])
            for part in (slice(2000), slice(2000, None))
        ]
        result = excess(*groups, seed=1)
        assert ((result.p_value or 1.0) < 0.01) == significant
