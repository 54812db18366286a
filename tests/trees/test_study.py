"""The public functions: a model and data as they come, and results that show themselves and go through JSON."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import chaffinch
from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.trees.prune import without_counts
from chaffinch.trees.records import ModelRecords
from chaffinch.trees.study import certify


def test_a_model_and_data_are_taken_as_they_come(tree, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    trees.write_model(tmp_path / "m.skops", trees.read_model(tree), tree)
    expected = trees.audit(tree, frame, label="y").to_dict()
    assert expected["accuracy"] == pytest.approx(
        tree.score(frame[["a", "b", "c"]], frame["y"]), abs=1e-4
    )
    assert expected["midpoints"]["splits"] > 0
    for data in (tmp_path / "t.csv", pa.Table.from_pandas(frame), chaffinch.read(frame)):
        assert trees.audit(tmp_path / "m.skops", data, label="y").to_dict() == expected
    pruned = trees.prune(tmp_path / "m.skops", frame, label="y", at_least=3)
    assert isinstance(pruned.model, DecisionTreeClassifier)
    assert not trees.audit(pruned.model, frame, label="y", at_least=3).exposed


def test_data_without_a_label(tree, frame):
    with pytest.raises(InputError, match="data needs label"):
        trees.audit(tree, frame)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    return DecisionTreeClassifier(random_state=0).fit(
        x, (x[:, 0] + rng.normal(size=120) > 0).astype(int)
    )


def test_a_pruned_file_is_certified(model, tmp_path):
    pruned = trees.prune(model, at_least=3)
    for ending in ("skops", "json"):
        path = tmp_path / f"m.{ending}"
        trees.write_model(path, without_counts(pruned.after), pruned.model)
        summary = certify(path, pruned).summary
        assert (summary.holds, summary.as_pruned, summary.silent) == (True, True, True)
        assert summary.sentence().startswith("Certificate: the file as written was attacked")


def test_a_file_that_tells_counts_or_is_another_model_is_not(model, tmp_path):
    pruned = trees.prune(model, at_least=3)
    trees.write_model(tmp_path / "told.json", pruned.after)
    told = certify(tmp_path / "told.json", pruned).summary
    assert (told.holds, told.as_pruned, told.silent) == (False, True, False)
    trees.write_model(tmp_path / "other.skops", pruned.before, model)
    other = certify(tmp_path / "other.skops", pruned).summary
    assert (other.holds, other.as_pruned) == (False, False)
    assert other.sentence().startswith("No certificate, and no file: as written it would tell more")


def test_nodes_that_still_isolate_are_seen(model, tmp_path):
    pruned = trees.prune(model, at_least=2)
    trees.write_model(tmp_path / "m.json", without_counts(pruned.after), overwrite=True)
    summary = certify(tmp_path / "m.json", replace(pruned, at_least=12)).summary
    assert (summary.as_pruned, summary.silent, summary.found_by_counts, summary.holds) == (
        True,
        True,
        True,
        False,
    )
    assert "still finds someone" in summary.sentence()


def certified(tmp_path, pruned, **data):
    trees.write_model(tmp_path / "m.json", without_counts(pruned.after), overwrite=True)
    return certify(tmp_path / "m.json", pruned, **data).summary


def test_the_certificate_of_a_regression_says_what_it_rests_on(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2))
    y = np.exp(x[:, 0] + rng.normal(size=200))
    tree = DecisionTreeRegressor(random_state=0).fit(x, y)
    moments = certified(tmp_path, trees.prune(tree, at_least=3))
    assert moments.holds
    assert "at least 3 records lie above what each leaf says and 3 do not" in moments.promise
    assert moments.limits == "With --data and --label sides are counted, and more leaves may stay."
    size = certified(tmp_path, trees.prune(tree, at_least=3, splits="most"))
    assert size.holds
    assert size.promise == "no node singles out fewer than 3 records by its conditions alone."
    assert size.limits.startswith(
        "Not promised: a label above or below what a leaf says may be that of one record"
    )
    assert "at least 6 records" in size.limits
    records = ModelRecords(list(x.T), [y], ("y",))
    data = certified(tmp_path, trees.prune(tree, records, at_least=3), records=records)
    assert data.holds
    assert data.sentence().endswith(
        "on the data; no node singles out fewer than 3 records, and no leaf does by a label above what it says, or by one that is not."
    )


def test_leaves_that_tell_less_are_certified_for_what_they_name(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(600, 3))
    y = np.digitize(x[:, 0] + rng.normal(size=600), [-2, -1, 0, 1, 2])
    tree = DecisionTreeClassifier(random_state=0, min_samples_leaf=6).fit(x, y)
    pruned = trees.prune(tree, splits="most")
    summary = certified(tmp_path, pruned)
    assert summary.holds
    assert not summary.found_by_counts
    assert (
        summary.promise
        == "no leaf singles out fewer than 2 records by a class that it names, or by none of these."
    )
    assert "Who guesses one of them for a leaf may be right about a single record" in summary.limits
    records = ModelRecords(list(x.T), [y], ("y",))
    on_data = certified(tmp_path, trees.prune(tree, records, splits="most"), records=records)
    assert (on_data.holds, on_data.found_by_trying) == (True, True)
    # With the shares of all classes in it the same file is not certified.
    finer = trees.read_model(tree).trees[0]
    leaves = replace(pruned, after=trees.read_model(tree), at_least=2)
    assert len(finer.leaves) >= pruned.leaves[1]
    assert not certified(tmp_path, leaves).holds
