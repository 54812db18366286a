"""Dumps that XGBoost and LightGBM wrote give their own predictions and the counts of the data, without either library."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.trees.formats.dumps import read_lightgbm, read_xgboost
from chaffinch.trees.tree import recount

HELD = json.loads((Path(__file__).parent / "boosted_dumps.json").read_text())
X = np.array(HELD["X"], dtype=np.float64)
Y = np.array(HELD["y"])
COVERS = json.loads((Path(__file__).parent / "boosted_covers.json").read_text())
COLUMNS = np.array(COVERS["X"], dtype=np.float64).T
SQUARED = "reg:squarederror"


def every():
    return [
        ("saved", read_xgboost(HELD["xgboost_saved"]), "xgboost_margin"),
        ("saved text", read_xgboost(json.dumps(HELD["xgboost_saved"])), "xgboost_margin"),
        ("dump", read_xgboost(HELD["xgboost_dump"], objective=SQUARED), "xgboost_margin"),
        (
            "dump texts",
            read_xgboost([json.dumps(t) for t in HELD["xgboost_dump"]], objective=SQUARED),
            "xgboost_margin",
        ),
        ("LightGBM", read_lightgbm(HELD["lightgbm"]), "lightgbm_raw"),
        ("LightGBM JSON", read_lightgbm(json.dumps(HELD["lightgbm"])), "lightgbm_raw"),
        ("LightGBM text", read_lightgbm(HELD["lightgbm_text"]), "lightgbm_raw"),
    ]


@pytest.mark.parametrize(
    ("name", "model", "answer"), every(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_predictions_and_counts_are_theirs(name, model, answer):
    assert len(model.trees) == 2
    total = sum(tree.value[tree.apply(X.T), 0, 0] for tree in model.trees)
    # XGBoost adds a base score to every record.
    np.testing.assert_allclose(
        total - total[0], np.array(HELD[answer]) - HELD[answer][0], atol=1e-5
    )
    for told, counted in zip(model.trees, recount(model, X.T, [Y]).trees, strict=True):
        np.testing.assert_array_equal(told.samples, counted.samples)
    audit = trees.audit(model, columns=X.T, labels=[Y])
    assert audit.predicates
    assert all(p.holds(X.T, [Y]).sum() == 1 for p in audit.predicates)


def test_xgboost_goes_left_below_the_cut_not_at_it():
    model = read_xgboost(HELD["xgboost_dump"])
    root = HELD["xgboost_dump"][0]
    column, cut = int(root["split"][1:]), float(np.float32(root["split_condition"]))
    values = np.array([np.nextafter(np.float32(cut), np.float32(-9)), cut])
    assert model.trees[0].feature[0] == column
    assert model.trees[0].goes_left(0, values).tolist() == [True, False]


def test_covers_are_counts_for_squared_error_alone():
    assert not read_xgboost(HELD["xgboost_dump"]).counts_known
    assert "squared error" in trees.audit(read_xgboost(HELD["xgboost_dump"])).reason
    logistic = copy.deepcopy(HELD["xgboost_saved"])
    logistic["learner"]["objective"]["name"] = "binary:logistic"
    assert not read_xgboost(logistic).counts_known
    weighted = copy.deepcopy(HELD["xgboost_saved"])
    weighted["learner"]["gradient_booster"]["model"]["trees"][0]["sum_hessian"][0] = 19.5
    assert "weights" in trees.audit(read_xgboost(weighted)).reason
    bare = [
        json.loads(json.dumps(tree).replace('"cover"', '"other"')) for tree in HELD["xgboost_dump"]
    ]
    assert "statistics" in trees.audit(read_xgboost(bare, objective=SQUARED)).reason


def test_names():
    assert read_xgboost(HELD["xgboost_saved"], features=["a", "b"]).features == ("a", "b")
    with pytest.raises(InputError, match="2 columns, but 1 names"):
        read_xgboost(HELD["xgboost_saved"], features=["a"])
    named = json.loads(
        json.dumps(HELD["xgboost_dump"]).replace('"f0"', '"age"').replace('"f1"', '"hours"')
    )
    assert read_xgboost(named, features=["age", "hours"]).features == ("age", "hours")
    with pytest.raises(InputError, match="give their names"):
        read_xgboost(named)
    with pytest.raises(InputError, match="not among the given"):
        read_xgboost(named, features=["age", "other"])


def test_missing_values_of_lightgbm():
    made = copy.deepcopy(HELD["lightgbm"])
    root = made["tree_info"][0]["tree_structure"]
    root.update(
        missing_type="None", threshold=-1.0
    )  # missing values are zeros then, and zero is above
    assert not read_lightgbm(made).trees[0].missing_left[0]
    root.update(threshold=1.0)
    assert read_lightgbm(made).trees[0].missing_left[0]
    root.update(missing_type="NaN", default_left=False)
    assert not read_lightgbm(made).trees[0].missing_left[0]
    root.update(missing_type="Zero")
    with pytest.raises(InputError, match="zero_as_missing"):
        read_lightgbm(made)


def test_sets_of_categories_are_refused():
    made = copy.deepcopy(HELD["lightgbm"])
    made["tree_info"][0]["tree_structure"]["decision_type"] = "=="
    with pytest.raises(InputError, match="sets of categories"):
        read_lightgbm(made)
    made = copy.deepcopy(HELD["xgboost_dump"])
    made[0]["split_condition"] = [1, 2]
    with pytest.raises(InputError, match="sets of categories"):
        read_xgboost(made)


@pytest.mark.parametrize("read", [read_xgboost, read_lightgbm])
@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        "{}",
        "tree\n",
        "tree\nfeature_names=a\nTree=0\nleaf_value=x",
        '{"learner": 3}',
        "[1]",
        '[{"children": [{}]}]',
        "[" * 100_000,
    ],
)
def test_damaged_dumps_are_refused(read, broken):
    with pytest.raises(InputError):
        read(broken)


def test_every_truncation_of_the_text_is_refused_or_read_whole():
    text = HELD["lightgbm_text"].partition("end of trees")[0]
    for cut in range(0, len(text), 37):
        try:
            model = read_lightgbm(text[:cut])
        except InputError:
            continue
        assert all(tree.n_nodes >= 1 for tree in model.trees)


def test_loops_and_nodes_that_are_shared_are_refused():
    made = copy.deepcopy(HELD["xgboost_dump"][0])
    made["children"][1] = made["children"][0]
    with pytest.raises(InputError):
        read_xgboost([made])
    saved = copy.deepcopy(HELD["xgboost_saved"])
    saved["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"][0] = 0
    with pytest.raises(InputError, match="do not form a tree"):
        read_xgboost(saved)


def covered(name, **known):
    entry = COVERS["models"][name]
    return read_xgboost(entry["model"], **known), [np.array(COVERS["labels"][entry["label"]])]


@pytest.mark.parametrize(
    "name", ["logistic", "logistic_half", "logitraw", "softmax", "poisson", "absolute", "parallel"]
)
def test_covers_of_other_objectives_give_their_counts_back(name):
    model, labels = covered(name)
    counted = recount(model, COLUMNS, labels)
    first = len(model.trees) // 2 if name in ("softmax", "parallel") else 1
    for tree, truth in zip(model.trees[:first], counted.trees[:first], strict=True):
        np.testing.assert_array_equal(tree.samples, truth.samples)
    for tree, truth in zip(model.trees, counted.trees, strict=True):
        known = tree.bounds if tree.samples is None else np.column_stack([tree.samples] * 2)
        assert ((known[:, 0] <= truth.samples) & (truth.samples <= known[:, 1])).all()
    audit = trees.audit(model, columns=COLUMNS, labels=labels, at_least=4)
    assert all(0 < p.holds(COLUMNS, labels).sum() < 4 for p in audit.predicates or ())
    if audit.predicates:
        assert audit.checked[0] == audit.checked[1]


def test_a_logistic_model_singles_out_by_its_covers_alone():
    model, labels = covered("logistic")
    audit = trees.audit(model, at_least=5)
    assert audit.exposed
    assert audit.verdict.startswith(
        "Exposed: the way to a node is true of fewer than 5 records. Trees of boosting cannot"
    )
    assert audit.predicates
    assert all(0 < p.holds(COLUMNS, labels).sum() < 5 for p in audit.predicates)


@pytest.mark.parametrize(
    ("name", "words"),
    [("weighted", "weights or margins of their own"), ("scaled", "scale_pos_weight")],
)
def test_covers_of_weights_are_no_counts(name, words):
    model, _ = covered(name)
    assert model.counted == 0
    audit = trees.audit(model)
    assert audit.predicates is None
    assert words in audit.verdict
    assert audit.verdict.startswith("Not known whether anybody is exposed.")


@pytest.mark.parametrize(("name", "words"), [("subsample", "a part of them"), ("dart", "dropped")])
def test_where_the_first_tree_alone_is_counted_the_audit_says_so(name, words):
    model, _ = covered(name)
    assert [tree.samples is not None for tree in model.trees] == [True, False]
    assert model.trees[1].bounds is None
    audit = trees.audit(model, at_least=2)
    assert words in audit.reason
    assert "Of 2 trees the numbers of records are known exactly in 1." in audit.verdict
    assert audit.summary.counted_trees == 1
    assert not audit.verdict.startswith("Nobody found")


def test_a_dump_needs_objective_and_base_score():
    dump, saved = COVERS["dump"], covered("logistic")[0]
    assert read_xgboost(dump, features=saved.features).counted == 0
    assert read_xgboost(dump, objective="binary:logistic").counted == 0
    base = json.loads(
        COVERS["models"]["logistic"]["model"]["learner"]["learner_model_param"]["base_score"]
    )
    told = read_xgboost(dump, objective="binary:logistic", base_score=base)
    for one, other in zip(told.trees, saved.trees, strict=True):
        known = [
            t.bounds if t.samples is None else np.column_stack([t.samples] * 2)
            for t in (one, other)
        ]
        np.testing.assert_array_equal(
            np.sort(known[0][one.leaves], axis=0), np.sort(known[1][other.leaves], axis=0)
        )
    assert (
        read_xgboost(dump, objective="binary:logistic", base_score=0.31).counted == 0
    )  # a wrong guess fits nothing


@pytest.mark.parametrize("name", ["logistic", "weighted"])
def test_lightgbm_counts_records_whatever_they_weigh(name):
    model = read_lightgbm(COVERS["lightgbm"][name])
    labels = [np.array(COVERS["labels"]["binary"])]
    for tree, truth in zip(model.trees, recount(model, COLUMNS, labels).trees, strict=True):
        np.testing.assert_array_equal(tree.samples[tree.leaves], truth.samples[tree.leaves])
