"""delta and its twin: against equation 3 written out, identical and independent tables, and how delta can be gamed."""

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import chaffinch
from chaffinch._base.seeds import child
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.stats.learners import split
from chaffinch.utility.delta import Delta, SkippedLabel, delta

FAST = {"models": ("nb",), "repeats": 3}


def linked(n: int, seed: int, *, noise: float = 0.5) -> pa.Table:
    """Three columns of words that go together, and a number that goes with them."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)

    def seen() -> np.ndarray:
        return hidden + noise * rng.normal(size=n)

    return pa.table(
        {
            "size": np.where(seen() > 0, "big", "small"),
            "kind": np.where(seen() > 0.4, "a", np.where(seen() > -0.4, "b", "c")),
            "old": seen() > 0.3,
            "weight": seen().round(3),
        }
    )


ORIGINAL = chaffinch.read(linked(240, 1))
GOOD = linked(240, 2)


def apart(table: pa.Table, seed: int = 0) -> pa.Table:
    """The same columns, each shuffled by itself."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {name: table[name].take(rng.permutation(table.num_rows)) for name in table.column_names}
    )


def test_delta_is_equation_3_written_out() -> None:
    # Labels x two models x two tables, each trained and tested on its own split; scores averaged over repeats first.
    root, names = np.random.SeedSequence(9), ORIGINAL.schema.names
    tables = [ORIGINAL.data, GOOD]
    levels = {"size": ["big", "small"], "kind": ["a", "b", "c"], "old": [False, True]}
    codes = [
        {
            n: np.array([levels[n].index(v) for v in t[n].to_pylist()])
            if n in levels
            else t[n].to_numpy()
            for n in names
        }
        for t in tables
    ]
    terms, twins = [], []
    for label in levels:
        for model in (GaussianNB(), SVC()):
            errors = np.zeros((3, 3))
            for repeat in range(3):
                parts = []
                for held in codes:
                    rng = np.random.default_rng(child(root, repeat, names.index(label), 1))
                    train, test = split(held[label], 240, 0.2, rng)
                    matrix = np.column_stack(
                        [held[name] for name in names if name != label]
                    ).astype(float)
                    parts.append((matrix, held[label], train, test))
                for i, (taught, asked) in enumerate([(0, 0), (1, 1), (1, 0)]):
                    matrix, truth, train, _ = parts[taught]
                    scaler = StandardScaler().fit(matrix[train])
                    model.fit(scaler.transform(matrix[train]), truth[train])
                    other, wanted, _, test = parts[asked]
                    errors[repeat, i] = (
                        model.predict(scaler.transform(other[test])) != wanted[test]
                    ).mean()
            own, synthetic, crossed = errors.mean(axis=0)
            terms.append(abs(synthetic - own))
            twins.append(abs(crossed - own))
    result = delta(ORIGINAL, GOOD, models=("nb", "svc"), repeats=3, seed=np.random.SeedSequence(9))
    assert result.value == pytest.approx(np.mean(terms))
    assert result.tstr.value == pytest.approx(np.mean(twins))
    assert [abs(row.synthetic - row.original) for row in result.rows] == pytest.approx(terms)
    assert [abs(row.synthetic_on_original - row.original) for row in result.rows] == pytest.approx(
        twins
    )
    assert [(row.label, row.model) for row in result.rows[:3]] == [
        ("size", "nb"),
        ("size", "svc"),
        ("kind", "nb"),
    ]


def test_identical_tables_score_exactly_nothing_since_both_are_split_alike() -> None:
    models = {"svc": SVC(), "forest": RandomForestClassifier(7)}
    result = delta(ORIGINAL, ORIGINAL, models=models, labels=["kind"], repeats=2, seed=1, rows=200)
    assert result.value == 0
    assert result.interval == (0, 0)
    assert result.tstr.value == 0
    assert result.tstr.interval == (0, 0)


def test_a_fresh_sample_scores_well_and_independent_columns_badly() -> None:
    # Errors are near 0.2 with the relations and near 0.45 to 0.65 without; the sd of a mean of 3 tests of 48 is about 0.035.
    good, bad = (delta(ORIGINAL, other, seed=3, **FAST) for other in (GOOD, apart(GOOD)))
    assert good.value < 0.1 < 0.15 < bad.value
    assert good.tstr.value < 0.1 < 0.15 < bad.tstr.value


