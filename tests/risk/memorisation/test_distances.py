from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk import ATTACKERS
from chaffinch.risk.memorisation.distances import (
    REACH,
    Distances,
    density_ratio,
    distance_ratios,
    distances_of,
    nearest_distances,
)
from tests.risk.memorisation.conftest import with_copies

from .conftest import case_of, distinct_people


def gower(first: list[dict], second: list[dict], everybody: list[dict]) -> np.ndarray:
    """Gower's distance cell by cell, numbers over the range of everybody; a missing value is 1 from all but another."""
    out = np.zeros((len(first), len(second)))
    for name in first[0]:
        numbers = [row[name] for row in everybody if isinstance(row[name], int | float)]
        width = max(numbers) - min(numbers) if numbers else 0.0
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                x, y = a[name], b[name]
                if x is None or y is None or isinstance(x, str):
                    out[i, j] += x != y
                else:
                    out[i, j] += min(abs(x - y) / width, 1.0)
    return out / len(first[0])


def tables(rng: np.random.Generator, n: int = 45) -> list[pa.Table]:
    out = [distinct_people(n, rng, 4) for _ in range(3)]
    gaps = pa.array(
        [None if i % 7 == 0 else float(v) for i, v in enumerate(out[1]["income"].to_pylist())]
    )
    out[1] = out[1].set_column(1, "income", gaps)
    return [table.set_column(1, "income", table["income"].cast(pa.float64())) for table in out]


def test_distances_are_gowers(rng: np.random.Generator) -> None:
    released, members, others = tables(rng)
    places = distances_of(case_of(released, members, others))
    everybody = members.to_pylist() + others.to_pylist()
    to_rows = np.sort(gower(everybody, released.to_pylist(), everybody), axis=1)
    assert np.allclose(places.nearest, to_rows[:, 0], atol=1e-6)
    assert np.allclose(places.second, to_rows[:, 1], atol=1e-6)


def test_nobody_is_in_the_density_they_are_held_against(rng: np.random.Generator) -> None:
    released, members, others = tables(rng)
    everybody = members.to_pylist() + others.to_pylist()
    places = distances_of(case_of(released, members, others))
    among = gower(everybody, everybody, everybody)
    np.fill_diagonal(among, np.inf)
    width = 0.5 * np.median(
        np.partition(among, 1, axis=1)[:, 1]
    )  # 90 people: all of them choose the bandwidth
    for distances, density in (
        (among, places.people_density),
        (gower(everybody, released.to_pylist(), everybody), places.released_density),
    ):
        kernel = np.where(
            distances < REACH * width,
            np.exp(-0.5 * (np.where(np.isfinite(distances), distances, 0.0) / width) ** 2),
            0.0,
        )
        assert np.allclose(
            density, kernel.sum(axis=1) / np.isfinite(distances).sum(axis=1), rtol=5e-3, atol=1e-9
        )


def test_of_many_people_some_are_looked_at(rng: np.random.Generator) -> None:
    case = case_of(*tables(rng))
    places = Distances.from_case(case, most_people=20, most_rows=30)
    scores = places.scores(np.full(20, 0.5))
    assert (scores.weight.sum(), scores.numerator.sum(), scores.n_people) == (20.0, 10.0, 90)
    assert (
        np.isin(places.nearest, distances_of(case).nearest).sum() < 20
    )  # fewer rows: some nearest ones are gone


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(rng: np.random.Generator, threads: int) -> None:
    one, some = (
        distances_of(case_of(*tables(np.random.default_rng(1), 400), threads=n))
        for n in (1, threads)
    )
    assert np.array_equal(one.people_density, some.people_density)


def test_equal_rows_all_over_have_a_bandwidth() -> None:
    table = pa.table({"a": ["x", "y"] * 30, "b": ["u", "v"] * 30})
    places = distances_of(case_of(table, table, table))
    assert places.nearest.max() == 0.0
    assert np.allclose(places.released_density, places.people_density, rtol=0.05)


def z(scores, n: int) -> float:
    first, second = scores.numerator[:n], scores.numerator[n:]
    return (first.mean() - second.mean()) / np.sqrt(first.var() / n + second.var() / n)


def test_copies_raise_the_ratio_of_members_and_fresh_rows_do_not(rng: np.random.Generator) -> None:
    members, others, fresh = (distinct_people(400, rng) for _ in range(3))
    # Odds of failing when right: a normal beyond 3.5 for the second.
    assert z(density_ratio(case_of(with_copies(fresh, members, 0.5), members, others)), 400) > 5
    assert abs(z(density_ratio(case_of(fresh, members, others)), 400)) < 3.5


def test_it_is_the_share_of_released_rows_in_both_densities(rng: np.random.Generator) -> None:
    case = case_of(*(distinct_people(60, rng, 3) for _ in range(3)))
    places = distances_of(case)
    p, q = places.released_density, places.people_density
    expected = [0.5 if a + b == 0 else a / (a + b) for a, b in zip(p, q, strict=True)]
    assert np.allclose(density_ratio(case).numerator, expected)


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
    members = distinct_people(50, rng)
    twice = pa.concat_tables([members, members])
    assert distance_ratios(case_of(twice, members, members)).value == 1.0
    assert nearest_distances(case_of(twice, members, members)).value == 0.0


def test_higher_is_safer_and_the_known_blindness_is_said() -> None:
    for name in ("dcr", "nndr"):
        assert ATTACKERS[name].direction == "higher is safer"
        assert "no evidence of privacy" in ATTACKERS[name].blindness
