"""Learners by name: against scikit-learn called by hand, one class, convergence, threads."""

import datetime as dt
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import chaffinch
from chaffinch._base.seeds import child
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.stats.learners import (
    CLASSIFIERS,
    REGRESSORS,
    Encoder,
    accuracy,
    auc,
    chosen_models,
    confusion,
    fit,
    is_random,
    is_svm,
    precision_recall_f2,
    r2_rmse,
    split,
    standardise,
    subsample,
    work,
)
from chaffinch.table.align import align
from chaffinch.table.compare.values import numbers_of

RNG = np.random.default_rng(8)
X = RNG.normal(size=(150, 4)).round(1)  # rounded: ties between neighbours
Y = (X[:, 0] + RNG.normal(size=150) > 0).astype(int) * 3 + 2  # classes 2 and 5
Y3 = np.where(X[:, 1] > 0.8, 9, Y)
TEST = RNG.normal(size=(80, 4)).round(1)

BY_HAND = {
    "nb": GaussianNB,
    "svc": lambda: SVC(C=1, gamma="scale", kernel="rbf"),
    "knn": KNeighborsClassifier,
    "rf": lambda: RandomForestClassifier(random_state=11),
    "lr": LogisticRegression,
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("labels", [Y, Y3], ids=["two classes", "three classes"])
@pytest.mark.parametrize("chances", [False, True])
def test_classifiers_predict_what_scikit_learn_does(
    name: str, labels: np.ndarray, chances: bool
) -> None:
    model = chosen_models([name], task="classification")[0][name]
    done = fit(model, X, labels, [TEST, X], seed=11, chances=chances)
    hand = BY_HAND[name]().fit(X, labels)
    for answer, asked in zip(done.answers, (TEST, X), strict=True):
        assert np.array_equal(answer.predicted, hand.predict(asked))
    assert done.converged
    if chances and name != "svc":
        np.testing.assert_allclose(done.answers[0].chances, hand.predict_proba(TEST))
    if chances and name == "svc" and len(done.classes) == 2:
        np.testing.assert_allclose(done.chance(0, 5), hand.decision_function(TEST))
    if not chances:
        assert done.answers[0].chances is None


def test_regressors_predict_what_scikit_learn_does() -> None:
    numbers = X[:, 0] * 50_000 + RNG.normal(size=150)
    models, left_out = chosen_models(None, task="regression")
    assert tuple(models) == REGRESSORS
    assert not left_out
    middle, spread = numbers.mean(), numbers.std()
    wanted = {
        "lr": LinearRegression().fit(X, numbers).predict(TEST),
        "knn": KNeighborsRegressor().fit(X, numbers).predict(TEST),
        "rf": RandomForestRegressor(random_state=4).fit(X, numbers).predict(TEST),
        "svr": SVR().fit(X, (numbers - middle) / spread).predict(TEST) * spread + middle,
    }
    for name, model in models.items():
        found = fit(model, X, numbers, [TEST], task="regression", seed=4).answers[0].predicted
        np.testing.assert_allclose(found, wanted[name], err_msg=name)


def test_many_records_in_many_dimensions_have_the_same_neighbours() -> None:
    rng = np.random.default_rng(2)
    train, asked = rng.normal(size=(5500, 7)), rng.normal(size=(300, 7))
    labels = (train[:, 0] > 0).astype(int) + (train[:, 1] > 0)
    model = chosen_models(["knn"], task="classification")[0]["knn"]
    done = fit(model, train, labels, [asked], chances=True)
    hand = KNeighborsClassifier(algorithm="kd_tree").fit(train, labels)
    assert np.array_equal(done.answers[0].predicted, hand.predict(asked))
    np.testing.assert_allclose(done.answers[0].chances, hand.predict_proba(asked))


def test_one_class_is_always_answered_whatever_the_model() -> None:
    for model in chosen_models(None, task="classification")[0].values():
        done = fit(model, X, np.full(150, 7), [TEST], chances=True)
        assert (done.answers[0].predicted == 7).all()
        assert not done.chance(0, 7).any()
        assert not done.chance(0, 1).any()


def test_models_that_cannot_do_the_task_are_left_out_with_the_reason() -> None:
    assert list(chosen_models(["nb", "svc", "rf"], task="regression")[1]) == ["nb", "svc"]
    assert chosen_models(["svr"], task="classification") == (
        {},
        {"svr": "it predicts numbers, not classes; svc predicts classes"},
    )


def test_users_bring_their_own_estimators_and_keep_their_random_states() -> None:
    mine = {"forest": RandomForestClassifier(5, random_state=1), "dull": DummyClassifier()}
    models, left_out = chosen_models(mine, task="classification")
    assert models == mine
    assert not left_out
    first, second = (
        fit(models["forest"], X, Y, [TEST], seed=seed).answers[0].predicted for seed in (1, 2)
    )
    assert np.array_equal(first, second)
    open_state = RandomForestClassifier(5)
    first, second = (
        fit(open_state, X, Y, [TEST], seed=seed, chances=True).answers[0].chances for seed in (1, 2)
    )
    assert not np.array_equal(first, second)
    assert not hasattr(open_state, "classes_")
    assert open_state.random_state is None
    assert fit(RidgeClassifier(), X, Y, [TEST], chances=True).answers[0].chances.shape == (80, 2)


def test_what_is_random_and_what_is_a_support_vector_machine() -> None:
    models = {
        **chosen_models(None, task="regression")[0],
        **chosen_models(None, task="classification")[0],
    }
    assert {name for name, model in models.items() if is_random(model)} == {"rf"}
    assert {name for name, model in models.items() if is_svm(model)} == {"svc", "svr"}
    assert is_svm(make_pipeline(StandardScaler(), SVC()))
    assert is_random(SGDClassifier())
    assert not is_random(SGDClassifier(random_state=3))


def test_no_convergence_is_said_in_the_fit_and_not_on_the_screen() -> None:
    short = LogisticRegression(max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (done,) = work(lambda model: fit(model, X, Y3, [TEST]), [short], threads=1)
    assert not done.converged
    assert fit(LogisticRegression(), X, Y3, [TEST]).converged


def test_work_keeps_the_order_tells_progress_and_gives_the_same_with_any_threads() -> None:
    models = [
        *chosen_models(("nb", "svc", "knn", "lr"), task="classification")[0].values(),
        RandomForestClassifier(9),
    ] * 2
    heard: list[float] = []

    def predict(model: object) -> list[int]:
        return fit(model, X, Y3, [TEST], seed=3).answers[0].predicted.tolist()

    one = work(predict, models, threads=1)
    four = work(
        predict, models, threads=4, progress=lambda _, share: heard.append(share), span=(0.5, 1.0)
    )
    assert one == four
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert len(heard) == 10
    assert heard[0] > 0.5


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model 'svm'. Did you mean"):
        chosen_models(["svm"], task="classification")
    with pytest.raises(InputError, match="Name at least one model of nb"):
        chosen_models([], task="classification")
    with pytest.raises(InputError, match=r"'mine' must be a scikit-learn estimator. Got int"):
        chosen_models({"mine": 3}, task="classification")
    with pytest.raises(InputError, match="'mine' does not do classification"):
        chosen_models({"mine": LinearRegression()}, task="classification")
    with pytest.raises(InputError, match="'mine' does not do regression"):
        chosen_models({"mine": GaussianNB()}, task="regression")


def test_naive_bayes_is_that_of_the_definition():
    """Record by record, class by class, in Python: shares of codes as fractions, densities from SciPy."""
    from fractions import Fraction
    from math import log

    from scipy.stats import norm

    from chaffinch.stats.learners import MIN_VARIANCE, naive_bayes

    rng = np.random.default_rng(8)
    labels = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, 60) * (rng.random(60) < 0.7)]
    labels[:2] = "e", "e"
    code, number = rng.integers(0, 5, 60), np.round(rng.normal(size=60), 1)
    number[rng.random(60) < 0.2] = np.nan
    number[:2], number[labels == "d"] = (
        np.nan,
        0.3,
    )  # a class without a number, and one that always has the same
    tests = [np.array([0, 1, 4, 7, 2]), np.array([0.3, -1.0, np.nan, 0.3, 5.0])]
    known = number[~np.isnan(number)]
    want = []
    for own_code, own_number in zip(*tests, strict=True):
        scores = {}
        for name in sorted(set(labels)):
            inside = labels == name
            score = log(inside.mean())
            if own_code in code:
                share = Fraction(int((code == own_code).sum()), 60)
                score += log(
                    (int((code[inside] == own_code).sum()) + share) / (int(inside.sum()) + 1)
                )
            if not np.isnan(own_number):
                mine = [v for v in number[inside] if not np.isnan(v)]
                mean = np.mean(mine) if mine else known.mean()
                variance = (sum((v - mean) ** 2 for v in mine) + known.var()) / (len(mine) + 1)
                score += norm.logpdf(
                    own_number, mean, max(variance, MIN_VARIANCE * known.var()) ** 0.5
                )
            scores[name] = score
        want.append(max(scores, key=scores.get))
    assert naive_bayes([code, number], labels, tests).tolist() == want
    assert len(set(want)) > 1


