"""Every reported predicate isolates; none is missed; tries are counted as in the paper."""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.trees import prune, read_model
from chaffinch.trees.attack import (
    Condition,
    Label,
    Predicate,
    attack_trees,
    intersections,
    midpoints,
    open_to_value,
    predicate_of,
    safe_values,
)

from .conftest import two_classes


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
    assert [p.text() for p in result.predicates] == ["label = 1"]


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
    assert attack_trees(plain, columns=x.T, labels=[y], max_tries=2).tries[0].tries is None


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
    numbers = read_model(DecisionTreeRegressor().fit(x, y))
    with pytest.raises(InputError, match="does not hold numbers"):
        trees.audit(numbers, columns=x.T, labels=[y.astype(str)])


@pytest.mark.parametrize("at_least", [2, 4])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_as_brute_force_finds_them(kind, at_least):
    x, y = two_classes(0, 120)
    model = kind(4, random_state=0, max_depth=3).fit(x, y)
    result = intersections(read_model(model), x.T, [y], at_least=at_least)
    leaves = model.apply(x)
    classes = [y == 0, y == 1] if kind is RandomForestClassifier else [np.ones(len(y), dtype=bool)]
    exposed, cells, pairs = np.zeros(len(y), dtype=bool), 0, 0
    for i in range(4):
        for j in range(i + 1, 4):
            before = cells
            for a in np.unique(leaves[:, i]):
                for b in np.unique(leaves[:, j]):
                    for of_class in classes:
                        one, two = (leaves[:, i] == a) & of_class, (leaves[:, j] == b) & of_class
                        both = one & two
                        if 0 < both.sum() < at_least <= min(one.sum(), two.sum()):
                            cells += 1
                            exposed |= both
            pairs += cells > before
    assert (result.cells, result.n_exposed, result.isolating_pairs) == (cells, exposed.sum(), pairs)
    assert (result.tried, result.pairs) == (6, 6)
    assert cells > 0


def test_examples_isolate_together_and_not_alone():
    x, y = two_classes(1, 120)
    model = RandomForestClassifier(6, random_state=0, max_depth=3).fit(x, y)
    done = prune(model, columns=x.T, labels=[y])
    result = intersections(read_model(done.model), x.T, [y], most_examples=5)
    assert (
        len(result.examples) == 5
    )  # pruning tree by tree does not help against pairs, and the docs say so
    for one, two in result.examples:
        a, b = one.holds(x.T, [y]), two.holds(x.T, [y])
        assert (a & b).sum() == 1
        assert min(a.sum(), b.sum()) >= 2


def test_bounds_are_kept_and_told():
    x, y = two_classes(2, 120)
    plain = read_model(RandomForestClassifier(12, random_state=0, max_depth=3).fit(x, y))
    result = intersections(plain, x.T, [y], most_pairs=10)
    assert (result.tried, result.pairs) == (10, 66)
    assert result.summary.pairs_tried == 10
    assert result.n_exposed == intersections(plain, x.T, [y], most_pairs=10).n_exposed
    with pytest.raises(InputError, match="most_pairs"):
        intersections(plain, x.T, [y], most_pairs=0)


def test_one_tree_has_no_pairs_and_equal_trees_isolate_nobody():
    x, y = two_classes(3, 120)
    model = RandomForestClassifier(1, random_state=0).fit(x, y)
    assert intersections(read_model(model), x.T, [y]).pairs == 0
    twins = RandomForestClassifier(2, bootstrap=False, max_features=None, max_depth=2).fit(x, y)
    twins.estimators_[1] = twins.estimators_[0]
    assert intersections(read_model(twins), x.T, [y]).n_exposed == 0
    boosted = read_model(GradientBoostingRegressor(n_estimators=3).fit(x, y))
    assert intersections(boosted, x.T, [y]).tried == 3


