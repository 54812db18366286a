"""The compiled evaluation of predicates against plain numpy."""

from __future__ import annotations

import numpy as np

from chaffinch.risk.memorisation.predicates import count_matches, only_match


def test_predicates_are_true_of_the_rows_whose_codes_lie_between() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 6, (3, 25))
    columns = np.array([[0, 1], [1, 2], [0, 2]] * 20)
    low = rng.integers(0, 5, (60, 2))
    high = low + rng.integers(0, 3, (60, 2))
    matches = np.array(
        [
            ((codes[c] >= a[:, None]) & (codes[c] <= b[:, None])).all(axis=0)
            for c, a, b in zip(columns, low, high, strict=True)
        ]
    )
    counts, only, few = np.zeros(60, np.int64), np.zeros(60, np.int64), np.zeros(60, np.int64)
    count_matches(codes, columns, low, high, 25, counts)
    count_matches(codes, columns, low, high, 1, few)
    only_match(codes, columns, low, high, only)
    assert counts.tolist() == matches.sum(axis=1).tolist()
    assert few.tolist() == np.minimum(counts, 2).tolist()
    assert only.tolist() == [int(row.argmax()) if row.sum() == 1 else -1 for row in matches]
    assert {0, 1, 2} <= set(counts.tolist())