def test_naive_bayes_of_large_classes_answers_as_scikit_learn():
    from sklearn.naive_bayes import CategoricalNB

    from chaffinch.stats.learners import naive_bayes

    rng = np.random.default_rng(9)
    labels = rng.integers(0, 3, 6000)
    numbers = rng.normal(size=(6000, 2)) * (1 + labels[:, None]) + labels[:, None]
    codes = (rng.random((6000, 2)) * (3 + labels[:, None])).astype(np.int64)
    ours = naive_bayes(list(numbers.T), labels, list(numbers.T))
    assert (
        ours == GaussianNB().fit(numbers, labels).predict(numbers)
    ).mean() > 0.995  # the prior record moves borders by thousandths
    ours = naive_bayes(list(codes.T), labels, list(codes.T))
    assert (ours == CategoricalNB().fit(codes, labels).predict(codes)).mean() > 0.995


def test_naive_bayes_without_anything_to_learn_says_the_most_frequent_class():
    from chaffinch.stats.learners import naive_bayes

    labels = np.array([1, 2, 2])
    nothing = [np.full(3, np.nan), np.full(3, 7.0), np.zeros(3, dtype=np.int64)]
    assert naive_bayes(nothing, labels, [feature[:2] for feature in nothing]).tolist() == [2, 2]
    assert naive_bayes(nothing, labels, [feature[:0] for feature in nothing]).tolist() == []


