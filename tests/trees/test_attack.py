"""Every reported predicate isolates; none is missed; tries are counted as in the paper."""

import json

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.trees import prune, read_model
from chaffinch.trees.attack import attack_trees, open_to_value, safe_values


def data(seed, n=250, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    y = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    x[rng.random(x.shape) < missing] = np.nan
    return x, y


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_leaf_nodes": 40},
        {"min_samples_leaf": 5},
        {"class_weight": "balanced"},
        {"splitter": "random"},
    ],
)
@pytest.mark.parametrize("at_least", [2, 4])
def test_every_predicate_isolates_and_none_is_missed(settings, at_least):
    for seed in range(6):
        x, y = data(seed, missing=0.2 * (seed % 2))
        model = DecisionTreeClassifier(random_state=seed, **settings).fit(x, y)
        audit = trees.audit(read_model(model), at_least=at_least)
        hits = [int(p.holds(x.T, [y]).sum()) for p in audit.predicates]
        assert all(0 < n < at_least for n in hits)
        path = model.decision_path(x).toarray()
        counts = np.stack([path[y == k].sum(axis=0) for k in range(3)], axis=1)
        assert len(hits) == ((counts > 0) & (counts < at_least)).sum()
        # A record is exposed if one of the predicates is true of it: with data and without, for one tree.
        mine = np.zeros(len(y), dtype=bool)
        for p in audit.predicates:
            mine |= p.holds(x.T, [y])
        assert audit.n_exposed == mine.sum()
        with_data = trees.audit(read_model(model), at_least=at_least, columns=x.T, labels=[y])
        assert with_data.n_exposed == mine.sum()
        assert with_data.share == mine.mean()
        assert with_data.checked == (len(hits), len(hits))


def test_several_outputs_and_a_tree_of_one_node():
    x, y = data(1)
    both = np.column_stack([y, (x[:, 0] > 1.2).astype(int)])
    audit = trees.audit(
        read_model(DecisionTreeClassifier(random_state=0).fit(x, both)), label=["a", "b"]
    )
    assert {p.label.column for p in audit.predicates} == {"a", "b"}
    assert all(p.holds(x.T, list(both.T)).sum() == 1 for p in audit.predicates)
    alone = DecisionTreeClassifier().fit(np.zeros((5, 1)), [0, 0, 0, 0, 1])
    result = trees.audit(read_model(alone))
    assert [p.words() for p in result.predicates] == ["label = 1"]


def test_tries_as_counted_by_hand():
    # Leaves: x <= 0.5 (depth 1: three of class 0), then 0.5 < x <= 1.5 (depth 2: two of class 1), x > 1.5 (one of class 0).
    x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [2.0]])
    y = np.array([0, 0, 0, 1, 1, 0])
    plain = read_model(DecisionTreeClassifier(random_state=0).fit(x, y))
    tree = plain.trees[0]
    assert sorted(tree.depth[tree.leaves].tolist()) == [1, 2, 2]
    tried = trees.audit(plain, columns=x.T, labels=[y]).tries[0]
    # Tried: (second leaf, 0), (second leaf, 1), (third leaf, 0): the third isolates.
    assert tried.tries == 3
    assert tried.score == pytest.approx(1 / 3)
    assert tried.predicate.holds(x.T, [y]).tolist() == [False] * 5 + [True]
    assert trees.audit(plain, columns=x.T, labels=[y], at_least=3).tries[0].tries == 2
    assert attack_trees(plain, columns=x.T, labels=[y], most_tries=2).tries[0].tries is None


def test_tries_find_what_counts_find():
    for seed in range(10):
        x, y = data(seed)
        model = DecisionTreeClassifier(random_state=seed, min_samples_leaf=1 + 6 * (seed % 3)).fit(
            x, y
        )
        audit = trees.audit(read_model(model), columns=x.T, labels=[y])
        assert bool(audit.predicates) == (audit.tries[0].tries is not None)


def test_regression_leaves_of_one_isolate_by_their_path():
    for seed in range(5):
        x, _ = data(seed)
        y = np.random.default_rng(seed).normal(size=len(x))
        audit = trees.audit(
            read_model(DecisionTreeRegressor(random_state=0).fit(x, y)), columns=x.T, labels=[y]
        )
        assert audit.predicates
        assert all(p.label is None and p.holds(x.T, [y]).sum() == 1 for p in audit.predicates)


