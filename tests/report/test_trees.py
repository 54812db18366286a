"""The page on a tree: what it draws is the tree, what it marks isolates, and no constant or small count is on it."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from chaffinch import trees
from chaffinch._base.errors import InputError
from chaffinch.report.trees import MARKED, MOST_LEAVES, tree_page, tree_picture
from chaffinch.trees import prune, read_model
from chaffinch.trees.result import CertificateSummary, PruneSummary


def made(
    n: int = 600, *, seed: int = 0, names: tuple[str, ...] = ("age", "income", "hours", "score")
):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(1000, 300, (n, len(names))), columns=list(names))
    y = (x.iloc[:, 0] + x.iloc[:, 1] + rng.normal(0, 200, n) > 2000).astype(int).to_numpy()
    return x, y


def studied(model, x, y, *, data: bool = True):
    model.fit(x, y)
    given = {"columns": list(x.to_numpy().T), "labels": [y]} if data else {}
    return trees.audit(read_model(model), **given), prune(model)


def words_of(html: str) -> str:
    """Everything a reader may see or hear: text, titles and descriptions, without styles and coordinates."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", body))


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(max_depth=4, random_state=0),
        DecisionTreeRegressor(random_state=0, min_samples_leaf=1),
        RandomForestClassifier(5, random_state=0),
    ],
    ids=["deep", "shallow", "numbers", "forest"],
)
def test_no_constant_of_the_model_is_on_the_page(model):
    x, y = made()
    target = y if "Regressor" not in type(model).__name__ else x["income"].to_numpy() * 7.123
    audit, pruned = studied(model, x, target)
    html = tree_page(audit, pruned, "A tree", scores=(0.81, 0.79))
    read = words_of(html)
    for tree in audit.model.trees:
        cuts = tree.threshold[np.isfinite(tree.threshold)]
        values = tree.value.ravel() if audit.model.kind == "regression" else []
        # Cuts here have four digits and many decimals: none may stand on the page at any usual precision.
        for number in [*cuts, *values]:
            assert f"{number:.2f}" not in html
            assert f"{number:.6g}" not in read
    assert "0.810" in read
    assert "−0.020" in read
    assert "<script" not in html
    assert not re.search(r"(src|href)=.?https?:", html)


def test_small_counts_are_words():
    x, y = made(400)
    audit, pruned = studied(DecisionTreeClassifier(max_depth=4, random_state=0), x, y)
    assert audit.n_exposed is not None
    assert 0 < audit.n_exposed < 10, "the case must have a small count"
    read = words_of(tree_page(audit, pruned, "A tree"))
    row = re.search(r"Records in leaves that isolate them\s+(.*?)\n", read)
    assert row is not None
    assert row[1].startswith("fewer than 10 records")
    assert re.search(r"Nodes that isolate\s+fewer than 10", read)
    # A share of a few records would tell their number.
    assert f"{100 * audit.share:.1f}" not in row[0]


def test_the_picture_has_every_edge_and_marks_what_isolates():
    x, y = made(300)
    model = DecisionTreeClassifier(max_depth=5, random_state=1).fit(x, y)
    audit = trees.audit(read_model(model))
    # The second opinion: counts of classes from scikit-learn's own paths over the data.
    passes = model.decision_path(x).toarray().astype(bool)
    alone = {
        node
        for node in range(model.tree_.node_count)
        if any((passes[:, node] & (y == k)).sum() == 1 for k in (0, 1))
    }
    assert alone
    tree = audit.model.trees[0]
    svg, folded = tree_picture(
        "t", "Before", tree, audit.model.features, {p.node for p in audit.predicates or ()}
    )
    assert not folded
    edges = re.findall(r'<path d="M[^"L]*L[^"L]*L[^"L]*"[^>]*stroke="(#\w+)"', svg)
    assert len(edges) == model.tree_.node_count - 1
    above = {
        above for node in alone for above in np.flatnonzero(passes[passes[:, node]].all(axis=0))
    }
    ways = {n for n in above if passes[:, n].sum() >= 1} - {0}
    assert edges.count(MARKED) == len(ways)
    assert len(re.findall("<rect ", svg)) == len(alone)
    assert set(re.findall(r"<(\w+)", svg)) <= {
        "svg",
        "title",
        "desc",
        "g",
        "rect",
        "circle",
        "path",
        "text",
    }


def test_names_of_splits_are_those_of_the_model():
    x, y = made(300)
    model = DecisionTreeClassifier(max_depth=3, random_state=1).fit(x, y)
    plain = read_model(model)
    svg, _ = tree_picture("t", "x", plain.trees[0], plain.features, ())
    drawn = re.findall(r"<title>([^<]*)</title>", svg)
    asked = [model.feature_names_in_[f] for f in model.tree_.feature if f >= 0]
    assert sorted(drawn) == sorted(asked)
    assert MARKED not in svg


