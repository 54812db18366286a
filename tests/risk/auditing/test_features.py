"""Features of released tables against plain loops."""

from __future__ import annotations

import numpy as np

from chaffinch.risk.auditing.runs import table_features


def test_features_against_a_loop():
    rng = np.random.default_rng(4)
    sizes = (2, 3, 2)
    tables = np.stack([rng.integers(0, size, (5, 7)) for size in sizes], axis=2).astype(np.uint8)
    tables[0, 3:] = 255  # rows that are not there
    tables[1, 0, 1] = 255  # a value that is not known
    target = np.array([1, 2, 0])
    found = table_features(tables, target, sizes)
    for table, row in zip(tables, found, strict=True):
        around = [
            sum(all(r[j] == target[j] for j in range(3) if s >> j & 1) for r in table)
            for s in range(8)
        ]
        levels = [sum(r[j] == v for r in table) for j in range(3) for v in range(sizes[j])]
        whole = [sum(tuple(r) == cell for r in table) for cell in np.ndindex(*sizes)]
        assert row.tolist() == [*around, *levels, *whole]


def test_wide_tables_have_features_too():
    tables = np.random.default_rng(5).integers(0, 2, (3, 10, 20)).astype(np.uint8)
    found = table_features(tables, np.zeros(20, dtype=np.int64), (2,) * 20)
    assert found.shape == (3, 2048 + 40)
