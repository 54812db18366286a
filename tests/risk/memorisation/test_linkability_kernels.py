"""The compiled count of shared neighbours against plain numpy."""

from __future__ import annotations

import numpy as np

from chaffinch.risk.memorisation.linkability import COUNTS, shared_neighbours


def test_counts_are_those_of_all_distances() -> None:
    rng = np.random.default_rng(1)

    def part() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        numbers, own = rng.integers(0, 4, (2, 30)) / 4, rng.integers(0, 4, (2, 12)) / 4
        numbers[0, :5], own[0, :3] = np.nan, np.nan
        return numbers, rng.integers(0, 3, (1, 30)), own, rng.integers(0, 3, (1, 12))

    def distances(one: tuple[np.ndarray, ...], i: int) -> np.ndarray:
        numbers, levels, own, own_levels = one
        apart = np.abs(numbers - own[:, [i]])
        both = np.isnan(numbers) & np.isnan(own[:, [i]])
        return np.where(both, 0.0, np.where(np.isnan(apart), 1.0, apart)).sum(axis=0) + (
            levels != own_levels[:, [i]]
        ).sum(axis=0)

    first, second = part(), part()
    ks = np.array([1, 3])
    both = np.zeros((2, 12, COUNTS), dtype=np.int64)
    shared_neighbours(first, second, ks, 0, 12, both)
    for k, out in zip(ks, both, strict=True):
        for i in range(12):
            sides = []
            for one in (first, second):
                apart = distances(one, i)
                reach = np.sort(apart)[k - 1]
                sides.append((apart < reach, apart == reach))
            (near_a, tied_a), (near_b, tied_b) = sides
            pairs = ((near_a, near_b), (tied_a, near_b), (near_a, tied_b), (tied_a, tied_b))
            expected = [
                near_a.sum(),
                tied_a.sum(),
                near_b.sum(),
                tied_b.sum(),
                *((a & b).sum() for a, b in pairs),
            ]
            assert out[i].tolist() == expected
