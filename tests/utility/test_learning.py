"""Learning tables: against scikit-learn written out, baselines on both sides, what does not apply, what may leave."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    confusion_matrix,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.utility.learning import Learning, learning

from .conftest import GOOD, HOLDOUT, ORIGINAL, features

QUICK = ("nb", "lr")


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Confusion matrices as they are counted, before they are masked."""
    monkeypatch.setattr(
        sys.modules["chaffinch.utility.learning"], "masked_count", lambda count, *_, **__: count
    )


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("nb", GaussianNB()),
        ("svc", SVC()),
        ("knn", KNeighborsClassifier()),
        ("lr", LogisticRegression()),
    ],
)
@pytest.mark.usefixtures("exact")
def test_scores_on_a_holdout_are_those_of_scikit_learn_written_out(
    name: str, model: object
) -> None:
    result = learning(
        ORIGINAL, GOOD, HOLDOUT, label="ill", models=[name], repeats=3, seed=1, threshold=1
    )  # nothing masked
    truth = HOLDOUT["ill"].to_numpy(zero_copy_only=False)
    for row, table in zip(result.rows, (ORIGINAL.data, GOOD), strict=False):
        scaler = StandardScaler().fit(features(table, "ill"))
        model.fit(
            scaler.transform(features(table, "ill")), table["ill"].to_numpy(zero_copy_only=False)
        )
        asked = scaler.transform(features(HOLDOUT, "ill"))
        said = model.predict(asked)
        precision, recall, f2, _ = precision_recall_fscore_support(
            truth, said, beta=2, labels=["yes"], average="macro"
        )
        chance = (
            model.decision_function(asked)
            if name in ("svc", "lr")
            else model.predict_proba(asked)[:, 1]
        )
        assert (row.model, row.sd) == (name, None)  # fitted once: nothing in it is random
        assert row.score == (said == truth).mean()
        assert (row.precision, row.recall, row.f2) == pytest.approx((precision, recall, f2))
        assert row.auc == pytest.approx(roc_auc_score(truth == "yes", chance))
        matrix = next(m for m in result.confusion if m.trained_on == row.trained_on)
        assert matrix.levels == ("no", "yes")
        assert np.array_equal(matrix.counts, confusion_matrix(truth, said, labels=["no", "yes"]))
    assert [row.trained_on for row in result.rows] == ["original", "synthetic", "marginals"]
    assert result.value == result.rows[0].score - result.rows[1].score
    assert result.marginals == result.rows[0].score - result.rows[2].score
    assert result.interval is None


def test_regression_on_a_holdout_is_that_of_scikit_learn_written_out() -> None:
    result = learning(ORIGINAL, GOOD, HOLDOUT, label="cost", models=["lr", "nb"], seed=1)
    truth = np.array(HOLDOUT["cost"].to_pylist())
    model = LinearRegression().fit(features(GOOD, "cost"), np.array(GOOD["cost"].to_pylist()))
    said = model.predict(features(HOLDOUT, "cost"))  # scaling does not change least squares
    row = result.rows[1]
    assert (result.task, result.score, row.trained_on) == ("regression", "r2", "synthetic")
    assert row.score == pytest.approx(r2_score(truth, said))
    assert row.rmse == pytest.approx(root_mean_squared_error(truth, said))
    assert result.settings["left_out"] == {"nb": "it predicts classes, not numbers"}
    assert set(result.to_dict()["rows"][0]) == {"model", "trained_on", "score", "sd", "rmse"}
    assert not result.confusion


