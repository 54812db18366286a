"""Summaries: what may leave goes through JSON and comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.trees import AuditSummary, PruneSummary


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


def test_what_is_no_summary_is_refused_by_place():
    with pytest.raises(InputError, match="an audit of trees are not as they should be at 'model'"):
        AuditSummary.from_dict({"kind": "classification"})
