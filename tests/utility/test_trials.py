"""The fits behind a learning table: what trains, how often, and against scikit-learn written out."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import chaffinch
from chaffinch._base.seeds import child
from chaffinch.stats.learners import split
from chaffinch.utility.learning import learning


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
