"""The compiled attack: small keys are their own places in a table, large ones are hashed, and both say the same; claims are added up."""

import numpy as np
import pytest

from chaffinch.outputs.check.attribution import add_claims, tcap_of_dataset


@pytest.mark.parametrize("tau", [0.6, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_hashed_keys_are_dense_keys(seed, tau):
    rng = np.random.default_rng(seed)
    sizes = np.array([3, 2, 4, 3])
    rows, people = (rng.integers(0, sizes, (n, 4)).astype(np.int32) for n in (40, 30))
    group = rng.integers(-1, 2, 30).astype(np.int8)
    columns, starts = np.array([0, 1, 0, 2, 0, 1, 2]), np.array([0, 2, 4, 7])

    def attack(radix):
        claims, influence = np.empty((3, 30), dtype=np.int32), np.zeros((2, 30))
        label, values = rows[:, 3].copy(), people[:, 3].copy()
        tcap = tcap_of_dataset(
            rows, label, columns, starts, radix, people, values, group, tau, claims, influence
        )
        return tcap, claims, influence

    for dense, hashed in zip(attack(sizes), attack(sizes * 1_000_003), strict=True):
        np.testing.assert_allclose(dense, hashed, equal_nan=True)


def test_claims_are_added_up():
    """Three datasets on four people, whose values are 0, 0, 1, 1; -1 says nothing."""
    first, spoken, correct = (np.zeros((1, 4), dtype=np.int32) for _ in range(3))
    agreed = np.ones((1, 4), dtype=np.bool_)
    for claims in ([0, 1, -1, 1], [0, 0, -1, -1], [0, 1, -1, 1]):
        add_claims(
            np.array([claims], dtype=np.int32),
            np.array([0, 0, 1, 1]),
            first,
            spoken,
            agreed,
            correct,
        )
    assert spoken.tolist() == [[3, 3, 0, 2]]
    assert first.tolist() == [[0, 1, 0, 1]]
    assert agreed.tolist() == [[True, False, True, True]]
    assert correct.tolist() == [[3, 1, 0, 2]]