@pytest.mark.usefixtures("exact")
def test_repeats_split_the_original_and_give_means_deviations_and_an_interval() -> None:
    result = learning(ORIGINAL, GOOD, label="stage", models=QUICK, repeats=6, seed=5)
    assert [(r.model, r.trained_on) for r in result.rows] == [
        (model, on) for model in QUICK for on in ("original", "synthetic", "marginals")
    ]
    for row in result.rows:
        assert row.sd is not None
        assert 0 <= row.sd < 0.2  # accuracies of tests of 60 records
    assert any(row.sd > 0 for row in result.rows)
    scores = {(r.model, r.trained_on): r.score for r in result.rows}
    assert result.value == pytest.approx(
        np.mean([scores[m, "original"] - scores[m, "synthetic"] for m in QUICK])
    )
    assert result.interval is not None
    low, high = result.interval
    assert low < result.value < high
    # Six repeats test 60 records each, and classes keep their shares.
    matrix = np.array(result.confusion[0].counts)
    sizes = np.unique(ORIGINAL.data["stage"].to_pylist(), return_counts=True)[1]
    assert matrix.sum(axis=1).tolist() == [6 * round(0.2 * size) for size in sizes]
    assert result.confusion[0].levels == ("early", "late", "none")
    assert any("means over the classes" in note for note in result.notes)
    assert all(row.auc is None and row.rmse is None for row in result.rows)


def test_good_synthetic_data_lose_little_and_independent_columns_lose_much() -> None:
    # The best score is about 0.8, the commoner class 0.65: marginals lose about 0.15 (sd of a mean of 5 splits of 60: 0.03).
    result = learning(ORIGINAL, GOOD, label="ill", models=QUICK, repeats=5, seed=2)
    assert abs(result.value) < 0.06
    assert result.marginals > 0.1
    broken = GOOD
    for seed, (place, name) in enumerate([(4, "ill"), (5, "stage"), (3, "cost")]):
        order = np.random.default_rng(seed).permutation(300)
        broken = broken.set_column(place, name, GOOD[name].take(order))
    assert learning(ORIGINAL, broken, label="ill", models=QUICK, repeats=5, seed=2).value > 0.1


def test_identical_tables_lose_exactly_nothing_on_a_holdout() -> None:
    result = learning(
        ORIGINAL,
        ORIGINAL,
        HOLDOUT,
        label="ill",
        models=("svc", "rf"),
        repeats=2,
        seed=2,
        marginals=False,
    )
    assert result.value == 0
    assert result.interval == (0, 0)


def test_the_number_of_threads_changes_nothing_and_the_seed_does() -> None:
    models = {
        "forest": RandomForestClassifier(7),
        "svc": SVC(),
        "knn": KNeighborsClassifier(),
        "nb": GaussianNB(),
    }
    asked = {"label": "stage", "models": models, "repeats": 2}
    one, two = (learning(ORIGINAL, GOOD, seed=4, threads=n, **asked) for n in (1, 3))
    assert one == two
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert one != learning(ORIGINAL, GOOD, seed=5, threads=3, **asked)


def test_onehot_and_progress() -> None:
    heard: list[float] = []
    result = learning(
        ORIGINAL,
        GOOD,
        label="ill",
        models=["lr"],
        repeats=2,
        feature_encoding="onehot",
        seed=1,
        progress=lambda _, share: heard.append(share),
    )
    assert heard == sorted(heard)
    assert heard[-1] == 1
    assert result.settings["encoding"] == "onehot"
    assert result != learning(ORIGINAL, GOOD, label="ill", models=["lr"], repeats=2, seed=1)


@pytest.mark.usefixtures("exact")
def test_records_without_a_label_are_left_out_and_said() -> None:
    half = pa.array([None if i % 3 == 0 else v for i, v in enumerate(GOOD["ill"].to_pylist())])
    some = GOOD.set_column(4, "ill", half)
    result = learning(chaffinch.read(some), some, label="ill", models=["nb"], repeats=1, seed=1)
    assert "Records of the original table without a label are left out: 33.3%." in result.notes
    assert sum(map(sum, result.confusion[0].counts)) == pytest.approx(40, abs=1)
    few = GOOD.set_column(4, "ill", pa.array([None, None, *GOOD["ill"].to_pylist()[2:]]))
    result = learning(ORIGINAL, few, label="ill", models=["nb"], repeats=1, seed=1)
    assert (
        "Records of the synthetic table without a label are left out: fewer than 10."
        in result.notes
    )


def test_no_convergence_is_said() -> None:
    result = learning(
        ORIGINAL,
        GOOD,
        label="stage",
        models={"short": LogisticRegression(max_iter=2)},
        repeats=2,
        seed=1,
        marginals=False,
    )
    assert "Model short trained on original did not converge in 2 of 2 fits." in result.notes