@pytest.mark.parametrize("best_first", [None, 900])
def test_large_trees_are_folded_and_stay_small(best_first):
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(4000, 3)), columns=["a", "b", "c"])
    y = rng.integers(0, 2, 4000)
    audit, pruned = studied(
        DecisionTreeClassifier(random_state=0, max_leaf_nodes=best_first), x, y, data=False
    )
    assert len(audit.model.trees[0].leaves) > 4 * MOST_LEAVES
    svg, folded = tree_picture(
        "t", "x", audit.model.trees[0], ("a", "b", "c"), {p.node for p in audit.predicates}
    )
    assert folded
    ends = len(re.findall("<circle[^>]*fill=.#fff", svg)) + len(re.findall("Z. fill", svg))
    assert ends <= MOST_LEAVES
    assert re.search(f'Z" fill="{MARKED}"', svg), "a fold that hides an isolating node says so"
    assert float(re.search(r'viewBox="0 0 (\d+)', svg)[1]) <= 560
    html = tree_page(audit, pruned, "A tree")
    assert "The deepest parts are folded" in html
    assert len(html) < 300_000


def test_a_chain_as_deep_as_its_records_is_drawn():
    n = 300
    x = pd.DataFrame({"a": 2.0 ** (np.arange(n) / 10)})
    model = DecisionTreeClassifier(random_state=0).fit(x, np.arange(n) % 2)
    audit = trees.audit(read_model(model))
    assert "<svg" in tree_page(audit, None, "A chain")


def test_a_tree_of_one_node():
    x, y = made(50)
    audit, pruned = studied(DecisionTreeClassifier(max_depth=1, min_samples_leaf=50), x, y)
    html = tree_page(audit, pruned, "A root")
    assert "No node of this model isolates one record" in html
    assert 'class="alarm"' not in html


def test_both_ends():
    x, y = made()
    risky, _ = studied(DecisionTreeClassifier(random_state=0), x, y)
    safe, pruned = studied(DecisionTreeClassifier(max_depth=1), x, y)
    assert "This model isolates people" in tree_page(risky, None, "x")
    html = tree_page(safe, pruned, "x")
    assert "This model isolates people" not in html
    assert "no way to a node that isolates anyone" in html
    assert MARKED not in re.findall(r'<svg[^>]*id="tree-before".*?</svg>', html, re.DOTALL)[0]


def test_of_a_forest_the_worst_tree_is_drawn():
    x, y = made(300)
    audit, pruned = studied(RandomForestClassifier(6, max_depth=5, random_state=4), x, y)
    per_tree = [len({p.node for p in audit.predicates or () if p.tree == i}) for i in range(6)]
    worst = max(range(6), key=per_tree.__getitem__)
    html = tree_page(audit, pruned, "A forest")
    assert f"Tree {worst + 1} of 6" in html
    # Counts are draws: the page does not promise what draws cannot tell.
    assert "As far as its counts tell" in html
    assert "no number of tries finds one" not in html
    nodes = sum(one.tree_.node_count for one in pruned.model.estimators_)
    assert re.search(rf"Nodes\s+{audit.to_dict()['nodes']:,}\s+{nodes:,}\s", words_of(html))


def test_counts_that_are_not_known_are_said_to_be():
    x, y = made(200)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    model.fit(x, y, sample_weight=np.random.default_rng(0).random(200) + 0.1)
    audit = trees.audit(read_model(model))
    assert audit.predicates is None
    read = words_of(tree_page(audit, None, "x"))
    assert "is not known" in read
    assert "not known" in re.search(r"Nodes that isolate\s+(.*?)\n", read)[1]


def test_what_trying_found_is_not_hidden_by_counts():
    # Leaves of two records, of different values: the one above the mean is alone, though no leaf holds fewer than two.
    x, _ = made(40)
    audit, pruned = studied(
        DecisionTreeRegressor(min_samples_leaf=2, random_state=0), x, x["income"].to_numpy()
    )
    assert any(t.tries for t in audit.tries)
    alone = tree_page(audit, None, "x")
    assert "This model isolates people" in alone
    assert "model isolates people" not in tree_page(
        audit, pruned, "x"
    )  # the page judges what was pruned, and that isolates nobody
    assert "Pruning by numbers of records does not rule that out" in words_of(alone).replace(
        "\n", " "
    )


def test_names_of_strangers_stay_text():
    names = ("<script>x</script>", "' onclick='x", "x" * 400, "عمر")
    x, y = made(names=names)
    audit, pruned = studied(DecisionTreeClassifier(max_depth=4, random_state=0), x, y)
    html = tree_page(replace(audit, model=replace(audit.model, model="<b>")), pruned, "<i>")
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "x" * 100 not in html


