"""What people share with source rows."""

import numpy as np

from chaffinch.risk.attribution.matching import match

V1 = "A:1 A:2 B:1 B:1 C:1 | A:1 A:2 B:1 C:1"


def hand(text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return keys and values of 'A:1 B:2 | A:1', people left of the bar, source right."""
    out = []
    for side in text.split("|"):
        pairs = [cell.split(":") for cell in side.split()]
        out += [
            np.array([[ord(k)] for k, _ in pairs], dtype=int).reshape(-1, 1),
            np.array([int(v) for _, v in pairs], dtype=int),
        ]
    return tuple(out)  # type: ignore[return-value]


def test_tau_is_met_by_equal_shares() -> None:
    """7 of 10 meets 0.7, and not 0.7 and a little."""
    for k in range(1, 10):
        keys, values = np.zeros((10, 1), dtype=int), np.array([0] * k + [1] * (10 - k))
        found = match(keys, values, keys, values)
        assert found.right_at(k / 10)[0]
        assert not found.right_at(k / 10 + 1e-9)[0]


def test_repr_holds_no_small_count() -> None:
    assert repr(match(*hand(V1))) == "Match(people: <10, with a source row of the same keys: <10)"
