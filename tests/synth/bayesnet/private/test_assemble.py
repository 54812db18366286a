"""From estimated tables to a network whose tables have the estimated sums."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.synth.bayesnet.private.assemble import MOST_CELLS, assemble, limited
from chaffinch.synth.bayesnet.rules import Constraints, make_rules


def test_the_strongest_parents_that_keep_the_table_small():
    sizes = (2, 3, 4, MOST_CELLS)
    assert limited({1: 1.0, 2: 3.0, 3: 9.0}, 0, sizes, 2) == (2, 1)
    assert limited({1: 1.0, 2: 3.0}, 0, sizes, 1) == (2,)
    assert limited({}, 0, sizes, 2) == ()


def test_tables_have_the_estimated_conditional_distributions():
    rules = make_rules("ab", Constraints(1))
    pair = np.array([[300.0, 100.0], [60.0, 540.0]])
    margins = [pair.sum(axis=1), pair.sum(axis=0)]
    network = assemble(rules, (2, 2), (0, 1), {0: (), 1: (0,)}, margins, {(0, 1): pair}, np.random.default_rng(1))
    assert network.order == (0, 1)
    assert network.parents == ((), (0,))
    counts = network.tables[1].counts
    np.testing.assert_allclose(
        counts / counts.sum(axis=1, keepdims=True), pair / pair.sum(axis=1, keepdims=True), atol=1e-9
    )
    # 20,000 rows drawn on the way: a share of 0.4 within 5 standard deviations (fails less than once in a million).
    assert abs((network.sample[0] == 0).mean() - 0.4) < 5 * (0.24 / 20_000) ** 0.5
    assert len(network.sample[0]) == pytest.approx(20_000)
