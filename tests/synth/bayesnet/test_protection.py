"""What protection says it cut, against plain counts; and what it does to the rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import mutual_info_score

from chaffinch import Column, Schema, read
from chaffinch._base.errors import InputError
from chaffinch.counts import MemoryCounter
from chaffinch.synth import BayesNet
from chaffinch.synth.bayesnet.protection import protection_of


def plain_through(label, a, b):
    """Return I(a; b) where a and b are independent given the label: the joint written out cell by cell."""
    n = len(label)
    joint = np.zeros((a.max() + 1, b.max() + 1))
    for value, x, y in product(np.unique(label), range(joint.shape[0]), range(joint.shape[1])):
        here = label == value
        joint[x, y] += here.sum() / n * (a[here] == x).mean() * (b[here] == y).mean()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    filled = joint > 0
    return float((joint[filled] * np.log(joint[filled] / expected[filled])).sum())


@pytest.mark.parametrize("label", [None, "c0"])
@pytest.mark.parametrize("protect", ["separate", "together"])
@pytest.mark.parametrize("sensitive", [("c1",), ("c1", "c3"), ("c4", "c1", "c2")])
def test_cuts_are_all_pairs_kept_apart_with_their_information(
    linked_table, label, protect, sensitive
):
    got = protection_of(MemoryCounter(linked_table), label, sensitive, protect)
    outside = {
        name for name in linked_table.schema.names if name not in sensitive and name != label
    }
    pairs = {frozenset((s, o)) for s in sensitive for o in outside}
    if protect == "separate":
        pairs |= {frozenset((a, b)) for a in sensitive for b in sensitive if a != b}
    assert {frozenset((cut.sensitive, cut.other)) for cut in got.cuts} == pairs
    assert len(got.cuts) == len(pairs)
    for cut in got.cuts:
        assert cut.sensitive in sensitive
        a, b = (
            linked_table.code(cut.sensitive).astype(int),
            linked_table.code(cut.other).astype(int),
        )
        assert cut.information == pytest.approx(mutual_info_score(a, b), abs=1e-12)
        through = 0.0 if label is None else plain_through(linked_table.code(label), a, b)
        assert cut.through_label == pytest.approx(through, abs=1e-12)
    assert got.information == pytest.approx(sum(cut.information for cut in got.cuts))
    assert got.to_dict()["cut_information"] == pytest.approx(got.information)
    assert len(got.to_dict()["cuts"]) == len(got.cuts)


def test_a_label_that_tells_all_lets_all_through(coded):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 200)
    (cut,) = protection_of(
        MemoryCounter(coded([label, label, label], [3, 3, 3])), "c0", ["c1"], "separate"
    ).cuts
    assert cut.through_label == pytest.approx(cut.information)


def test_a_label_that_tells_nothing_lets_nothing_through(coded):
    a = np.tile([0, 1], 100)
    (cut,) = protection_of(
        MemoryCounter(coded([np.repeat([0, 1], 100), a, a], [2, 2, 2])), "c0", ["c1"], "separate"
    ).cuts
    assert cut.through_label == pytest.approx(0, abs=1e-12)
    assert cut.information == pytest.approx(np.log(2))


def test_no_cuts_where_nothing_is_left_to_cut(coded):
    counter = MemoryCounter(coded([[0, 1], [1, 0]], [2, 2]))
    assert protection_of(counter, "c0", ["c1"], "separate").cuts == ()
    assert protection_of(counter, None, ["c0", "c1"], "together").cuts == ()


def test_unused_levels_of_the_label_do_not_matter(coded):
    label, a = [0, 0, 2, 2] * 20, [0, 1, 0, 0] * 20
    ours = protection_of(
        MemoryCounter(coded([label, a, a], [5, 2, 2])), "c0", ["c1"], "separate"
    ).cuts[0]
    assert ours.through_label == pytest.approx(
        plain_through(np.array(label), np.array(a), np.array(a))
    )


@pytest.mark.parametrize("protect", ["separate", "together"])
def test_drawn_rows_are_as_dependent_as_the_model_says(linked_table, how, protect):
    """Both ends: without protection the link is in the rows; with it, what passes through the label and no more."""
    settings = BayesNet(
        parents=2, label="c0", sensitive=("c1", "c3"), protect=protect, smoothing=0.0, **how
    )
    model = settings.fit(linked_table, seed=0)
    drawn = model.sample(200_000, seed=1)
    for cut in model.fitted.protection.cuts:
        if cut.other in settings.sensitive:
            continue
        result = mutual_info_score(drawn.code(cut.sensitive), drawn.code(cut.other))
        # 2 n I of the plug-in estimate spreads by about 2 sqrt(2 n I 2): 0.002 is many deviations at n = 200,000. Indirect
        # ways to the other column can only tell less than the link through the label.
        assert result <= cut.through_label + 0.002 + 0.05 * cut.through_label
    free = BayesNet(parents=2, **how).fit(linked_table, seed=0).sample(200_000, seed=1)
    gaps = [
        mutual_info_score(free.code(c.sensitive), free.code(c.other)) - c.through_label
        for c in model.fitted.protection.cuts
    ]
    assert max(gaps) > 0.008


def test_the_model_tells_what_was_cut(linked_table):
    model = BayesNet(parents=2, label="c0", sensitive=("c1",)).fit(linked_table)
    shown = model.to_dict()
    assert shown["label"] == "c0"
    assert shown["sensitive"] == ["c1"]
    assert shown["protection"]["protect"] == "separate"
    assert {cut["other"] for cut in shown["protection"]["cuts"]} == {"c2", "c3", "c4"}
    assert BayesNet(parents=2, label="c0").fit(linked_table).to_dict()["protection"] is None


def test_a_declared_constraint_that_carries_a_sensitive_column_is_refused():
    """A constraint acts on drawn rows, whatever the network says: with it a key would tell the sensitive column, protected or not."""
    rng = np.random.default_rng(1)
    data = {
        "area": rng.choice(["a", "b"], 400),
        "ill": rng.choice(["no", "yes"], 400),
        "vote": rng.choice(["x", "y"], 400),
    }
    data["ill"] = np.where(data["area"] == "a", "no", data["ill"])
    table = read(
        pa.table(data),
        Schema(
            tuple(Column(n, "categorical", type="string") for n in data),
            rules=("area == 'a' implies ill == 'no'",),
        ),
    )
    with pytest.raises(
        InputError,
        match="ties sensitive column 'ill' to columns that protection keeps it apart from",
    ):
        BayesNet(sensitive=("ill",), label="vote").fit(table, seed=1)
    through_label = read(
        pa.table(data),
        Schema(
            tuple(Column(n, "categorical", type="string") for n in data),
            rules=("vote == 'x' implies ill in ['no', 'yes']",),
        ),
    )
    BayesNet(sensitive=("ill",), label="vote").fit(through_label, seed=1)
