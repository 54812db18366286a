"""Trees of whole tables: the same from every engine, and nothing that protection forbids, by the joint distribution itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch import BayesNet
from chaffinch.counts import StreamCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.errors import InputError
from chaffinch.synth.bayesnet.trees import learning


def people(n: int = 2_000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    ill = rng.random(n) < age / 120
    pay = np.round(np.exp(rng.normal(3, 0.5, n)) * (1 + age / 50), 2)
    return pa.table(
        {
            "age": age,
            "ill": np.where(ill, "yes", "no"),
            "pay": pay,
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(list("abc"), n),
        }
    )


@pytest.mark.parametrize("sample", [200_000, 300])
def test_every_engine_gives_the_same_bytes(tmp_path, monkeypatch, sample):
    monkeypatch.setattr(learning, "SAMPLE", sample)
    table = people()
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "t.parquet", row_group_size=330)
    read = chaffinch.read(tmp_path / "t.parquet")
    settings = BayesNet(conditionals="trees")
    models = [
        settings.fit(data, seed=1)
        for data in (
            read,
            StreamCounter(chaffinch.scan(tmp_path / "t.parquet")),
            ReferenceCounter(read),
        )
    ]
    first, *others = [model.state()[1] for model in models]
    for other in others:
        assert first.keys() == other.keys()
        assert all(np.array_equal(first[name], other[name]) for name in first)
    assert models[0].schema.sizes == models[1].schema.sizes
    assert sum(one.n_leaves for one in models[0].tables) > 5


def test_numbers_keep_their_grain():
    drawn = (
        BayesNet(conditionals="trees").fit(people(), seed=1).sample(4_000, seed=2).data.to_pandas()
    )
    assert drawn["age"].nunique() > 60
    tables = BayesNet(conditionals="tables").fit(people(), seed=1)
    trees = BayesNet(conditionals="trees").fit(people(), seed=1)
    assert trees.schema["pay"].size > 100 > 25 > tables.schema["pay"].size
    assert trees.schema == tables.schema, "what is declared of columns stays"


def joint(model) -> dict[tuple[int, ...], float]:
    """The probability of every combination of codes."""
    sizes = model.schema.sizes
    every = np.array(list(product(*(range(size) for size in sizes))))
    chance = np.ones(len(every))
    names = model.schema.names
    for table in model.tables:
        chance *= table.probabilities(
            every[:, names.index(table.child)], [every[:, names.index(p)] for p in table.parents]
        )
    return dict(zip(map(tuple, every.tolist()), chance, strict=True))


@pytest.mark.parametrize("protect", ["separate", "together"])
def test_protected_columns_are_told_by_the_label_alone(protect):
    """Brute force over all combinations: given the label, the sensitive columns and the others are independent."""
    rng = np.random.default_rng(4)
    n = 1_500
    a, b = rng.integers(0, 3, n), rng.integers(0, 3, n)
    secret, label = (a + b) % 3, np.where(rng.random(n) < 0.7, (a > 1) * 1, rng.integers(0, 2, n))
    other = np.where(rng.random(n) < 0.8, secret, rng.integers(0, 3, n))
    columns = {"a": a, "b": b, "secret": secret, "other_secret": other, "label": label}
    table = pa.table({name: [f"v{k}" for k in values] for name, values in columns.items()})
    model = BayesNet(
        conditionals="trees", label="label", sensitive=("secret", "other_secret"), protect=protect
    ).fit(table, seed=1)
    names = list(model.schema.names)
    array = np.zeros(model.schema.sizes)
    for place, chance in joint(model).items():
        array[place] = chance
    assert array.sum() == pytest.approx(1.0)
    array = np.transpose(
        array, [names.index(name) for name in ("label", "secret", "other_secret", "a", "b")]
    )
    for part in array:
        whole = part.sum()
        hidden, open_ones = part.sum(axis=(2, 3)), part.sum(axis=(0, 1))
        assert np.allclose(
            part / whole,
            (hidden / whole)[:, :, None, None] * (open_ones / whole)[None, None],
            atol=1e-12,
        )
        if protect == "separate":
            assert np.allclose(
                hidden / whole,
                np.outer(hidden.sum(axis=1), hidden.sum(axis=0)) / whole**2,
                atol=1e-12,
            )


def test_edges_that_are_required_forbidden_or_given():
    table = people()
    model = BayesNet(
        conditionals="trees", require=(("town", "sex"),), forbid=(("age", "ill"), ("ill", "age"))
    ).fit(table, seed=1)
    assert ("town", "sex") in model.network.edges
    assert not {("age", "ill"), ("ill", "age")} & set(model.network.edges)
    given = chaffinch.Network.of(
        ("age", "ill", "pay", "sex", "town"), [("sex", "age"), ("age", "ill")]
    )
    assert set(BayesNet(conditionals="trees", network=given).fit(table, seed=1).network.edges) == {
        ("sex", "age"),
        ("age", "ill"),
    }
    assert (
        max(
            len(parents)
            for parents in BayesNet(conditionals="trees", parents=1)
            .fit(table, seed=1)
            .network.parents
        )
        <= 1
    )


def test_leaves_hold_ten_records_and_more_if_asked():
    for leaf in (10, 100):
        for tree in BayesNet(conditionals="trees", leaf=leaf).fit(people(), seed=1).tables:
            assert tree.totals[tree.splits < 0].min() >= leaf


def test_weights_count():
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], 600)
    table = pa.table(
        {
            "sex": sex,
            "ill": np.where(rng.random(600) < 0.4, "yes", "no"),
            "w": np.where(sex == "f", 3.0, 1.0),
        }
    )
    model = BayesNet(conditionals="trees").fit(
        chaffinch.read(table, schema={"w": "weight"}), seed=1
    )
    tree = next(one for one in model.tables if one.child == "sex")
    share = tree.weights[tree.starts[0] : tree.starts[1]]
    assert share[0] / share.sum() == pytest.approx(
        3 * (sex == "f").sum() / (3 * (sex == "f").sum() + (sex == "m").sum())
    )


def test_bad_use_is_named():
    with pytest.raises(InputError, match="Trees have no private fit"):
        BayesNet(conditionals="trees", epsilon=1.0)
    with pytest.raises(InputError, match="leaf must be a whole number of records"):
        BayesNet(leaf=0)
    with pytest.raises(InputError, match="conditionals"):
        BayesNet(conditionals="forest")
    with pytest.raises(InputError, match="A panel has tables"):
        chaffinch.Panel(BayesNet(conditionals="trees"))

    class Counts:
        schema = chaffinch.read(people(60)).schema
        n_rows = 60

        def marginals(self, cliques):
            return chaffinch.MemoryCounter(chaffinch.read(people(60))).marginals(cliques)

    with pytest.raises(InputError, match="hand out"):
        BayesNet(conditionals="trees").fit(Counts())


def test_two_rows_and_a_column_without_values():
    for table in (
        chaffinch.read(pa.table({"a": ["x", "y"], "b": [1.5, 2.5]})),
        pa.table({"a": ["x", "y"] * 20, "b": pa.array([None] * 40, pa.float64())}),
    ):
        model = BayesNet(conditionals="trees").fit(table, seed=1)
        assert model.sample(5, seed=1).n_rows == 5