def test_another_pruned_model_is_refused():
    x, y = made()
    audit, _ = studied(DecisionTreeClassifier(max_depth=4), x, y)
    _, pruned = studied(DecisionTreeClassifier(max_depth=2), x, y)
    with pytest.raises(InputError, match="must come from the audited one"):
        tree_page(audit, pruned, "x")


def test_a_model_that_tells_classes_together_is_no_alarm_and_says_what_it_leaves():
    x, _ = made()
    y = np.digitize(
        x["age"] + np.random.default_rng(1).normal(0, 200, len(x)), [600, 800, 1000, 1200, 1400]
    )
    model = DecisionTreeClassifier(min_samples_leaf=6, random_state=0).fit(x, y)
    audit = trees.audit(read_model(model))
    read = words_of(tree_page(audit, prune(model, splits="most"), "A tree"))
    assert "tell classes of few records together" in read
    assert "still has nodes that isolate" not in read
    assert "tell classes of few records together" not in words_of(
        tree_page(audit, prune(model), "A tree")
    )


@pytest.mark.parametrize(
    ("splits", "data", "words"),
    [
        ("safe", False, "were pruned below it show"),
        ("most", False, "does not rule that out"),
        ("safe", True, "was counted on the data"),
    ],
)
def test_a_regression_says_how_both_sides_of_a_leaf_are_known(splits, data, words):
    x, _ = made()
    y = x["income"].to_numpy() ** 2
    model = DecisionTreeRegressor(random_state=0).fit(x, y)
    given = {"columns": list(x.to_numpy().T), "labels": [y]} if data else {}
    assert words in words_of(
        tree_page(trees.audit(read_model(model)), prune(model, splits=splits, **given), "A tree")
    )


def test_a_page_judges_the_pruned_model_and_says_what_it_was_before():
    x, y = made()
    risky, pruned = studied(DecisionTreeClassifier(random_state=0), x, y)
    assert risky.exposed
    html = tree_page(risky, pruned, "x")
    assert 'class="alarm"' not in html
    assert 'class="word word-fail"' not in html
    read = " ".join(words_of(html).split())
    assert (
        "The model before pruning. Whoever has this model can write down conditions that are true of one record"
        in read
    )
    unsafe = replace(pruned, after=pruned.before)  # as if nothing had been taken out
    html = tree_page(risky, unsafe, "x")
    assert "The pruned model isolates people. Do not publish it as it is." in html
    assert 'class="word word-fail"' in html


@pytest.mark.parametrize(
    ("holds", "words"),
    [(True, "the file as written was attacked"), (False, "the attack on it still finds someone")],
)
def test_a_certificate_decides_what_a_page_opens_with(holds, words):
    x, y = made()
    risky, pruned = studied(DecisionTreeClassifier(random_state=0), x, y)
    certificate = CertificateSummary(
        holds, 2, True, True, not holds, None, "", "no node singles out fewer than 2 records."
    )
    html = tree_page(risky, pruned, "x", certificate=certificate)
    assert words in " ".join(words_of(html).split())
    assert ('class="word word-fail"' in html, 'class="alarm"' in html) == (not holds, not holds)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "Accuracy on the data given"),
        ({"trained_on": True}, "Accuracy on the training records"),
        ({"holdout": 1}, "Accuracy on holdout records"),
        ({"holdout": 1, "trained_on": True}, "Accuracy on holdout records"),
    ],
)
def test_a_score_says_of_which_records_it_is(given, words):
    """A full tree knows its training records and not others: the scores themselves tell the records apart."""
    x, y = made(400)
    table, others = (
        part.assign(y=label) for part, label in ((x[:300], y[:300]), (x[300:], y[300:]))
    )
    model = DecisionTreeClassifier(random_state=0).fit(x[:300], y[:300])
    given = given | ({"holdout": others} if "holdout" in given else {})
    result = trees.prune(model, table, label="y", **given)
    score = model.score(x[300:], y[300:]) if "holdout" in given else 1.0
    assert (
        result.audit.score
        == trees.audit(model, table, label="y", **given).score
        == pytest.approx(score)
    )
    read = words_of(tree_page(result.audit, result, "x"))
    assert words in read
    assert "not fitted to" not in read
    assert dict(result.summary.rows())[words[0].lower() + words[1:]].startswith(
        f"{score:.3f} before"
    )
    assert PruneSummary.from_dict(result.to_dict()).before.scored_on == result.audit.scored_on
    assert words in words_of(tree_page(result.audit, None, "x"))


def test_trained_on_needs_data():
    x, y = made(100)
    with pytest.raises(InputError, match="give data too"):
        trees.audit(DecisionTreeClassifier().fit(x, y), trained_on=True)