def test_delta_can_be_gamed_and_its_twin_cannot() -> None:
    """A degenerate table: features say nothing of the label, and labels are drawn so that guessing errs as often as the
    original's models do. Every own error agrees, so delta is about 0; a model trained on it is worthless on real records.
    """
    n = 400
    rng = np.random.default_rng(6)
    truth = (
        rng.random(n) < 0.5
    )  # classes of equal size, predicted with an error of about 0.2 from the other column
    clue = np.where(rng.random(n) < 0.8, truth, ~truth)
    real = chaffinch.read(
        pa.table({"label": np.where(truth, "y", "n"), "clue": np.where(clue, "u", "v")})
    )
    fake = pa.table(
        {
            "label": rng.permutation(["y"] * 80 + ["n"] * 320),
            "clue": rng.permutation(["u"] * 399 + ["v"]),
        }
    )
    result = delta(real, fake, labels=["label"], models=("svc",), repeats=5, seed=1)
    (row,) = result.rows
    # Own errors: 0.2 by the minority's share, and 0.2 by the noise in the clue (sd 0.02 of 5 tests of 80).
    assert result.value < 0.06
    assert row.synthetic_on_original == pytest.approx(0.5, abs=0.02)  # it always answers n
    assert result.tstr.value > 0.2


def test_other_scores_and_estimators() -> None:
    result = delta(
        ORIGINAL,
        GOOD,
        labels=["kind", "size"],
        scores=("error", "balanced_error", "auc"),
        seed=2,
        **FAST,
    )
    assert [(r.label, r.score) for r in result.rows[:3]] == [
        ("kind", "error"),
        ("kind", "balanced_error"),
        ("kind", "auc"),
    ]
    by_score = {r.score: r for r in result.rows if r.label == "size"}
    assert by_score["auc"].original > 0.8
    assert (
        abs(by_score["error"].original - by_score["balanced_error"].original) < 0.05
    )  # two classes of about equal size
    gaps = [abs(r.synthetic - r.original) for r in result.rows]
    assert result.value == pytest.approx(np.mean(gaps))
    mine = delta(ORIGINAL, GOOD, labels=["kind"], models={"bayes": GaussianNB()}, repeats=3, seed=2)
    named = delta(ORIGINAL, GOOD, labels=["kind"], models=["nb"], repeats=3, seed=2)
    assert mine.value == named.value


def test_onehot_gives_both_tables_indicators_and_scales_numbers_alone() -> None:
    seen: list[np.ndarray] = []

    class Spy(GaussianNB):
        def fit(self, x, y):
            seen.append(x)
            return super().fit(x, y)

        def predict(self, x):
            seen.append(x)
            return super().predict(x)

    delta(
        ORIGINAL,
        GOOD,
        labels=["size"],
        models={"spy": Spy()},
        repeats=1,
        feature_encoding="onehot",
        seed=1,
        threads=1,
    )
    assert len(seen) == 5  # two fits, three tests
    for matrix in seen:
        assert matrix.shape[1] == 6  # kind a, b, c; old false, true; weight
        assert set(np.unique(matrix[:, :5])) == {0, 1}
    for train in (seen[0], seen[2]):
        assert train[:, 5].mean() == pytest.approx(0, abs=1e-12)
        assert train[:, 5].std() == pytest.approx(1)


def test_numbers_may_be_labels_by_name_as_their_bins() -> None:
    assert delta(ORIGINAL, GOOD, labels=["weight"], seed=1, **FAST).rows[0].original > 0.5
    assert [r.label for r in delta(ORIGINAL, GOOD, seed=1, **FAST).rows] == ["size", "kind", "old"]


def test_rows_are_capped_by_class_and_it_is_said() -> None:
    capped, whole = (
        delta(ORIGINAL, GOOD, labels=["kind"], rows=rows, seed=1, **FAST) for rows in (60, None)
    )
    assert capped.notes == (
        "At most 60 records of each table train and test in a repeat, drawn by class.",
    )
    assert whole.notes == ()
    assert capped.settings["rows"] == 60
    assert capped.rows != whole.rows


def test_leaving_out_other_labels_changes_no_score() -> None:
    every, one = (
        delta(ORIGINAL, GOOD, seed=4, **FAST),
        delta(ORIGINAL, GOOD, labels=["old"], seed=4, **FAST),
    )
    assert one.rows == every.rows[2:]
    assert delta(ORIGINAL, GOOD, labels=["old"], scores=["error"], seed=4, **FAST) == one


def test_the_number_of_threads_changes_nothing() -> None:
    models = {"svc": SVC(), "forest": RandomForestClassifier(7)}
    one, two = (delta(ORIGINAL, GOOD, models=models, repeats=2, seed=4, threads=n) for n in (1, 3))
    assert one == two
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())