@pytest.mark.parametrize("at_least", [2, 3, 5])
def test_a_mean_must_isolate_in_leaves_of_fewer_than_twice_as_many(at_least):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(300, 3))
        y = rng.choice([0.0, 1.0, 5.0], size=300) if seed % 2 else rng.normal(size=300)
        tree = read_model(DecisionTreeRegressor(min_samples_leaf=at_least).fit(x, y)).trees[0]
        safe = safe_values(tree, x.T, [y], at_least)
        small = [n for n in tree.leaves if tree.samples[n] < 2 * at_least and tree.varies[n]]
        assert small
        assert open_to_value(tree, at_least) == len(small)
        assert not safe[small].any()


def test_an_outlier_is_alone_above_the_mean_of_a_leaf_of_any_size():
    x = np.zeros((1000, 1))
    y = np.zeros(1000)
    y[7] = 10.0
    plain = read_model(DecisionTreeRegressor().fit(x, y))
    assert not trees.audit(plain).exposed  # sizes cannot tell
    audit = trees.audit(plain, columns=x.T, labels=[y])
    assert audit.value_leaves == 1
    assert audit.exposed
    assert audit.tries[0].tries == 1


def test_bootstraps_expose_records_and_may_be_wrong_about_those_outside():
    x, y = data(2)
    model = RandomForestClassifier(10, random_state=0).fit(x, y)
    audit = trees.audit(read_model(model), columns=x.T, labels=[y])
    claimed, right = audit.checked
    assert 0 < right <= claimed
    drawn = model.estimators_samples_
    for p in audit.predicates:
        assert p.holds(x[drawn[p.tree]].T, [y[drawn[p.tree]]]).sum() == 1


def test_boosted_trees_isolate_by_paths():
    x, y = data(3)
    audit = trees.audit(
        read_model(GradientBoostingClassifier(n_estimators=4).fit(x, y)), columns=x.T, labels=[y]
    )
    assert all(0 < p.holds(x.T, [y]).sum() < 2 for p in audit.predicates)
    assert audit.value_leaves is None
    for tried in audit.tries:
        assert tried.tries is None or tried.predicate.holds(x.T, [y]).sum() == 1


def test_both_ends():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, size=(4000, 2)).astype(
        float
    )  # four cells of about a thousand: nobody is alone
    y = rng.integers(0, 2, size=4000)
    audit = trees.audit(
        read_model(DecisionTreeClassifier().fit(x, y)), columns=x.T, labels=[y], at_least=10
    )
    assert not audit.exposed
    assert audit.share == 0
    unique = np.arange(100.0)[:, None]
    audit = trees.audit(read_model(DecisionTreeClassifier().fit(unique, np.arange(100) % 2)))
    assert audit.share == 1


def test_nothing_confidential_leaves():
    x = np.array([[123.25], [7.5], [7.5], [991.125]])
    audit = trees.audit(read_model(DecisionTreeClassifier().fit(x, ["secret", "b", "b", "b"])))
    told = json.dumps(audit.to_dict())
    assert "secret" not in told
    assert not any(str(cut) in told for cut in audit.model.trees[0].threshold if np.isfinite(cut))
    assert audit.to_dict()["exposed_records"] == "<10"
    assert audit.confidential()["confidential"] is True
    assert json.loads(json.dumps(audit.confidential()))["predicates"][0]["sql"]


def test_without_counts_there_is_still_the_attack_by_trying():
    x, y = data(4)
    weighted = DecisionTreeClassifier(random_state=0).fit(
        x, y, sample_weight=np.random.default_rng(0).random(len(y))
    )
    audit = trees.audit(read_model(weighted))
    assert audit.predicates is None
    assert "weights" in audit.reason
    assert not audit.exposed
    assert trees.audit(read_model(weighted), columns=x.T, labels=[y]).exposed
    hidden = read_model(prune(DecisionTreeClassifier().fit(x, y)).model)
    assert "taken out" in trees.audit(hidden).reason


def test_data_that_do_not_fit_are_refused():
    x, y = data(5)
    plain = read_model(DecisionTreeClassifier().fit(x, y))
    with pytest.raises(InputError, match="4 columns, but the data have 3"):
        trees.audit(plain, columns=x.T[:3], labels=[y])
    with pytest.raises(InputError, match="one length"):
        trees.audit(plain, columns=x.T, labels=[y[:-1]])
    with pytest.raises(InputError, match="No label of the data is a class"):
        trees.audit(plain, columns=x.T, labels=[y.astype(str)])
    with pytest.raises(InputError, match="give both"):
        trees.audit(plain, columns=x.T)
    with pytest.raises(InputError, match="no records"):
        trees.audit(plain, columns=x.T[:, :0], labels=[y[:0]])
    with pytest.raises(InputError, match="2 or more"):
        trees.audit(plain, at_least=1)
    numbers = read_model(DecisionTreeRegressor().fit(x, y))
    with pytest.raises(InputError, match="does not hold numbers"):
        trees.audit(numbers, columns=x.T, labels=[y.astype(str)])