def mixed(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "size": rng.normal(size=n).round(3),
            "colour": rng.choice(["red", "green", "blue"], n),
            "glad": rng.random(n) < 0.5,
            "day": [
                dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, n)
            ],
            "person": [f"p{i}" for i in range(n)],
        }
    )


def test_codes_stand_in_the_order_of_levels_and_numbers_as_they_are() -> None:
    data = mixed()
    table = chaffinch.read(data)
    encoder = Encoder.from_tables([table])
    matrix = encoder.matrix(table)
    assert encoder.owners == ("size", "colour", "glad", "day")  # the identifier is no feature
    assert matrix[:, 0].tolist() == data["size"].to_pylist()
    assert matrix[:, 1].tolist() == [
        ["blue", "green", "red"].index(word) for word in data["colour"].to_pylist()
    ]
    assert matrix[:, 2].tolist() == [float(value) for value in data["glad"].to_pylist()]
    assert matrix[:, 3].tolist() == [
        (day - dt.date(1970, 1, 1)).days for day in data["day"].to_pylist()
    ]
    assert encoder.scaled.all()


def test_onehot_has_an_indicator_for_each_level_and_scales_numbers_alone() -> None:
    table = chaffinch.read(mixed())
    encoder = Encoder.from_tables([table], ["colour", "size", "glad"], encoding="onehot")
    matrix = encoder.matrix(table)
    truth = OneHotEncoder(sparse_output=False).fit_transform(
        np.array(table.data["colour"].to_pylist()).reshape(-1, 1)
    )
    assert encoder.owners == ("colour",) * 3 + ("size",) + ("glad",) * 2
    assert np.array_equal(matrix[:, :3], truth)
    assert encoder.scaled.tolist() == [False, False, False, True, False, False]


def test_levels_that_one_table_lost_keep_their_features() -> None:
    first, second = align(
        chaffinch.read(pa.table({"a": ["x", "y", "z"] * 20, "b": ["p", "q"] * 30})),
        pa.table({"a": ["z", "new"] * 10, "b": ["p", "p"] * 10}),
    )
    encoder = Encoder.from_tables([first, second], encoding="onehot")
    assert encoder.matrix(second)[:2].tolist() == [
        [0, 0, 1, 0, 1, 0],
        [0, 0, 0, 1, 1, 0],
    ]  # x y z (other) | p q
    assert encoder.matrix(first).shape[1] == 6


