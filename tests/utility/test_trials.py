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


def people(n: int, seed: int, *, noise: float = 0.6, share: float = 0.7) -> pa.Table:
    """A label 'ill' (rarer: yes) that depends on two of four columns, and a number 'cost' that depends on them too."""
    rng = np.random.default_rng(seed)
    age, sex, town = (
        rng.normal(50, 12, n).round(2),
        rng.choice(["f", "m"], n),
        rng.choice(["a", "b", "c"], n),
    )
    signal = (age - 50) / 12 + (sex == "m") + noise * rng.normal(size=n)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "town": town,
            "cost": (100 * signal + rng.normal(size=n)).round(1),
            "ill": np.where(signal > share, "yes", "no"),
            "stage": np.where(signal > 1.5, "late", np.where(signal > 0, "early", "none")),
        }
    )


ORIGINAL = chaffinch.read(people(300, 1))
GOOD = people(300, 2)
HOLDOUT = people(200, 3)


def features(table: pa.Table, label: str) -> np.ndarray:
    """Features written out: numbers as they are, levels by their place in the alphabet."""
    columns = [name for name in table.column_names if name != label]
    values = [table[name].to_pylist() for name in columns]
    levels = [sorted(set(GOOD[name].to_pylist())) for name in columns]
    return np.array(
        [
            [float(v) if isinstance(v, float) else levels[j].index(v) for v in held]
            for j, held in enumerate(values)
        ]
    ).T


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

    twice = pa.concat_tables([GOOD, people(300, 9)])
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
    label = LearningLabel.of(align(table, table)[0], "stage")
    assert shown_levels(label, table, [0, 1, 2, 3]) == ("early", "late", "none", "(rare level)")


def test_tasks_follow_the_label_unless_named() -> None:
    assert LearningLabel.of(ORIGINAL, "cost").task == "regression"
    assert LearningLabel.of(ORIGINAL, "cost", "classification").task == "classification"
    assert LearningLabel.of(ORIGINAL, "ill").task == "classification"
    binned = learning(
        ORIGINAL, GOOD, label="cost", task="classification", models=["nb"], repeats=1, seed=1
    )
    assert binned.score == "accuracy"
    with pytest.raises(InputError, match="'ill' is categorical: regression needs numbers"):
        LearningLabel.of(ORIGINAL, "ill", "regression")
    with pytest.raises(UnknownNameError, match="Unknown task 'guessing'"):
        LearningLabel.of(ORIGINAL, "ill", "guessing")


def test_the_label_may_come_from_the_schema() -> None:
    from dataclasses import replace

    table = replace(ORIGINAL, schema=ORIGINAL.schema.with_roles(label="ill"))
    assert learning(table, GOOD, models=["nb"], repeats=1).label == "ill"
    with pytest.raises(InputError, match="No column has the role label"):
        learning(ORIGINAL, GOOD)


def table(n: int, seed: int, *, number: bool = False) -> chaffinch.Table:
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["x", "y"], n), rng.integers(0, 40, n)
    label = (
        b + rng.normal(0, 4, n)
        if number
        else np.where((a == "x") ^ (rng.random(n) < 0.2), "p", "q")
    )
    return chaffinch.read(pa.table({"a": a, "b": b, "label": label}))


def test_their_mean_is_what_learning_scores_on_a_holdout() -> None:
    """The same learners on the same tables: the second opinion is the learning table."""
    original, synthetic, holdout = table(400, 1), table(400, 2), table(300, 3)
    found = person_scores(original, synthetic, holdout, label="label", models=("nb", "lr"), seed=1)
    rows = learning(
        original, synthetic, holdout, label="label", models=("nb", "lr"), repeats=1, seed=1
    ).rows
    expected = np.mean([row.score for row in rows if row.trained_on == "synthetic"])
    assert found.scores.shape == (300,)
    assert found.scores.mean() == pytest.approx(expected, abs=1e-9)


def test_of_numbers_their_mean_is_r2() -> None:
    original, synthetic, holdout = (
        table(400, 1, number=True),
        table(400, 2, number=True),
        table(300, 3, number=True),
    )
    found = person_scores(original, synthetic, holdout, label="label", models=("lr",), seed=1)
    rows = learning(
        original, synthetic, holdout, label="label", models=("lr",), repeats=1, seed=1
    ).rows
    assert found.task == "regression"
    assert found.scores.mean() == pytest.approx(
        next(row.score for row in rows if row.trained_on == "synthetic"), abs=1e-9
    )


def test_too_few_labels_have_a_reason() -> None:
    few = table(400, 1).take(np.arange(5))
    assert "too few" in person_scores(table(400, 1), few, table(50, 2), label="label").reason
