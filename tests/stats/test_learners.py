"""Learners by name: against scikit-learn called by hand, one class, convergence, threads."""

import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from chaffinch.errors import InputError, UnknownNameError
from chaffinch.stats.learners import (
    CLASSIFIERS,
    REGRESSORS,
    chosen_models,
    fit,
    is_random,
    is_svm,
    work,
)

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

    from chaffinch.stats.learners import LEAST_VARIANCE, naive_bayes

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
                    own_number, mean, max(variance, LEAST_VARIANCE * known.var()) ** 0.5
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