def test_missing_numbers_are_nan_with_an_indicator_also_where_another_table_lacks_them() -> None:
    full = pa.table({"n": np.arange(60) * 1.5, "c": ["a", None, "b"] * 20})
    holes = pa.table(
        {"n": [None if i % 5 == 0 else i * 1.5 for i in range(60)], "c": ["a", "b", "a"] * 20}
    )
    first, second = align(chaffinch.read(full), holes)
    encoder = Encoder.from_tables([first, second])
    assert encoder.owners == ("n", "n", "c")
    assert not encoder.matrix(first)[:, 1].any()
    there = encoder.matrix(second)
    assert np.isnan(there[::5, 0]).all()
    assert (there[::5, 1] == 1).all()
    assert there[:, 1].sum() == 12
    assert encoder.matrix(first)[:3, 2].tolist() == [0, 2, 1]  # a, missing after all levels, b


def test_declared_missing_codes_are_missing_numbers(tmp_path) -> None:
    schema = tmp_path / "s.toml"
    values = [float(i) for i in range(40)] + [-8.0] * 12 + [99.0] * 12
    path = tmp_path / "t.csv"
    path.write_text("n,c\n" + "\n".join(f"{v},{'ab'[i % 2]}" for i, v in enumerate(values)) + "\n")
    schema.write_text(
        'format = "chaffinch-schema"\nversion = 1\n[columns.n]\nkind = "float"\nmissing = [-8, 99]\n[columns.c]\nkind = "categorical"\n'
    )
    table = chaffinch.read(path, schema=schema)
    numbers = numbers_of(table, "n")
    assert np.isnan(numbers[40:]).all()
    assert numbers[:40].tolist() == values[:40]


@settings(max_examples=25, deadline=None)
@given(
    arrays(np.float64, (12, 3), elements=st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))),
    arrays(np.float64, (5, 3), elements=st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))),
)
def test_scaling_is_that_of_imputer_then_scaler(train: np.ndarray, test: np.ndarray) -> None:
    test[:, np.isnan(train).all(axis=0)] = (
        0  # what no training record has says nothing: ours is 0 there
    )
    pieces = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(train)
    ours = standardise(train, test)
    for found, wanted in zip(ours, (pieces.transform(train), pieces.transform(test)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_features_that_are_not_scaled_stay_and_inputs_are_left_alone() -> None:
    train = np.array([[1.0, 0.0], [3.0, 1.0]])
    before = train.copy()
    (found,) = standardise(train, scaled=np.array([True, False]))
    assert found.tolist() == [[-1, 0], [1, 1]]
    assert np.array_equal(train, before)


def test_rows_of_a_table_keep_values_and_codes_together() -> None:
    table = chaffinch.read(mixed())
    part = table.take(np.array([5, 1, 7]))
    assert part.data["colour"].to_pylist() == [table.data["colour"][i].as_py() for i in (5, 1, 7)]
    assert part.code("colour").tolist() == table.code("colour")[[5, 1, 7]].tolist()


def test_columns_that_are_no_features_are_refused() -> None:
    table = chaffinch.read(mixed())
    with pytest.raises(
        UnknownNameError, match=r"Unknown encoding 'one-hot'. Did you mean 'onehot'"
    ):
        Encoder.from_tables([table], encoding="one-hot")
    with pytest.raises(UnknownNameError, match=r"Unknown column 'coluor'. Did you mean 'colour'"):
        Encoder.from_tables([table], ["coluor"])
    with pytest.raises(InputError, match="need one schema"):
        Encoder.from_tables(
            [table, chaffinch.read(pa.table({"a": ["x", "y"] * 9, "b": ["x", "y"] * 9}))]
        )


PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60).map(
    np.array
)


def test_the_credit_card_row_of_the_paper() -> None:
    # P0 table VII, random forest on the original: TN 56848, FP 2, FN 32, TP 80.
    precision, recall, f2 = precision_recall_f2(np.array([[56848, 2], [32, 80]]), positive=1)
    assert precision == pytest.approx(80 / 82)
    assert recall == pytest.approx(80 / 112)
    assert f2 == pytest.approx(5 * precision * recall / (4 * precision + recall))


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_confusion_and_its_scores_are_those_of_scikit_learn(pairs: np.ndarray) -> None:
    truth, predicted = pairs.T
    counts = confusion(truth, predicted, 4)
    assert np.array_equal(counts, metrics.confusion_matrix(truth, predicted, labels=range(4)))
    assert accuracy(counts) == pytest.approx(metrics.accuracy_score(truth, predicted))
    for positive, labels in [(None, np.unique(truth)), (2, [2])]:
        wanted = metrics.precision_recall_fscore_support(
            truth, predicted, beta=2, labels=labels, average="macro", zero_division=0
        )
        assert precision_recall_f2(counts, positive) == pytest.approx(wanted[:3])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40))
