"""A tree by hand: probabilities with back-off, draws, bounds, and what a damaged one says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import chaffinch
from chaffinch import BayesNet
from chaffinch.errors import InputError
from chaffinch.synth.bayesnet.trees import TreeTable


def small(smoothing: float = 2.0) -> TreeTable:
    """Of parent p (3 codes) the first goes left; on the right, q (2 codes) splits again. Counts of the child's codes 0 and 1: 6 and 4 left, 9 and 1, 2 and 8 right."""
    return TreeTable(
        "x",
        2,
        ("p", "q"),
        (3, 2),
        smoothing,
        splits=np.array([0, -1, 1, -1, -1], dtype=np.int32),
        below=np.array([1, -1, 3, -1, -1], dtype=np.int32),
        first_sides=np.array([0, -1, 3, -1, -1], dtype=np.int64),
        sides=np.array([0, 1, 1, 0, 1], dtype=np.uint8),
        starts=np.array([0, 2, 4, 6, 8, 10], dtype=np.int64),
        codes=np.array([0, 1] * 5, dtype=np.uint32),
        weights=np.array([17.0, 13, 6, 4, 11, 9, 9, 1, 2, 8]),
    )


def test_probabilities_by_hand():
    table = small()
    table.check()
    root = 17 / 30
    right = (11 + 2 * root) / 22
    left, first, second = (6 + 2 * root) / 12, (9 + 2 * right) / 12, (2 + 2 * right) / 12
    p, q = np.array([0, 0, 1, 2, 1, 2]), np.array([0, 1, 0, 0, 1, 1])
    expected = np.array([left, left, first, first, second, second])
    assert table.probabilities(np.zeros(6, dtype=int), [p, q]) == pytest.approx(expected)
    assert table.probabilities(np.ones(6, dtype=int), [p, q]) == pytest.approx(1 - expected)
    assert table.largest(0) == pytest.approx(first)
    assert small(0.0).probabilities(np.array([0]), [np.array([2]), np.array([1])]) == pytest.approx(
        [0.2]
    )
    assert (table.n_leaves, table.total_weight, table.depths.tolist()) == (3, 30.0, [0, 1, 1, 2, 2])


@pytest.mark.parametrize("systematic", [False, True])
def test_draws_follow_probabilities(systematic):
    """A wrong share of a twentieth would be seen; a right one fails once in a million."""
    table, rng = small(), np.random.default_rng(3)
    for p, q in ((0, 0), (1, 0), (2, 1)):
        parents = [np.full(40_000, p, dtype=np.uint32), np.full(40_000, q, dtype=np.uint32)]
        sampler = table.sampler()
        drawn = (
            sampler.draw_systematic(parents, [], 40_000, rng)
            if systematic
            else sampler.draw(parents, rng.random(40_000))
        )
        chance = table.probabilities(np.array([0]), [parents[0][:1], parents[1][:1]])[0]
        assert (
            chisquare(
                np.bincount(drawn, minlength=2), 40_000 * np.array([chance, 1 - chance])
            ).pvalue
            > 1e-6
        )


@pytest.mark.parametrize(
    "damage",
    [
        {"splits": np.array([2, -1, 1, -1, -1], dtype=np.int32)},
        {"below": np.array([0, -1, 3, -1, -1], dtype=np.int32)},
        {"below": np.array([3, -1, 3, -1, -1], dtype=np.int32)},
        {"below": np.array([1, -1, 4, -1, -1], dtype=np.int32)},
        {"first_sides": np.array([0, -1, 4, -1, -1], dtype=np.int64)},
        {"sides": np.array([0, 1, 2, 0, 1], dtype=np.uint8)},
        {"starts": np.array([0, 2, 4, 6, 8, 9], dtype=np.int64)},
        {"starts": np.array([0, 2, 2, 6, 8, 10], dtype=np.int64)},
        {"codes": np.array([0, 1] * 4 + [0, 2], dtype=np.uint32)},
        {"codes": np.array([1, 0] + [0, 1] * 4, dtype=np.uint32)},
        {"weights": np.array([17.0, 13, 6, 4, 11, 9, 9, 1, 2, np.nan])},
        {"weights": np.array([17.0, 13, 6, 4, 11, 9, 9, 1, 2, 0])},
        {"smoothing": -1.0},
    ],
)
def test_damaged_trees_are_refused(damage):
    with pytest.raises(InputError, match="The tree of 'x' does not fit together"):
        replace(small(), **damage).check()


def test_a_file_gives_the_same_model(tmp_path):
    rng = np.random.default_rng(1)
    age = rng.integers(20, 70, 900)
    table = pa.table(
        {
            "age": age,
            "ill": np.where(rng.random(900) < age / 100, "yes", "no"),
            "sex": rng.choice(["f", "m"], 900),
        }
    )
    model = BayesNet(conditionals="trees").fit(table, seed=1)
    assert any(isinstance(one, TreeTable) and one.n_leaves > 1 for one in model.tables)
    model.save(tmp_path / "m")
    back = chaffinch.load(tmp_path / "m")
    assert back.sample(200, seed=4).data.equals(
        chaffinch.load(tmp_path / "m").sample(200, seed=4).data
    )
    assert back.sample(200, seed=4).data.to_pylist() == model.sample(200, seed=4).data.to_pylist()
    assert back.log_likelihood(table) == pytest.approx(model.log_likelihood(table))


def test_given_values_are_drawn_exactly():
    """Against rows of the model that have the value by themselves: 20,000 of each, a difference of 3 points in a share would be seen."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, 3_000)
    b = (a + (rng.random(3_000) < 0.3) * rng.integers(0, 4, 3_000)) % 4
    table = pa.table(
        {"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b], "c": [f"c{k}" for k in (a * b) % 3]}
    )
    model = BayesNet(conditionals="trees").fit(table, seed=1)
    given = model.sample(
        20_000,
        seed=3,
        given={model.network.order[-1]: table.column(model.network.order[-1])[0].as_py()},
    ).data.to_pandas()
    free = model.sample(120_000, seed=4).data.to_pandas()
    last = model.network.order[-1]
    free = free[free[last] == given[last].iloc[0]]
    for name in model.network.order[:-1]:
        shares = [one[name].value_counts(normalize=True) for one in (given, free)]
        assert abs(shares[0] - shares[1]).max() < 0.03


def test_running_sums_that_are_not_kept_draw_the_same(data, monkeypatch):
    table = chaffinch.read(data / "cmc.csv")
    model = chaffinch.BayesNet().fit(table, seed=1)
    want = model.sample(500, seed=2)
    monkeypatch.setattr("chaffinch.synth.bayesnet.model.MOST_KEPT", 10)
    again = chaffinch.BayesNet().fit(table, seed=1)
    assert again.sample(500, seed=2).data.equals(want.data)
    assert not any(sampler.kept for sampler in again._samplers)
    assert all(sampler.kept for sampler in model._samplers)
