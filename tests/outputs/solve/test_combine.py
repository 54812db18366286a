"""Several moves at once: few are found that nearly cancel, and none of them share a record."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.outputs.solve.combine import _masks as masks_of
from chaffinch.outputs.solve.combine import few_that_cancel


def test_the_few_that_cancel_are_nearly_the_best_there_are() -> None:
    rng = np.random.default_rng(1)
    changes, rest = rng.normal(size=(300, 3)), np.array([0.3, -0.2, 0.1])
    found = few_that_cancel(changes, rest, rng=rng, levels=1, size=300)
    pairs = changes[:, None, :] + changes[None, :, :] + rest
    mine = ((changes[found[0]].sum(axis=0) + rest) ** 2).sum()
    assert mine == pytest.approx((pairs**2).sum(axis=2).min())
    four = few_that_cancel(changes, rest, rng=rng, levels=2, size=3_000)[0]
    assert len(four) == 4
    # Of 3,000 lists of four that were paired to cancel, the best beats the best of 45,000 pairs.
    assert ((changes[four].sum(axis=0) + rest) ** 2).sum() < mine


def test_no_two_moves_of_a_combination_share_a_record() -> None:
    """Forty records of five moves each, half of them swaps with another: sixteen moves would nearly always have one in common."""
    rng = np.random.default_rng(1)
    record = np.repeat(np.arange(40), 5)
    other = np.where(rng.random(200) < 0.5, (record + rng.integers(1, 40, 200)) % 40, -1)
    moved = np.stack([record, other], axis=1)
    changes, rest = rng.normal(size=(200, 2)), np.array([0.3, -0.2])
    rows = few_that_cancel(changes, rest, rng=rng, levels=3, size=2_000, records=masks_of(moved))
    assert len(rows) > 10
    for members in rows:
        touched = [one for move in moved[members] for one in move if one >= 0]
        assert len(touched) == len(set(touched))
    any_rows = few_that_cancel(changes, rest, rng=rng, levels=3, size=2_000)
    assert any(len({int(k) for k in moved[members, 0]}) < 8 for members in any_rows)
