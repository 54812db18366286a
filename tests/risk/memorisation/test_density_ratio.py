from __future__ import annotations

import numpy as np

from chaffinch.risk.memorisation.distances import density_ratio, distances_of

from .conftest import case_of, people, with_copies


def z(scores, n: int) -> float:
    first, second = scores.numerator[:n], scores.numerator[n:]
    return (first.mean() - second.mean()) / np.sqrt(first.var() / n + second.var() / n)


def test_copies_raise_the_ratio_of_members_and_fresh_rows_do_not(rng: np.random.Generator) -> None:
    members, others, fresh = (people(400, rng) for _ in range(3))
    # Odds of failing when right: a normal beyond 3.5 for the second.
    assert z(density_ratio(case_of(with_copies(fresh, members, 0.5), members, others)), 400) > 5
    assert abs(z(density_ratio(case_of(fresh, members, others)), 400)) < 3.5


def test_it_is_the_share_of_released_rows_in_both_densities(rng: np.random.Generator) -> None:
    case = case_of(*(people(60, rng, 3) for _ in range(3)))
    places = distances_of(case)
    p, q = places.released_density, places.people_density
    expected = [0.5 if a + b == 0 else a / (a + b) for a, b in zip(p, q, strict=True)]
    assert np.allclose(density_ratio(case).numerator, expected)