def test_html_and_plain_data() -> None:
    result = learning(ORIGINAL, GOOD, label="ill", models=["nb"], repeats=1, seed=1)
    assert "<td>marginals</td>" in result._repr_html_()
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert set(told["rows"][0]) == {
        "model",
        "trained_on",
        "score",
        "sd",
        "precision",
        "recall",
        "f2",
        "auc",
    }
    assert told["references"] == {"marginals": result.marginals, "holdout": None}
    assert told["label"] == "ill"
    assert "Precision, recall, F2 and AUC are of the rarer class, yes." in told["notes"]


def constant(word: str, n: int = 60) -> pa.Table:
    rng = np.random.default_rng(n)
    return pa.table({"a": rng.choice(["x", "y"], n), "b": [word] * n, "c": rng.normal(size=n)})


def varied(n: int = 60) -> pa.Table:
    return constant("p", n).set_column(1, "b", pa.array((["p", "q"] * n)[:n]))


@pytest.mark.parametrize(
    ("original", "synthetic", "reason"),
    [
        (constant("p"), constant("p"), "label 'b' has one class in the original table"),
        (varied(), constant("p"), "label 'b' has one class in the synthetic table"),
        (varied(), varied(9), "the synthetic table has fewer than 10 records with a label 'b'"),
        (varied(8), varied(), "the original table has fewer than 10 records with a label 'b'"),
    ],
)
def test_what_cannot_be_learnt_is_not_applicable_with_the_reason(
    original, synthetic, reason: str
) -> None:
    result = learning(
        chaffinch.read(original, rare="keep"), synthetic, label="b", models=["nb"], repeats=2
    )
    assert isinstance(result, Learning)
    assert result.value is None
    assert result.reason == reason
    assert result.to_dict()["not_applicable"] == reason


def test_a_holdout_of_a_few_records_is_not_applicable() -> None:
    result = learning(ORIGINAL, GOOD, HOLDOUT.slice(0, 9), label="ill", models=["nb"])
    assert result.reason == "the holdout has fewer than 10 records with a label 'ill'"


def test_models_that_all_cannot_do_the_task_are_not_applicable() -> None:
    assert (
        learning(ORIGINAL, GOOD, label="cost", models=["nb"]).reason
        == "no model that was named does regression"
    )


@pytest.mark.usefixtures("exact")
def test_a_class_that_one_training_side_lost_is_an_answer_not_an_error() -> None:
    words = ["none" if word == "late" else word for word in GOOD["stage"].to_pylist()]
    poor = GOOD.set_column(5, "stage", pa.array(words))
    result = learning(ORIGINAL, poor, HOLDOUT, label="stage", models=("nb", "svc"), seed=1)
    assert result.value > 0
    late = result.confusion[1].levels.index("late")
    assert result.confusion[1].trained_on == "synthetic"
    assert not any(row[late] for row in result.confusion[1].counts)  # never predicted
    assert sum(result.confusion[1].counts[late]) > 0  # and yet tested


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown column 'il'. Did you mean 'ill'"):
        learning(ORIGINAL, GOOD, label="il")
    named = chaffinch.read(GOOD.append_column("person", pa.array([f"p{i}" for i in range(300)])))
    with pytest.raises(InputError, match="'person' cannot be the label: it is identifier"):
        learning(named, named, label="person")
    with pytest.raises(InputError, match=r"repeats must be a whole number of at least 1. Got 0"):
        learning(ORIGINAL, GOOD, label="ill", repeats=0)
    with pytest.raises(InputError, match=r"test_share must lie between 0 and 1. Got 1"):
        learning(ORIGINAL, GOOD, label="ill", test_share=1)
    with pytest.raises(InputError, match="svm_rows must be a whole number of at least 10"):
        learning(ORIGINAL, GOOD, label="ill", svm_rows=3)
    with pytest.raises(UnknownNameError, match="Unknown model 'tree'"):
        learning(ORIGINAL, GOOD, label="ill", models=["tree"])
