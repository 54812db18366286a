from __future__ import annotations

import numpy as np
import pytest

from chaffinch.risk.memorisation.distances import all_distances, neighbours


@pytest.mark.parametrize(("n_numbers", "n_levels"), [(2, 3), (0, 3), (2, 0)])
def test_neighbours_are_those_of_a_plain_loop(n_numbers: int, n_levels: int) -> None:
    rng = np.random.default_rng(4)
    people = (
        rng.random((n_numbers, 9)).astype(np.float32),
        rng.integers(0, 3, (n_levels, 9)).astype(np.int32),
    )
    rows = (
        rng.random((n_numbers, 14)).astype(np.float32),
        rng.integers(0, 3, (n_levels, 14)).astype(np.int32),
    )
    rows[0][:, 3] = 3.0  # missing: 1 away from all that is not
    own = np.array([-1, 0, 1, -1, -1, 2, 3, 4, 5])
    numbers = np.minimum(np.abs(people[0][:, :, None] - rows[0][:, None, :]), 1.0).sum(axis=0)
    plain = numbers + (people[1][:, :, None] != rows[1][:, None, :]).sum(axis=0)
    for i, j in enumerate(own):
        if j >= 0:
            plain[i, j] = np.inf
    out = np.empty((9, 14), dtype=np.float32)
    all_distances(*people, *rows, own, out)
    assert np.allclose(out, plain, atol=1e-5)

    step, kernel = 0.01, np.append(np.exp(-np.arange(500) * 0.01), 0.0)
    nearest, second, density = np.empty(9, np.float32), np.empty(9, np.float32), np.empty(9)
    neighbours(*people, *rows, own, kernel, step, nearest, second, density)
    ordered = np.sort(plain, axis=1)
    assert np.allclose(nearest, ordered[:, 0], atol=1e-5)
    assert np.allclose(second, ordered[:, 1], atol=1e-5)
    assert np.allclose(
        density,
        np.where(np.isfinite(plain), np.exp(-np.where(np.isfinite(plain), plain, 0.0)), 0.0).sum(
            axis=1
        ),
        rtol=0.02,
    )
