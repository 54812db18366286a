from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk.memorisation.distances import REACH, Distances, distances_of

from .conftest import case_of, people


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
    out = [people(n, rng, 4) for _ in range(3)]
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
    places = Distances.of(case, most_people=20, most_rows=30)
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
