"""The fits behind a learning table: labels, what trains, how often, the score of each person, and against scikit-learn written out."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import chaffinch
from chaffinch._base.seeds import child
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.stats.learners import split
from chaffinch.table.align import align
from chaffinch.utility.learning import learning
from chaffinch.utility.trials import LearningLabel, person_scores, shown_levels

from ..factories import people
from .conftest import GOOD, HOLDOUT, ORIGINAL, features, patients


def test_scores_of_splits_are_those_of_scikit_learn_written_out() -> None:
    result = learning(
        ORIGINAL, GOOD, label="stage", models=["nb"], repeats=3, seed=np.random.SeedSequence(5)
    )
    matrix, labels = features(ORIGINAL.data, "stage"), ORIGINAL.data["stage"].to_numpy()
    scores = []
    for repeat in range(3):
        train, test = split(
            labels, 300, 0.2, np.random.default_rng(child(np.random.SeedSequence(5), repeat, 0))
        )
        scaler = StandardScaler().fit(matrix[train])
        model = GaussianNB().fit(scaler.transform(matrix[train]), labels[train])
        scores.append((model.predict(scaler.transform(matrix[test])) == labels[test]).mean())
    assert result.rows[0].score == pytest.approx(np.mean(scores))
    assert result.rows[0].sd == pytest.approx(np.std(scores, ddof=1))


def test_every_table_trains_with_as_many_records() -> None:
    sizes: list[int] = []

    class Spy(GaussianNB):
        def fit(self, x, y):
            sizes.append(len(x))
            return super().fit(x, y)

    twice = pa.concat_tables([GOOD, patients(300, 9)])
    learning(ORIGINAL, twice, label="ill", models={"spy": Spy()}, repeats=2, seed=1, threads=1)
    assert set(sizes) == {240}
    sizes.clear()
    result = learning(
        ORIGINAL,
        GOOD.slice(0, 100),
        label="ill",
        models={"spy": Spy()},
        repeats=1,
        seed=1,
        threads=1,
    )
    assert sorted(sizes) == [100, 240, 240]
    assert "The synthetic table has fewer rows (100) than train on the original." in result.notes


def test_on_a_holdout_only_what_is_random_is_fitted_again() -> None:
    fits: list[str] = []

    class Counted(RandomForestClassifier):
        def fit(self, x, y, **more):
            fits.append("forest")
            return super().fit(x, y, **more)

    models = {"forest": Counted(5), "nb": GaussianNB()}
    result = learning(
        ORIGINAL, GOOD, HOLDOUT, label="ill", models=models, repeats=4, seed=1, marginals=False
    )
    assert len(fits) == 8  # four repeats, two tables
    assert [row.sd is None for row in result.rows] == [False, False, True, True]
    assert [matrix.fits for matrix in result.confusion] == [4, 4, 1, 1]
    capped = learning(
        ORIGINAL, GOOD, HOLDOUT, label="ill", models=["svc"], repeats=4, seed=1, svm_rows=50
    )
    assert all(row.sd is not None for row in capped.rows)
    assert (
        "Support vector machines are trained on at most 50 records, drawn by class." in capped.notes
    )


def test_small_counts_and_rare_levels_do_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    words = GOOD["stage"].to_pylist()
    words[:4] = ["odd"] * 4
    table = chaffinch.read(GOOD.set_column(5, "stage", pa.array(words)))
    asked = {"label": "stage", "models": ["nb"], "repeats": 2, "seed": 3}
    result = learning(table, table, **asked)
    monkeypatch.setattr(
        sys.modules["chaffinch.utility.learning"], "masked_count", lambda count, *_, **__: count
    )
    exact = learning(table, table, **asked)
    told = result.to_dict()
    assert "odd" not in json.dumps(told)
    assert "(rare level)" in told["confusion"][0]["levels"]
    for matrix, shown in zip(exact.confusion, told["confusion"], strict=True):
        for count, masked in zip(
            np.ravel(matrix.counts), np.ravel(np.array(shown["counts"], dtype=object)), strict=True
        ):
            # Two fits may count a record twice: below 20 there may be fewer than ten.
            assert masked == (0 if count == 0 else "<20" if count < 20 else round(count / 10) * 10)
    assert [list(map(list, matrix.counts)) for matrix in result.confusion] == [
        m["counts"] for m in told["confusion"]
    ]
    assert "odd" not in repr(result.confusion[0])
    assert repr(result).startswith("Learning(loss in learning = ")
    label = LearningLabel.from_table(align(table, table)[0], "stage")
    assert shown_levels(label, table, [0, 1, 2, 3]) == ("early", "late", "none", "(rare level)")


def test_tasks_follow_the_label_unless_named() -> None:
    assert LearningLabel.from_table(ORIGINAL, "cost").task == "regression"
    assert LearningLabel.from_table(ORIGINAL, "cost", "classification").task == "classification"
    assert LearningLabel.from_table(ORIGINAL, "ill").task == "classification"
    binned = learning(
        ORIGINAL, GOOD, label="cost", task="classification", models=["nb"], repeats=1, seed=1
    )
    assert binned.score == "accuracy"
    with pytest.raises(InputError, match="'ill' is categorical: regression needs numbers"):
        LearningLabel.from_table(ORIGINAL, "ill", "regression")
    with pytest.raises(UnknownNameError, match="Unknown task 'guessing'"):
        LearningLabel.from_table(ORIGINAL, "ill", "guessing")


def test_the_label_may_come_from_the_schema() -> None:
    from dataclasses import replace

    table = replace(ORIGINAL, schema=ORIGINAL.schema.with_roles(label="ill"))
    assert learning(table, GOOD, models=["nb"], repeats=1).label == "ill"
    with pytest.raises(InputError, match="No column has the role label"):
        learning(ORIGINAL, GOOD)


@pytest.mark.parametrize(
    ("label", "models", "task"),
    [("ill", ("nb", "lr"), "classification"), ("pay", ("lr",), "regression")],
)
def test_their_mean_is_what_learning_scores_on_a_holdout(label, models, task) -> None:
    """The same learners on the same tables: the second opinion is the learning table."""
    original, synthetic, holdout = (
        chaffinch.read(people(n, seed)) for n, seed in ((400, 1), (400, 2), (300, 3))
    )
    found = person_scores(original, synthetic, holdout, label=label, models=models, seed=1)
    rows = learning(
        original, synthetic, holdout, label=label, models=models, repeats=1, seed=1
    ).rows
    expected = np.mean([row.score for row in rows if row.trained_on == "synthetic"])
    assert found.task == task
    assert found.scores.shape == (300,)
    assert found.scores.mean() == pytest.approx(expected, abs=1e-9)


def test_too_few_labels_have_a_reason() -> None:
    assert (
        "too few"
        in person_scores(ORIGINAL, ORIGINAL.take(np.arange(5)), HOLDOUT, label="ill").reason
    )
