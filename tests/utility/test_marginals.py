"""Marginals in batches: no limit of memory changes a result."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.utility import marginals, tvd
from chaffinch.utility.jensen_shannon import jensen_shannon
from chaffinch.utility.tvd import marginal_distance

SIZES = (3, 4, 2, 5)


def draw(seed: int, n_rows: int, sizes=SIZES) -> list[np.ndarray]:
    """Return columns of codes with falling shares; each is linked to the one before."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for size in sizes:
        column = np.minimum(rng.geometric(0.4, n_rows) - 1, size - 1)
        if columns:
            column = np.where(rng.random(n_rows) < 0.5, columns[-1] % size, column)
        columns.append(column)
    return columns


@pytest.fixture
def tables(coded):
    return coded(draw(1, 300), SIZES), coded(draw(2, 170), SIZES)


def test_no_limit_of_memory_changes_a_result(tables, monkeypatch):
    whole = marginal_distance(*tables, width=3)
    monkeypatch.setattr(marginals, "BATCH_CELLS", 1)
    assert marginal_distance(*tables, width=3).to_dict() == whole.to_dict()
    for module in (marginals, tvd):
        monkeypatch.setattr(module, "DENSE_CELLS", 1)
    sparse = marginal_distance(*tables, width=3)
    assert sparse.value == pytest.approx(whole.value)
    assert sparse.interval == pytest.approx(whole.interval)


def test_two_rows_have_a_value_and_no_interval(coded):
    first, second = coded([[0, 1], [0, 1]], [2, 2]), coded([[0, 1], [1, 0]], [2, 2])
    for result in (marginal_distance(first, second), jensen_shannon(first, second)):
        assert result.interval is None
        assert "fewer than 20 records" in result.settings["interval"]
    assert marginal_distance(first, second).value == 1.0
    assert jensen_shannon(first, second).value == 0.0
