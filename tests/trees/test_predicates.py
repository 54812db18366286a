"""Predicates say the same in words' logic, pandas, polars and SQL as the tree does."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from chaffinch.trees import read_model
from chaffinch.trees.attack import Condition, Label, Predicate, predicate_of

NAMES = ["age", 'odd "name"', "it's", "d"]


@pytest.fixture
def one_thread():
    with threadpool_limits(
        1
    ):  # OpenMP threads that wait for one another cost more than they bring here
        yield


def data(seed, n=120, missing=0.3):
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
    x, y = data(0 if nan else 1)
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
    x, y = data(2)
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
    said = [predicate_of(plain, 0, node, None).words() for node in plain.trees[0].leaves]
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
    assert predicate.words() == "age > 20.5 and age <= 41.5 AND (d <= 3 or d is missing)"
    assert predicate.to_dict()["conditions"] == [
        ["age", ">", 20.5],
        ["age", "<=", 41.5],
        ["d", "<=", 3.0],
    ]
    assert Predicate(0, 0, (), None).words() == "any record"


def test_the_root_is_true_of_all():
    x, y = data(3)
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
