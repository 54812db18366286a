"""Resampled people of TCAP: blocks of weights."""

import numpy as np
import pytest

from chaffinch.risk.attribution import tcap_cells as module
from chaffinch.risk.attribution.tcap import tcap


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tables = [rng.integers(0, 4, (80, 3)) for _ in range(2)]
    cells = tcap(tables[0][:, :2], tables[0][:, 2], tables[1][:, :2], tables[1][:, 2], tau=0.4).cells
    assert cells is not None
    weights = rng.multinomial(80, np.full(80, 1 / 80), size=30)
    whole = cells.value_for(weights)
    monkeypatch.setattr(module, "BLOCK", 200)
    np.testing.assert_allclose(cells.value_for(weights), whole, atol=1e-15)
    assert len(np.unique(whole)) > 10