def test_by_hand():
    # One split, between 2 and 5: midway at 3.5; 5 is the value of a single record.
    x = np.array([[1.0], [2.0], [2.0], [5.0], [7.0], [7.0]])
    plain = read_model(DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 1, 1]))
    result = midpoints(plain, x.T)
    assert (result.splits, result.midway, result.neighbours, result.lone) == (1, 1, 1, 1)
    # A record that the tree never saw stands between: midway no longer of two neighbours.
    result = midpoints(plain, np.array([[1.0, 2.0, 2.0, 3.0, 5.0, 7.0, 7.0]]))
    assert (result.splits, result.midway) == (1, 0)
    # Both values doubled: nobody is alone at the cut.
    assert midpoints(plain, np.array([[2.0, 2.0, 5.0, 5.0]])).lone == 0


def test_neighbours_in_the_node_need_not_be_neighbours_in_the_column():
    # Split on the first column, then on the second, where the left node has 0 and 4 only, and the column also has 2.
    x = np.array(
        [
            [0.0, 0.0],
            [0.0, 4.0],
            [0.0, 4.0],
            [0.0, 0.0],
            [9.0, 2.0],
            [9.0, 2.0],
            [9.0, 2.0],
            [9.0, 2.0],
            [9.0, 2.0],
        ]
    )
    y = [0, 1, 1, 0, 2, 2, 2, 2, 2]
    result = midpoints(read_model(DecisionTreeClassifier(random_state=1).fit(x, y)), x.T)
    assert result.midway == result.splits == 2
    assert result.neighbours < 2


def test_best_splits_are_midpoints_and_random_ones_are_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    x[rng.random(x.shape) < 0.1] = np.nan
    y = rng.integers(0, 2, 300)
    best = midpoints(read_model(DecisionTreeClassifier(random_state=0).fit(x, y)), x.T)
    assert best.midway == best.splits > 0
    assert 0 < best.share <= 1
    assert best.summary.midway_share == 1.0
    drawn = midpoints(read_model(ExtraTreesClassifier(3, random_state=0).fit(x, y)), x.T)
    assert drawn.midway == 0


def test_a_tree_without_splits_and_data_that_do_not_fit():
    x = np.zeros((5, 2))
    plain = read_model(DecisionTreeClassifier().fit(x, [0, 1, 0, 1, 0]))
    assert midpoints(plain, x.T).share == 0
    with pytest.raises(InputError, match="2 columns, but the data have 1"):
        midpoints(plain, x.T[:1])
    with pytest.raises(InputError, match="have records"):
        midpoints(plain, x.T[:, :0])


NAMES = ["age", 'odd "name"', "it's", "d"]


@pytest.fixture
def one_thread():
    with threadpool_limits(
        1
    ):  # OpenMP threads that wait for one another cost more than they bring here
        yield


def nearly_equal_values(seed, n=120, missing=0.3):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, 4)), 1) + rng.choice([0.0, 1e-9, 6e-8], size=(n, 4))
    y = (np.nan_to_num(x[:, 0]) + rng.normal(size=n) > 0).astype(int)
    x[rng.random(x.shape) < missing] = np.nan
    return x, y


class Everywhere:
    """Records in pandas, polars and DuckDB; missing values as NaN or as null."""

    def __init__(self, x, y, *, nan):
        self.n = len(y)
        self.frame = pd.DataFrame(x, columns=NAMES).assign(label=y)
        self.table = pl.DataFrame(
            {**{name: x[:, i] for i, name in enumerate(NAMES)}, "label": y}, nan_to_null=not nan
        )
        self.table = self.table.with_row_index("row")
        if not nan:
            self.frame = self.frame.astype(dict.fromkeys(NAMES, "Float64"))
        self.con = duckdb.connect(config={"threads": 1})
        self.con.register("t", self.table.to_arrow())

    def masks(self, predicate):
        """Whom each of the three finds."""
        by_pandas = self.frame[eval(predicate.pandas(), {"df": self.frame})].index
        by_polars = self.table.filter(eval(predicate.polars(), {"pl": pl}))["row"]
        by_sql = [
            r[0] for r in self.con.execute(f"SELECT row FROM t WHERE {predicate.sql()}").fetchall()
        ]
        return [np.isin(np.arange(self.n), rows) for rows in (by_pandas, by_polars, by_sql)]