def test_auc_is_the_share_of_pairs_in_order(items: list[tuple[int, bool]]) -> None:
    inside = [score for score, positive in items if positive]
    outside = [score for score, positive in items if not positive]
    found = auc(np.array([s for s, _ in items], dtype=float), np.array([p for _, p in items]))
    if not inside or not outside:
        assert found is None
    else:
        pairs = [(a > b) + 0.5 * (a == b) for a in inside for b in outside]
        assert found == pytest.approx(sum(pairs) / len(pairs))


def test_r2_and_rmse_are_those_of_scikit_learn_also_where_the_truth_does_not_vary() -> None:
    rng = np.random.default_rng(1)
    truth, predicted = rng.normal(size=30), rng.normal(size=30)
    for wanted, found in [(truth, predicted), (np.ones(5), np.ones(5)), (np.ones(5), np.zeros(5))]:
        r2, rmse = r2_rmse(wanted, found)
        assert r2 == pytest.approx(metrics.r2_score(wanted, found))
        assert rmse == pytest.approx(metrics.root_mean_squared_error(wanted, found))


LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=80).map(np.array)


@settings(max_examples=80, deadline=None)
@given(LABELS, st.floats(0.05, 0.95), st.integers(0, 99))
def test_a_split_has_each_row_once_and_both_parts_have_each_class_with_two_records(
    labels, share, seed
) -> None:
    train, test = split(labels, len(labels), share, np.random.default_rng(seed))
    assert sorted([*train, *test]) == list(range(len(labels)))
    for level, size in zip(*np.unique(labels, return_counts=True), strict=True):
        tested = int((labels[test] == level).sum())
        wanted = min(max(round(size * share), 1), size - 1)  # a single record trains
        assert tested == wanted


@settings(max_examples=80, deadline=None)
@given(LABELS, st.integers(1, 90), st.integers(0, 99))
def test_a_subsample_has_the_asked_size_and_every_class_near_its_share(labels, most, seed) -> None:
    rows = subsample(labels, len(labels), most, np.random.default_rng(seed))
    assert len(rows) == min(most, len(labels)) == len(np.unique(rows))
    levels, sizes = np.unique(labels, return_counts=True)
    if most >= len(levels):
        kept = np.array([(labels[rows] == level).sum() for level in levels])
        exact = sizes * min(1.0, most / len(labels))
        assert (kept >= 1).all()
        # Largest remainders stay within one record; classes lifted to one take at most one each from the others.
        assert (np.abs(kept - exact) <= len(levels)).all()
        if (exact >= 1).all():
            assert (np.abs(kept - exact) < 1).all()


def test_subsamples_are_random_in_each_class() -> None:
    labels = np.repeat([0, 1], [900, 100])
    hits = np.zeros(1000)
    for seed in range(400):
        hits[subsample(labels, 1000, 100, np.random.default_rng(seed))] += 1
    # Each record is kept with chance 0.1: 40 of 400, sd 6. Five sd and 1000 records: fails about once in 1,700 seeds if right.
    assert np.abs(hits - 40).max() < 5.5 * 6


def test_children_of_a_seed_differ_and_leave_it_alone() -> None:
    root = np.random.SeedSequence(5)
    draws = {tuple(child(root, *key).generate_state(2)) for key in [(0,), (1,), (0, 0), (0, 1)]}
    assert len(draws) == 4
    assert root.n_children_spawned == 0
    assert np.array_equal(
        child(root, 2).generate_state(4), np.random.SeedSequence(5).spawn(3)[2].generate_state(4)
    )
