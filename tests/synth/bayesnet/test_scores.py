"""FamilyScores of families against plain counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from chaffinch.counts import MemoryCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.synth.bayesnet.scores import FamilyScores


@pytest.fixture
def table(linked):
    return linked(3, [2, 3, 4, 2, 5], 300)


def families(d):
    return [
        (c, ps)
        for c in range(d)
        for w in range(4)
        for ps in combinations([p for p in range(d) if p != c], w)
    ]


@pytest.mark.parametrize("counter", [MemoryCounter, ReferenceCounter])
def test_scores_equal_plain_counts(counter, table, information):
    scores = FamilyScores(counter(table))
    columns = [table.code(name) for name in table.schema.names]
    rows = np.stack(columns, axis=1).tolist()
    price = 0.5
    pairs = scores.pairs()
    assert np.array_equal(pairs, pairs.T)
    assert (np.diag(pairs) == 0).all()
    for child, parents in families(5):
        joint = information(rows, child, parents)
        assert scores.joint(child, parents) == pytest.approx(joint, abs=1e-11)
        plain = sum(mutual_info_score(columns[child], columns[p]) for p in parents)
        assert scores.pairwise(child, parents) == pytest.approx(plain, abs=1e-11)
        assert pairs[child, list(parents)].sum() == pytest.approx(plain, abs=1e-11)
        # The documented penalty: x + x^2 / 2 with x free cells a record.
        levels = len({row[child] for row in rows})
        combos = len({tuple(row[p] for p in parents) for row in rows})
        x = (levels - 1) * (combos - 1) / len(rows)
        assert scores.penalised(child, parents) == pytest.approx(
            joint - price * (x + x * x / 2), abs=1e-11
        )


def test_asking_ahead_changes_nothing(table):
    asked, lazy = FamilyScores(MemoryCounter(table)), FamilyScores(MemoryCounter(table))
    asked.ask(families(5))
    for family in families(5):
        assert asked.penalised(*family) == lazy.penalised(*family)


@pytest.mark.parametrize("score", ["pairwise", "joint", "penalised"])
def test_sets_as_bit_masks_score_the_same(score, table):
    scores = FamilyScores(MemoryCounter(table))
    for child in range(5):
        sets = [parents for c, parents in families(5) if c == child]
        masks = np.array([sum(1 << p for p in parents) for parents in sets])
        plain = [
            getattr(FamilyScores(MemoryCounter(table)), score)(child, parents) for parents in sets
        ]
        assert scores.masked(score, child, masks, most=3) == pytest.approx(plain, abs=1e-11)


def test_no_parents_score_zero_and_the_penalty_can_be_turned_off(table):
    free = FamilyScores(MemoryCounter(table), penalty=0.0)
    for child, parents in families(5):
        assert free.penalised(child, parents) == free.joint(child, parents)
        assert FamilyScores(MemoryCounter(table)).penalised(child, ()) == 0.0


def test_joint_information_never_falls_with_another_parent(table):
    scores = FamilyScores(MemoryCounter(table))
    for child, parents in families(5):
        for fewer in combinations(parents, max(len(parents) - 1, 0)):
            assert scores.joint(child, parents) >= scores.joint(child, fewer) - 1e-12


def test_a_penalty_tells_noise_from_a_link(coded):
    rng = np.random.default_rng(1)
    a, noise = rng.integers(0, 4, 2000), rng.integers(0, 20, 2000)
    b = np.where(rng.random(2000) < 0.5, a, rng.integers(0, 4, 2000))
    scores = FamilyScores(
        MemoryCounter(coded([a, b, noise], [4, 4, 20])), penalty=1.0
    )  # twice what chance gives
    assert scores.joint(1, (0, 2)) > scores.joint(1, (0,))  # more parents always seem to tell more
    assert scores.penalised(1, (0,)) > scores.penalised(1, (0, 2))
    assert scores.penalised(1, (0,)) > 0