def test_intervals_come_from_repeats_and_plain_data_hold_the_twin() -> None:
    result = delta(ORIGINAL, apart(GOOD), labels=["kind"], models=["nb"], repeats=5, seed=4)
    assert result.interval is not None
    assert 0 <= result.interval[0] < result.value < result.interval[1] <= 1
    assert delta(ORIGINAL, GOOD, labels=["kind"], models=["nb"], repeats=1, seed=4).interval is None
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["tstr"]["value"] == result.tstr.value
    assert set(told["rows"][0]) == {
        "label",
        "model",
        "score",
        "original",
        "synthetic",
        "synthetic_on_original",
    }
    assert "synthetic on original" in result._repr_html_()


def test_the_jackknife_over_repeats_is_student_s_interval_where_signs_agree() -> None:
    from scipy import stats

    result = delta(ORIGINAL, apart(GOOD), labels=["size"], models=["nb"], repeats=6, seed=4)
    gaps = []
    for repeat in range(6):
        parts = []
        for table in (ORIGINAL.data, apart(GOOD)):
            rng = np.random.default_rng(child(np.random.SeedSequence(4), repeat, 0, 1))
            size = np.array([["big", "small"].index(v) for v in table["size"].to_pylist()])
            kind = [["a", "b", "c"].index(v) for v in table["kind"].to_pylist()]
            matrix = np.column_stack(
                [kind, table["old"].to_pylist(), table["weight"].to_numpy()]
            ).astype(float)
            train, test = split(size, 240, 0.2, rng)
            scaler = StandardScaler().fit(matrix[train])
            model = GaussianNB().fit(scaler.transform(matrix[train]), size[train])
            parts.append((model.predict(scaler.transform(matrix[test])) != size[test]).mean())
        gaps.append(parts[1] - parts[0])
    wanted = stats.t.interval(0.95, 5, loc=np.mean(gaps), scale=stats.sem(gaps))
    assert result.interval == pytest.approx(wanted)


def test_labels_with_one_class_or_few_records_are_listed() -> None:
    dull = GOOD.set_column(0, "size", pa.array(["big"] * 240)).set_column(
        2, "old", pa.array([None] * 235 + [True, False] * 2 + [True])
    )
    result = delta(ORIGINAL, dull, seed=1, **FAST)
    assert result.skipped == (
        SkippedLabel("size", "label 'size' has one class in the synthetic table"),
        SkippedLabel("old", "the synthetic table has fewer than 10 records with a label 'old'"),
    )
    assert [row.label for row in result.rows] == ["kind"]
    assert result.to_dict()["skipped"][0]["label"] == "size"


def test_nothing_left_is_not_applicable() -> None:
    dull = GOOD.set_column(0, "size", pa.array(["big"] * 240))
    result = delta(ORIGINAL, dull, labels=["size"], seed=1, **FAST)
    assert isinstance(result, Delta)
    assert result.reason == "no label is left: label 'size' has one class in the synthetic table"
    assert result.tstr.value is None
    assert result.to_dict()["value"] is None
    rng = np.random.default_rng(0)
    numbers = pa.table({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    assert delta(chaffinch.read(numbers), numbers, **FAST).reason.startswith(
        "no column is categorical or boolean"
    )
    assert (
        delta(ORIGINAL, GOOD, models=["svr"]).reason
        == "no model that was named does classification"
    )


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match="Unknown column 'colour'"):
        delta(ORIGINAL, GOOD, labels=["colour"])
    with pytest.raises(UnknownNameError, match="Unknown score 'acuracy'"):
        delta(ORIGINAL, GOOD, scores=["acuracy"])
    with pytest.raises(InputError, match="Name at least one score"):
        delta(ORIGINAL, GOOD, scores=[])
    with pytest.raises(InputError, match=r"repeats must be a whole number of at least 1. Got 0"):
        delta(ORIGINAL, GOOD, repeats=0)
    with pytest.raises(InputError, match="test_share must lie between"):
        delta(ORIGINAL, GOOD, test_share=0)
    with pytest.raises(InputError, match="rows must be a whole number of at least 10"):
        delta(ORIGINAL, GOOD, rows=2)
    named = chaffinch.read(GOOD.append_column("person", pa.array([f"p{i}" for i in range(240)])))
    with pytest.raises(InputError, match="'person' cannot be the label: it is identifier"):
        delta(named, named, labels=["person"])
