"""Groups of features: where they stand, and what kind they are."""

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.risk.membership.layout import FeatureLayout, learner_for, sees_something


def test_columns_of_groups_are_in_the_order_of_the_layout():
    layout = FeatureLayout({"table": 3, "exact": 0, "nearest": 2})
    assert layout.columns(["nearest"]).tolist() == [3, 4]
    assert layout.columns(["nearest", "table"]).tolist() == [0, 1, 2, 3, 4]
    assert layout.columns(["exact", "density"]).tolist() == []
    assert layout.width == 5


def test_counts_are_counts_only_alone():
    layout = FeatureLayout({"table": 3, "nearest": 2})
    assert layout.kind_of(["table", "density"]) == "counts"
    assert layout.kind_of(["table", "nearest"]) == "real"
    assert FeatureLayout({"table": 3}, "real").kind_of(["table"]) == "real"


def test_groups_side_by_side_are_a_slice():
    layout = FeatureLayout({"table": 3, "exact": 1, "nearest": 2})
    assert layout.selector(["table", "exact"]) == slice(0, 4)
    assert layout.selector(["nearest"]) == slice(4, 6)
    assert layout.selector(["nearest", "table"]).tolist() == [0, 1, 2, 4, 5]
    assert layout.selector(["density"]).tolist() == []


LAYOUT = FeatureLayout({"table": 4, "exact": 2, "nearest": 1})


def features(seed=1):
    rng = np.random.default_rng(seed)
    member = np.arange(80) % 2 == 0
    x = np.concatenate([rng.poisson(3.0, (80, 2, 4)), rng.normal(size=(80, 2, 3))], axis=2)
    x[..., 5] += 3 * member[:, None]
    return x.astype(np.float32), member


def test_others_features_are_not_looked_at():
    x, member = features()
    attacker = learner_for("exact", LAYOUT).fit(x, member, seed=1)
    assert attacker.auc > 0.9
    blind = x.copy()
    blind[..., [0, 1, 2, 3, 6]] = 0
    np.testing.assert_array_equal(attacker.log_odds(x), attacker.log_odds(blind))
    assert learner_for("nearest", LAYOUT).fit(x, member, seed=1).auc < 0.7
    with pytest.raises(InputError, match="7 numbers each"):
        attacker.log_odds(x[..., :6])


def test_an_attacker_without_features_says_so():
    assert not sees_something("density", LAYOUT)
    with pytest.raises(InputError, match="'density' looks at density: nothing of it is there"):
        learner_for("density", LAYOUT)
