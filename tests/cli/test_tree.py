"""tree audit and tree prune, as a person uses them: what they write, what they refuse, and what never leaves."""

from __future__ import annotations

import json
import stat
import sys

import numpy as np
import pandas as pd
import pytest

from chaffinch.cli import app as cli
from chaffinch.cli.tree import tree as tree_app

skops_io = pytest.importorskip("skops.io", reason="skops files need the extra")


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `chaffinch tree ...` in this process, through the same door as a shell's."""

    def call(*arguments):
        monkeypatch.setattr(cli, "app", tree_app)
        monkeypatch.setattr(sys, "argv", ["chaffinch tree", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Done(ended.value.code or 0, said.out, said.err)

    return call


@pytest.fixture(scope="module")
def frame(data):
    return pd.read_csv(data / "cmc.csv")


@pytest.fixture(scope="module")
def folder(frame, data, tmp_path_factory):
    """A grown tree, a forest and a regression, saved with skops, beside the data."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    out = tmp_path_factory.mktemp("trees")
    x, y = frame.drop(columns="contraceptive_method"), frame["contraceptive_method"]
    models = {
        "tree": DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(x, y),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0).fit(x, y),
        "bare": DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(x.to_numpy(), y),
        "number": DecisionTreeRegressor(max_depth=8, random_state=0).fit(
            x.drop(columns="num_children"), x["num_children"]
        ),
        "forest": RandomForestClassifier(4, max_depth=7, random_state=0, oob_score=True).fit(x, y),
        "boosted": GradientBoostingClassifier(n_estimators=3, random_state=0).fit(x, y),
    }
    for name, model in models.items():
        skops_io.dump(model, out / f"{name}.skops")
    frame.to_csv(out / "cmc.csv", index=False)
    return out


LABEL = "contraceptive_method"


def test_an_audit_says_how_much_and_keeps_the_rest_inside(run, folder, frame, tmp_path):
    told, inside = tmp_path / "a.json", tmp_path / "inside.json"
    done = run(
        "audit",
        folder / "tree.skops",
        "--data",
        folder / "cmc.csv",
        "--label",
        LABEL,
        "--json",
        told,
        "--confidential",
        inside,
    )
    assert done.code == 1, done.err
    assert "Exposed" in done.out
    assert stat.S_IMODE(inside.stat().st_mode) == 0o600
    kept, left = json.loads(inside.read_text()), json.loads(told.read_text())
    assert kept["confidential"] is True
    assert left["exposed"] is True
    assert left["vulnerable_nodes"] == len(kept["predicates"]) >= 10
    # The second opinion is pandas: each mask is true of one row. A mask is an expression of comparisons; the test runs it, the package never does.
    for one in kept["predicates"][:40]:
        assert {"tree", "node", "label", "conditions", "sql", "pandas"} <= set(one)
        assert int(eval(one["pandas"], {"df": frame}).sum()) == 1
    assert left["checked"]["as_claimed"] is True
    assert 0 < left["tries"]["score"] <= 1
    constants = {repr(c[2]) for one in kept["predicates"] for c in one["conditions"] if c[2] > 10}
    for text in (told.read_text(), done.out):
        assert not any(constant in text for constant in constants)
        assert "conditions" not in text


def test_accuracy_is_that_of_scikit_learn(run, folder, frame, tmp_path):
    told = tmp_path / "a.json"
    x, y = frame.drop(columns=LABEL), frame[LABEL]
    for name in ("tree", "forest"):
        run(
            "audit",
            folder / f"{name}.skops",
            "--data",
            folder / "cmc.csv",
            "--label",
            LABEL,
            "--json",
            told,
            "--overwrite",
        )
        model = skops_io.load(folder / f"{name}.skops", trusted=["sklearn.tree._tree.Tree"])
        assert json.loads(told.read_text())["accuracy"] == pytest.approx(
            model.score(x, y), abs=1e-4
        )
    run(
        "audit",
        folder / "number.skops",
        "--data",
        folder / "cmc.csv",
        "--label",
        "num_children",
        "--json",
        told,
        "--overwrite",
    )
    model = skops_io.load(folder / "number.skops", trusted=["sklearn.tree._tree.Tree"])
    score = model.score(x.drop(columns="num_children"), x["num_children"])
    assert json.loads(told.read_text())["r2"] == pytest.approx(score, abs=1e-4)


def test_nobody_found_ends_with_0_and_a_small_number_is_a_word(run, folder, tmp_path):
    told = tmp_path / "a.json"
    done = run("audit", folder / "stump.skops", "--json", told)
    assert done.code == 0
    assert "Nobody found" in done.out
    assert json.loads(told.read_text())["exposed_records"] == 0
    # A tree of three splits, one leaf of which holds one record of a class: the number of records is not told.
    from sklearn.tree import DecisionTreeClassifier

    x = np.arange(40.0)[:, None]
    skops_io.dump(DecisionTreeClassifier().fit(x, np.r_[np.zeros(39), 1]), tmp_path / "few.skops")
    done = run("audit", tmp_path / "few.skops", "--json", told, "--overwrite")
    found = json.loads(told.read_text())
    assert done.code == 1
    assert (found["vulnerable_nodes"], found["exposed_records"], found["exposed_share"]) == (
        "<10",
        "<10",
        None,
    )


@pytest.mark.parametrize("ending", ["skops", "json"])
@pytest.mark.parametrize("at_least", [2, 5])
def test_a_pruned_file_is_certified_and_tells_no_counts(
    run, folder, frame, tmp_path, ending, at_least
):
    out, told = tmp_path / f"out.{ending}", tmp_path / "p.json"
    data = ["--data", folder / "cmc.csv", "--label", LABEL]
    done = run(
        "prune", folder / "tree.skops", "-o", out, "--at-least", at_least, *data, "--json", told
    )
    assert done.code == 0, done.out + done.err
    assert "Certificate" in done.out
    found = json.loads(told.read_text())
    assert found["certificate"]["holds"] is True
    assert found["after"]["leaves"] < found["before"]["leaves"]
    again = run("audit", out, *data)
    assert again.code == 0
    assert "Nobody found" in again.out
    assert "not known" in again.out
    if ending == "skops":  # the second opinion: rows counted by scikit-learn's own walk
        model = skops_io.load(out, trusted=["sklearn.tree._tree.Tree"])
        x, y = frame.drop(columns=LABEL), frame[LABEL]
        sizes = pd.crosstab(model.apply(x), y).to_numpy()
        assert sizes[sizes > 0].min() >= at_least
        assert not model.tree_.n_node_samples.any()
        assert found["after"]["accuracy"] == pytest.approx(model.score(x, y), abs=1e-4)


def test_most_splits_are_kept_where_leaves_may_tell_less(run, folder, tmp_path):
    leaves = {}
    for keep in ("safe", "most"):
        told, out = tmp_path / f"{keep}.json", tmp_path / f"{keep}.skops"
        done = run("prune", folder / "tree.skops", "-o", out, "--splits", keep, "--json", told)
        assert done.code == 0
        summary = json.loads(told.read_text())
        assert (summary["splits"], summary["certificate"]["holds"]) == (keep, True)
        leaves[keep] = summary["after"]["leaves"]
    assert leaves["most"] > leaves["safe"]
    assert "by a class that it names, or by none of these." in " ".join(done.out.split())
    assert (
        run("prune", folder / "tree.skops", "-o", tmp_path / "x.skops", "--splits", "all").code == 2
    )
    assert not (tmp_path / "x.skops").exists()


def test_a_regression_is_pruned(run, folder, frame, tmp_path):
    out = tmp_path / "out.skops"
    done = run("prune", folder / "number.skops", "-o", out, "--at-least", 5)
    assert done.code == 0, done.out + done.err
    model = skops_io.load(out, trusted=["sklearn.tree._tree.Tree"])
    x = frame.drop(columns=[LABEL, "num_children"])
    assert np.unique(model.apply(x), return_counts=True)[1].min() >= 5


def test_a_forest_is_certified_for_what_was_looked_at(run, folder, frame, tmp_path):
    """Without data only draws are known, and the certificate says so; with data every leaf of every tree is counted."""
    out, told = tmp_path / "out.skops", tmp_path / "p.json"
    assert run("prune", folder / "forest.skops", "-o", out, "--json", told).code == 0
    assert "did not draw" in json.loads(told.read_text())["certificate"]["limits"]
    done = run(
        "prune",
        folder / "forest.skops",
        "-o",
        out,
        "--data",
        folder / "cmc.csv",
        "--label",
        LABEL,
        "--json",
        told,
        "--overwrite",
    )
    assert done.code == 0, done.out + done.err
    assert json.loads(told.read_text())["certificate"]["limits"] == ""
    model = skops_io.load(out, trusted=["sklearn.tree._tree.Tree"])
    assert not [name for name in vars(model) if name.startswith("oob_") and name != "oob_score"]
    for where in model.apply(frame.drop(columns=LABEL)).T:
        sizes = pd.crosstab(where, frame[LABEL]).to_numpy()
        assert sizes[sizes > 0].min() >= 2


def test_no_file_without_a_certificate(run, folder, tmp_path, monkeypatch):
    from chaffinch.trees import study

    told, out = tmp_path / "p.json", tmp_path / "out.skops"
    monkeypatch.setattr(study, "_silent", lambda *_: False)
    done = run("prune", folder / "tree.skops", "-o", out, "--json", told)
    assert done.code == 1
    assert "No certificate, and no file" in done.out
    assert json.loads(told.read_text())["certificate"]["holds"] is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.json"]


def test_plain_json_goes_round(run, folder, tmp_path):
    from chaffinch.trees.formats.files import open_model, write_model

    write_model(tmp_path / "plain.json", open_model(folder / "tree.skops").ensemble)
    assert run("audit", tmp_path / "plain.json").code == 1
    assert run("prune", tmp_path / "plain.json", "-o", tmp_path / "out.json").code == 0
    done = run("prune", tmp_path / "plain.json", "-o", tmp_path / "out.skops")
    assert (done.code, "ends in .json" in done.err) == (2, True)
    done = run("prune", tmp_path / "out.json", "-o", tmp_path / "twice.json")
    assert (done.code, "taken out" in done.err) == (2, True)


def test_a_model_without_names_takes_columns_in_their_order(run, folder):
    done = run("audit", folder / "bare.skops", "--data", folder / "cmc.csv", "--label", LABEL)
    assert done.code == 1
    assert "taken in their order" in done.err


def test_boosted_trees_are_audited_by_counts_and_not_pruned(run, folder, tmp_path):
    done = run("audit", folder / "boosted.skops", "--data", folder / "cmc.csv", "--label", LABEL)
    assert done.code in (0, 1), done.err
    done = run("prune", folder / "boosted.skops", "-o", tmp_path / "out.skops")
    assert (done.code, "boosting" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit", "tree.skops", "--data", "cmc.csv"], "data needs label"),
        (
            ["audit", "tree.skops", "--data", "cmc.csv", "--label", "nobody"],
            "Unknown column 'nobody'",
        ),
        (
            ["audit", "tree.skops", "--data", "other.csv", "--label", LABEL],
            "lacks 1 of the 9 columns of the model: wife_age",
        ),
        (
            ["audit", "tree.skops", "--data", "words.csv", "--label", LABEL],
            "Column 'wife_age' mixes numbers and text",
        ),
        (
            ["audit", "tree.skops", "--data", "cmc.csv", "--label", "wife_age"],
            "none of the classes",
        ),
        (
            ["audit", "tree.skops", "--data", "cmc.csv", "--label", f"{LABEL},wife_age"],
            "predicts 1 label",
        ),
        (
            ["audit", "tree.skops", "--at-least", "1"],
            "at_least must be a whole number of at least 2. Got 1.",
        ),
        (["audit", "missing.skops"], "No such file"),
        (["audit", "cmc.csv"], "is no model that is read here"),
        (["prune", "tree.skops", "-o", "tree.skops"], "it is the input"),
        (["prune", "tree.skops", "-o", "x.pkl"], "must end in .skops or .json"),
    ],
)
def test_bad_input_ends_with_2_and_a_clear_word(run, folder, frame, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    frame.drop(columns="wife_age").to_csv("other.csv", index=False)
    frame.assign(wife_age=frame["wife_age"].astype(str).replace("16", "secret")).to_csv(
        "words.csv", index=False
    )
    before = sorted(folder.iterdir())
    done = run(*arguments)
    assert done.code == 2
    assert words in done.err
    assert "secret" not in done.err
    assert sorted(folder.iterdir()) == before


def test_a_page_is_written(run, folder, tmp_path):
    page = tmp_path / "tree.html"
    assert (
        run(
            "prune", folder / "tree.skops", "-o", tmp_path / "o.skops", "--html", page, "--quiet"
        ).out
        == ""
    )
    assert page.read_text().startswith("<!")
    assert "the file as written was attacked" in page.read_text()
    assert "isolates people" not in page.read_text()
    page.unlink()
    run("audit", folder / "tree.skops", "--html", page)
    assert "<script" not in page.read_text()


def test_without_skops_the_advice_is_given(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    done = run("audit", folder / "tree.skops")
    assert (done.code, "pip install 'chaffinch[skops]'" in done.err) == (2, True)
