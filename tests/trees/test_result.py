"""Results show themselves, without a constant, and with one threshold."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.report.trees import tree_page
from chaffinch.trees import AuditSummary, PruneSummary


def test_results_show_themselves_and_no_constant(tree, frame, capsys):
    audit, pruned = trees.audit(tree, frame, label="y"), trees.prune(tree, frame, label="y")
    audit.show()
    pruned.show()
    printed = capsys.readouterr().out
    for text in (printed, audit._repr_html_(), pruned._repr_html_()):
        assert "nodes that single out" in text
    assert "Exposed" in printed
    assert "Exposed" in audit._repr_html_()
    assert repr(audit) == "TreeAudit(DecisionTreeClassifier, exposed=True)"
    assert repr(pruned).startswith("PruneResult(DecisionTreeClassifier")


def test_another_threshold_reaches_every_output(frame):
    """One class of one record: "<10" with the usual threshold, "<25" with another, in data, words and page."""
    x = np.arange(40.0)[:, None]
    model = DecisionTreeClassifier().fit(x, np.r_[np.zeros(39), 1])
    for threshold in (10, 25):
        audit = trees.audit(model, threshold=threshold)
        plain = audit.to_dict()
        assert (plain["vulnerable_nodes"], plain["exposed_records"]) == (
            f"<{threshold}",
            f"<{threshold}",
        )
        assert f"fewer than {threshold}" in tree_page(audit, trees.prune(model), "x")
        other = 35 - threshold
        for text in (json.dumps(plain), audit._repr_html_(), tree_page(audit, None, "x")):
            assert f"<{other}" not in text
            assert f"fewer than {other}" not in text
    forest = RandomForestClassifier(5, max_depth=2, random_state=0, bootstrap=False).fit(
        frame[["a", "b", "c"]], frame["y"]
    )
    few, all_shown = (
        trees.audit(forest, frame, label="y", threshold=t).summary.intersections
        for t in (10_000, 1)
    )
    assert few.exposed_share == "under 10000 records" or few.exposed_share == 0.0
    assert isinstance(all_shown.exposed_share, float)


@pytest.mark.parametrize("kind", ["tree", "forest", "number", "bare"])
def test_results_go_through_json(tree, frame, kind):
    x = frame[["a", "b", "c"]]
    model = {
        "tree": tree,
        "bare": tree,
        "forest": RandomForestClassifier(4, random_state=0).fit(x, frame["y"]),
        "number": DecisionTreeRegressor(random_state=0, min_samples_leaf=2).fit(
            x[["a", "b"]], frame["c"]
        ),
    }[kind]
    data, label = (None, None) if kind == "bare" else (frame, "c" if kind == "number" else "y")
    audit = trees.audit(model, data, label=label)
    plain = json.loads(json.dumps(audit.to_dict()))
    assert AuditSummary.from_dict(plain).to_dict() == plain
    rounded = None if audit.score is None else round(audit.score, 4)
    assert AuditSummary.from_dict(plain) == replace(audit.summary, score=rounded)
    pruned = trees.prune(model, data, label=label)
    plain = json.loads(json.dumps(pruned.to_dict()))
    assert PruneSummary.from_dict(plain).to_dict() == plain
    for summary in (audit.summary, pruned.summary):
        assert summary.to_pandas().to_numpy().tolist() == [list(row) for row in summary.rows()]


def test_what_is_no_summary_is_refused_by_place():
    with pytest.raises(InputError, match="an audit of trees are not as they should be at 'model'"):
        AuditSummary.from_dict({"kind": "classification"})
