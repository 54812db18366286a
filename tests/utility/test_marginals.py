"""Marginals in batches: no limit of memory changes a result."""

from __future__ import annotations

import pytest

from chaffinch.utility import marginals, tvd
from chaffinch.utility.jensen_shannon import jensen_shannon
from chaffinch.utility.tvd import marginal_distance


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