@pytest.mark.parametrize("nan", [True, False])
@pytest.mark.parametrize("labels", ["int", "bool", "text"])
def test_code_of_every_node_runs_alike(nan, labels):
    x, y = nearly_equal_values(0 if nan else 1)
    y = {"int": y, "bool": y.astype(bool), "text": np.array(["no", "it's"])[y]}[labels]
    model = DecisionTreeClassifier(random_state=0, max_depth=3).fit(x, y)
    plain = read_model(model, features=NAMES)
    path = model.decision_path(x).toarray().astype(bool)
    tables = Everywhere(x, y, nan=nan)
    for node in range(plain.trees[0].n_nodes):
        for k in plain.classes[0]:
            predicate = predicate_of(plain, 0, node, Label("label", 0, "=", k))
            want = path[:, node] & (y == k)
            np.testing.assert_array_equal(predicate.holds(x.T, [y]), want)
            for mask in tables.masks(predicate):
                np.testing.assert_array_equal(mask, want)


@pytest.mark.usefixtures("one_thread")
def test_code_for_doubles_and_for_numbers_as_labels():
    x, y = nearly_equal_values(2)
    model = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5).fit(x, y)
    plain = read_model(model, features=NAMES)
    rows = plain.trees[0].rows(x.T)
    tables = Everywhere(x, y, nan=True)
    for node in range(plain.trees[0].n_nodes):
        want = np.isin(np.arange(len(y)), rows[node])
        for mask in tables.masks(predicate_of(plain, 0, node, None)):
            np.testing.assert_array_equal(mask, want)
    target = np.random.default_rng(0).normal(size=len(y)) * 1234.5678901
    regression = DecisionTreeRegressor(max_depth=3).fit(x, target)
    plain = read_model(regression, features=NAMES)
    tables = Everywhere(x, target, nan=False)
    for leaf in plain.trees[0].leaves:
        for sign in (">", "<="):
            value = float(plain.trees[0].value[leaf, 0, 0])
            predicate = predicate_of(plain, 0, int(leaf), Label("label", 0, sign, value))
            at = regression.apply(x) == leaf
            want = at & (target > value if sign == ">" else target <= value)
            for mask in tables.masks(predicate):
                np.testing.assert_array_equal(mask, want)


def test_a_split_of_missing_values_from_all_others():
    x = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    y = np.array([0, 0, 0, 1, 1])
    model = DecisionTreeClassifier().fit(x, y)
    assert np.isinf(model.tree_.threshold[0])
    plain = read_model(model, features=["x"])
    said = [predicate_of(plain, 0, node, None).text() for node in plain.trees[0].leaves]
    assert sorted(said) == ["x is missing", "x is present"]
    for node in plain.trees[0].leaves:
        predicate = predicate_of(plain, 0, int(node), None)
        np.testing.assert_array_equal(predicate.holds(x.T, [y]), model.apply(x) == node)
        told = predicate.to_dict()
        assert told["conditions"] == []
        assert told["only_missing"] + told["only_present"] == ["x"]


def test_one_range_for_each_column_and_constants_only_finite():
    predicate = Predicate(
        0, 3, (Condition("age", 0, 20.5, 41.5, False), Condition("d", 1, -np.inf, 3.0, True)), None
    )
    assert predicate.text() == "age > 20.5 and age <= 41.5 AND (d <= 3 or d is missing)"
    assert predicate.to_dict()["conditions"] == [
        ["age", ">", 20.5],
        ["age", "<=", 41.5],
        ["d", "<=", 3.0],
    ]
    assert Predicate(0, 0, (), None).text() == "any record"


def test_the_root_is_true_of_all():
    x, y = nearly_equal_values(3)
    for mask in Everywhere(x, y, nan=True).masks(Predicate(0, 0, (), None)):
        assert mask.all()


def test_thresholds_keep_their_last_digit_in_a_database():
    cut = (
        float(np.float32(0.1)) - 1e-17
    )  # the double just below the float: the float itself lies above
    predicate = Predicate(0, 1, (Condition("d", 3, -np.inf, np.nextafter(cut, 0), False),), None)
    x = np.full((1, 4), 0.1)
    assert [m.tolist() for m in Everywhere(x, np.array([0]), nan=True).masks(predicate)] == [
        [False]
    ] * 3
