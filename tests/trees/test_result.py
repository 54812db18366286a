"""Results show themselves, without a constant, and with one threshold."""

from __future__ import annotations

import json

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from chaffinch import trees
from chaffinch.report.trees import tree_page


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
