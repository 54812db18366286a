"""The certificate: it holds for a pruned file, and for no file that isolates, differs or tells more than splits and leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from chaffinch import trees
from chaffinch.trees.prune import without_counts
from chaffinch.trees.released import certify


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    return DecisionTreeClassifier(random_state=0).fit(x, (x[:, 0] + rng.normal(size=120) > 0).astype(int))


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
    trees.write_model(tmp_path / "m.json", without_counts(pruned.after))
    summary = certify(tmp_path / "m.json", replace(pruned, at_least=12)).summary
    assert (summary.as_pruned, summary.silent, summary.found_by_counts, summary.holds) == (True, True, True, False)
    assert "still finds someone" in summary.sentence()
