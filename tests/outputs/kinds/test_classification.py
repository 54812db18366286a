"""Classifiers: scikit-learn's rates, ROC points and areas; pandas' calibration points; derivatives; people between points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, check_entries

# The levels of what is predicted stand in another order on purpose.
FIELDS = OutputDomain(
    (
        OutputColumn("truth", ("no", "yes")),
        OutputColumn("guess", ("yes", "no")),
        OutputColumn("score", tuple(k / 20 for k in range(21))),
    )
)
MATRIX: dict[str, Any] = {
    "name": "c",
    "kind": "confusion",
    "truth": "truth",
    "predicted": "guess",
    "level": "yes",
}
ROC: dict[str, Any] = {
    "name": "r",
    "kind": "roc",
    "score": "score",
    "label": "truth",
    "thresholds": [0.3, 0.5, 0.7],
}
HEAD = {
    "format": "chaffinch-outputs",
    "version": 1,
    "columns": Outputs(FIELDS, ()).to_dict()["columns"],
}


def people_with_scores(n: int = 400, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    score = np.clip(rng.normal(8 + 4 * truth, 4), 0, 20).round().astype(int)
    return np.column_stack([truth, score < 10, score]).astype(np.int32)


def published(entry: dict[str, Any], codes: Any) -> tuple[dict[str, Any], Outputs]:
    computed = recipes_of([entry], FIELDS).computed(codes)
    return computed.outputs[0].to_dict(), Outputs(FIELDS, computed.outputs, len(codes))


def test_rates_are_those_of_scikit_learn(check: Any, slopes_hold: Any) -> None:
    codes = people_with_scores()
    truth, guess = codes[:, 0], 1 - codes[:, 1]
    entry = {
        **MATRIX,
        **dict.fromkeys(
            ("counts", "accuracy", "sensitivity", "specificity", "precision", "npv", "f1"), True
        ),
    }
    numbers, outputs = published(entry, codes)
    assert np.array(numbers["counts"])[:, ::-1].tolist() == confusion_matrix(truth, guess).tolist()
    assert numbers["accuracy"] == pytest.approx(accuracy_score(truth, guess))
    assert numbers["sensitivity"] == pytest.approx(recall_score(truth, guess))
    assert numbers["specificity"] == pytest.approx(recall_score(truth, guess, pos_label=0))
    assert numbers["precision"] == pytest.approx(precision_score(truth, guess))
    assert numbers["npv"] == pytest.approx(precision_score(truth, guess, pos_label=0))
    assert numbers["f1"] == pytest.approx(f1_score(truth, guess))
    assert check(outputs, codes) == []
    assert set(check(outputs, people_with_scores(seed=2))) >= {"c: counts", "c: accuracy"}
    for system in outputs.problem().outputs:
        if callable(getattr(system, "reported", None)):
            slopes_hold(system.reported, system.contributions(codes).sum(axis=0))


def test_points_and_areas_are_those_of_scikit_learn(check: Any, slopes_hold: Any) -> None:
    codes = people_with_scores()
    scores = codes[:, 2] / 20
    fpr, tpr, at = roc_curve(codes[:, 0], scores, drop_intermediate=False)
    rows = [int(np.flatnonzero(np.isclose(at, t))[0]) for t in ROC["thresholds"]]
    numbers, outputs = published({**ROC, "auc": True, "tpr": True, "fpr": True}, codes)
    assert numbers["tpr"] == pytest.approx(tpr[rows])
    assert numbers["fpr"] == pytest.approx(fpr[rows])
    assert numbers["auc"] == pytest.approx(roc_auc_score(codes[:, 0], scores))
    assert check(outputs, codes) == []
    assert check(outputs, people_with_scores(seed=2)) == ["r"]
    (system,) = outputs.problem().outputs
    slopes_hold(system.reported, system.contributions(codes).sum(axis=0))  # type: ignore[union-attr]


def test_calibration_points_are_those_of_pandas(cmc: Any, agrees: Any) -> None:
    frame = cmc.frame.assign(band=np.digitize(cmc.frame["wife_age"], [26, 36]))
    told = frame.groupby("band").agg(
        n=("wife_age", "size"), age=("wife_age", "mean"), religion=("wife_religion", "mean")
    )
    entry = {
        "kind": "calibration",
        "score": "wife_age",
        "label": "wife_religion",
        "groups": [[16, 25], [26, 35], [36, 49]],
    }
    agrees(
        cmc,
        entry,
        {
            "counts": told["n"].tolist(),
            "predicted": told["age"].tolist(),
            "observed": told["religion"].tolist(),
        },
    )


def test_a_dataset_evolves_from_points(evolved: Any) -> None:
    _, outputs = published(
        {**ROC, "auc": True, "tpr": True, "fpr": True, "digits": {"auc": 2, "tpr": 2, "fpr": 2}},
        people_with_scores(150),
    )
    evolved(outputs, proposals=400_000)


def test_people_between_points_and_behind_rates() -> None:
    codes = people_with_scores()
    assert {
        one.status for one in check_entries([{**ROC, "tpr": True}], FIELDS, codes, Policy())
    } == {"pass"}
    every = {**ROC, "tpr": True, "fpr": True, "thresholds": [k / 20 for k in range(1, 21)]}
    found = {one.rule: one for one in check_entries([every], FIELDS, codes, Policy())}
    assert found["threshold"].status == "fail"
    assert {"steps: without|from 0.05", "steps: with|from 0.95"} <= set(found["threshold"].where)
    # The area alone has the two groups behind it.
    few = np.vstack([codes[codes[:, 0] == 0], codes[codes[:, 0] == 1][:4]])
    area = {
        one.rule: (one.status, one.where)
        for one in check_entries([{**ROC, "thresholds": None, "auc": True}], FIELDS, few, Policy())
    }
    assert area["threshold"] == ("fail", ("with",))
    rates = {
        one.rule: one.status
        for one in check_entries([{**MATRIX, "accuracy": True}], FIELDS, few, Policy())
    }
    assert rates["threshold"] == "fail"
    groups = {
        "name": "k",
        "kind": "calibration",
        "score": "score",
        "label": "score",
        "groups": [[0, 0.05], [0.1, 1.0]],
    }
    assert {one.rule: one.where for one in check_entries([groups], FIELDS, codes[:60], Policy())}[
        "threshold"
    ] == ("0-0.05",)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**ROC, "thresholds": None, "tpr": True}, "must say at which scores its points are"),
        (ROC, "must say what it has"),
        ({**ROC, "thresholds": [0.5, 0.3], "tpr": True}, "must rise"),
        ({**ROC, "tpr": [0.1]}, "must have a tpr for each of its thresholds"),
        ({**ROC, "label": "score", "auc": True}, "different columns"),
        ({**MATRIX, "predicted": "score"}, "must have the same levels"),
        ({**MATRIX, "level": "maybe", "f1": True}, "must say which level"),
    ],
)
def test_what_is_not_said_is_asked_for(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes_of([{key: value for key, value in entry.items() if value is not None}], FIELDS)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**ROC, "tpr": [0.1, 0.2, 0.3]}, "its tpr rises with the threshold"),
        ({**ROC, "auc": 1.2}, "does not lie between 0 and 1"),
        ({**MATRIX, "accuracy": 1.2}, "the accuracy does not lie between 0 and 1"),
    ],
)
def test_what_no_records_have_is_a_contradiction(entry: dict[str, Any], message: str) -> None:
    assert message in str(
        contradictions(Outputs.from_dict({**HEAD, "rows": 50, "outputs": [entry]}))[0]
    )


def test_records_without_rates_and_too_many_scores() -> None:
    alone = np.array([[0, 1, 3]] * 20, dtype=np.int32)
    with pytest.raises(InputError, match="all its records have the label there, or none has"):
        recipes_of([{**ROC, "auc": True}], FIELDS).computed(alone)
    with pytest.raises(InputError, match="nobody is, or is predicted to be"):
        recipes_of([{**MATRIX, "sensitivity": True}], FIELDS).computed(alone)
    wide = OutputDomain((*FIELDS.columns[:2], OutputColumn("score", tuple(range(900)))))
    assert "more values than the 600" in recipes_of([{**ROC, "auc": True}], wide).rules_only["r"]
