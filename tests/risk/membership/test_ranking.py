"""Who is attacked: each ranking finds the record that was planted for it, and the union finds all of them."""

import numpy as np
import pandas as pd
import pytest

from chaffinch import read
from chaffinch.errors import InputError
from chaffinch.risk.shadows.generator import value_reader
from chaffinch.risk.shadows.vulnerability import RANKINGS, extremeness, rarity, targets_by


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "pay": rng.normal(100, 5, 400).round(1),
            "a": rng.choice(list("xy"), 400),
            "b": rng.choice(list("uv"), 400),
        }
    )
    frame.loc[11, "pay"] = 5000.0
    frame.loc[12, "a"] = "only"
    return read(frame)


def test_each_ranking_finds_its_own(table):
    own = np.ones(400, dtype=bool)
    assert targets_by("extremes", table, own, 1) == (np.array([11]), {"extremes": 1})
    assert targets_by("rarity", table, own, 1) == (np.array([12]), {"rarity": 1})
    chosen, ranked = targets_by("union", table, own, 8)
    assert {11, 12} <= set(chosen.tolist())
    assert len(set(chosen.tolist())) == 8
    assert sum(ranked.values()) == 8
    assert set(ranked) == set(RANKINGS)


def test_only_own_records_are_targets(table):
    own = np.arange(400) >= 200
    chosen, _ = targets_by("union", table, own, 30)
    assert (chosen >= 200).all()
    with pytest.raises(InputError, match="1 to 200 targets"):
        targets_by("union", table, own, 201)
    with pytest.raises(InputError, match="ranking"):
        targets_by("luck", table, own, 2)


def test_without_numbers_nobody_is_extreme(table):
    words = table[["a", "b"]]
    _, ranked = targets_by("union", words, np.ones(400, dtype=bool), 6)
    assert "extremes" not in ranked


def test_extremeness_counts_those_as_far_out():
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 30, (2, 50)).astype(float)
    numbers[0, :5] = np.nan
    expected = []
    for record in range(50):
        ranks = [
            min((column >= column[record]).sum(), (column <= column[record]).sum())
            for column in numbers
            if not np.isnan(column[record])
        ]
        expected.append(min(ranks))
    scores = extremeness(numbers)
    assert (np.ceil(-scores) <= expected).all()
    assert (-scores > np.array(expected) - 1).all()


def test_a_unique_number_among_numbers_that_are_all_different_is_not_rare(table):
    scores = rarity(value_reader(table).read(table))
    assert scores[12] > 0.9
    assert np.delete(scores, [11, 12]).max() < 0.9
